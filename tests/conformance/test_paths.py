"""The recorded cases once more along every other path of the runner: the answers are the same.

The path of all other tests starts processes as fast as the system allows, on asyncio's loop.
"""

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.runner import spawning
from hookline.runner.loop import PollLoop
from hookline.runner.warm import pool
from hookline.testing.conformance import run_case
from tests.conformance.test_cases import CASES, read
from tests.eleven import Json


def command_hooks(case: Mapping[str, Any]) -> Iterator[Json]:
    """The command hooks of a case's settings, as far as they are such."""
    events = (case.get("settings", {}).get("hooks") or {}).values()
    for definition in (each for event in events if isinstance(event, list) for each in event):
        hooks = definition.get("hooks") if isinstance(definition, dict) else None
        for hook in hooks if isinstance(hooks, list) else ():
            if isinstance(hook, dict) and isinstance(hook.get("command"), str):
                yield hook


def is_python(hook: Json) -> bool:
    command: str = hook["command"]
    return command.startswith("python3 ")


WITH_PYTHON = [path for path in CASES if any(map(is_python, command_hooks(read(path))))]
# A function of a case waits on asyncio's loop.
WITHOUT_FUNCTIONS = [
    path for path in CASES if not read(path).keys() & {"register", "register_before_init"}
]
NEEDS_A_SHELL = {"expand-braces-by-shell"}
SHARES = 8


def answers_differ(case: Mapping[str, Any]) -> bool:
    return bool(json.loads(json.dumps(run_case(case))) != case["expect"])


def test_the_paths_are_walked_by_the_whole_set() -> None:
    assert (len(WITHOUT_FUNCTIONS), len(WITH_PYTHON)) == (166, 9)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_processes_started_and_watched_as_any_system_allows(
    share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawning, "watch_exit", spawning.ThreadWatch)
    monkeypatch.setattr(spawning, "launch", spawning.launch_portably)
    assert [path.stem for path in CASES[share::SHARES] if answers_differ(read(path))] == []


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_a_loop_that_is_not_of_asyncio(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return PollLoop().run(coroutine)

    monkeypatch.setattr(asyncio, "run", run)
    cases = WITHOUT_FUNCTIONS[share::SHARES]
    assert [path.stem for path in cases if answers_differ(read(path))] == []


class PatientPool(pool.WarmPool):
    """Waits for a template instead of running the first call cold, and counts whom it served."""

    served = 0

    def __init__(self) -> None:
        super().__init__(patience=20)

    async def start(self, *arguments: Any, **options: Any) -> Any:
        child = await super().start(*arguments, **options)
        PatientPool.served += 1
        return child


@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda path: path.stem)
def test_python_scripts_kept_warm(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WarmPool", PatientPool)
    case, before = read(path), PatientPool.served
    for hook in filter(is_python, command_hooks(case)):
        hook["warm"] = True
    assert not answers_differ({**case, "fire_times": 2})
    assert (PatientPool.served > before) is (path.stem not in NEEDS_A_SHELL)
