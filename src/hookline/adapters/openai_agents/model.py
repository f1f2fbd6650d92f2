"""A model behind hooks, and the turn as well, since the SDK has no callback for turns."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeAlias

from agents import FunctionTool, Model, ModelProvider, ModelResponse, ModelTracing, Usage
from agents.exceptions import ModelBehaviorError
from openai.types.responses import Response, ResponseCompletedEvent, ResponseUsage

from hookline.adapters.openai_agents.items import (
    as_model_response,
    as_response,
    has_history,
    is_final,
    make_response,
    name_call,
    put_output,
    read_prompt,
    read_text,
    settle_ids,
)
from hookline.adapters.openai_agents.runs import Run, current_run
from hookline.adapters.openai_agents.toolcalls import open_calls, tool_name
from hookline.adapters.steps import (
    Keep,
    ModelStep,
    Replace,
    Reply,
    Send,
    SendBack,
    describe_refused_call,
)
from hookline.calls.streams import split_response
from hookline.errors import BlockedByHook
from hookline.translate.values import SDKCall, get, put
from hookline.wire.events import HookEventName

# Settings that hooks may change -> the SDK's names.
_SETTINGS = {"temperature": "temperature", "max_output_tokens": "max_tokens", "top_p": "top_p"}
_BROKEN = ("response.incomplete", "response.failed")
# The arguments of a model call, in the order of the SDK.
_NAMES = (
    *("system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs"),
    "tracing",
)
Arguments: TypeAlias = dict[str, Any]


class HookedModel(Model):
    """A model whose calls go through the hooks of the run that makes them."""

    def __init__(self, wrapped: Model) -> None:
        self.wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        # A model's attributes beyond the interface, such as its name and its client.
        if name == "wrapped":
            # A copy under construction has no attributes yet.
            raise AttributeError(name)
        return getattr(self.wrapped, name)

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Call the model between its hooks."""
        arguments = _read_arguments(*given, **more)
        call = ModelCall.of(current_run(), self, arguments)
        if call is None:
            return await self.wrapped.get_response(**arguments)
        spent = Usage()
        while True:
            reply = await call.open()
            if reply is not None:
                return as_model_response(reply)
            response = await self.wrapped.get_response(**call.arguments)
            spent.add(response.usage)
            shown = as_response(response.output, response.usage)
            kept = await call.close(shown)
            if kept is None:
                continue
            if spent.requests != response.usage.requests:
                response = replace(response, usage=spent)
            return response if kept is shown else replace(response, output=kept.output)

    async def stream_response(self, *given: Any, **more: Any) -> AsyncIterator[Any]:
        """Stream the model's response, as it comes if no AfterModel hook can change it."""
        arguments = _read_arguments(*given, **more)
        call = ModelCall.of(current_run(), self, arguments)
        if call is None:
            async with aclosing(_open_stream(self.wrapped, arguments)) as stream:
                async for event in stream:
                    yield event
            return
        spent: ResponseUsage | None = None
        while True:
            reply = await call.open()
            if reply is not None:
                for event in split_response(reply):
                    yield _put_response(event, reply)
                return
            held: list[Any] = []
            done: list[Any] = []
            end = None
            try:
                async with aclosing(_open_stream(self.wrapped, call.arguments)) as stream:
                    async for event in stream:
                        if get(event, "type") == "response.output_item.done":
                            done.append(get(event, "item"))
                        if isinstance(event, ResponseCompletedEvent):
                            end = event
                            held.append(event)
                        elif call.holds_back:
                            held.append(event)
                        else:
                            yield event
            finally:
                if end is None:
                    await call.abandon()
            if end is None:
                # The response is incomplete, so none of it may be shown.
                for event in filter(_is_broken, held):
                    response = get(event, "response")
                    yield (
                        put(event, {"response": put(response, {"output": []})})
                        if (response is not None)
                        else event
                    )
                return
            response = end.response
            if not response.output:
                # Some servers do not repeat the output in the last event.
                response = put_output(response, done)
            kept = await call.close(response)
            if kept is None:
                spent = _sum_usage(spent, response.usage)
                continue
            if spent is not None:
                kept = put(kept, {"usage": _sum_usage(spent, kept.usage)})
            if call.holds_back and kept.output is not response.output:
                held = split_response(kept)
            for event in held:
                yield _put_response(event, kept)
            return

    def get_retry_advice(self, request: Any) -> Any:
        """Return the model's advice on retrying a failed call."""
        return self.wrapped.get_retry_advice(request)

    async def close(self) -> None:
        """Close the model."""
        await self.wrapped.close()

    # The SDK calls it on the model of a run that is over; without it a connection of the wrapped
    # model would stay open.
    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.wrapped._cleanup_on_run_end(owner)


def _read_arguments(
    system_instructions: Any,
    input: Any,
    model_settings: Any,
    tools: Any,
    output_schema: Any,
    handoffs: Any,
    tracing: Any,
    **more: Any,
) -> Arguments:
    given = (
        *(system_instructions, input, model_settings, tools, output_schema, handoffs),
        tracing,
    )
    return {**dict(zip(_NAMES, given, strict=True)), **more}


def _open_stream(model: Model, arguments: Arguments) -> Any:
    """Open a model's stream as the SDK does; the result always has ``aclose``."""
    more = {name: value for name, value in arguments.items() if name not in _NAMES}
    stream = model.stream_response(*(arguments[name] for name in _NAMES), **more)
    return stream if hasattr(stream, "aclose") else _pass_events(stream)


async def _pass_events(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in stream:
        yield event


def _is_broken(event: object) -> bool:
    return get(event, "type") in (*_BROKEN, "error", "response.error")


def _put_response(event: Any, response: Response) -> Any:
    """Return the last event of a stream with the response as hooks left it; others unchanged."""
    if not isinstance(event, ResponseCompletedEvent) or event.response is response:
        return event
    return put(event, {"response": response})


def _sum_usage(first: ResponseUsage | None, second: ResponseUsage | None) -> ResponseUsage | None:
    if first is None or second is None:
        return second if first is None else first
    # A new object, since the SDK caches its own value on a usage.
    return ResponseUsage(
        input_tokens=first.input_tokens + second.input_tokens,
        input_tokens_details=second.input_tokens_details,
        output_tokens=first.output_tokens + second.output_tokens,
        output_tokens_details=second.output_tokens_details,
        total_tokens=first.total_tokens + second.total_tokens,
    )


class HookedProvider(ModelProvider):
    """A provider whose models are hooked."""

    def __init__(self, wrapped: ModelProvider) -> None:
        self._wrapped = wrapped
        self._models: dict[str | None, HookedModel] = {}

    @classmethod
    def of(cls, provider: ModelProvider) -> "HookedProvider":
        """Return the provider hooked, once."""
        return provider if isinstance(provider, HookedProvider) else cls(provider)

    def get_model(self, model_name: str | None) -> Model:
        """Return the model of this name, behind hooks."""
        model = self._wrapped.get_model(model_name)
        known = self._models.get(model_name)
        if known is None or known.wrapped is not model:
            known = self._models[model_name] = hook_model(model)
        return known

    async def aclose(self) -> None:
        """Close the provider."""
        await self._wrapped.aclose()


def hook_model(model: Model) -> HookedModel:
    """Return the model behind hooks, once."""
    return model if isinstance(model, HookedModel) else HookedModel(model)


class ModelCall:
    """One model call, and the calls that follow when AfterAgent hooks send the turn back."""

    def __init__(self, run: Run, model: HookedModel, arguments: Arguments) -> None:
        self._run, self._face = run, run.face
        self._name = str(getattr(model.wrapped, "model", "") or "")
        self._given = arguments
        self.arguments = arguments
        self.holds_back = False
        names = [tool_name(tool) for tool in arguments["tools"]]
        names += [handoff.tool_name for handoff in arguments["handoffs"]]
        self._step = ModelStep(run, available_tools=names or None, ends_turns=True)

    @classmethod
    def of(cls, run: Run | None, model: HookedModel, arguments: Arguments) -> "ModelCall | None":
        """Return the call with its hooks; None if no hook applies to it."""
        if run is None:
            return None
        run.check_runner()
        run.has_called = True
        run.allowed = None
        run.calls.clear()
        if run.facts is not None:
            run.facts.questions.clear()
        may_skip = run.may_skip_model() and run.may_skip_turn()
        if not run.added and may_skip and run.may_skip(HookEventName.SESSION_START):
            tools = arguments["tools"]
            called = (tool_name(tool) for tool in tools if isinstance(tool, FunctionTool))
            if not any(map(run.may_answer, called)):
                return None
        return cls(run, model, arguments)

    async def open(self) -> Response | None:
        """Fire the events before the call; return the reply in its place, None if it may be
        made."""
        run, given = self._run, self._given
        await run.begin(goes_on=has_history(given["input"]))
        if not run.has_turn and run.refusal is None and (run.stop is None or run.is_resumed):
            await self._open_turn()
        decision = await self._step.open(self._show_request)
        while isinstance(decision, SendBack):
            self._go_on(decision)
            decision = await self._step.open(self._show_request)
        if isinstance(decision, Reply):
            return self._make_reply(decision)
        self.holds_back = decision.holds_back
        self.arguments = self._apply_request(decision)
        return None

    async def close(self, response: Response) -> Response | None:
        """Return the response as hooks leave it, the same object if they change nothing; None if
        they send the turn back."""
        run, step = self._run, self._step
        decision = await step.close(response, calls=self._list_unguarded_calls(response))
        if not isinstance(decision, Keep) and run.facts is not None and run.facts.is_kept:
            run.warn_once(
                "hooks changed or rejected a response that the provider has stored: in the "
                "next request the model reads the original; let the program or a Session keep "
                "the conversation instead of conversation_id and previous_response_id"
            )
        if isinstance(decision, Replace):
            response = settle_ids(decision.response)
            self._check_output(response)
        if isinstance(decision, Keep | Replace):
            response = _drop_calls(response, decision.refused)
            await open_calls(run, response, self._given["tools"])
            if run.stop is not None:
                # No call runs, not even those that no hook matches.
                decision = await step.end(run.stop)
        if isinstance(decision, Reply):
            return put_output(response, self._make_reply(decision).output)
        if not isinstance(decision, SendBack):
            sent_back = await step.close_turn(read_text(response)) if is_final(response) else None
            if sent_back is None:
                return response
            decision = sent_back
        self._go_on(decision)
        return None

    async def abandon(self) -> None:
        """Say that hooks do not get what has passed of a stream that broke or was closed."""
        if not self.holds_back:
            await self._step.observe(None)

    async def _open_turn(self) -> None:
        run, prompt = self._run, read_prompt(self._given["input"])
        # A turn that was interrupted goes on.
        goes_on = prompt is None or run.is_resumed
        start = await run.open_turn(prompt or "", goes_on=goes_on)
        if start.texts:
            self._add_item({"role": "user", "content": "\n\n".join(start.texts)})

    def _go_on(self, back: SendBack) -> None:
        self._add_item({"role": "assistant", "content": back.answer})
        self._add_item({"role": "user", "content": back.prompt})

    def _add_item(self, item: dict[str, Any]) -> None:
        """Add an item to the conversation, for this call and those that follow in the run."""
        items = self._given["input"]
        self._run.added.append((1 if isinstance(items, str) else len(items), [item]))

    def _insert_added(self, items: Any) -> Any:
        added = self._run.added
        if not added:
            return items
        whole = [{"role": "user", "content": items}] if isinstance(items, str) else list(items)
        for before, more in reversed(added):
            whole[min(before, len(whole)) : min(before, len(whole))] = more
        if self._given.get("conversation_id") or self._given.get("previous_response_id"):
            # The server keeps the items of earlier requests.
            added.clear()
        return whole

    def _show_request(self, texts: Sequence[str]) -> SDKCall:
        """Return the request as the API's translator reads it."""
        if texts:
            self._add_item({"role": "user", "content": "\n\n".join(texts)})
        given = self._given
        self.arguments = arguments = {**given, "input": self._insert_added(given["input"])}
        settings, prompt = arguments["model_settings"], arguments.get("prompt")
        shown: dict[str, Any] = {"model": self._name, "input": arguments["input"]}
        for name, own in _SETTINGS.items():
            if (value := getattr(settings, own)) is not None:
                shown[name] = value
        offered = [*arguments["tools"], *arguments["handoffs"]]
        if offered:
            names = (getattr(each, "tool_name", None) or tool_name(each) for each in offered)
            shown["tools"] = [{"type": "function", "name": name} for name in names]
        choice = settings.tool_choice
        if choice is not None:
            is_mode = choice in ("auto", "required", "none")
            named = choice if isinstance(choice, str) else choice.server_label
            shown["tool_choice"] = choice if is_mode else {"type": "function", "name": named}
        if prompt is not None:
            shown["prompt"] = prompt
        self._shown = SDKCall("openai-responses", shown)
        return self._shown

    def _apply_request(self, send: Send) -> Arguments:
        """Return the arguments to call the model with."""
        arguments, shown = self.arguments, self._shown
        request, applied = send.request, dict(arguments)
        if send.holds_back and arguments["tracing"] is ModelTracing.ENABLED:
            # The model's span must not hold what hooks may take out of the response.
            applied["tracing"] = ModelTracing.ENABLED_WITHOUT_DATA
        if request is shown:
            return applied
        applied["input"] = request["input"]
        if request.get("model") != shown["model"]:
            self._face.warn(
                f"a hook set the model {request.get('model')!r}, but only the agent can choose it; "
                "it was ignored"
            )
        changes = {
            own: request.get(name)
            for name, own in _SETTINGS.items()
            if request.get(name) != shown.get(name)
        }
        choice = request.get("tool_choice")
        if choice != shown.get("tool_choice"):
            mode = choice if isinstance(choice, str) else get(choice, "mode")
            changes["tool_choice"] = mode
        if send.allowed is not None:
            applied["tools"] = [t for t in arguments["tools"] if tool_name(t) in send.allowed]
            handoffs = arguments["handoffs"]
            applied["handoffs"] = [h for h in handoffs if h.tool_name in send.allowed]
            if not applied["tools"] and not applied["handoffs"]:
                # The API rejects a tool choice if there are no tools.
                changes["tool_choice"] = None
        if changes:
            applied["model_settings"] = replace(arguments["model_settings"], **changes)
        return applied

    def _list_unguarded_calls(self, response: Response) -> list[str]:
        """Return the tools that a response calls and that cannot be refused when they run."""
        kinds = ("function_call", "computer_call", "mcp_approval_request")
        names = (name_call(item) for item in response.output if get(item, "type") in kinds)
        return [name for name in names if name is not None and name not in self._run.guarded]

    def _make_reply(self, reply: Reply) -> Response:
        """Make the response that ends the run; raise the reply's error if it does not have the
        agent's output type."""
        made = make_response(reply.text) if reply.response is None else settle_ids(reply.response)
        schema = self._given["output_schema"]
        if schema is not None and not schema.is_plain_text():
            try:
                schema.validate_json(read_text(made))
            except ModelBehaviorError:
                raise reply.error from None
        return made

    def _check_output(self, response: Response) -> None:
        """Raise BlockedByHook if hooks made a structured answer invalid."""
        schema = self._given["output_schema"]
        if schema is None or schema.is_plain_text() or not is_final(response):
            return
        try:
            schema.validate_json(read_text(response))
        except ModelBehaviorError as error:
            raise BlockedByHook(
                "the model's response",
                f"hooks left an answer that does not have the agent's output type: {error}",
            ) from None


def _drop_calls(response: Response, names: Sequence[str]) -> Response:
    """Return the response without the calls of these tools; if nothing else is left in it, with
    why."""
    if not names:
        return response
    left = [item for item in response.output if name_call(item) not in names]
    changed = put_output(response, left)
    if is_final(changed) or any(name_call(item) is not None for item in left):
        return changed
    said = " ".join(map(describe_refused_call, names))
    return put_output(response, [*left, *make_response(said).output])
