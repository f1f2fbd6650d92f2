"""The Gemini translator, and its streams: JSON and google-genai objects alike, the SDK loaded only
by its users.

Contents are read as the SDK sends them: a content, or a nested list of parts, is one message, and
so is a run of bare parts; only a bare string is always a message of its own. In a list, bare
entries stay bare when their text changes, since the SDK joins neighbours into one turn and a
content among them would split it. Contents that are no list become a list of contents.

A value that holds something in a field that hookline does not read is refused, not shown as empty.

The candidates that a hook names replace the others, matched by position: one it leaves out is
removed, one it adds is new.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec

from hookline.errors import TranslationError
from hookline.translate.genai_values import (
    Form,
    GenerateContentParameters,
    as_part,
    build,
    check_object,
    check_parts,
    enum_word,
    field,
    form_of,
    is_part,
    is_typed,
    list_field,
    list_set_fields,
    object_field,
    objects_field,
    parts_field,
    put_texts,
    read_fields,
    refuse_unknown,
    set_fields,
    show_fields,
    spell_both,
    text_part,
    to_plain,
    visible_texts,
    with_fields,
)
from hookline.translate.messages import MODES, MessageTranslator
from hookline.translate.streams import CallFilter, Refusing
from hookline.translate.values import are_same
from hookline.wire.model import (
    CandidateChange,
    HookToolConfig,
    HookToolConfigChange,
    LLMSafetyRating,
    Role,
    SafetyRatingChange,
)

__all__ = [
    "GenAITranslator",
    "GenerateContentParameters",
    "accept_config",
    "read_declared_names",
]

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
_SETTINGS = (
    *("temperature", "maxOutputTokens", "topP", "topK", "stopSequences", "candidateCount"),
    *("presencePenalty", "frequencyPenalty"),
)
# Fields of a candidate that an earlier chunk may have and the last one may lack.
_ENDS = (
    *("finishReason", "finishMessage", "safetyRatings", "index", "citationMetadata"),
    *("groundingMetadata", "urlContextMetadata", "continuationToken"),
)
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


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


class GenAITranslator(MessageTranslator[_Turn]):
    """``HookTranslator`` for google-genai.

    Requests are JSON (``{"model", "contents", "config"}``, camelCase) or
    ``GenerateContentParameters``; responses JSON or ``types.GenerateContentResponse``. Without a
    base, a request in the latter form counts as typed once the SDK has been imported.
    """

    name = "genai"
    api = "Gemini"
    settings: ClassVar[dict[str, tuple[str, ...]]] = {each: (each,) for each in _SETTINGS}
    usage: ClassVar[dict[str, str]] = {each: each for each in _COUNTS}
    modes = MODES
    has_hook_words = True
    response_fields = spell_both(_RESPONSE_FIELDS)

    # -- requests

    def check_request(self, request: object) -> None:
        if not isinstance(request, Mapping):
            is_known = isinstance(request, GenerateContentParameters)
            if not is_known and not is_typed(request, "_GenerateContentParameters"):
                raise TranslationError(f"a model request cannot be {type(request).__name__}")
        elif not request.get("contents"):
            refuse_unknown(request, _REQUEST_FIELDS, found="a model request has no contents")
        elif request.get("messages"):
            raise TranslationError("a model request has both contents and messages")

    def refuse_unread(self, request: Any) -> None:
        """Do nothing: ``check_request`` has refused such a request."""

    def new_request(self, like: object) -> Any:
        if like is None or isinstance(like, Mapping):
            return {"model": "", "contents": []}
        return GenerateContentParameters("", [])

    def form_for(self, request: Any) -> _TurnForm:
        return _TurnForm(_find_contents_form(request))

    def messages(self, request: Any) -> Sequence[_Turn]:
        return _read_turns(field(request, "contents"))

    def with_messages(self, request: Any, messages: list[_Turn]) -> Any:
        form = _find_contents_form(request)
        is_list = isinstance(field(request, "contents"), list | tuple)
        contents: list[Any] = []
        run: _Turn | None = None
        for turn in messages:
            # The message between two runs may be gone: as neighbours they would be one message.
            is_joined = run is not None and _is_run(turn) and _is_calling(run) == _is_calling(turn)
            if turn.entry is None and (is_joined or not is_list):
                role: Role = "model" if is_joined and _is_calling(turn) else turn.role
                turn = _make_turn(role, [as_part(part, form=form) for part in turn.parts], form)
            contents += turn.parts if turn.entry is None else [turn.entry]
            run = turn if _is_run(turn) else None
        return _with_field(request, "contents", contents)

    def split_results(self, message: _Turn) -> tuple[_Turn, _Turn | None] | None:
        if not any(field(part, "functionResponse") for part in message.parts):
            return None
        hidden = [part for part in message.parts if not visible_texts([part])]
        texts = [part for part in message.parts if visible_texts([part])]
        return _with_parts(message, hidden), _with_parts(message, texts) if texts else None

    def with_system(self, request: Any, texts: Sequence[str]) -> Any:
        config = object_field(request, "config")
        form = _find_config_form(request)
        own = field(config, "systemInstruction")
        return self.with_settings(
            request, {"systemInstruction": _add_instructions(own, texts, form)}
        )

    def model_of(self, request: Any) -> str:
        model = field(request, "model")
        if model is not None and not isinstance(model, str):
            raise TranslationError(f"model must be a string, not {type(model).__name__}")
        return model or ""

    def with_model(self, request: Any, model: str) -> Any:
        return _with_field(request, "model", model)

    def settings_of(self, request: Any) -> Any:
        return read_fields(object_field(request, "config"), _SETTINGS)

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        config, form = object_field(request, "config"), _find_config_form(request)
        changed = set_fields(config, "GenerateContentConfig", changes, form=form)
        return _with_field(request, "config", changed)

    # -- tools

    def tools_of(self, request: Any) -> Sequence[Any]:
        return list_field(object_field(request, "config"), "tools")

    def names_of(self, tool: Any) -> Sequence[str]:
        """The names of a tool's functions, and of Gemini's own tools in it (``google_search``)."""
        return [*_read_function_names(tool), *_find_own_tools(tool)]

    def declared_names(self, request: Any) -> Collection[str] | None:
        is_known = not any(map(_is_server, self.tools_of(request)))
        return super().declared_names(request) if is_known else None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        self.check_request(request)
        config = object_field(request, "config")
        return field(config, "toolConfig"), field(config, "tools")

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        check_object(choice, "toolConfig")
        calling = object_field(choice, "functionCallingConfig")
        return cast(HookToolConfig, show_fields(calling, HookToolConfigChange))

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:
        return _choose_functions(own, mode, names, "camel")

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names, its other settings kept."""
        if check_object(base, "toolConfig") is None:
            form = form_of(field(like, "config"), form_of(like, "camel"))
            base = build(form, "ToolConfig", {})
        return super().from_hook_tool_config(hook, base)

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        """Cut the list of tools, and keep the names of functions in the tool config too: they hold
        for tools that only a server knows."""
        tools = self.tools_of(request)
        left = self.keep_tools(tools, mode, allowed)
        own = self.tool_selection(request)[0]
        functions = read_declared_names({"tools": left})
        if left and functions == frozenset():
            # The API refuses a mode if no function is declared, and so it does Gemini's own names.
            config = own and with_fields(own, {"functionCallingConfig": None}, form="camel")
        else:
            if allowed is not None and functions is not None:
                allowed = [name for name in allowed if name in functions]
            config = _choose_functions(own, mode, allowed, _find_config_form(request))
        if config is not own:
            request = self.with_settings(request, {"toolConfig": config})
        if are_same(left, tools):
            return request
        changed = with_fields(object_field(request, "config"), {"tools": left}, form="camel")
        return _with_field(request, "config", changed)

    def keep_tools(
        self, tools: Sequence[Any], mode: str, allowed: Collection[str] | None
    ) -> Sequence[Any]:
        if mode == "NONE" or allowed is None:
            return [] if mode == "NONE" else tools
        left = [tool for tool in tools if _is_server(tool) or self._is_allowed(tool, allowed)]
        return [tool if _is_server(tool) else _cut_tool(tool, allowed) for tool in left]

    def _is_allowed(self, tool: Any, allowed: Collection[str]) -> bool:
        return any(name in allowed for name in self.names_of(tool))

    # -- responses

    def check_response(self, response: object) -> None:
        if not isinstance(response, Mapping):
            if not is_typed(response, "GenerateContentResponse"):
                raise TranslationError(f"a model response cannot be {type(response).__name__}")
        elif not response.get("candidates") and not response.get("text"):
            found = "a model response has neither candidates nor text"
            refuse_unknown(response, _RESPONSE_FIELDS, found=found)

    def new_response(self, like: object) -> Any:
        return build(_choose_response_form(like), "GenerateContentResponse", {})

    def choices(self, response: Any) -> list[Any]:
        """The candidates of a response; one made of its text if it has only that."""
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
        if text != "".join(self.texts(candidates[0])):
            raise TranslationError("text differs from the text of the first candidate")
        return candidates

    def with_choices(self, response: Any, choices: list[Any]) -> Any:
        changes: dict[str, Any] = {"candidates": choices}
        if isinstance(response, Mapping) and "text" in response:
            changes["text"] = "".join(self.texts(choices[0])) or None if choices else None
        if list(map(self.texts, choices)) != list(map(self.texts, self.choices(response))):
            # The SDK made it from the text, so it would still hold what a hook removed.
            if field(response, "parsed") is not None:
                changes["parsed"] = None
            raw = field(response, "sdkHttpResponse")
            if field(raw, "body") is not None:
                changes["sdkHttpResponse"] = with_fields(raw, {"body": None}, form="camel")
        return with_fields(response, changes, form="camel")

    def new_choice(self, response: Any, index: int) -> Any:  # noqa: ARG002 - all are alike
        form = _choose_response_form(response)
        content = build(form, "Content", {"role": "model", "parts": []})
        return build(form, "Candidate", {"content": content})

    def with_index(self, choice: Any, index: int) -> Any:
        return with_fields(choice, {"index": index}, form="camel")

    def texts(self, choice: Any) -> list[str]:
        return visible_texts(parts_field(object_field(choice, "content")))

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        content, form = object_field(choice, "content"), form_of(choice, "camel")
        parts = {"parts": put_texts(parts_field(content), texts, form=form)}
        if content is None:
            changed = build(form, "Content", {"role": "model", **parts})
        else:
            changed = with_fields(content, parts, form=form)
        return with_fields(choice, {"content": changed, **_drop_notes(choice, form)}, form=form)

    def finish(self, choice: Any) -> str | None:
        shown = show_fields(choice, CandidateChange, ("finishReason",))
        return shown.get("finishReason")

    def with_finish(self, choice: Any, word: str) -> Any:
        reason = enum_word(form_of(choice, "camel"), "FinishReason", word)
        return with_fields(choice, {"finishReason": reason}, form="camel")

    def ratings(self, choice: Any) -> list[LLMSafetyRating] | None:
        if field(choice, "safetyRatings") is None:
            return None
        return [_show_rating(rating) for rating in objects_field(choice, "safetyRatings")]

    def with_ratings(self, choice: Any, wanted: Sequence[SafetyRatingChange]) -> Any:
        ratings, form = objects_field(choice, "safetyRatings"), form_of(choice, "camel")
        edited = []
        for place, change in enumerate(wanted):
            rating = ratings[place] if place < len(ratings) else build(form, "SafetyRating", {})
            shown: Mapping[str, Any] = _show_rating(rating)
            words = {
                name: enum_word(form, _RATING_ENUMS[name], word)
                for name, word in change.named().items()
                if word != shown[name]
            }
            edited.append(with_fields(rating, words, form=form))
        if are_same(edited, ratings):
            return choice
        return with_fields(choice, {"safetyRatings": edited}, form=form)

    def calls(self, choice: Any) -> list[str]:
        parts = parts_field(object_field(choice, "content"))
        return [name for part in parts if (name := _read_called_name(part))]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        parts = parts_field(object_field(choice, "content"))
        left, _is_open = _drop_calls(parts, names, is_dropped=False)
        return _put_parts(choice, left)

    def usage_of(self, response: Any) -> Any:
        usage = object_field(response, "usageMetadata")
        return None if usage is None else read_fields(usage, _COUNTS)

    def with_usage(self, response: Any, changes: Mapping[str, Any]) -> Any:
        usage, form = object_field(response, "usageMetadata"), _choose_response_form(response)
        changed = set_fields(usage, "GenerateContentResponseUsageMetadata", changes, form=form)
        return _with_field(response, "usageMetadata", changed)


def _with_field(value: Any, name: str, item: Any) -> Any:
    return with_fields(value, {name: item}, form="camel")


def _find_config_form(request: Any) -> Form:
    return form_of(object_field(request, "config"), form_of(request, "camel"))


def _find_contents_form(request: Any) -> Form:
    """The form of new contents: that of the others, or of the request."""
    contents = field(request, "contents")
    for entry in contents if isinstance(contents, list | tuple) else [contents]:
        if is_typed(entry) or isinstance(entry, Mapping):
            return "typed" if is_typed(entry) else "camel"
    return form_of(request, "camel")


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


def _read_function_names(tool: Any) -> list[str]:
    if callable(tool):
        names = [getattr(tool, "__name__", "")]
    else:
        declared = list_field(tool, "functionDeclarations")
        names = [field(declaration, "name") for declaration in declared or [tool]]
    return [name for name in names if isinstance(name, str) and name]


def _find_own_tools(tool: Any) -> dict[str, str]:
    """The names of Gemini's own tools in a tool -> their fields."""
    if callable(tool) or field(tool, "name") is not None:
        # A Python function, or a declaration that stands for a tool.
        return {}
    return {
        snake: own
        for snake, own in list_set_fields(tool).items()
        if snake not in ("function_declarations", "mcp_servers")
    }


def _is_server(tool: Any) -> bool:
    """True for a tool whose functions only a server can name."""
    if field(tool, "mcpServers"):
        return True
    is_plain = isinstance(tool, Mapping) or is_typed(tool)
    return not is_plain and not _read_function_names(tool)


def _cut_tool(tool: Any, allowed: Collection[str]) -> Any:
    """The tool with what is allowed of it alone."""
    changes: dict[str, Any] = {
        own: None for name, own in _find_own_tools(tool).items() if name not in allowed
    }
    functions = list_field(tool, "functionDeclarations")
    left = [each for each in functions if field(each, "name") in allowed]
    if len(left) < len(functions):
        changes["functionDeclarations"] = left or None
    return with_fields(tool, changes, form="camel")


def read_declared_names(config: object) -> frozenset[str] | None:
    """The names of all functions that a config declares; None if only the API knows them, as with
    the tools of an MCP server."""
    tools = list_field(config, "tools")
    if any(map(_is_server, tools)):
        return None
    return frozenset(name for tool in tools for name in _read_function_names(tool))


def _choose_functions(own: Any, mode: str, names: Collection[str] | None, form: Form) -> Any:
    """The tool config of a mode that allows these functions, its other settings kept."""
    calling = object_field(own, "functionCallingConfig")
    form = form_of(calling, form_of(own, form))
    shown = show_fields(calling, HookToolConfigChange)
    changes: dict[str, Any] = {}
    if mode and shown.get("mode") != mode:
        changes["mode"] = enum_word(form, "FunctionCallingConfigMode", mode)
    if names is not None and shown.get("allowedFunctionNames") != [*names]:
        changes["allowedFunctionNames"] = [*names]
    new = set_fields(calling, "FunctionCallingConfig", changes, form=form)
    if new is calling:
        return own
    return set_fields(own, "ToolConfig", {"functionCallingConfig": new}, form=form)


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


def _choose_response_form(value: object) -> Form:
    """The form of a response, or the one that fits another value of the same caller."""
    if isinstance(value, Mapping):
        return "camel"
    return "typed" if form_of(value, "camel") == "typed" else "camel"


def _show_rating(rating: object) -> LLMSafetyRating:
    shown = {"category": "", "probability": "", **show_fields(rating, SafetyRatingChange)}
    return cast(LLMSafetyRating, shown)


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


def _read_called_name(part: object) -> str | None:
    """The function that a part calls; empty for further arguments of the call before it."""
    call = None if isinstance(part, str) else field(part, "functionCall")
    return None if call is None else field(call, "name") or ""


def _drop_calls(
    parts: Sequence[Any], names: Collection[str], *, is_dropped: bool
) -> tuple[list[Any], bool]:
    """The parts without calls of these functions, and whether the last call was one of them; as
    ``is_dropped`` says of the last call before these parts. Arguments that are streamed follow
    their call, without its name."""
    left = []
    for part in parts:
        name = _read_called_name(part)
        if name:
            is_dropped = name in names
        if name is None or not is_dropped:
            left.append(part)
    return left, is_dropped


def _put_parts(candidate: Any, parts: list[Any]) -> Any:
    content = _with_field(object_field(candidate, "content"), "parts", parts)
    return _with_field(candidate, "content", content)


class GenAIStreams:
    """``StreamForm`` of ``generate_content_stream``, whose chunks are responses themselves."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        if len(chunks) == 1:
            return chunks[0]
        by_index: dict[int, list[Any]] = {}
        for chunk in chunks:
            for candidate in objects_field(chunk, "candidates"):
                by_index.setdefault(field(candidate, "index") or 0, []).append(candidate)
        merged = [_merge_candidate(candidates) for _, candidates in sorted(by_index.items())]
        about = _find_last(chunks, ("usageMetadata", "promptFeedback"))
        return with_fields(chunks[-1], {"candidates": merged, **about}, form="camel")

    def split(self, response: Any) -> list[Any]:
        return [response]

    def filter_calls(self, gate: Refusing) -> CallFilter:
        return _CallFilter(gate)


def _merge_candidate(candidates: Sequence[Any]) -> Any:
    """A candidate of all its chunks: texts joined, all else in order."""
    contents = [c for each in candidates if (c := object_field(each, "content")) is not None]
    parts: list[Any] = []
    for part in (part for content in contents for part in list_field(content, "parts")):
        if parts and _is_more_of(parts[-1], part):
            parts[-1] = _with_field(part, "text", field(parts[-1], "text") + field(part, "text"))
        else:
            parts.append(part)
    role = next((role for content in contents if (role := field(content, "role"))), "model")
    last = candidates[-1]
    form: Form = "typed" if is_typed(last) else "camel"
    content = build(form, "Content", {"role": role, "parts": parts})
    changes = {**_find_last(candidates, _ENDS), "content": content}
    return with_fields(last, changes, form=form)


def _find_last(values: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Each of these fields as the last of the values that has it gives it."""
    found: dict[str, Any] = {}
    for value in values:
        found |= read_fields(value, names)
    return found


def _is_more_of(before: Any, part: Any) -> bool:
    """True if a part continues the text of the one before: both are texts or both are thoughts,
    and the first is not signed."""
    for each in (before, part):
        if not isinstance(field(each, "text"), str) or field(each, "functionCall") is not None:
            return False
    is_same_kind = bool(field(before, "thought")) == bool(field(part, "thought"))
    return is_same_kind and field(before, "thoughtSignature") is None


class _CallFilter:
    """Leaves calls out of the chunks of a stream; if nothing else has passed of a candidate when it
    ends, its last chunk says why."""

    def __init__(self, gate: Refusing) -> None:
        self._gate = gate
        self._names: list[str] = []
        # The index of a candidate -> whether its last call was left out.
        self._dropped: dict[int, bool] = {}
        self._passed: set[int] = set()

    def feed(self, chunk: Any) -> list[Any]:
        names = self._gate.find_refused(chunk)
        self._names += names
        candidates = objects_field(chunk, "candidates")
        left = [self._pass_candidate(candidate, names) for candidate in candidates]
        return [chunk if are_same(left, candidates) else _with_field(chunk, "candidates", left)]

    def _pass_candidate(self, candidate: Any, names: Collection[str]) -> Any:
        index = field(candidate, "index") or 0
        parts = parts_field(object_field(candidate, "content"))
        is_dropped = self._dropped.get(index, False)
        left, self._dropped[index] = _drop_calls(parts, names, is_dropped=is_dropped)
        if any(visible_texts(left)) or any(_read_called_name(part) for part in left):
            self._passed.add(index)
        ends = field(candidate, "finishReason") is not None
        if self._names and ends and index not in self._passed:
            form: Form = "typed" if is_typed(candidate) else "camel"
            left = [*left, text_part(self._gate.explain_refused(self._names), form=form)]
        return candidate if are_same(left, parts) else _put_parts(candidate, left)
