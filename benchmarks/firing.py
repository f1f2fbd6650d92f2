"""Measures firing an event, which an agent pays for on every tool call, with or without hooks."""

from typing import Any

from benchmarks import fixtures
from benchmarks.sampling import Group, Loop, Measurement, Workload, awaiting, calling
from hookline import (
    AggregatedHookResult,
    Config,
    HookEventHandler,
    Hooks,
    HookSystem,
    ProcessedHookResult,
)
from hookline.wire import codec


def firing(loop: Loop) -> Group:
    """BeforeTool with more and more hooks that do not match, then with one that does."""

    def no_match(name: str, hooks: dict[str, Any]) -> Workload:
        return _fire(loop, f"no-match fire, {name}", Config(hooks=hooks))

    none = no_match("0 hooks", {})
    bare = Workload("async function returning a result", _awaited(loop, _bare_result))
    call = Workload("coroutine, its input encoded and decoded", _awaited(loop, _bare_hook))
    matchers = fixtures.OTHER_MATCHERS
    one = no_match("1 hook", _hooks("BeforeTool", matchers[:1]))
    hundred = no_match("100 hooks", _hooks("BeforeTool", matchers[:100]))
    thousand = no_match("1,000 hooks", _hooks("BeforeTool", matchers))
    elsewhere = no_match("1,000 hooks on another event", _hooks("AfterTool", matchers))
    allowing = _fire(loop, "one async in-process hook, which allows", Config(), _allow)
    silent = _fire(loop, "one async in-process hook, which says nothing", Config(), _say_nothing)
    front, mixed = Hooks(), Hooks()
    mixed.on("BeforeTool", matcher="^another$")(_allow)
    awaited = Workload("hooks.before_tool, no match", _awaited(loop, front.before_tool))
    blocking = _blocking("hooks.sync.before_tool, no match", front)
    unrelated = _blocking("the same beside an unrelated function hook", mixed)
    flat = 1.1
    return Group(
        200,
        [
            Measurement(ours=none, baseline=bare, peer="no-match-0", peer_target=0.7),
            Measurement(ours=one, baseline=none, target=flat, peer="no-match-1"),
            Measurement(ours=hundred, baseline=none, target=flat, peer="no-match-100"),
            Measurement(ours=thousand, baseline=none, target=flat, peer="no-match-1000"),
            Measurement(ours=elsewhere, baseline=none, target=flat, peer="other-event-1000"),
            Measurement(ours=awaited, baseline=none),
            Measurement(ours=blocking, baseline=awaited, target=3.0),
            Measurement(ours=unrelated, baseline=awaited, target=3.0),
            Measurement(ours=allowing, baseline=call, peer="in-process-allow", peer_target=1.0),
            Measurement(ours=silent, baseline=call, peer="in-process-silent"),
        ],
    )


async def _allow(_input: dict[str, Any]) -> dict[str, Any]:
    return {"decision": "allow"}


async def _say_nothing(_input: dict[str, Any]) -> None:
    return None


async def _bare_result(_tool_name: str, _tool_input: dict[str, Any]) -> ProcessedHookResult:
    return ProcessedHookResult(AggregatedHookResult(True, None, [], []))


async def _bare_hook(tool_name: str, tool_input: dict[str, Any]) -> Any:
    """Do the least that a function hook needs: copy the input, and call it."""
    payload = fixtures.event(tool_input, tool_name=tool_name)
    return await _allow(codec.decode(codec.encode(payload)))


def _hooks(event: str, matchers: list[str]) -> dict[str, Any]:
    return {
        event: [
            {
                "matcher": matcher,
                "hooks": [{"type": "command", "command": "true", "name": f"hook {number}"}],
            }
            for number, matcher in enumerate(matchers)
        ]
    }


def _fire(loop: Loop, name: str, config: Config, hook: Any = None) -> Workload:
    system = HookSystem(config)
    if hook is not None:
        system.register_hook("BeforeTool", hook)
    return Workload(name, _awaited(loop, _handler(system).fire_before_tool_event))


def _blocking(name: str, hooks: Hooks) -> Workload:
    return Workload(name, calling(hooks.sync.before_tool, fixtures.TOOL_NAME, fixtures.TOOL_INPUT))


def _handler(system: HookSystem) -> HookEventHandler:
    system.initialize_blocking()
    return system.get_event_handler()


def _awaited(loop: Loop, call: Any) -> Any:
    return awaiting(loop, call, fixtures.TOOL_NAME, fixtures.TOOL_INPUT)
