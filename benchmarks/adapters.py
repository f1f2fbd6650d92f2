"""Measures what hooks cost an existing agent, compared with the same agent without them.

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
from typing import Any, NamedTuple, Protocol

if __name__ == "__main__":
    # Replaces this folder, which has a package with the name of a framework.
    sys.path[0] = str(Path(__file__).parents[1])

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
from hookline import DebugLogger, Hooks

# Microseconds that a tool call and a model call may each take more if no hook matches.
_MORE = 50
# Tool calls of a turn, each followed by a model call.
ROUNDS = 8
_FRAMEWORKS = (
    *("langchain", "openai_agents", "pydantic_ai", "adk", "genai", "claude_agent"),
    "strands",
)
_WITHOUT = "the same without hookline"


def plain(loop: Loop) -> Group:
    """Plain functions, and a model call in a loop that the user writes."""
    shell = Workload(_WITHOUT, calling(_shell, "ls"))
    shell_async = Workload(_WITHOUT, awaiting(loop, _shell_async, "ls"))
    create = Workload(_WITHOUT, calling(partial(_create, **_REQUEST)))
    none, tool_hook, model_hook = Hooks(), hooks_with("BeforeTool"), hooks_with("BeforeModel")
    wrapped = calling(none.wrap(_shell), "ls")
    wrapped_async = awaiting(loop, none.wrap(_shell_async), "ls")
    hooked = calling(tool_hook.wrap(_shell), "ls")
    inline = Hooks()
    inline.on("BeforeTool", inline=True)(lambda _event: {"decision": "allow"})
    stream = Workload(_WITHOUT, calling(_read_first, _stream))
    observed = partial(_make_observed().sync.model_call, _stream, **_REQUEST, stream=True)
    model_call, hooked_model_call = (
        calling(partial(hooks.sync.model_call, _create, **_REQUEST)) for hooks in (none, model_hook)
    )

    def line(name: str, run: Run, baseline: Workload, more: float | None = _MORE) -> Measurement:
        return Measurement(ours=Workload(name, run), baseline=baseline, more=more)

    return Group(
        100,
        [
            line("a wrapped function, no match", wrapped, shell),
            line("a wrapped async function, no match", wrapped_async, shell_async),
            line("a wrapped function, one in-process hook", hooked, shell, None),
            line(
                "a wrapped function, one inline hook", calling(inline.wrap(_shell), "ls"), shell, 60
            ),
            line("hooks.sync.model_call, no match", model_call, create),
            line("hooks.sync.model_call, one in-process hook", hooked_model_call, create, None),
            line("first chunk of a stream, observed", calling(_read_first, observed), stream, 5000),
        ],
    )


def _make_observed() -> Hooks:
    """Hooks of which one observes responses, and that warn nobody of streams that are left."""
    hook = {"type": "command", "command": "true", "async": True}
    return Hooks(
        hooks={"AfterModel": [{"hooks": [hook]}]},
        debug_logger=DebugLogger(warn=lambda _message: None),
    )


def _stream(**_request: Any) -> Iterator[dict[str, Any]]:
    for text in ("hel", "lo"):
        yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}


def _read_first(open_stream: Callable[[], Any]) -> Any:
    stream = open_stream()
    chunk = next(stream)
    stream.close()
    return chunk


class Turn(NamedTuple):
    """A turn of ``ROUNDS`` tool calls, each followed by a model call; ``times`` are when the model
    replied."""

    run: Callable[[], Awaitable[object]]
    times: list[float]


class Framework(Protocol):
    """A module of ``benchmarks.agents``. One whose agent does not run in Python has a
    ``make_group`` instead, which takes the loop."""

    TITLE: str
    IDLE: str

    def make_turn(self, hooks: Hooks | None) -> Turn:
        """Make the agent's turn, with hooks or without hookline."""
        ...

    def make_idle_turn(self) -> Turn:
        """Make the turn of an agent with the framework's own callbacks, which do nothing."""
        ...


def framework(loop: Loop, agent: Framework) -> Group:
    """The lines of a framework. The cost of the framework's own callbacks is measured apart from
    what hookline does in them."""
    title = agent.TITLE
    without, none = agent.make_turn(None), agent.make_turn(Hooks())
    hooked = Workload(
        f"{title}: the same, one in-process hook",
        _one_round(loop, agent.make_turn(hooks_with("BeforeTool"))),
    )
    unmatched = Workload(f"{title}: tool and model call, no match", _one_round(loop, none))
    bare = Workload(_WITHOUT, _one_round(loop, without))
    idle = Workload(agent.IDLE, _one_round(loop, agent.make_idle_turn()))
    turn = Workload(f"{title}: a turn of {ROUNDS} of them", awaiting(loop, none.run))
    return Group(
        50,
        [
            Measurement(ours=unmatched, baseline=bare, more=2 * _MORE),
            Measurement(ours=unmatched, baseline=idle, more=2 * _MORE),
            Measurement(ours=hooked, baseline=bare),
            Measurement(
                ours=turn, baseline=Workload(_WITHOUT, awaiting(loop, without.run)), unit="ms"
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
    """Hooks with one that answers an event: an async function, which needs no thread."""
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
    """A group for each installed framework, and one for http hooks, whose client is an extra like
    them."""
    for name in _FRAMEWORKS:
        if find_spec(f"hookline.adapters.{name}") is not None:
            agent: Any = import_module(f"benchmarks.agents.{name}")
            yield agent.make_group(loop) if hasattr(agent, "make_group") else framework(loop, agent)
    if find_spec("httpx") is not None:
        from benchmarks.posting import posting

        with posting(loop) as group:
            yield group


_REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def _create(*, model: str, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Do what a client's ``create`` does, without the network."""
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
