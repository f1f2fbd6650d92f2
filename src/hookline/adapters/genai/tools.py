"""The tools of a config behind hooks: Python callables, and the sessions of MCP servers.

The SDK calls a tool and makes a function response of what it returns or raises. A guarded tool
keeps name, signature and kind of the original, and returns what the model should read.
"""

import asyncio
import functools
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, iscoroutinefunction, signature
from typing import Any, TypeAlias, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hookline.adapters.genai.models import Call, current_call, settle
from hookline.adapters.steps import ToolOutcome, ToolStep, complete
from hookline.calls.tool import (
    Confirm,
    Execute,
    FollowingTool,
    ToolError,
    ToolInput,
    ToolResult,
    text_of,
)
from hookline.errors import HooklineError, describe
from hookline.translate.genai_values import field, list_field

MakeCall: TypeAlias = Callable[[], Call]
# The tools of one config by name, for hooks that call another tool afterwards.
Known: TypeAlias = dict[str, Execute | FollowingTool]


class ToolGuard:
    """Puts tools behind hooks; ``make_call`` makes a call for a tool that runs outside of one."""

    def __init__(self, make_call: MakeCall, confirm: Confirm | None) -> None:
        self._make_call = make_call
        self._confirm = confirm

    def guard(self, config: Any, *, opens_servers: bool = False) -> Any:
        """Return the config with its tools behind hooks; the same if it has none. Raise
        HooklineError if the SDK would open sessions of MCP servers and call their tools itself."""
        tools = list_field(config, "tools") if config else []
        known: Known = {}
        guarded = [self._guard_tool(tool, known) for tool in tools]
        for tool in tools:
            if opens_servers and field(tool, "mcpServers"):
                raise HooklineError(
                    "hooks do not see the tools of mcp_servers, which google-genai calls itself; "
                    "pass a mcp.ClientSession instead"
                )
        if all(new is old for new, old in zip(guarded, tools, strict=True)):
            return config
        if isinstance(config, Mapping):
            return {**config, "tools": guarded}
        return config.model_copy(update={"tools": guarded})

    def _guard_tool(self, tool: Any, known: Known) -> Any:
        mcp = sys.modules.get("mcp")
        if mcp is not None and isinstance(tool, mcp.ClientSession):
            return _make_session_class(mcp.ClientSession)(tool, self, known)
        if not callable(tool) or not hasattr(tool, "__name__"):
            return tool
        return self._guard_function(tool, known)

    def _guard_function(self, function: Any, known: Known) -> Any:
        name: str = function.__name__
        parameters = signature(function)
        known[name] = functools.partial(_call_checked, function)

        async def run(args: tuple[Any, ...], kwargs: dict[str, Any], *, blocking: bool) -> Any:
            call = current_call() or self._make_call()
            if call.may_skip_tool(name):
                with call.inside_tool():
                    return await settle(function(*args, **kwargs), blocking=blocking)
            shown = _show_input(parameters, args, kwargs)

            def execute(given: ToolInput) -> Any:
                changed = {
                    key: value
                    for key, value in given.items()
                    if key not in shown or value is not shown[key]
                }
                if not changed:
                    return function(*args, **kwargs)
                return function(*args, **{**kwargs, **_convert(function, changed)})

            outcome = await self.run_tool(
                call, name, shown, execute, known, blocking=blocking, read=_read_value
            )
            return outcome.value if _is_untouched(outcome) else outcome.text

        if iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
                return await run(args, kwargs, blocking=False)

            return guarded_coroutine

        @functools.wraps(function)
        def guarded_function(*args: Any, **kwargs: Any) -> Any:
            return complete(run(args, kwargs, blocking=True))

        return guarded_function

    async def run_tool(
        self,
        call: Call,
        name: str,
        shown: ToolInput,
        execute: Execute,
        known: Known,
        *,
        blocking: bool,
        read: Callable[[Any], ToolResult],
        mcp_context: Mapping[str, Any] | None = None,
    ) -> ToolOutcome:
        """Run a tool between its hooks. Its exception propagates, with what hooks add, unless they
        replace it."""

        def find_tool(other: str) -> Execute | FollowingTool | None:
            found = known.get(other)
            if found is None or isinstance(found, FollowingTool) or blocking:
                return found
            return functools.partial(_run_in_thread, found)

        step = ToolStep(
            call,
            name,
            shown,
            confirm=self._confirm,
            mcp_context=mcp_context,
            read=read,
            blocking=blocking,
        )
        refused = await step.open()
        if refused is not None:
            return refused
        try:
            with call.inside_tool():
                value = await settle(execute(step.input), blocking=blocking)
        except RefusedInput as error:
            return ToolOutcome(result=ToolResult(str(error)), ran=False)
        except Exception as error:
            outcome = await step.close(error=error)
            if outcome.replaced:
                return outcome
            if outcome.added:
                raise RuntimeError(f"{describe(error)}\n\n{outcome.added}") from error
            raise
        try:
            return await step.close(result=value, find_tool=find_tool)
        except RefusedInput as error:
            return ToolOutcome(result=ToolResult(str(error)), ran=False)
        except Exception:
            # Without the error: AfterTool hooks may have replaced it.
            failed = f"hooks called another tool after {name}, and it failed"
            return ToolOutcome(result=ToolResult(failed), ran=False)


async def _run_in_thread(execute: Execute, given: ToolInput) -> Any:
    """Run a tool as the SDK does: a sync one in a thread, so that it does not block the loop."""
    return await settle(await asyncio.to_thread(execute, given))


class RefusedInput(Exception):
    """The tool rejects the input that hooks gave it, and did not run."""


def _is_untouched(outcome: ToolOutcome) -> bool:
    return outcome.ran and not outcome.replaced and not outcome.added


def _show_input(parameters: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolInput:
    """Return the arguments of a call by name, with defaults: what the tool will work with."""
    try:
        bound = parameters.bind(*args, **kwargs)
    except TypeError:
        # The function itself reports what is missing.
        return dict(kwargs)
    bound.apply_defaults()
    shown: ToolInput = {}
    for name, value in bound.arguments.items():
        kind = parameters.parameters[name].kind
        if kind is Parameter.VAR_KEYWORD:
            shown |= {key: held for key, held in value.items() if key not in shown}
        elif kind is not Parameter.VAR_POSITIONAL or value:
            shown[name] = value
    return shown


def _convert(function: Callable[..., Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Convert what hooks changed in an input to the types of the function's annotations; raise
    RefusedInput for a value that does not fit."""
    try:
        hints = get_type_hints(function)
    except Exception:
        # Evaluating annotations can raise anything.
        return dict(changed)
    converted = dict(changed)
    for name in changed.keys() & hints.keys():
        try:
            converted[name] = TypeAdapter(hints[name]).validate_python(changed[name])
        except ValidationError as error:
            # Without the value: the model must not read what hooks put there.
            problems = "; ".join(problem["msg"] for problem in error.errors(include_input=False))
            raise RefusedInput(
                f"hooks gave {getattr(function, '__name__', function)} an invalid value of {name}, "
                f"so it did not run: {problems}"
            ) from error
        except Exception:
            # pydantic does not know the type; the function gets the value as it is.
            continue
    return converted


def _call_checked(function: Callable[..., Any], given: ToolInput) -> Any:
    return function(**_convert(function, given))


def _read_value(value: Any) -> ToolResult:
    """Read a result for hooks; a list is data, not parts."""
    return ToolResult("" if value is None else text_of(value))


@functools.cache
def _make_session_class(base: Any) -> Any:
    """Make a class of MCP sessions whose calls go through hooks. The SDK recognizes sessions by
    their class, which is not imported here, since most programs have no sessions."""

    class GuardedSession(base):  # type: ignore[misc]
        def __init__(self, session: Any, guard: ToolGuard, known: Known) -> None:
            self.__dict__.update(_session=session, _guard=guard, _known=known)

        def __getattribute__(self, name: str) -> Any:
            if name in _OWN:
                return object.__getattribute__(self, name)
            return getattr(object.__getattribute__(self, "_session"), name)

        def __deepcopy__(self, _memo: object) -> "GuardedSession":
            # The SDK copies configs, and a connection cannot be copied.
            return self

        async def list_tools(self, *args: Any, **kwargs: Any) -> Any:
            listed = await self._session.list_tools(*args, **kwargs)
            for tool in listed.tools:
                execute = functools.partial(self._session.call_tool, tool.name)
                following = FollowingTool(execute, tool.name, self._describe_tool(tool.name))
                self._known.setdefault(tool.name, following)
            return listed

        def _describe_tool(self, name: str) -> dict[str, Any]:
            server = getattr(self._session, "server_info", None)
            return {"server_name": getattr(server, "name", ""), "tool_name": name}

        async def call_tool(
            self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **kwargs: Any
        ) -> Any:
            call = current_call() or self._guard._make_call()
            given = arguments or {}
            if call.may_skip_tool(name):
                with call.inside_tool():
                    return await self._session.call_tool(name, arguments, *args, **kwargs)
            outcome = await self._guard.run_tool(
                call,
                name,
                given,
                lambda changed: self._session.call_tool(name, changed, *args, **kwargs),
                self._known,
                blocking=False,
                read=_read_mcp_result,
                mcp_context=self._describe_tool(name),
            )
            return _apply_to_mcp(outcome)

    return GuardedSession


_OWN = frozenset(
    {
        *("_session", "_guard", "_known", "_describe_tool", "list_tools", "call_tool"),
        *("__class__", "__deepcopy__", "__dict__"),
    }
)


def _read_mcp_result(result: Any) -> ToolResult:
    """Read an MCP server's result for hooks."""
    if not hasattr(result, "content"):
        return _read_value(result)
    blocks = [block.model_dump(by_alias=True, exclude_none=True) for block in result.content]
    parts = [{"text": block["text"]} if block.get("type") == "text" else block for block in blocks]
    structured = field(result, "structuredContent") or getattr(result, "structuredContent", None)
    content: Any = parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else parts
    if structured is not None:
        content = [*parts, {"text": text_of(structured)}]
    failure = None
    if field(result, "isError") or getattr(result, "isError", False):
        failure = ToolError("tool_failed", text_of(content))
    return ToolResult(content, error=failure)


def _make_mcp_result(text: str, *, is_error: bool) -> Any:
    said = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return sys.modules["mcp"].types.CallToolResult.model_validate(said)


def _apply_to_mcp(outcome: ToolOutcome) -> Any:
    """Return the result as hooks leave it, in the form of an MCP server's result."""
    value = outcome.value
    if _is_untouched(outcome) and hasattr(value, "content"):
        return value
    if outcome.ran and not outcome.replaced and hasattr(value, "content"):
        added = _make_mcp_result(outcome.added, is_error=False).content
        return value.model_copy(update={"content": [*value.content, *added]})
    return _make_mcp_result(outcome.text, is_error=not outcome.ran)
