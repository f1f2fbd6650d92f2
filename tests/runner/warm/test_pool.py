"""Templates come when they are needed, serve whoever calls, and leave nothing behind."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from hookline.runner.loop import PollLoop
from hookline.runner.process import ProcessLimits, ProcessOutcome
from hookline.runner.warm.pool import ColdStart, WarmPool
from hookline.runner.warm.script import PythonScript
from tests.runner.contained import (
    SLACK,
    appears,
    comes_true,
    is_running,
    time_begins_with,
)
from tests.runner.warm.warmed import seen, warm, warm_pool

PARENT = "import os; print(os.getppid())"


def script(text: str, name: str = "hook.py") -> list[str]:
    Path(name).write_text(text)
    return [sys.executable, name]


def template_threads() -> list[threading.Thread]:
    """The threads that wait for templates; one ends when all is known of how its template did."""
    return [thread for thread in threading.enumerate() if thread.name == "hookline-warm"]


async def template_of(pool: WarmPool, argv: list[str]) -> int:
    """The process that forked the one that ran."""
    return int((await warm(pool, argv)).stdout)


async def test_the_first_call_runs_cold_and_nothing_is_wrong_with_that() -> None:
    argv = script("print('warm')")
    async with warm_pool(patience=0.0) as pool:
        with pytest.raises(ColdStart) as cold_start:
            await warm(pool, argv)
        assert cold_start.value.reason is None
        assert await _once_warm(pool, argv) == b"warm\n"


async def _once_warm(pool: WarmPool, argv: list[str]) -> bytes:
    """What it prints, once a template is there in time."""
    reasons: set[str | None] = set()
    deadline = time.monotonic() + 20
    while reasons <= {None} and time.monotonic() < deadline:
        try:
            return (await warm(pool, argv)).stdout
        except ColdStart as cold_start:
            reasons.add(cold_start.reason)
        await asyncio.sleep(0.01)
    pytest.fail(f"it is still cold: {reasons}")


async def test_calls_share_a_template_and_no_state() -> None:
    argv = script(f"{PARENT}; import json; print(hasattr(json, 'mark')); json.mark = 1")
    async with warm_pool() as pool:
        first, second = await warm(pool, argv), await warm(pool, argv)
    assert first.stdout.split()[0] == second.stdout.split()[0] != str(os.getpid()).encode()
    assert first.stdout.split()[1] == second.stdout.split()[1] == b"False"


async def test_random_numbers_differ_from_call_to_call() -> None:
    argv = script("import random, uuid; print(random.random(), uuid.uuid4())")
    async with warm_pool() as pool:
        outcomes = [await warm(pool, argv) for _ in range(3)]
    assert len({outcome.stdout for outcome in outcomes}) == 3


async def test_twenty_calls_at_once_are_served_at_once() -> None:
    # Each waits for all the others.
    argv = script(
        "import os, time; open(f'here-{os.getpid()}', 'w').close()\n"
        "while len([n for n in os.listdir() if n.startswith('here-')]) < 20: time.sleep(0.01)\n"
        "print(os.getppid())"
    )
    async with warm_pool() as pool:
        outcomes = await asyncio.gather(*(warm(pool, argv) for _ in range(20)))
    assert {outcome.exit_code for outcome in outcomes} == {0}
    assert len({outcome.stdout for outcome in outcomes}) == 1


async def test_calls_from_several_threads_and_kinds_of_loop_share_a_template() -> None:
    argv = script(PARENT)
    pool = WarmPool(patience=30.0)
    outcomes: list[ProcessOutcome] = []
    run = (asyncio.run, lambda call: PollLoop().run(call)) * 3
    threads = [
        threading.Thread(target=lambda runner=runner: outcomes.append(runner(warm(pool, argv))))
        for runner in run
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await asyncio.sleep(0.01)
    pool.dispose()
    assert len(outcomes) == 6
    assert len({outcome.stdout for outcome in outcomes}) == 1


async def test_a_call_has_its_own_directory_arguments_and_variables() -> None:
    argv = [*script("import os, sys; print(os.getcwd(), sys.argv[1], os.environ['Ü'])"), "ä ö"]
    argv[1] = str(Path(argv[1]).resolve())
    Path("où").mkdir()
    async with warm_pool() as pool:
        here = await warm(pool, argv, env={"Ü": "1"})
        there = await warm(pool, argv, env={"Ü": "é"}, cwd=str(Path("où").resolve()))
    assert here.stdout.decode().split()[-3:] == ["ä", "ö", "1"]
    assert there.stdout.decode() == f"{Path('où').resolve()} ä ö é\n"


async def test_a_megabyte_goes_in_and_out() -> None:
    argv = script("import sys; sys.stdout.write(sys.stdin.read()[::-1])")
    stdin = bytes(range(32, 127)) * 11_000
    async with warm_pool() as pool:
        outcome = await warm(pool, argv, stdin=stdin)
    assert outcome.stdout == stdin[::-1]


async def test_a_call_over_its_time_is_stopped_with_all_that_it_started() -> None:
    argv = script(
        "import os, subprocess, sys, time\n"
        "if not sys.stdin.read(): sys.exit()\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(os.getpid(), child.pid, flush=True); open('begun', 'w').close(); time.sleep(60)"
    )
    async with warm_pool() as pool:
        await warm(pool, argv)
        limits = ProcessLimits(timeout=1.0, grace=5.0)
        with time_begins_with("begun"):
            outcome = await warm(pool, argv, stdin=b"x", limits=limits)
        assert (outcome.ended, outcome.signal) == ("timeout", signal.SIGTERM)
        assert [is_running(pid) for pid in outcome.stdout.split()] == [False, False]


async def test_a_cancelled_call_leaves_nothing_running() -> None:
    argv = script("import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)")
    async with warm_pool() as pool:
        call = asyncio.ensure_future(warm(pool, argv))
        pid = (await appears("pid")).read_text()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not is_running(pid)


async def test_a_call_cancelled_while_it_waits_for_a_template_costs_others_nothing() -> None:
    argv = script(PARENT)
    async with warm_pool() as pool:
        waiting = [asyncio.ensure_future(warm(pool, argv)) for _ in range(4)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[2].cancel()
        done = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(each, ProcessOutcome) for each in done] == [False, True, False, True]


async def test_a_background_process_neither_delays_the_call_nor_ends_with_it() -> None:
    argv = script(
        "import subprocess\nprint(subprocess.Popen(['sleep', '20'], stdout=1).pid, flush=True)"
    )
    async with warm_pool() as pool:
        outcome = await warm(pool, argv)
    pid = int(outcome.stdout)
    assert outcome.exit_code == 0
    assert outcome.duration < 15
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)


async def test_a_template_that_is_not_needed_ends() -> None:
    argv = script(PARENT)
    async with warm_pool(idle=0.2) as pool:
        first = int(await _once_warm(pool, argv))
        await comes_true(lambda: not Path(f"/proc/{first}").exists())
        second = int(await _once_warm(pool, argv))
    assert first != second


async def test_a_template_does_not_end_under_a_call_that_takes_longer() -> None:
    argv = script("import time; time.sleep(0.5); print('done')")
    async with warm_pool(idle=0.05) as pool:
        # It may end before the call has come to it, but not under it.
        assert await _once_warm(pool, argv) == b"done\n"


async def test_nothing_is_left_of_a_pool_that_was_disposed() -> None:
    pool = WarmPool(patience=30.0)
    template = await template_of(pool, script(PARENT))
    pool.dispose()
    pool.dispose()
    assert not Path(f"/proc/{template}").exists()
    assert not template_threads()
    with pytest.raises(ColdStart, match="disposed"):
        await warm(pool, script(PARENT))


async def test_a_pool_can_be_disposed_while_a_template_starts() -> None:
    pool = WarmPool()
    with pytest.raises(ColdStart):
        await warm(pool, script(PARENT))
    pool.dispose()
    assert not template_threads()


async def test_a_call_that_is_running_when_its_pool_is_disposed_finishes() -> None:
    argv = script("import sys; open('here', 'w').write('x'); print(sys.stdin.read())")
    pool = WarmPool(patience=30.0)
    await warm(pool, argv)
    Path("here").unlink()
    argv = script("import time; open('here', 'w').write('x'); time.sleep(0.5); print('x')", "b.py")
    call = asyncio.ensure_future(warm(pool, argv))
    await appears("here")
    pool.dispose()
    assert seen(await call)[:3] == (b"x\n", b"", 0)


async def test_a_killed_template_costs_the_calls_that_are_running_and_no_more() -> None:
    argv = script(
        "import os, sys, time\n"
        "print(os.getppid(), flush=True)\n"
        "if sys.stdin.read(): os.kill(os.getppid(), 9); time.sleep(0.2); os.kill(os.getpid(), 9)"
    )
    async with warm_pool() as pool:
        template = await template_of(pool, argv)
        running = await warm(pool, argv, stdin=b"x")
        assert (running.ended, running.exit_code, running.signal) == ("exit", None, None)
        with pytest.raises(ColdStart, match="killed by signal 9"):
            await warm(pool, argv)
    assert not is_running(template)


async def test_a_template_is_started_again_after_it_was_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hookline.runner.warm.pool.PAUSE_SECONDS", 0.0)
    argv = script(PARENT)
    async with warm_pool() as pool:
        first = await template_of(pool, argv)
        os.kill(first, signal.SIGKILL)
        await comes_true(lambda: not template_threads())
        with pytest.raises(ColdStart, match="killed"):
            await warm(pool, argv)
        assert await template_of(pool, argv) != first


async def test_too_many_open_files_make_a_call_cold_and_lose_nothing() -> None:
    import resource

    argv = script(PARENT)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with warm_pool() as pool:
        await warm(pool, argv)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        held = _all_descriptors()
        try:
            with pytest.raises(ColdStart, match="open files"):
                await warm(pool, argv)
        finally:
            for fd in held:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert (await warm(pool, argv)).exit_code == 0


def _all_descriptors() -> list[int]:
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return held


async def test_an_environment_too_long_to_hand_over_makes_a_call_cold() -> None:
    argv = script(PARENT)
    async with warm_pool() as pool:
        await warm(pool, argv)
        with pytest.raises(ColdStart, match="environment"):
            await warm(pool, argv, env={f"LONG{n}": "x" * 100_000 for n in range(8)})
        assert (await warm(pool, argv)).exit_code == 0


async def test_a_directory_that_does_not_exist_is_for_a_cold_start_to_complain_about() -> None:
    argv = script(PARENT)
    argv[1] = str(Path(argv[1]).resolve())
    folder = Path("folder").resolve()
    folder.mkdir()
    async with warm_pool() as pool:
        await warm(pool, argv, cwd=str(folder))
        folder.rmdir()
        with pytest.raises(ColdStart) as cold_start:
            await warm(pool, argv, cwd=str(folder))
    assert cold_start.value.reason is None


@pytest.mark.parametrize(
    "name", ["PYTHONINSPECT", "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME", "PYTHONDUMPREFS"]
)
async def test_an_interpreter_told_to_talk_is_not_kept_warm(name: str) -> None:
    async with warm_pool() as pool:
        with pytest.raises(ColdStart, match=name):
            await warm(pool, script(PARENT), env={name: "1"})


async def test_variables_that_shape_an_interpreter_have_it_started_anew() -> None:
    argv = script("import sys; print(sys.stdout.encoding, __debug__)")
    async with warm_pool() as pool:
        plain = await warm(pool, argv)
        shaped = await warm(pool, argv, env={"PYTHONIOENCODING": "ascii", "PYTHONOPTIMIZE": "1"})
    assert (plain.stdout, shaped.stdout) == (b"utf-8 True\n", b"ascii False\n")


async def test_no_more_than_sixteen_templates_wait_at_a_time() -> None:
    async with warm_pool() as pool:
        outcomes = [await warm(pool, [*script(PARENT), str(number)]) for number in range(18)]
        templates = [int(outcome.stdout) for outcome in outcomes]
        await comes_true(lambda: sum(map(is_running, templates)) == 16)


@pytest.mark.parametrize("variables", [{"A": "b\0C=d"}, {"A\0B": "c"}, {"": "a"}])
async def test_a_variable_that_a_fork_could_not_have_as_it_is_is_left_to_a_cold_start(
    variables: dict[str, str],
) -> None:
    argv = script("import os; print(os.environ)")
    async with warm_pool() as pool:
        await warm(pool, argv)
        with pytest.raises(ColdStart, match="cannot be used"):
            await warm(pool, argv, env=variables)


async def test_a_template_that_does_not_hear_is_ended_with_the_others_and_not_after_them() -> None:
    argvs = [script("import os; print(os.getppid())", f"{n}.py") for n in range(6)]
    async with warm_pool() as pool:
        templates = [await template_of(pool, argv) for argv in argvs]
        for template in templates:
            os.kill(template, signal.SIGSTOP)
        started = time.monotonic()
    assert time.monotonic() - started < 1.0 + SLACK
    await comes_true(lambda: not any(map(is_running, templates)))


NO_PYTHON = PythonScript(
    ("/no/python", "x.py"), "/no/python", "x.py", ("/no/python",), "/no/python"
)


async def count_templates(*environments: dict[str, str]) -> int:
    """How many templates an interpreter that cannot start has for these environments."""
    async with warm_pool(patience=0.0) as pool:
        for env in environments:
            with pytest.raises(ColdStart):
                await pool.start(NO_PYTHON, cwd="/", env=env, deadline=time.monotonic() + 5)
        return len(pool._templates)


@pytest.mark.parametrize(
    "names",
    [
        ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "OPENSSL_CONF", "GLIBC_TUNABLES"),
        ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "PYTHONHASHSEED", "LC_ALL", "LD_PRELOAD"),
        ("DYLD_X", "MALLOC_ARENA_MAX", "PYENV_VERSION", "ASDF_DIR", "MISE_X"),
    ],
)
async def test_each_variable_that_matters_at_the_start_has_a_template_of_its_own(
    names: tuple[str, ...],
) -> None:
    assert await count_templates({}, *({name: "x"} for name in names)) == 1 + len(names)
    assert await count_templates({}, {"OTHER": "x"}, {"MY_PATH": "x"}, {"PYTHO": "x"}) == 1


async def test_a_template_that_failed_is_not_tried_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with warm_pool() as pool:
        reasons = set()
        for _ in range(3):
            with pytest.raises(ColdStart) as cold_start:
                await pool.start(NO_PYTHON, cwd="/", env={}, deadline=time.monotonic() + 5)
            reasons.add(cold_start.value.reason)
            (template,) = pool._templates.values()
        assert reasons == {template.failure}
        assert "No such file" in str(template.failure)
        monkeypatch.setattr("hookline.runner.warm.pool.LONG_PAUSE_SECONDS", 0.0)
        for _ in range(2):
            with pytest.raises(ColdStart):
                await pool.start(NO_PYTHON, cwd="/", env={}, deadline=time.monotonic() + 5)
        assert template not in pool._templates.values()
