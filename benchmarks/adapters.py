"""What hooks cost an agent that is there already, beside the same agent without them.

A framework is measured where it is installed: run as a script this prints the lines of the
frameworks as JSON, and ``measure_frameworks`` reads them.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from benchmarks.sampling import (
    Group,
    Loop,
    Measurement,
    Result,
    Run,
    Workload,
    awaiting,
    calling,
    measure,
)
from hookline import Hooks

# Microseconds that a tool call and a model call may take more, each, where no hook matches.
_MORE = 50
# Tool calls of a turn, each followed by a model call.
ROUNDS = 8
_FRAMEWORKS = ("langchain", "pydantic_ai")
_WITHOUT = "the same without hookline"


def plain(loop: Loop) -> Group:
    """Plain functions, and a model call in a loop of one's own."""
    shell = Workload(_WITHOUT, calling(_shell, "ls"))
    shell_async = Workload(_WITHOUT, awaiting(loop, _shell_async, "ls"))
    create = Workload(_WITHOUT, calling(partial(_create, **_REQUEST)))
    none, tool_hook, model_hook = Hooks(), hooks_with("BeforeTool"), hooks_with("BeforeModel")
    wrapped = calling(none.wrap(_shell), "ls")
    wrapped_async = awaiting(loop, none.wrap(_shell_async), "ls")
    hooked = calling(tool_hook.wrap(_shell), "ls")
    model_call, hooked_model_call = (calling(_call_guarded, h) for h in (none, model_hook))

    def line(name: str, run: Run, baseline: Workload, more: float | None = _MORE) -> Measurement:
        return Measurement(ours=Workload(name, run), baseline=baseline, more=more)

    return Group(
        100,
        [
            line("a wrapped function, no match", wrapped, shell),
            line("a wrapped async function, no match", wrapped_async, shell_async),
            line("a wrapped function, one in-process hook", hooked, shell, None),
            line("own model call, no match", model_call, create),
            line("own model call, one in-process hook", hooked_model_call, create, None),
        ],
    )


def _call_guarded(hooks: Hooks) -> Any:
    gate = hooks.sync.model_gate(_REQUEST)
    assert gate.outcome is None
    return gate.finish(_create(**gate.request)).response


class Turn(NamedTuple):
    """A turn of ``ROUNDS`` tool calls, each followed by a model call; ``times`` are when the model
    replied."""

    run: Callable[[], Awaitable[object]]
    times: list[float]


def framework(loop: Loop, title: str, make: Callable[[Hooks | None], Turn]) -> Group:
    """The lines of a framework; ``make`` builds its agent, without hookline if there are no
    hooks."""
    without, none, one = (make(hooks) for hooks in (None, Hooks(), hooks_with("BeforeTool")))
    round_without = Workload(_WITHOUT, _one_round(loop, without))
    turn_without = Workload(_WITHOUT, awaiting(loop, without.run))
    return Group(
        100,
        [
            Measurement(
                ours=Workload(f"{title}: tool and model call, no match", _one_round(loop, none)),
                baseline=round_without,
                more=2 * _MORE,
            ),
            Measurement(
                ours=Workload(f"{title}: the same, one hook", _one_round(loop, one)),
                baseline=round_without,
            ),
            Measurement(
                ours=Workload(f"{title}: a turn of {ROUNDS} of them", awaiting(loop, none.run)),
                baseline=turn_without,
            ),
        ],
        batch=1,
    )


def _one_round(loop: Loop, turn: Turn) -> Run:
    """The time from one reply of the model to the next: a tool call and a model call, without
    what a turn costs before and after."""

    def run(iterations: int) -> float:
        seconds = 0.0
        for _ in range(iterations):
            turn.times.clear()
            loop.run(_settle(turn.run()))
            seconds += (turn.times[-1] - turn.times[0]) / ROUNDS
        return seconds

    return run


async def _settle(work: Awaitable[object]) -> None:
    await work


def hooks_with(event: str) -> Hooks:
    """Hooks of which one answers an event: an async function, which needs no thread."""
    hooks = Hooks()
    hooks.on(event)(_allow)
    return hooks


async def _allow(_event: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "allow"}


def measure_frameworks(python: Path, *, samples: int | None) -> list[Result]:
    """The lines of the frameworks, measured by an interpreter that has them."""
    argv = [str(python), __file__, *([] if samples is None else ["--samples", str(samples)])]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    return msgspec.convert(json.loads(done.stdout), list[Result])


def _groups(loop: Loop) -> Iterator[Group]:
    """A group for each framework whose adapter is here."""
    for name in _FRAMEWORKS:
        if find_spec(f"hookline.adapters.{name}") is not None:
            agent = import_module(f"benchmarks.agents.{name}")
            yield framework(loop, agent.TITLE, agent.make_turn)


_REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def _create(*, model: str, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """What a client's ``create`` does, without the network."""
    text = f"{model} was sent {len(messages)} messages"
    return {"candidates": [{"content": {"role": "model", "parts": [text]}}]}


def _shell(command: str) -> str:
    return f"ran {command}"


async def _shell_async(command: str) -> str:
    return f"ran {command}"


def _main() -> None:
    samples = int(sys.argv[2]) if sys.argv[1:2] == ["--samples"] else None
    with asyncio.Runner() as runner:
        results = [r for group in _groups(runner) for r in measure(group, samples=samples)]
    print(json.dumps(msgspec.to_builtins(results)))


if __name__ == "__main__":
    _main()
