"""The Gemini translator: JSON and google-genai objects alike, the SDK loaded only by its users.

Contents are read as the SDK sends them: a content, or a nested list of parts, is one message, and
so is a run of bare parts; only a bare string is always a message of its own. In a list, bare
entries stay bare when their text changes, since the SDK joins neighbours into one turn and a
content among them would split it. Contents that are no list become a list of contents.

A value that holds something in a field that hookline does not read is refused, not shown as empty.

The candidates that a hook names replace the others, matched by position: one it leaves out is
removed, one it adds is new.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec

from hookline.errors import TranslationError
from hookline.translate.alignment import edit_messages, set_system_apart, show_messages
from hookline.translate.genai_values import (
    Form,
    GenerateContentParameters,
    as_part,
    build,
    changed_fields,
    check_object,
    check_parts,
    enum_word,
    field,
    form_of,
    is_part,
    is_typed,
    list_field,
    object_field,
    objects_field,
    parts_field,
    put_texts,
    refuse_unknown,
    set_fields,
    show_fields,
    text_part,
    to_plain,
    visible_texts,
    with_fields,
)
from hookline.translate.values import are_same, read_change
from hookline.wire.model import (
    CandidateChange,
    ContentChange,
    HookToolConfig,
    HookToolConfigChange,
    LLMCandidate,
    LLMConfig,
    LLMConfigChange,
    LLMRequest,
    LLMResponse,
    LLMResponseChange,
    LLMUsage,
    MessageChange,
    Role,
    SafetyRatingChange,
    UsageChange,
    read_llm_request,
    read_llm_response,
    read_tool_config,
)

__all__ = [
    "GenAITranslator",
    "GenerateContentParameters",
    "accept_config",
    "read_declared_names",
]

_MODES = frozenset({"AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"})
_REQUEST_FIELDS = (
    *("model", "contents", "config", "toolConfig", "tools", "systemInstruction"),
    *("safetySettings", "generationConfig", "cachedContent", "labels"),
)
_RESPONSE_FIELDS = (
    *("candidates", "text", "usageMetadata", "promptFeedback", "modelVersion", "modelStatus"),
    *("responseId", "createTime", "sdkHttpResponse", "automaticFunctionCallingHistory", "parsed"),
)
_CANDIDATE_FIELDS = (
    *("content", "citationMetadata", "finishMessage", "tokenCount", "finishReason", "index"),
    *("groundingMetadata", "avgLogprobs", "logprobsResult", "safetyRatings"),
    *("urlContextMetadata", "continuationToken"),
)
_RATING_ENUMS = {"category": "HarmCategory", "probability": "HarmProbability"}


class GenAITranslator:
    """``HookTranslator`` for google-genai.

    Requests are JSON (``{"model", "contents", "config"}``, camelCase) or
    ``GenerateContentParameters``; responses JSON or ``types.GenerateContentResponse``. Without a
    base, a request in the latter form counts as typed once the SDK has been imported.
    """

    def to_hook_llm_request(self, request: object) -> LLMRequest:
        """What hooks are shown of a request."""
        _check_request(request)
        turns = _read_turns(field(request, "contents"))
        config = object_field(request, "config")
        shown: LLMRequest = {
            "model": _read_model(request),
            "messages": show_messages(turns, _TurnForm("camel")),
            "config": cast(LLMConfig, show_fields(config, LLMConfigChange)),
        }
        tool_config = self.to_hook_tool_config(field(config, "toolConfig"))
        if tool_config:
            shown["toolConfig"] = tool_config
        return shown

    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The request with what the hook names; of its config, the eight fields of the format."""
        change = read_change(read_llm_request, "llm_request", hook)
        request = base
        if request is None:
            is_json = like is None or isinstance(like, Mapping)
            new = GenerateContentParameters("", [])
            request = {"model": "", "contents": []} if is_json else new
        _check_request(request)
        form = form_of(request, "camel")
        changes: dict[str, Any] = {}
        own_model = _read_model(request)
        if change.model is not None and change.model != own_model:
            changes["model"] = change.model
        contents = field(request, "contents")
        config = object_field(request, "config")
        config_form = form_of(config, form)
        settings = changed_fields(config, change.config) if change.config is not None else {}
        if change.messages is not None:
            messages: Sequence[MessageChange] = change.messages
            instructions: list[str] = []
            if base is not None:
                shown = show_messages(_read_turns(contents), _TurnForm(form))
                messages, instructions = set_system_apart(shown, messages)
            edited = _edit_contents(contents, messages, form)
            if edited is not contents:
                changes["contents"] = edited
            if instructions:
                own = field(config, "systemInstruction")
                settings["systemInstruction"] = _add_instructions(own, instructions, config_form)
        if change.tool_config is not None:
            before = object_field(config, "toolConfig")
            after = _edit_tool_config(
                before,
                change.tool_config,
                form=config_form,
                declared=read_declared_names(config) if base is not None else None,
            )
            if after is not before:
                settings["toolConfig"] = after
        if settings:
            changes["config"] = set_fields(
                config, "GenerateContentConfig", settings, form=config_form
            )
        return with_fields(request, changes, form=form)

    def to_hook_llm_response(self, response: object) -> LLMResponse:
        """What hooks are shown of a response."""
        return _show_response(response)

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The response with what the hook names; rebuilt from its texts without a base."""
        change = read_change(read_llm_response, "llm_response", hook)
        if base is None:
            form = _choose_response_form(like)
            return _edit_response(build(form, "GenerateContentResponse", {}), change, form)
        return _edit_response(base, change, _choose_response_form(base))

    def to_hook_tool_config(self, tool_config: object) -> HookToolConfig:
        """What hooks are shown of a tool config."""
        check_object(tool_config, "toolConfig")
        calling = object_field(tool_config, "functionCallingConfig")
        return cast(HookToolConfig, show_fields(calling, HookToolConfigChange))

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names, its other settings kept."""
        change = read_change(read_tool_config, "toolConfig", hook)
        tool_config = check_object(base, "toolConfig")
        if tool_config is None:
            form = form_of(field(like, "config"), form_of(like, "camel"))
            tool_config = build(form, "ToolConfig", {})
        return _edit_tool_config(tool_config, change, form="camel")

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, Python callables among them; None when
        it declares none."""
        _check_request(request)
        declared = list_field(object_field(request, "config"), "tools")
        return [name for tool in declared for name in _read_tool_names(tool)] or None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        _check_request(request)
        config = object_field(request, "config")
        return field(config, "toolConfig"), field(config, "tools")

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A finished response of one candidate whose text is the reason."""
        content = ContentChange(parts=[reason])
        candidate = CandidateChange(content=content, finish_reason="STOP", index=0)
        form, change = _choose_response_form(like), LLMResponseChange(candidates=[candidate])
        return _edit_response(build(form, "GenerateContentResponse", {}), change, form)

    def call_names(self, response: object) -> list[str]:
        """The names of the functions that a response calls."""
        return [
            name
            for candidate in _read_candidates(response)
            for part in parts_field(object_field(candidate, "content"))
            if (name := _read_called_name(part))
        ]

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:
        """The response without the calls of these functions."""
        candidates = _read_candidates(response)
        kept = []
        for candidate in candidates:
            content = object_field(candidate, "content")
            parts = parts_field(content)
            left, is_dropped = [], False
            for part in parts:
                name = _read_called_name(part)
                if name is not None:
                    # Arguments that are streamed follow their call, without its name.
                    is_dropped = name in names if name else is_dropped
                if name is None or not is_dropped:
                    left.append(part)
            if len(left) < len(parts):
                changed = with_fields(content, {"parts": left}, form="camel")
                candidate = with_fields(candidate, {"content": changed}, form="camel")
            kept.append(candidate)
        if are_same(kept, candidates):
            return response
        return with_fields(response, {"candidates": kept}, form="camel")

    def has_system_turns(self, request: object) -> bool:  # noqa: ARG002 - all are alike
        """False: Gemini takes system messages only in its system instruction."""
        return False


def _read_called_name(part: object) -> str | None:
    """The function that a part calls; empty for further arguments of the call before it."""
    call = None if isinstance(part, str) else field(part, "functionCall")
    return None if call is None else field(call, "name") or ""


def _read_model(request: object) -> str:
    model = field(request, "model")
    if model is not None and not isinstance(model, str):
        raise TranslationError(f"model must be a string, not {type(model).__name__}")
    return model or ""


def _check_request(value: object) -> None:
    """Raise TranslationError unless the value is a request in one of the forms."""
    if not isinstance(value, Mapping):
        is_known = isinstance(value, GenerateContentParameters)
        if not is_known and not is_typed(value, "_GenerateContentParameters"):
            raise TranslationError(f"a model request cannot be {type(value).__name__}")
    elif not value.get("contents"):
        refuse_unknown(value, _REQUEST_FIELDS, found="a model request has no contents")
    elif value.get("messages"):
        raise TranslationError("a model request has both contents and messages")


def _check_response(value: object) -> None:
    """Raise TranslationError unless the value is a response in one of the forms."""
    if not isinstance(value, Mapping):
        if not is_typed(value, "GenerateContentResponse"):
            raise TranslationError(f"a model response cannot be {type(value).__name__}")
    elif not value.get("candidates") and not value.get("text"):
        found = "a model response has neither candidates nor text"
        refuse_unknown(value, _RESPONSE_FIELDS, found=found)


class _Turn(msgspec.Struct, frozen=True):
    """One message: ``entry`` is the content or nested list it is, None for bare parts."""

    role: Role
    parts: list[Any]
    entry: Any = None


class _TurnForm:
    """``MessageForm`` of the turns; new contents are in ``form``."""

    def __init__(self, form: Form) -> None:
        self._form: Form = form

    def role(self, turn: _Turn) -> Role:
        return turn.role

    def text(self, turn: _Turn) -> str:
        return "".join(visible_texts(turn.parts))

    def with_text(self, turn: _Turn, role: Role, text: str) -> _Turn:
        parts = put_texts(turn.parts, [text], form=self._form)
        if role == turn.role:
            return _with_parts(turn, parts)
        parts = [as_part(part, form=self._form) for part in parts]
        if isinstance(turn.entry, Mapping):
            changes = {"role": role, "parts": parts}
            return _Turn(role, parts, with_fields(turn.entry, changes, form=self._form))
        # Built anew: the SDK has subclasses of Content that allow one role only.
        return _make_turn(role, parts, "typed" if is_typed(turn.entry) else self._form)

    def without_text(self, turn: _Turn) -> _Turn | None:
        parts = put_texts(turn.parts, [], form=self._form)
        return _with_parts(turn, parts) if parts else None

    def new(self, role: Role, text: str) -> _Turn:
        return _make_turn(role, [text_part(text, form=self._form)], self._form)


def _with_parts(turn: _Turn, parts: list[Any]) -> _Turn:
    entry = turn.entry
    if isinstance(entry, list | tuple):
        entry = parts
    elif entry is not None:
        entry = with_fields(entry, {"parts": parts}, form="camel")
    return _Turn(turn.role, parts, entry)


def _split_results(turn: _Turn) -> tuple[_Turn, _Turn | None] | None:
    if not any(field(part, "functionResponse") for part in turn.parts):
        return None
    hidden = [part for part in turn.parts if not visible_texts([part])]
    texts = [part for part in turn.parts if visible_texts([part])]
    return _with_parts(turn, hidden), _with_parts(turn, texts) if texts else None


def _make_turn(role: Role, parts: list[Any], form: Form) -> _Turn:
    return _Turn(role, parts, build(form, "Content", {"role": role, "parts": parts}))


def _read_turns(contents: object) -> list[_Turn]:
    if contents is None:
        return []
    turns: list[_Turn] = []
    run: _Turn | None = None
    for entry in contents if isinstance(contents, list | tuple) else [contents]:
        if isinstance(entry, list | tuple):
            check_parts(entry)
            turn = _Turn("user", list(entry), entry)
        elif (
            not entry or "parts" in entry or "role" in entry
            if isinstance(entry, Mapping)
            else is_typed(entry, "Content")
        ):
            role = field(entry, "role")
            known: Role = role if role in ("model", "system") else "user"
            turn = _Turn(known, parts_field(entry), entry)
        elif is_part(entry):
            check_parts((entry,))
            turn = _Turn("user", [entry])
        else:
            raise TranslationError(f"contents cannot hold {type(entry).__name__}")
        # The SDK sends a run of bare parts in one turn: calls are the model's, others not.
        if run is not None and _is_run(turn) and _is_calling(run) == _is_calling(turn):
            run.parts.append(entry)
            continue
        turns.append(turn)
        run = turn if _is_run(turn) else None
    return turns


def _is_run(turn: _Turn) -> bool:
    """True for bare parts, which the SDK joins with bare parts beside them, unlike a bare text."""
    return turn.entry is None and not isinstance(turn.parts[0], str)


def _is_calling(turn: _Turn) -> bool:
    return bool(field(turn.parts[0], "functionCall"))


def _edit_contents(contents: Any, messages: Sequence[MessageChange], otherwise: Form) -> Any:
    """The contents with the hook's messages in place of those shown; new contents are in the form
    of the others, or ``otherwise``."""
    turns = _read_turns(contents)
    wanted = [{"role": message.role, "content": message.content} for message in messages]
    if wanted == show_messages(turns, _TurnForm(otherwise)):
        return contents
    is_list = isinstance(contents, list | tuple)
    form = otherwise
    for entry in contents if is_list else [contents]:
        if is_typed(entry) or isinstance(entry, Mapping):
            form = "typed" if is_typed(entry) else "camel"
            break
    if not is_list:
        turns = [
            turn
            if turn.entry is not None
            else _make_turn(turn.role, [as_part(part, form=form) for part in turn.parts], form)
            for turn in turns
        ]
    edited: list[Any] = []
    run: _Turn | None = None
    for turn in edit_messages(turns, messages, _TurnForm(form), split_results=_split_results):
        if run is not None and _is_run(turn) and _is_calling(run) == _is_calling(turn):
            # The message between two runs is gone: as neighbours they would be one message.
            parts = [as_part(part, form=form) for part in turn.parts]
            turn = _make_turn("model" if _is_calling(turn) else turn.role, parts, form)
        edited += turn.parts if turn.entry is None else [turn.entry]
        run = turn if _is_run(turn) else None
    return edited


def _add_instructions(own: Any, texts: Sequence[str], form: Form) -> Any:
    """A system instruction, in any form that the SDK takes, with texts added at its end."""
    if isinstance(own, str):
        return "\n\n".join([own, *texts])
    if isinstance(own, list | tuple):
        return [*own, *texts]
    if is_part(own) and not (isinstance(own, Mapping) and "parts" in own):
        if not isinstance(own, Mapping):
            return [own, *texts]
        own = {"parts": [own]}
    form = form_of(own, form)
    added = [text_part(text, form=form) for text in texts]
    if own is None:
        return build(form, "Content", {"parts": added})
    return with_fields(own, {"parts": [*list_field(own, "parts"), *added]}, form=form)


def _read_tool_names(tool: Any) -> list[str]:
    """The functions that a tool of a request declares."""
    if callable(tool):
        names = [getattr(tool, "__name__", "")]
    else:
        declared = list_field(tool, "functionDeclarations")
        names = [field(declaration, "name") for declaration in declared or [tool]]
    return [name for name in names if isinstance(name, str) and name]


def accept_config(config: Any) -> Any:
    """The config in a form that the API accepts. It refuses allowed names with the mode AUTO: the
    mode for "these functions or a text" is VALIDATED. It refuses any mode if no function is
    declared."""
    tool_config = field(config, "toolConfig")
    calling = field(tool_config, "functionCallingConfig")
    names, mode = field(calling, "allowedFunctionNames"), to_plain(field(calling, "mode"))
    if calling is not None and read_declared_names(config) == frozenset():
        calling = None
    elif names and (mode or "AUTO").upper() == "AUTO":
        validated = enum_word("typed", "FunctionCallingConfigMode", "VALIDATED")
        calling = with_fields(calling, {"mode": validated}, form="typed")
    else:
        return config
    tool_config = with_fields(tool_config, {"functionCallingConfig": calling}, form="typed")
    return with_fields(config, {"toolConfig": tool_config}, form="typed")


def read_declared_names(config: object) -> frozenset[str] | None:
    """The names of all functions that a config declares; None if only the API knows them, as with
    the tools of an MCP server."""
    found: set[str] = set()
    for tool in list_field(config, "tools"):
        names = _read_tool_names(tool)
        is_plain = isinstance(tool, Mapping) or is_typed(tool)
        if field(tool, "mcpServers") or not (names or is_plain):
            return None
        found.update(names)
    return frozenset(found)


def _edit_tool_config(
    tool_config: Any,
    change: HookToolConfigChange,
    *,
    form: Form,
    declared: frozenset[str] | None = None,
) -> Any:
    """The tool config with what a hook names, without names that are not ``declared``: the API
    refuses them. If no name is left, no function may be called."""
    calling = object_field(tool_config, "functionCallingConfig")
    changes = changed_fields(calling, change)
    names = changes.get("allowedFunctionNames")
    if names and declared is not None:
        left = [name for name in names if name in declared]
        kept = {"allowed_function_names": left, **({} if left else {"mode": "NONE"})}
        changes = changed_fields(calling, msgspec.structs.replace(change, **kept))
    if not changes:
        return tool_config
    form = form_of(calling, form_of(tool_config, form))
    if "mode" in changes:
        mode = changes["mode"].upper()
        if mode not in _MODES:
            known = ", ".join(sorted(_MODES))
            raise TranslationError(f"toolConfig.mode {changes['mode']!r} is not one of {known}")
        changes["mode"] = enum_word(form, "FunctionCallingConfigMode", mode)
    new = set_fields(calling, "FunctionCallingConfig", changes, form=form)
    return set_fields(tool_config, "ToolConfig", {"functionCallingConfig": new}, form=form)


def _choose_response_form(value: object) -> Form:
    """The form of a response, or the one that fits another value of the same caller."""
    if isinstance(value, Mapping):
        return "camel"
    return "typed" if form_of(value, "camel") == "typed" else "camel"


def _read_candidates(response: object) -> list[Any]:
    """The candidates of a response; one made of its text if it has only that. Raises
    TranslationError for a response of unknown form."""
    _check_response(response)
    candidates = objects_field(response, "candidates")
    for candidate in candidates:
        if isinstance(candidate, Mapping) and not candidate.get("content"):
            refuse_unknown(candidate, _CANDIDATE_FIELDS, found="a candidate has no content")
    text = response.get("text") if isinstance(response, Mapping) else None
    if text is None:
        return candidates
    if not isinstance(text, str):
        raise TranslationError(f"text must be a string, not {type(text).__name__}")
    if not candidates:
        return [{"content": {"role": "model", "parts": [text]}}]
    if text != _read_first_text(candidates):
        raise TranslationError("text differs from the text of the first candidate")
    return candidates


def _show_response(response: object) -> LLMResponse:
    candidates = []
    for candidate in _read_candidates(response):
        texts = visible_texts(parts_field(object_field(candidate, "content")))
        seen: dict[str, Any] = {"content": {"role": "model", "parts": texts}}
        seen |= show_fields(candidate, CandidateChange, ("finishReason", "index"))
        if field(candidate, "safetyRatings") is not None:
            ratings = objects_field(candidate, "safetyRatings")
            seen["safetyRatings"] = [_show_rating(rating) for rating in ratings]
        candidates.append(cast(LLMCandidate, seen))
    shown: LLMResponse = {"candidates": candidates}
    if candidates and candidates[0]["content"]["parts"]:
        shown = {"text": "".join(candidates[0]["content"]["parts"]), "candidates": candidates}
    usage = object_field(response, "usageMetadata")
    if usage is not None:
        shown["usageMetadata"] = cast(LLMUsage, show_fields(usage, UsageChange))
    return shown


def _edit_response(response: Any, change: LLMResponseChange, form: Form) -> Any:
    candidates = _read_candidates(response)
    edited = candidates
    if change.candidates is not None:
        edited = _edit_candidates(candidates, change.candidates, form)
    is_first_text = bool(candidates) and change.text == _read_first_text(candidates)
    if edited is candidates and change.text is not None and not is_first_text:
        first = CandidateChange(content=ContentChange(parts=[change.text]))
        others = [CandidateChange()] * (len(candidates) - 1)
        edited = _edit_candidates(candidates, [first, *others], form)
    changes: dict[str, Any] = {}
    if edited is not candidates:
        changes["candidates"] = edited
        if isinstance(response, Mapping) and "text" in response:
            changes["text"] = _read_first_text(edited) or None
        if _read_texts(edited) != _read_texts(candidates):
            # The SDK made it from the text, so it would still hold what a hook removed.
            if field(response, "parsed") is not None:
                changes["parsed"] = None
            raw = field(response, "sdkHttpResponse")
            if field(raw, "body") is not None:
                changes["sdkHttpResponse"] = with_fields(raw, {"body": None}, form=form)
    usage = object_field(response, "usageMetadata")
    if change.usage_metadata is not None:
        counts = changed_fields(usage, change.usage_metadata)
        new = set_fields(usage, "GenerateContentResponseUsageMetadata", counts, form=form)
        if new is not usage:
            changes["usageMetadata"] = new
    return with_fields(response, changes, form=form)


def _edit_candidates(
    candidates: list[Any], wanted: Sequence[CandidateChange], otherwise: Form
) -> list[Any]:
    """The candidates with what a hook names of each; the same list when that changes nothing."""
    edited = []
    for place, change in enumerate(wanted):
        if place < len(candidates):
            candidate = candidates[place]
        else:
            content = build(otherwise, "Content", {"role": "model", "parts": []})
            candidate = build(otherwise, "Candidate", {"content": content})
        form = form_of(candidate, otherwise)
        changes: dict[str, Any] = {}
        content = object_field(candidate, "content")
        if change.content is not None and change.content.parts is not None:
            parts = parts_field(content)
            if change.content.parts != visible_texts(parts):
                new = {"parts": put_texts(parts, change.content.parts, form=form)}
                if content is None:
                    changes["content"] = build(form, "Content", {"role": "model", **new})
                else:
                    changes["content"] = with_fields(content, new, form=form)
                changes |= _drop_notes(candidate, form)
        seen = show_fields(candidate, CandidateChange, ("finishReason", "index"))
        if change.finish_reason is not None and change.finish_reason != seen.get("finishReason"):
            changes["finishReason"] = enum_word(form, "FinishReason", change.finish_reason)
        if change.index is not None and change.index != seen.get("index"):
            changes["index"] = change.index
        if change.safety_ratings is not None:
            old = objects_field(candidate, "safetyRatings")
            ratings = _edit_ratings(old, change.safety_ratings, form)
            if ratings is not old:
                changes["safetyRatings"] = ratings
        edited.append(with_fields(candidate, changes, form=form))
    return candidates if are_same(edited, candidates) else edited


def _drop_notes(candidate: Any, form: Form) -> dict[str, Any]:
    """The changes that remove fields about a text which would repeat it."""
    changes: dict[str, Any] = {
        name: None
        for name in ("citationMetadata", "logprobsResult")
        if field(candidate, name) is not None
    }
    grounding = field(candidate, "groundingMetadata")
    if field(grounding, "groundingSupports") is not None:
        changes["groundingMetadata"] = with_fields(
            grounding, {"groundingSupports": None}, form=form
        )
    return changes


def _edit_ratings(
    ratings: list[Any], wanted: Sequence[SafetyRatingChange], form: Form
) -> list[Any]:
    """The ratings with what a hook names of each; the same list when that changes nothing."""
    edited = []
    for place, change in enumerate(wanted):
        rating = ratings[place] if place < len(ratings) else build(form, "SafetyRating", {})
        seen = _show_rating(rating)
        words = {
            name: enum_word(form, _RATING_ENUMS[name], word)
            for name, word in change.named().items()
            if word != seen[name]
        }
        edited.append(with_fields(rating, words, form=form))
    return ratings if are_same(edited, ratings) else edited


def _show_rating(rating: object) -> dict[str, str]:
    return {"category": "", "probability": "", **show_fields(rating, SafetyRatingChange)}


def _read_texts(candidates: list[Any]) -> list[list[str]]:
    return [visible_texts(parts_field(field(each, "content"))) for each in candidates]


def _read_first_text(candidates: list[Any]) -> str:
    return "".join(_read_texts(candidates[:1])[0]) if candidates else ""
