"""A program that takes something away from its own process, then fires events through every door.

Run as ``starved.py LACK WHEN SOURCE DIRECTORY``. Prints a line for each door and tool: the door,
the tool, and whether the tool was blocked or allowed, or what was raised.
"""

import asyncio
import os
import resource
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

import msgspec

from hookline import BlockedByHook, Hooks
from hookline.adapters.conversations import Conversation
from hookline.calls.tool import complete
from hookline.contract import HookSystem, execute_tool_with_hooks, fire_before_tool_hook
from hookline.hooks import HookSession

GUARDED, FREE = "guarded", "free"
TOOLS = (GUARDED, FREE)
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
DENYING = "echo no >&2; exit 2"
RAN = "the tool ran"
RESPONSE = {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}


HOARD: list[bytearray] = []


def take_descriptors() -> None:
    lowest = os.open(os.devnull, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))


def take_imports() -> None:
    class Refusing(MetaPathFinder):
        def find_spec(self, name: str, _path: object, _target: object = None) -> NoReturn:
            raise ImportError(f"{name} cannot be imported any more")

    sys.meta_path.insert(0, Refusing())


def take_threads() -> None:
    """Neither threads nor processes; the superuser has no such limit."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        return
    raise SystemExit("threads can still be started")


def take_memory() -> None:
    """No more than what is free in the process already, a few kilobytes in small pieces."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    used = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    size = 1 << 20
    while size > 4096:
        try:
            HOARD.append(bytearray(size))
        except MemoryError:
            size >>= 1


LACKS = {
    "memory": take_memory,
    "descriptors": take_descriptors,
    "imports": take_imports,
    "threads": take_threads,
}


def hook(command: str, on_failure: str) -> dict[str, Any]:
    return {"type": "command", "command": command, "onFailure": on_failure}


def settings() -> dict[str, Any]:
    """A guard that denies; beside it a hook that may fail, of another tool."""
    of_tools = [
        {"matcher": GUARDED, "hooks": [hook(DENYING, "block")]},
        {"matcher": FREE, "hooks": [hook("exit 0", "allow")]},
    ]
    of_models = [{"hooks": [hook(DENYING, "block")]}]
    tools = dict.fromkeys(("BeforeTool", "AfterTool"), of_tools)
    return {**tools, "BeforeModel": of_models, "BeforeToolSelection": of_models}


def from_code(_directory: str) -> Hooks:
    return Hooks(hooks=settings())


def from_functions(_directory: str) -> Hooks:
    """Plain functions, each of which needs a thread."""
    hooks = Hooks()
    for event in ("BeforeTool", "AfterTool"):

        @hooks.on(event, matcher=GUARDED, on_failure="block")
        def guard(_event: Any) -> Any:
            return {"decision": "deny", "reason": "no"}

        @hooks.on(event, matcher=FREE)
        def other(_event: Any) -> Any:
            return None

    for event in ("BeforeModel", "BeforeToolSelection"):
        hooks.on(event, on_failure="block")(lambda _event: {"decision": "deny", "reason": "no"})
    return hooks


def from_files(directory: str) -> Hooks:
    return Hooks.load(directory, trusted=True)


SOURCES: dict[str, Callable[[str], Hooks]] = {
    "code": from_code,
    "functions": from_functions,
    "files": from_files,
}


def system_of(hooks: Hooks) -> HookSystem:
    """The hook system of a door that was built with one."""
    system = hooks.config.get_hook_system()
    assert system is not None
    return system


def tool() -> str:
    return RAN


async def async_tool() -> str:
    return RAN


def ask_model(**_request: Any) -> dict[str, Any]:
    return RESPONSE


def fields(name: str) -> dict[str, Any]:
    return {"tool_name": name, "tool_input": {}}


def is_refused(call: Callable[[], object]) -> bool:
    try:
        return call() != RAN
    except BlockedByHook:
        return True


# Each returns whether the tool is blocked.
DOORS: dict[str, Callable[[Hooks, str], bool]] = {
    "fire": lambda hooks, name: hooks.sync.fire("BeforeTool", fields(name)).blocked,
    "fire by another name": lambda hooks, name: hooks.sync.fire("PreToolUse", fields(name)).blocked,
    "claude": lambda hooks, name: hooks.sync.fire_claude_event("PreToolUse", fields(name)).blocked,
    "before_tool": lambda hooks, name: hooks.sync.before_tool(name, {}).blocked,
    "after_tool": lambda hooks, name: hooks.sync.after_tool(name, {}, {}).blocked,
    "of a server": lambda hooks, name: (
        hooks.sync.before_tool(name, {}, mcp_context={"server_name": "s"}).blocked
    ),
    "session": lambda hooks, name: hooks.session("s").sync.before_tool(name, {}).blocked,
    "run_tool": lambda hooks, name: hooks.sync.run_tool(tool, {}, name=name).llm_content != RAN,
    "tool_gate": lambda hooks, name: hooks.sync.tool_gate(name, {}).refusal is not None,
    "wrap": lambda hooks, name: is_refused(hooks.wrap(tool, name=name)),
    "adapter": lambda hooks, name: (
        complete(Conversation(hooks).blocking.tool_gate(name, {})).refusal is not None
    ),
    "fire_blocking": lambda hooks, name: (
        system_of(hooks).fire_blocking("BeforeTool", fields(name)).blocked
    ),
    "fire_blocking by another name": lambda hooks, name: (
        system_of(hooks).fire_blocking("PreToolUse", fields(name)).blocked
    ),
    "before_model": lambda hooks, name: (
        name == GUARDED and hooks.sync.before_model(REQUEST).blocked
    ),
    "model_gate": lambda hooks, name: (
        name == GUARDED and hooks.sync.model_gate(REQUEST).outcome is not None
    ),
    "model_call": lambda hooks, name: (
        name == GUARDED and bool(hooks.sync.model_call(ask_model, **REQUEST) != RESPONSE)
    ),
}


async def fire_handler(hooks: Hooks, name: str) -> bool:
    handler = system_of(hooks).get_event_handler()
    return (await handler.fire("BeforeTool", fields(name))).blocked


async def fire_handler_method(hooks: Hooks, name: str) -> bool:
    handler = system_of(hooks).get_event_handler()
    return (await handler.fire_before_tool_event(name, {})).blocked


async def fire(hooks: Hooks, name: str) -> bool:
    return (await hooks.fire("BeforeTool", fields(name))).blocked


async def before_tool(hooks: Hooks, name: str) -> bool:
    return (await hooks.before_tool(name, {})).blocked


async def run_tool(hooks: Hooks, name: str) -> bool:
    return (await hooks.run_tool(async_tool, {}, name=name)).llm_content != RAN


async def wrap(hooks: Hooks, name: str) -> bool:
    try:
        return await hooks.wrap(async_tool, name=name)() != RAN
    except BlockedByHook:
        return True


async def heard(hooks: Hooks, name: str) -> bool:
    return (await HookSession(hooks.view.heard).tool_gate(name, {})).refusal is not None


async def closed(hooks: Hooks, name: str) -> bool:
    answer = await HookSession(msgspec.structs.replace(hooks.view, closed=True)).before_tool(
        name, {}
    )
    return answer.blocked and name == GUARDED


async def trigger(hooks: Hooks, name: str) -> bool:
    output = await fire_before_tool_hook(hooks.config, name, {})
    return output is not None and output.is_blocking_decision()


async def execute_tool(hooks: Hooks, name: str) -> bool:
    result = await execute_tool_with_hooks(hooks.config, name, {}, lambda _input: RAN)
    return result.llm_content != RAN


async def blocking_in_a_loop(hooks: Hooks, name: str) -> bool:
    return hooks.sync.before_tool(name, {}).blocked


async def model_stream(hooks: Hooks, name: str) -> bool:
    if name == FREE:
        return False
    chunks = [*await hooks.model_call(ask_model, **REQUEST, stream=True)]
    return chunks != [RESPONSE]


ASYNC_DOORS = (
    *(fire, before_tool, run_tool, wrap, heard, closed, trigger, execute_tool),
    *(blocking_in_a_loop, fire_handler, fire_handler_method, model_stream),
)


def run(
    loop: asyncio.AbstractEventLoop,
    door: Callable[[Hooks, str], Coroutine[Any, Any, bool]],
    hooks: Hooks,
    name: str,
) -> bool:
    return loop.run_until_complete(door(hooks, name))


def describe(fire: Callable[[Hooks, str], bool], hooks: Hooks, name: str) -> str:
    try:
        return "blocked" if fire(hooks, name) else "allowed"
    except BaseException as error:
        return f"raised {error!r}"


def main(lack: str, when: str, source: str, directory: str) -> None:
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        doors = dict(DOORS)
        for coroutine in ASYNC_DOORS:
            doors[f"await {coroutine.__name__}"] = partial(run, loop, coroutine)
        built = {name: SOURCES[source](directory) for name in doors}
        for name, hooks in built.items():
            if when == "later":
                hooks.sync.notification("the first event")
            if "fire_blocking" in name or "handler" in name:
                system_of(hooks).initialize_blocking()
                system_of(hooks).get_event_handler()
        LACKS[lack]()
        for name, door in doors.items():
            for tool in TOOLS:
                outcome = describe(door, built[name], tool)
                sys.stdout.write(f"{name}\t{tool}\t{outcome}\n")
        sys.stdout.flush()
        # What the interpreter does at its end is of no interest here.
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
