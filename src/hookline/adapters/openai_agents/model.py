"""A model behind hooks, and the turn as well, since the SDK has no callback for turns."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeAlias

from agents import FunctionTool, Model, ModelProvider, ModelResponse, ModelTracing, Usage
from agents.exceptions import ModelBehaviorError
from openai.types.responses import Response, ResponseCompletedEvent, ResponseUsage

from hookline.adapters.gates import ModelGate, TurnGate
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
from hookline.calls.streams import split_response
from hookline.calls.subagent import SubagentGate
from hookline.errors import BlockedByHook, HooklineError, StoppedByHook
from hookline.translate.values import SDKCall, get, put
from hookline.wire.events import HookEventName

_EVENTS = (
    HookEventName.BEFORE_TOOL_SELECTION,
    HookEventName.BEFORE_MODEL,
    HookEventName.AFTER_MODEL,
    HookEventName.BEFORE_AGENT,
    HookEventName.AFTER_AGENT,
    HookEventName.SESSION_START,
)
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
        """Stream the model's response, as it comes if there is no AfterModel hook."""
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
        self._gate: ModelGate | None = None

    @classmethod
    def of(cls, run: Run | None, model: HookedModel, arguments: Arguments) -> "ModelCall | None":
        """Return the call with its hooks; None if no hook applies to it."""
        if run is None:
            return None
        run.check_runner()
        run.has_called = True
        run.allowed = None
        run.gates.clear()
        if run.facts is not None:
            run.facts.questions.clear()
        is_over = run.root.stop is not None or run.refusal is not None
        may_skip = run.face.may_skip(*_EVENTS) and run.may_skip_subagent()
        if not is_over and not run.added and may_skip:
            tools = arguments["tools"]
            called = (tool_name(tool) for tool in tools if isinstance(tool, FunctionTool))
            if not any(map(run.may_answer, called)):
                return None
        return cls(run, model, arguments)

    @property
    def holds_back(self) -> bool:
        """True if AfterModel hooks must see the response first."""
        return self._gate is not None and self._gate.holds_back

    async def open(self) -> Response | None:
        """Fire the events before the call; return the reply in its place, None if it may be
        made."""
        run, given = self._run, self._given
        await run.begin(goes_on=has_history(given["input"]))
        may_begin = run.refusal is None and (run.stop is None or run.is_resumed)
        if run.root is run and run.turn is None and may_begin:
            await self._open_turn()
        elif run.root is not run and run.subagent is None and may_begin:
            await self._open_subagent()
        if run.root.stop is not None:
            reply = self._reply(run.root.stop, StoppedByHook(run.root.stop))
            return await self._close_turn(reply, may_send_back=False)
        if run.refusal is not None:
            return self._reply(run.refusal, BlockedByHook("the turn", run.refusal))
        if kept := run.conversation.take():
            self._add_item({"role": "user", "content": "\n\n".join(kept)})
        arguments = {**given, "input": self._insert_added(given["input"])}
        request = self._show_request(arguments)
        names = [tool_name(tool) for tool in given["tools"]]
        names += [handoff.tool_name for handoff in given["handoffs"]]
        gate = self._gate = await self._face.model_gate(request, available_tools=names or None)
        run.allowed = gate.allowed
        outcome = gate.outcome
        if outcome is None:
            self.arguments = self._apply_request(arguments, request, gate)
            return None
        if outcome.message:
            run.conversation.keep(f"[System] {outcome.message}")
        reason = outcome.reason or ""
        if outcome.stop is not None:
            run.end(outcome.stop)
            reply = self._reply(outcome.stop, StoppedByHook(outcome.stop))
            return await self._close_turn(reply, may_send_back=False)
        reply = self._reply(outcome.response, BlockedByHook("the model call", reason))
        return await self._close_turn(reply, may_send_back=False)

    async def close(self, response: Response) -> Response | None:
        """Return the response as hooks leave it, the same object if they change nothing; None if
        they send the turn back."""
        gate, run = self._gate, self._run
        assert gate is not None
        if gate.holds_back:
            outcome = await gate.finish(response)
            if outcome.message:
                run.conversation.keep(f"[System] {outcome.message}")
            if outcome.response is not response and run.facts is not None and run.facts.is_kept:
                run.warn_once(
                    "hooks changed or rejected a response that the provider has stored: in the "
                    "next request the model reads the original; let the program or a Session keep "
                    "the conversation instead of conversation_id and previous_response_id"
                )
            if outcome.stop is not None:
                run.end(outcome.stop)
                reply = self._reply(outcome.stop, StoppedByHook(outcome.stop))
            elif outcome.blocked:
                end = BlockedByHook("the model's response", outcome.reason or "")
                reply = self._reply(outcome.response, end)
            else:
                reply = None
            if reply is not None:
                kept = put_output(response, reply.output)
                return await self._close_turn(kept, may_send_back=False)
            if outcome.response is not response:
                response = settle_ids(outcome.response)
                self._check_output(response)
        response = self._drop_refused(response)
        await open_calls(run, response, self._given["tools"])
        if run.root.stop is not None:
            # No call runs, not even those that no hook matches.
            reply = self._reply(run.root.stop, StoppedByHook(run.root.stop))
            kept = put_output(response, reply.output)
            return await self._close_turn(kept, may_send_back=False)
        return await self._close_turn(response) if is_final(response) else response

    # -- the turn

    async def _open_turn(self) -> None:
        run, items = self._run, self._given["input"]
        prompt = read_prompt(items)
        run.turn = TurnGate(run.conversation, prompt or "")
        if prompt is None or run.is_resumed:
            # A turn that was interrupted goes on.
            return
        start = await run.turn.open(self._face)
        if start.refusal is not None:
            run.turn = None
            if start.stop:
                run.end(start.refusal)
            else:
                run.refusal = start.refusal
        elif start.texts:
            self._add_item({"role": "user", "content": "\n\n".join(start.texts)})

    async def _close_turn(
        self, response: Response, *, may_send_back: bool = True
    ) -> Response | None:
        """Fire AfterAgent; return the response that ends the turn, None if hooks send it back."""
        run = self._run
        text = read_text(response)
        if run.subagent is not None:
            return await self._close_subagent(response, text, may_send_back=may_send_back)
        if run.root is not run or run.turn is None:
            return response
        end = await run.turn.close(self._face, text)
        for kept in end.texts:
            run.conversation.keep(kept)
        if end.clear_context:
            self._face.warn(
                "AfterAgent hooks want the conversation cleared, but the program keeps it; start "
                "another Session"
            )
        if end.stop is not None:
            run.end(end.stop)
        if end.send_back is None:
            return response
        if not may_send_back:
            self._face.warn(
                "AfterAgent hooks sent a turn back that other hooks had ended; it stays ended: "
                f"{end.send_back}"
            )
            return response
        self._add_item({"role": "assistant", "content": text})
        self._add_item({"role": "user", "content": end.send_back})
        return None

    async def _open_subagent(self) -> None:
        """Fire SubagentStart for a run that a tool has started."""
        run = self._run
        fire = self._face.view.fire_extra
        run.subagent = SubagentGate(fire, run.agent_name)
        if texts := await run.subagent.open():
            self._add_item({"role": "user", "content": "\n\n".join(texts)})

    async def _close_subagent(
        self, response: Response, text: str, *, may_send_back: bool
    ) -> Response | None:
        """Fire SubagentStop; return the response that ends the run, None if hooks send it back."""
        assert self._run.subagent is not None
        end = await self._run.subagent.close(text)
        if end.stop is not None:
            self._run.end(end.stop)
        if end.send_back is None or not may_send_back:
            return response
        self._add_item({"role": "assistant", "content": text})
        self._add_item({"role": "user", "content": end.send_back})
        return None

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

    # -- requests

    def _show_request(self, arguments: Arguments) -> SDKCall:
        """Return the request as the API's translator reads it."""
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
        return SDKCall("openai-responses", shown)

    def _apply_request(self, arguments: Arguments, shown: SDKCall, gate: ModelGate) -> Arguments:
        """Return the arguments to call the model with."""
        request, applied = gate.request, dict(arguments)
        if gate.holds_back and arguments["tracing"] is ModelTracing.ENABLED:
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
        if gate.allowed is not None:
            applied["tools"] = [t for t in arguments["tools"] if tool_name(t) in gate.allowed]
            handoffs = arguments["handoffs"]
            applied["handoffs"] = [h for h in handoffs if h.tool_name in gate.allowed]
            if not applied["tools"] and not applied["handoffs"]:
                # The API rejects a tool choice if there are no tools.
                changes["tool_choice"] = None
        if changes:
            applied["model_settings"] = replace(arguments["model_settings"], **changes)
        return applied

    # -- responses

    def _drop_refused(self, response: Response) -> Response:
        """Return the response without calls that hooks do not allow, if they cannot be refused when
        they run."""
        allowed = self._run.allowed
        if allowed is None:
            return response
        kinds = ("function_call", "computer_call", "mcp_approval_request")
        called = (name_call(item) for item in response.output if get(item, "type") in kinds)
        refused = {
            name
            for name in called
            if name is not None and name not in allowed and name not in self._run.guarded
        }
        if not refused:
            return response
        assert self._gate is not None
        said = self._gate.explain_refused(refused)
        self._face.warn(
            f"the model called {', '.join(sorted(refused))}, which hooks do not allow in this "
            "call: the calls were left out of its response"
        )
        left = [item for item in response.output if name_call(item) not in refused]
        changed = put_output(response, left)
        if is_final(changed) or any(name_call(item) is not None for item in left):
            return changed
        return put_output(response, [*left, *make_response(said).output])

    def _reply(self, said: "str | Response", end: HooklineError) -> Response:
        """Make a reply that ends the run; raise ``end`` if it does not have the agent's output
        type."""
        reply = make_response(said) if isinstance(said, str) else settle_ids(said)
        schema = self._given["output_schema"]
        if schema is not None and not schema.is_plain_text():
            try:
                schema.validate_json(read_text(reply))
            except ModelBehaviorError:
                raise end from None
        return reply

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
