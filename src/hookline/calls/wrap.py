"""Wraps a function in hooks; the wrapped function keeps its signature.

Hooks read the arguments by name, defaults included. Only arguments that a hook rewrote are
replaced; the function gets the caller's own objects otherwise. If AfterTool hooks exist, what a
generator yields is held back until they have answered, so the caller cannot send to it.
"""

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import aclosing, suppress
from inspect import (
    Parameter,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
    signature,
)
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.calls.tool import (
    FindTool,
    Firing,
    ToolCall,
    ToolInput,
    ToolResult,
    as_tool_result,
    complete,
    make_call_id,
    run_call,
)
from hookline.errors import BlockedByHook, StoppedByHook
from hookline.wire.events import HookEventName

OnBlock: TypeAlias = Literal["raise", "return"]


def wrap_function(
    function: Any,
    template: ToolCall,
    firing: Firing,
    blocking: Firing,
    *,
    find_tool: FindTool,
    on_block: OnBlock,
    as_text: bool,
) -> Any:
    """Return the wrapped function; each call is the template with that call's input. Plain
    functions reach the hooks through ``blocking``. ``find_tool`` finds the tools of tail calls."""
    if isinstance(function, classmethod | staticmethod):
        guarded = wrap_function(
            function.__func__,
            template,
            firing,
            blocking,
            find_tool=find_tool,
            on_block=on_block,
            as_text=as_text,
        )
        return type(function)(guarded)
    parameters = signature(function)
    first = next(iter(parameters.parameters), None)
    hidden = first if first in ("self", "cls") else None
    # A callable object is of the same kind as its __call__ method.
    kinds = (function, function.__call__)
    yields, yields_later = any(map(isgeneratorfunction, kinds)), any(map(isasyncgenfunction, kinds))

    async def call(io: Firing, args: Any, kwargs: Any) -> Any:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        shown: ToolInput = {}
        for name, value in bound.arguments.items():
            if parameters.parameters[name].kind is Parameter.VAR_KEYWORD:
                # Keywords of ``**more`` stand beside the other arguments, except those that
                # would hide another parameter's value.
                hiding = {key: value[key] for key in value if key in parameters.parameters}
                shown.update({key: value[key] for key in value if key not in hiding})
                if hiding:
                    shown[name] = hiding
            elif name != hidden:
                shown[name] = value

        def execute(given: ToolInput) -> Any:
            """Call the function with the caller's arguments, except those that a hook changed."""
            further: dict[str, Any] = {}
            for name, value in given.items():
                if name in shown and value is shown[name]:
                    continue
                parameter = parameters.parameters.get(name)
                if parameter is None or name == hidden:
                    further[name] = value
                elif parameter.kind is not Parameter.VAR_KEYWORD:
                    bound.arguments[name] = value
                elif name in shown and isinstance(value, Mapping):
                    bound.arguments[name] = {**bound.arguments[name], **value}
                else:
                    further[name] = value
            removed = shown.keys() - given.keys()
            for name in removed:
                bound.arguments.pop(name, None)
            named = {**bound.kwargs, **further}
            # Keywords of ``**more`` are not parameters.
            for name in removed - parameters.parameters.keys():
                named.pop(name, None)
            made = function(*bound.args, **named)
            if not is_held:
                return made
            return [*made] if yields else _collect(made)

        is_held = (yields or yields_later) and io.may_answer(
            HookEventName.AFTER_TOOL, template.name
        )
        tool_call = msgspec.structs.replace(template, input=shown, id=make_call_id())
        if is_held:
            tool_call = msgspec.structs.replace(tool_call, read=_read_items)
        outcome = await run_call(io, tool_call, execute, find_tool=find_tool)
        if outcome.stop is not None:
            raise StoppedByHook(outcome.stop)
        is_text = outcome.ran and (
            as_text or isinstance(outcome.value, str) or (is_held and _are_texts(outcome.value))
        )
        if not outcome.ran or (outcome.replaced and not is_text):
            # A result that hooks reject must not be returned, whatever its type.
            if on_block == "raise":
                raise BlockedByHook(template.name, outcome.text)
            return outcome.text
        if is_text and (as_text or outcome.replaced or outcome.added):
            return outcome.text
        if outcome.added:
            kind = type(outcome.value).__name__
            io.warn(
                f"cannot add a hook's text to the result of {template.name}, which is a {kind}; "
                f"wrap the function with as_text=True: {outcome.added}"
            )
        return outcome.value

    def look_alike(guarded: Any) -> Any:
        """Copy the function's name and metadata; some callables have no name of their own."""
        guarded.__name__ = guarded.__qualname__ = template.name
        return functools.update_wrapper(guarded, function)

    if yields:

        @look_alike
        def guarded_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            result = complete(call(blocking, args, kwargs))
            return (yield from result if isinstance(result, list | Generator) else [result])

        return guarded_generator

    if yields_later:

        @look_alike
        async def guarded_async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            result = await call(firing, args, kwargs)
            if isinstance(result, AsyncGenerator):
                async with aclosing(result) as items:
                    sent = None
                    with suppress(StopAsyncIteration):
                        while True:
                            sent = yield await items.asend(sent)
                return
            for item in result if isinstance(result, list) else [result]:
                yield item

        return guarded_async_generator

    if any(map(iscoroutinefunction, kinds)):

        @look_alike
        async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
            return await call(firing, args, kwargs)

        return guarded_coroutine

    @look_alike
    def guarded_function(*args: Any, **kwargs: Any) -> Any:
        return complete(call(blocking, args, kwargs))

    return guarded_function


async def _collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def _are_texts(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


def _read_items(items: Any) -> ToolResult:
    """Turn what a generator yielded into a result: strings are joined into one text."""
    return as_tool_result("".join(items) if _are_texts(items) else items)
