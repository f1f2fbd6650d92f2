"""Some seconds of the soak, and proof that each kind of violation makes it fail."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.documents import REPOSITORY
from tools.soak import quotes
from tools.soak.firing import Event, Tally, draw
from tools.soak.kinds import Kind, kinds
from tools.soak.memory import SLACK_BYTES, Memory

NO_QUOTES = ("--quotes", "0")


def run_soak(*options: str, sabotage: str = "") -> subprocess.CompletedProcess[str]:
    """Run it as `make soak` does, or with a part of it spoiled first."""
    program = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); sys.argv[0] = 'soak'\n"
        f"from tools.soak import command, kinds, memory\n{sabotage}\nsys.exit(command.main())"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *(() if "--quotes" in options else NO_QUOTES), *options],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        capture_output=True,
        text=True,
        timeout=140,
        # A hook that were not contained would reach no further than this.
        start_new_session=True,
    )


@pytest.mark.timeout(150)
def test_a_while_of_hostile_hooks_leaves_nothing_behind() -> None:
    done = run_soak("--seconds", "8", "--seed", "7", "--quotes", "1000")
    assert done.stdout.splitlines()[-1] == "the soak passed", done.stdout + done.stderr
    assert done.returncode == 0


SABOTAGE = {
    "process": """kinds._obliging = lambda: [
        kinds.Kind("stays", {"type": "command", "command": "sleep 60 & echo {}"})]""",
    "descriptor": """import os
kinds._obliging = lambda: [kinds.Kind("stays", lambda _: os.dup(0) and None)]""",
    "thread": """import threading, time
def stay(_): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
kinds._obliging = lambda: [kinds.Kind("stays", stay)]""",
    "task": """import asyncio
tasks = []
async def stay(_): tasks.append(asyncio.create_task(asyncio.sleep(60)))
kinds._obliging = lambda: [kinds.Kind("stays", stay)]""",
}


@pytest.mark.parametrize("kind", SABOTAGE)
def test_what_is_left_behind_fails_it(kind: str) -> None:
    spoiled = f"{SABOTAGE[kind]}\ncommand._SETTLE = 0.2"
    done = run_soak("--events", "3", "--only", "stays", sabotage=spoiled)
    assert f"VIOLATION: {kind}" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_memory_that_grows_fails_it() -> None:
    hoard = """hoard = []
kinds._obliging = lambda: [kinds.Kind("grows", lambda _: hoard.append(b"x" * 100_000))]"""
    done = run_soak("--events", "600", "--only", "grows", sabotage=hoard)
    assert "MB of memory more than the second" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_a_wrong_answer_fails_it() -> None:
    wrong = """kinds._obliging = lambda: [
        kinds.Kind("wrong", lambda _: {"reason": "a"}, answer=lambda _: {"reason": "b"})]"""
    done = run_soak("--events", "1", "--only", "wrong", sabotage=wrong)
    assert "VIOLATION: mark-1 (wrong): wrong: None, None, {'reason': 'a'}" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    "lenient",
    [
        # As a hook that fails open is read.
        "native.parse_strictly = lambda text: stdout.parse_stdout(text, lambda _: 0)",
        "stdout.refuse_repeats = dict\nstdout.has_every_key = lambda *_: True",
    ],
)
def test_a_denial_that_a_model_can_undo_fails_it(lenient: str) -> None:
    spoiled = f"from hookline.dialects import native, stdout\n{lenient}"
    done = run_soak("--events", "1", "--only", "allows", "--quotes", "3000", sabotage=spoiled)
    assert "lost its denial" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_every_way_to_quote_a_model_is_drawn() -> None:
    assert len(quotes.WAYS) >= 10
    drawn = {quotes.make_text(random.Random(number)) for number in range(100)}
    assert len(drawn) > 70
    assert [*quotes.find_lost_denials(2_000, seed=5)] == []


def test_an_answer_after_its_bound_is_a_violation() -> None:
    event = Event("mark-1", (Kind("slow", {}, timeout=1),), 0, None, blocking=False)
    tally = Tally()
    tally.took(event, event.bound - 0.1, event.bound)
    assert tally.violations == []
    tally.took(event, event.bound + 0.1, event.bound)
    assert len(tally.violations) == 1
    assert tally.longest == (event.bound + 0.1, event.bound, "slow")


def test_a_plan_in_order_may_take_as_long_as_its_hooks_together() -> None:
    slow, other = (Kind(name, {}, timeout=1) for name in ("slow", "other"))
    together = Event("m", (slow, other), 0, None, blocking=False)
    in_order = Event("m", (slow, other._replace(sequential=True)), 0, None, blocking=False)
    assert in_order.bound > together.bound + 1


def test_the_same_seed_draws_the_same_events(tmp_path: Path) -> None:
    known = kinds(tmp_path)
    drawn = [[draw(known, seed=seed, number=n) for n in range(800)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {kind.name for event in drawn[0] for kind in event.kinds} == {k.name for k in known}
    assert any(event.cancel_after is not None for event in drawn[0])


def test_memory_is_judged_by_its_last_two_thirds() -> None:
    memory = Memory()
    memory.samples = [1_000, 2_000, 50_000, 50_000, 50_000 + SLACK_BYTES, 90_000_000]
    assert memory.thirds() == [1_000, 50_000, 50_000 + SLACK_BYTES]
    assert memory.growth() == SLACK_BYTES
