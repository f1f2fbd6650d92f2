"""Applies to an agent's model call what hooks answer.

Requests and responses are edited in place: if a callback returned a value, ADK would not call the
plugins after it.
"""

import json
from typing import Any, get_origin

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.telemetry import tracing
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.genai import types
from pydantic import TypeAdapter

from hookline.adapters.adk.runs import MARK, AdkModelCall, Run, show_text
from hookline.adapters.steps import Keep, ModelStep, Replace, Reply, Send, split_json
from hookline.calls.tool import text_of
from hookline.translate.genai import GenerateContentParameters, accept_config

# The tool that a model calls to give a structured answer.
ANSWER_TOOL = SetModelResponseTool.NAME
BLOCKED = "BLOCKED_BY_HOOK"
# Fields of a response that quote or rate its text.
_ABOUT_THE_TEXT = ("citation_metadata", "logprobs_result", "avg_logprobs", "output_transcription")
_SPAN_RESPONSE = "gcp.vertex.agent.llm_response"


async def open_call(call: AdkModelCall) -> LlmResponse | None:
    """Fire BeforeToolSelection and BeforeModel; return the response that replaces a call that hooks
    answered or blocked."""
    request = call.request

    def show(texts: list[str]) -> GenerateContentParameters:
        if texts:
            content = types.Content(role="user", parts=[types.Part(text="\n\n".join(texts))])
            request.contents = [*request.contents, content]
        return _show_request(request)

    names = [name for name in request.tools_dict if name != ANSWER_TOOL]
    call.step = ModelStep(call.state, available_tools=names or None)
    opening = await call.step.open(show)
    if isinstance(opening, Reply):
        answer = LlmResponse(finish_reason=types.FinishReason.STOP)
        _put_reply(call, answer, opening)
        return answer
    assert isinstance(opening, Send)
    request.model = opening.request.model or request.model
    request.contents = opening.request.contents
    own = request.config
    request.config = accept_config(opening.request.config) or own
    if opening.allowed and ANSWER_TOOL in request.tools_dict:
        _allow_answer(request.config, own)
    return None


async def close_call(call: AdkModelCall, response: LlmResponse) -> None:
    """Fire AfterModel with a complete response, and apply the answers in place."""
    own = response.content
    if own is None:
        return
    content = _show_answer(own)
    candidate = types.Candidate(content=content, finish_reason=response.finish_reason, index=0)
    shown = types.GenerateContentResponse(
        candidates=[candidate], usage_metadata=response.usage_metadata
    )
    # Another plugin or a callback may have answered before the call was opened.
    step = call.step or ModelStep(call.state)
    closing = await step.close(shown, request=_show_request(call.request))
    if isinstance(closing, Reply):
        _put_reply(call, response, closing)
    elif isinstance(closing, Replace):
        candidates = closing.response.candidates
        _put_content(call, response, candidates[0].content if candidates else None, content)
    if isinstance(closing, Keep | Replace) and closing.hidden:
        _hide(response)
    call.seen = response.content
    if response.content is not own:
        _forget_text(response)
        _trace_again(response)


def hold_back(response: LlmResponse) -> None:
    """Empty a chunk of a stream, since hooks see only the complete response."""
    for name in ("content", "grounding_metadata", "custom_metadata"):
        setattr(response, name, None)
    _forget_text(response)


def mend_output(run: Run, call: AdkModelCall, event: Event, own: str) -> None:
    """Correct what ADK stored of an answer to what hooks left of it; ``own`` is the text before.

    ADK stores it before plugins see the event, and joins the texts of an agent's run.
    """
    left, place = show_text(event.content), (event.author, event.branch)
    if own != left and event.output is not None:
        event.output = _read_answer(call, left)
        problem = (
            "hooks changed a model's answer that a callback or another plugin gave, but the "
            "next node of the workflow reads the unchanged answer"
        )
        run.face.warn(problem)
        if run.face.is_strict():
            run.end(problem)
    delta, key = event.actions.state_delta, call.output_key
    if key is None or key not in delta:
        return
    stored = delta[key]
    if isinstance(stored, str):
        before, after = run.outputs.get(place, ("", ""))
        earlier = stored.removesuffix(own)
        if earlier.startswith(before):
            earlier = after + earlier.removeprefix(before)
        delta[key] = earlier + left
        run.outputs[place] = stored, delta[key]
    elif own != left:
        delta[key] = _read_answer(call, left)


def _read_answer(call: AdkModelCall, text: str) -> Any:
    """Return what ADK stores of an answer."""
    if call.schema is None:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return None


def _show_request(request: LlmRequest) -> GenerateContentParameters:
    return GenerateContentParameters(request.model or "", request.contents, request.config)


def _put_reply(call: AdkModelCall, response: LlmResponse, reply: Reply) -> None:
    """Put the answer in place of a model call, or of its response, into a response."""
    answer = reply.response
    response.content = (
        types.Content(role="model", parts=[types.Part(text=reply.text)])
        if answer is None
        else answer.candidates[0].content
    )
    if reply.blocked or reply.stop is not None:
        # Otherwise a loop agent would call the model again.
        call.actions.escalate = True
        if call.is_structured:
            # ADK would validate a text against the schema, and raise.
            response.content = None
            response.error_code, response.error_message = BLOCKED, reply.stop or reply.text
    if reply.hidden:
        _hide(response)
    call.seen = response.content


def _hide(response: LlmResponse) -> None:
    """Mark a response that hooks do not want displayed."""
    response.custom_metadata = {**(response.custom_metadata or {}), MARK: {"suppressed": True}}


def _forget_text(response: LlmResponse) -> None:
    """Remove every field that quotes the text that hooks changed."""
    for name in _ABOUT_THE_TEXT:
        setattr(response, name, None)
    grounding = response.grounding_metadata
    if grounding is not None and grounding.grounding_supports:
        response.grounding_metadata = grounding.model_copy(update={"grounding_supports": None})


def _trace_again(response: LlmResponse) -> None:
    """Overwrite the model's response in the span, where ADK has already written it."""
    span: Any = tracing.trace.get_current_span()  # type: ignore[attr-defined]  # ADK's own
    if span.is_recording() and (span.attributes or {}).get(_SPAN_RESPONSE, "{}") != "{}":
        span.set_attribute(_SPAN_RESPONSE, response.model_dump_json(exclude_none=True))


def _allow_answer(config: types.GenerateContentConfig, own: types.GenerateContentConfig) -> None:
    """Keep the tool of structured answers declared and callable beside those that hooks allow;
    ``own`` is the config before the hooks."""
    declarations = (
        each
        for tool in own.tools or ()
        if isinstance(tool, types.Tool)
        for each in tool.function_declarations or ()
        if each.name == ANSWER_TOOL
    )
    if config.tools is not own.tools:
        config.tools = [*(config.tools or ()), types.Tool(function_declarations=[*declarations])]
    chosen = config.tool_config
    calling = chosen and chosen.function_calling_config
    if chosen is not None and calling and calling.allowed_function_names:
        names = [*calling.allowed_function_names, ANSWER_TOOL]
        calling = calling.model_copy(update={"allowed_function_names": names})
        config.tool_config = chosen.model_copy(update={"function_calling_config": calling})


def _is_answer(part: types.Part) -> bool:
    return part.function_call is not None and part.function_call.name == ANSWER_TOOL


def _show_answer(content: types.Content) -> types.Content:
    """Return the content as hooks see it: a structured answer is its JSON as text."""
    parts = content.parts or []
    if not any(map(_is_answer, parts)):
        return content
    shown = [
        types.Part(text=text_of(part.function_call.args or {}))
        if part.function_call is not None and _is_answer(part)
        else part
        for part in parts
    ]
    return content.model_copy(update={"parts": shown})


def _put_content(
    call: AdkModelCall,
    response: LlmResponse,
    changed: types.Content | None,
    shown: types.Content,
) -> None:
    """Replace a response's content with what hooks left; a structured answer becomes a call again.
    If hooks left no structured answer, reject the response."""
    own, schema = response.content, call.schema
    assert own is not None
    if changed is None:
        response.content = own.model_copy(update={"parts": []})
        return
    try:
        if shown is not own:
            changed = _with_answer_call(changed, own)
        elif schema is not None and not any(part.function_call for part in changed.parts or []):
            _check_answer(schema, "".join(part.text or "" for part in changed.parts or []))
    except ValueError as error:
        reason = f"hooks left no structured answer in the model's response: {error}"
        call.state.face.warn(reason)
        response.content, response.error_code, response.error_message = None, BLOCKED, reason
        return
    response.content = changed


def _with_answer_call(changed: types.Content, own: types.Content) -> types.Content:
    """Return the content with the JSON of its answer as a call again; raise ValueError if hooks
    left none."""
    [call] = [part for part in own.parts or [] if _is_answer(part)][:1]
    assert call.function_call is not None
    parts = list(changed.parts or [])
    texts = [place for place, part in enumerate(parts) if part.text and not part.thought]
    if not texts:
        raise ValueError("its text is empty")
    before, answer = split_json(parts[texts[-1]].text or "")
    function_call = call.function_call.model_copy(update={"args": answer})
    parts[texts[-1] : texts[-1] + 1] = [
        *([types.Part(text=before)] if before else []),
        call.model_copy(update={"function_call": function_call}),
    ]
    return changed.model_copy(update={"parts": parts})


def _check_answer(schema: Any, text: str) -> None:
    """Raise ValueError for a text that does not match the schema."""
    if isinstance(schema, type) or get_origin(schema) is not None:
        TypeAdapter(schema).validate_json(text)
    else:
        json.loads(text)
