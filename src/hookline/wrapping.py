"""A function that is guarded by hooks from now on, under its own signature.

Hooks are shown the arguments by name, defaults included. Only what a hook rewrote is replaced; the
function gets its own objects otherwise. What a generator yields is held back where AfterTool hooks
will look at it; otherwise it flows.
"""

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing
from inspect import (
    Parameter,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
    signature,
)
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.errors import BlockedByHook, StoppedByHook
from hookline.toolcall import (
    FindTool,
    Firing,
    ToolCall,
    ToolInput,
    ToolResult,
    as_tool_result,
    complete,
    run_call,
)
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
    """The guarded function; each call of it is the template with its input. Plain functions reach
    the hooks through ``blocking``. ``find_tool`` finds what hooks ask for to follow at once."""
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
    # An object that is called is what its method is.
    kinds = (function, function.__call__)
    yields, yields_later = any(map(isgeneratorfunction, kinds)), any(map(isasyncgenfunction, kinds))

    async def call(io: Firing, args: Any, kwargs: Any) -> Any:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        shown: ToolInput = {}
        for name, value in bound.arguments.items():
            # What a function takes as ``**more`` stands beside the others.
            if parameters.parameters[name].kind is Parameter.VAR_KEYWORD:
                shown.update(value)
            elif name != hidden:
                shown[name] = value

        def execute(given: ToolInput) -> Any:
            """Call the function with its own arguments but for those that a hook changed."""
            further: dict[str, Any] = {}
            for name, value in given.items():
                if name in shown and value is shown[name]:
                    continue
                parameter = parameters.parameters.get(name)
                if parameter is None or parameter.kind is Parameter.VAR_KEYWORD:
                    further[name] = value
                else:
                    bound.arguments[name] = value
            made = function(*bound.args, **{**bound.kwargs, **further})
            if not is_held:
                return made
            return [*made] if yields else _collect(made)

        is_held = (yields or yields_later) and io.may_answer(
            HookEventName.AFTER_TOOL, template.name
        )
        tool_call = msgspec.structs.replace(template, input=shown)
        if is_held:
            tool_call = msgspec.structs.replace(tool_call, read=_read_items)
        outcome = await run_call(io, tool_call, execute, find_tool=find_tool)
        if outcome.stop is not None:
            raise StoppedByHook(outcome.stop)
        is_text = outcome.ran and (
            as_text or isinstance(outcome.value, str) or (is_held and _are_texts(outcome.value))
        )
        if not outcome.ran or (outcome.replaced and not is_text):
            # A result that hooks reject must not be handed on, whatever its type.
            if on_block == "raise":
                raise BlockedByHook(template.name, outcome.text)
            return outcome.text
        if is_text and (as_text or outcome.replaced or outcome.added):
            return outcome.text
        if outcome.added:
            kind = type(outcome.value).__name__
            io.warn(
                f"a hook adds to the result of {template.name}, which is a {kind} and stays as it "
                f"is (wrap it with as_text=True): {outcome.added}"
            )
        return outcome.value

    if yields:

        @functools.wraps(function)
        def guarded_generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
            result = complete(call(blocking, args, kwargs))
            yield from result if isinstance(result, list | Generator) else [result]

        return guarded_generator

    if yields_later:

        @functools.wraps(function)
        async def guarded_async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            result = await call(firing, args, kwargs)
            if isinstance(result, AsyncGenerator):
                async with aclosing(result) as items:
                    async for item in items:
                        yield item
                return
            for item in result if isinstance(result, list) else [result]:
                yield item

        return guarded_async_generator

    if any(map(iscoroutinefunction, kinds)):

        @functools.wraps(function)
        async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
            return await call(firing, args, kwargs)

        return guarded_coroutine

    @functools.wraps(function)
    def guarded_function(*args: Any, **kwargs: Any) -> Any:
        return complete(call(blocking, args, kwargs))

    return guarded_function


async def _collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def _are_texts(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


def _read_items(items: Any) -> ToolResult:
    """What a generator yielded, as hooks read it: texts are pieces of one."""
    return as_tool_result("".join(items) if _are_texts(items) else items)
