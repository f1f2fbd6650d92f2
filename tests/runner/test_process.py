"""What a process that ends by itself leaves its caller with, whatever it does with its pipes."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from hookline.runner import spawning
from hookline.runner.process import ProcessLimits, run_process
from tests.runner.contained import SLACK, WATCHES, appears, is_running, run_script

MEGABYTE = 1_000_000


@pytest.fixture(autouse=True, params=WATCHES)
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "watch_exit", request.param)


async def test_the_exit_code_and_both_streams_come_back_as_bytes() -> None:
    outcome = await run_script(r"printf 'out \xff'; printf 'err \xfe' >&2; exit 3")
    assert (outcome.exit_code, outcome.signal, outcome.ended) == (3, None, "exit")
    assert (outcome.stdout, outcome.stderr) == (b"out \xff", b"err \xfe")
    assert outcome.error is None
    assert 0 < outcome.duration < SLACK


async def test_signal_death_reported_as_exit_0_is_a_signal_and_no_exit_code() -> None:
    outcome = await run_script("echo checking; kill -9 $$")
    assert (outcome.exit_code, outcome.signal, outcome.ended) == (None, 9, "exit")
    assert outcome.stdout == b"checking\n"


async def test_the_process_runs_in_its_directory_with_exactly_its_environment(
    tmp_path: Path,
) -> None:
    outcome = await run_process(
        ["/usr/bin/env"],
        stdin=b"",
        cwd=str(tmp_path),
        env={"ONE": "a b", "TWO": "ü\n"},
        limits=ProcessLimits(timeout=10),
    )
    assert sorted(outcome.stdout.decode().split("\n")) == ["", "", "ONE=a b", "TWO=ü"]
    assert (await run_script("pwd -P")).stdout.decode().strip() == str(Path.cwd().resolve())


async def test_the_process_leads_a_session_of_its_own() -> None:
    running = asyncio.create_task(run_script("echo $$ > pid; exec sleep 30"))
    pid = int((await appears("pid")).read_text())
    assert os.getsid(pid) == os.getpgid(pid) == pid
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_stdin_larger_than_a_pipe_arrives_whole_and_ends() -> None:
    payload = bytes(range(256)) * 12_000
    outcome = await run_script("cat", stdin=payload)
    assert outcome.stdout == payload
    assert outcome.exit_code == 0


async def test_a_process_may_leave_ten_megabytes_of_stdin_unread() -> None:
    outcome = await run_script("echo done", stdin=b"x" * 10 * MEGABYTE)
    assert (outcome.exit_code, outcome.stdout) == (0, b"done\n")


@pytest.mark.parametrize("reads", ["exec 0<&-", "head -c 5 >/dev/null; exec 0<&-"])
async def test_a_process_may_close_stdin_early_and_go_on(reads: str) -> None:
    outcome = await run_script(f"{reads}; sleep 0.05; echo on", stdin=b"x" * 10 * MEGABYTE)
    assert (outcome.exit_code, outcome.stdout) == (0, b"on\n")


async def test_the_event_loop_runs_on_while_a_process_ignores_its_stdin() -> None:
    async def tick() -> None:
        await appears("begun")
        for _ in range(10):
            await asyncio.sleep(0.01)
        Path("go").touch()

    ticking = asyncio.create_task(tick())
    script = "echo on > begun; until [ -e go ]; do sleep 0.01; done"
    outcome = await run_script(script, stdin=b"x" * 10 * MEGABYTE, timeout=30)
    await ticking
    assert (outcome.ended, outcome.exit_code) == ("exit", 0)


async def test_background_child_holds_the_result_only_for_the_drain_and_lives_on() -> None:
    answer = """printf '{"decision":"deny"}'"""
    child = "until [ -e go ]; do sleep 0.01; done; echo alive > later"
    outcome = await run_script(f"({child}) & {answer}", drain=0.05)
    assert (outcome.exit_code, outcome.stdout) == (0, b'{"decision":"deny"}')
    Path("go").touch()
    assert (await appears("later")).read_text() == "alive\n"


async def test_what_a_child_prints_during_the_drain_is_part_of_the_output() -> None:
    outcome = await run_script("(sleep 0.1; echo late) & echo early", drain=8)
    assert outcome.stdout == b"early\nlate\n"
    assert outcome.duration < 8


async def test_a_process_that_closes_its_streams_answers_when_it_exits() -> None:
    outcome = await run_script("exec >&- 2>&-; sleep 0.2; exit 5")
    assert outcome.exit_code == 5
    assert outcome.duration >= 0.2


async def test_stdout_may_be_as_long_as_its_limit_and_no_longer() -> None:
    within = await run_script("printf 12345", max_stdout=5)
    over = await run_script("printf 123456", max_stdout=5)
    assert (within.ended, within.stdout) == ("exit", b"12345")
    assert (over.ended, over.stdout) == ("output_limit", b"12345")


async def test_stderr_keeps_its_last_bytes() -> None:
    outcome = await run_script("seq 100000 >&2; echo the end >&2", max_stderr=20)
    assert outcome.stderr == b"9999\n100000\nthe end\n"
    assert (await run_script("echo x >&2", max_stderr=0)).stderr == b""


async def test_stderr_loses_its_first_byte_with_one_more_than_its_limit() -> None:
    within = await run_script("printf 12345 >&2; exit 3", max_stderr=5)
    over = await run_script("printf 123456 >&2; exit 3", max_stderr=5)
    assert (within.exit_code, within.stderr) == (3, b"12345")
    assert (over.ended, over.exit_code, over.stderr) == ("exit", 3, b"23456")


async def test_a_flood_of_stderr_costs_time_in_proportion_to_its_length() -> None:
    outcome = await run_script("head -c 60000000 /dev/zero >&2; echo end >&2; exit 2")
    assert (outcome.ended, outcome.exit_code) == ("exit", 2)
    assert len(outcome.stderr) == 1024 * 1024
    assert outcome.stderr.endswith(b"\0end\n")


async def test_processes_run_side_by_side_without_mixing_their_answers() -> None:
    runs = [run_script(f"cat; sleep 0.1; exit {n}", stdin=b"%d" % n) for n in range(20)]
    outcomes = await asyncio.gather(*runs)
    assert [outcome.exit_code for outcome in outcomes] == list(range(20))
    assert [outcome.stdout for outcome in outcomes] == [b"%d" % n for n in range(20)]


def test_several_loops_in_several_threads_run_processes_at_once() -> None:
    codes: list[int | None] = []

    async def several() -> None:
        runs = [run_script(f"sleep 0.05; exit {n}") for n in range(5)]
        codes.extend([outcome.exit_code for outcome in await asyncio.gather(*runs)])

    threads = [threading.Thread(target=asyncio.run, args=(several(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(code for code in codes if code is not None) == sorted([*range(5)] * 4)


def has_ended(file: str) -> bool:
    """Whether a script has come to its end that says who it is in a file."""
    said = Path(file).read_text() if Path(file).exists() else ""
    return said != "" and not is_running(said)


async def test_an_exit_before_the_deadline_counts_even_if_the_loop_was_busy_until_after_it() -> (
    None
):
    threads = threading.active_count()
    running = asyncio.create_task(run_script("echo $$ > pid; echo in time", timeout=0.1))
    await asyncio.sleep(0)
    deadline = time.monotonic() + 0.1
    # The thread that watches it, where there is one, ends when it has.
    while not (has_ended("pid") and threading.active_count() <= threads):
        time.sleep(0.01)  # noqa: ASYNC251 - a busy loop is what this is about
    time.sleep(max(0, deadline - time.monotonic()))  # noqa: ASYNC251
    outcome = await running
    assert (outcome.ended, outcome.stdout) == ("exit", b"in time\n")
