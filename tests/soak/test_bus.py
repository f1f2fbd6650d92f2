"""Some seconds of the soak of the bus, and proof that each kind of violation makes it fail."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from hookline.bus.nats.client import Incoming
from hookline.wire import codec
from tests.harness.documents import REPOSITORY
from tools.soak_bus.judging import SLACK, Fate, Overheard, Verdict, count_lost, violations
from tools.soak_bus.proxy import Proxy
from tools.soak_bus.scene import DENYING, FAILING

FAULTS = (
    *("worker killed", "server restarted", "network cut", "bytes lost", "worker paused"),
    "network stalled",
)


def run_soak(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "soak_bus" / "run.py"), *options],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        capture_output=True,
        text=True,
        timeout=140,
        start_new_session=True,
    )


@pytest.mark.timeout(150)
def test_whatever_breaks_each_request_has_one_fate_and_runs_its_hook_once_at_most() -> None:
    quick = ("--requests", "300", "--rounds", "1", "--pause", "0.2", "--settle", "1")
    done = run_soak(*quick, "--at-once", "40", "--timeout", "4", "--seed", "7")
    assert done.stdout.splitlines()[-1] == "the soak passed", done.stdout + done.stderr
    assert done.returncode == 0
    assert all(f"{fault} " in done.stdout for fault in FAULTS)
    [told] = re.findall(r"^no denial lost of ([\d,]+)$", done.stdout, re.MULTILINE)
    assert int(told.replace(",", "")) >= 150
    assert all(f"{kind} " in done.stdout for kind in (*DENYING, *FAILING, "lied about"))


def answered(id: str = "a", seconds: float = 0.1, said: str | None = None) -> Fate:
    return Fate(id, None, seconds, said or id)


def response(id: str, code: str | None = None, *, inbox: str = "inbox.1") -> Incoming:
    error = {} if code is None else {"error": {"code": code}}
    return Incoming(inbox, "", codec.encode({"correlationId": id, **error}), None)


def overheard(*responses: Incoming) -> Overheard:
    heard = Overheard()
    for each in responses:
        heard.hear(each)
    return heard


WRONG: dict[str, tuple[Sequence[Fate], Sequence[str], Overheard]] = {
    "a: executed 2 times": ([answered()], ["a", "a"], overheard()),
    "a: answered 2 times": (
        [answered()],
        ["a"],
        overheard(response("a"), response("a", inbox="inbox.2")),
    ),
    "inbox.1: sent 2 answers": (
        [answered()],
        ["a"],
        overheard(response("a", "busy"), response("a")),
    ),
    "a: has 2 fates": ([answered(), answered()], ["a"], overheard()),
    "b: executed, and never sent": ([answered()], ["a", "b"], overheard()),
    f"a: took {1.1 + SLACK:.2f} s of 1 s": ([answered(seconds=1.1 + SLACK)], ["a"], overheard()),
    "a: answered, and no hook was run": ([answered()], [], overheard()),
    "a: has the answer of b": ([answered(said="b")], ["a"], overheard()),
    "a: failed with unavailable, and a hook was run": (
        [Fate("a", "unavailable", 0.1)],
        ["a"],
        overheard(),
    ),
    "a: lost: nothing came back": ([Fate("a", "lost", 0.1, "nothing came back")], [], overheard()),
    "a: failed with timeout while nothing was broken: slow": (
        [Fate("a", "timeout", 1.0, "slow", is_calm=True)],
        [],
        overheard(),
    ),
}


@pytest.mark.parametrize("found", WRONG)
def test_what_must_not_be_fails_it(found: str) -> None:
    fates, executed, heard = WRONG[found]
    assert list(violations(fates, executed, heard, timeout=1)) == [found]


def test_what_may_be_does_not() -> None:
    fates = [answered(), Fate("b", "timeout", 1.0, "killed"), Fate("c", "unavailable", 0.1)]
    heard = overheard(response("a", "busy"), response("a", inbox="inbox.2"))
    assert list(violations(fates, ["a", "b"], heard, timeout=1)) == []
    assert heard.handed_back == 1


def verdict(is_blocked: bool, *, blocks: bool = True, **fields: Any) -> Verdict:
    return Verdict("a", "denied", is_blocked, blocks, 0.1, **fields)


LOST = "a: a denial was lost: denied"


@pytest.mark.parametrize(
    ("verdict", "found"),
    [
        (verdict(True), []),
        (verdict(False), [LOST]),
        (verdict(False, is_calm=True), [LOST]),
        (verdict(False, blocks=False, is_calm=True), [LOST]),
        (verdict(False, blocks=False), []),
        (verdict(True, is_told=True, is_calm=True, reason="by a"), []),
        (verdict(True, is_told=True, reason="down"), []),
        (
            verdict(True, is_told=True, is_calm=True, reason="down"),
            ["a: denied, and blocked for another reason: down"],
        ),
        (verdict(True)._replace(seconds=1.1 + SLACK), [f"a: took {1.1 + SLACK:.2f} s of 1 s"]),
    ],
    ids=str,
)
def test_a_denial_that_is_lost_fails_it(verdict: Verdict, found: list[str]) -> None:
    assert list(violations([], [], overheard(), timeout=1, verdicts=[verdict])) == found
    assert count_lost([verdict]) == (verdict.must_block, LOST in found)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(100):
        writer.write(chunk)
    writer.close()


@pytest.mark.parametrize(
    ("fault", "heard"), [("stall", b"late"), ("lose", b""), ("cut", b"")], ids=str
)
async def test_the_network_holds_or_loses_or_hangs_up(fault: str, heard: bytes) -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    proxy = Proxy()
    await proxy.open(server.sockets[0].getsockname()[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"early")
    assert await reader.readexactly(5) == b"early"
    breaking = asyncio.create_task(getattr(proxy, fault)(0.5))
    # One turn of the loop, and it is broken; what is written now is there long before it is mended.
    await asyncio.sleep(0)
    writer.write(b"late")
    try:
        got = await reader.read(100)
    except ConnectionError:
        got = b""
    await breaking
    writer.transport.abort()
    await proxy.close()
    server.close()
    assert got == heard
