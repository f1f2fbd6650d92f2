"""The base of the translators of message APIs: each adds its message form, its request fields and
its response fields.

A *choice* is one of the alternative answers in a response; a *tool choice* is the field of a
request that says which tools the model may call.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

from hookline._support.notices import warn
from hookline.errors import TranslationError
from hookline.translate.alignment import (
    MessageForm,
    edit_messages,
    set_system_apart,
    show_messages,
)
from hookline.translate.values import (
    JSONCall,
    are_same,
    get,
    get_list,
    get_objects,
    get_text,
    put,
    read_change,
    refuse_text,
)
from hookline.wire.model import (
    CandidateChange,
    ContentChange,
    HookToolConfig,
    HookToolConfigChange,
    LLMCandidate,
    LLMConfig,
    LLMConfigChange,
    LLMMessage,
    LLMRequest,
    LLMResponse,
    LLMResponseChange,
    LLMSafetyRating,
    LLMUsage,
    MessageChange,
    SafetyRatingChange,
    UsageChange,
    read_llm_request,
    read_llm_response,
    read_tool_config,
    well_formed,
)

M = TypeVar("M")
MODES = frozenset({"AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"})


class MessageTranslator(Generic[M]):
    """A ``HookTranslator`` of one API, which sets the class variables and writes the methods that
    raise NotImplementedError here."""

    # The name by which a ``JSONCall`` names the API.
    name: ClassVar[str]
    # The API, and what its requests and responses look like, for errors.
    api: ClassVar[str]
    requests: ClassVar[str]
    responses: ClassVar[str]
    # Reads and makes its messages; ``form_for`` where it depends on the request.
    form: MessageForm[M]
    # A setting of the hook format -> the API's names for it: the first that is set counts; if none
    # is, the last is set.
    settings: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # A count of the hook format -> the API's name in the usage of a response.
    usage: ClassVar[Mapping[str, str]] = {}
    # The modes of a tool choice; others that hooks give count as AUTO.
    modes: ClassVar[Collection[str]] = ("AUTO", "ANY", "NONE")
    # True if the API has the words of the hook format, which are Gemini's: hooks may give any
    # reason why the model stopped, and indexes and counts that are absent stay absent.
    has_hook_words: ClassVar[bool] = False
    # True if a system message may stand between other messages.
    system_turns: ClassVar[bool] = False
    # True if a response has no list of choices but is one answer itself.
    one_choice: ClassVar[bool] = False
    # The field of a choice that says why the model stopped, and the API's words for it.
    finish_field: ClassVar[str]
    finish_words: ClassVar[Collection[str]] = ()
    # The fields of a request that declare tools.
    tool_fields: ClassVar[Collection[str]] = ("tools",)
    # The fields of a request (beside its settings) and of a response that hold no conversation.
    request_fields: ClassVar[Collection[str]] = ()
    response_fields: ClassVar[Collection[str]] = ()

    # -- what each API defines: requests

    def form_for(self, request: Any) -> MessageForm[M]:  # noqa: ARG002 - most have one form
        """Reads and makes the messages of a request."""
        return self.form

    def reads_request(self, request: object) -> bool:
        """True if a value is a request of this API."""
        raise NotImplementedError

    def new_request(self, like: object) -> Any:
        """A request with no messages."""
        raise NotImplementedError

    def messages(self, request: Any) -> Sequence[M]:
        """The messages of a request; raises TranslationError for anything else."""
        return get_list(request, "messages")

    def with_messages(self, request: Any, messages: list[M]) -> Any:
        """The request with other messages."""
        return put(request, {"messages": messages})

    def split_results(self, message: M) -> tuple[M, M | None] | None:  # noqa: ARG002
        """Split a message with results of tool calls: first what hooks are not shown, which must
        follow the calls at once, then what they are shown, None if there is none. None for a
        message without results. For APIs whose results share a message with the user's text."""
        return None

    def with_system(self, request: Any, texts: Sequence[str]) -> Any:
        """The request with texts added to its system prompt; for APIs without system turns."""
        raise NotImplementedError

    def model_of(self, request: Any) -> str:
        """The name of the model, empty when there is none."""
        return get_text(request, "model")

    def with_model(self, request: Any, model: str) -> Any:
        """The request for another model."""
        return put(request, {"model": model})

    def settings_of(self, request: Any) -> Any:
        """The value that holds a request's settings."""
        return request

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        """The request with other settings, by the API's names."""
        return put(request, changes)

    # -- what each API defines: tools

    def tools_of(self, request: Any) -> Sequence[Any]:
        """The tools that a request declares."""
        return [tool for field in self.tool_fields for tool in get_objects(request, field)]

    def tool_name(self, tool: Any) -> str:
        """The name by which a tool is allowed; empty if it has none."""
        raise NotImplementedError

    def names_of(self, tool: Any) -> Sequence[str]:
        """The names by which a tool is allowed, for APIs whose tools have several."""
        return [self.tool_name(tool)]

    def declared_names(self, request: Any) -> Collection[str] | None:
        """The names that hooks can allow; None if only a server knows them."""
        return self.tool_names(request) or ()

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        """What hooks are shown of a tool choice."""
        raise NotImplementedError

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:
        """The tool choice of a mode (one of ``modes``; empty in the hook format: the caller's) that
        allows these names, None for all; an API without an allow-list leaves them out. ``own`` is
        the caller's tool choice."""
        raise NotImplementedError

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        """The request that declares the allowed tools alone, None for all, with a tool choice of
        the mode. Without any tool it has no tool choice either, as the API would refuse it.

        A list that is cut allows nothing else, whatever a server makes of a tool choice: many
        ignore an allow-list, and some refuse it."""
        if not self.tools_of(request):
            return request
        changes: dict[str, Any] = {}
        is_empty = True
        for field in self.tool_fields:
            tools = get_objects(request, field)
            left = self.keep_tools(tools, mode, allowed)
            is_empty = is_empty and not left
            if len(left) < len(tools):
                changes[field] = left or None
        own = get(request, "tool_choice")
        choice = None if is_empty else self.tool_choice(mode, None, own)
        if is_empty and type(request) is dict:
            # Without its tools the request may look like that of another API.
            request = JSONCall(self.name, request)
        return put(request, changes if choice == own else {**changes, "tool_choice": choice})

    def keep_tools(
        self, tools: Sequence[Any], mode: str, allowed: Collection[str] | None
    ) -> Sequence[Any]:
        """The tools that the model may call; with an allow-list, none without a name."""
        if mode == "NONE":
            return []
        return [tool for tool in tools if allowed is None or self.tool_name(tool) in allowed]

    # -- what each API defines: responses

    def reads_response(self, response: object) -> bool:
        """True if a value is a complete response of this API."""
        raise NotImplementedError

    def choices(self, response: Any) -> list[Any]:
        """The choices of a response; raises TranslationError for anything else."""
        if self.one_choice:
            return [response]
        raise NotImplementedError

    def with_choices(self, response: Any, choices: list[Any]) -> Any:  # noqa: ARG002
        """The response with other choices."""
        if self.one_choice:
            return choices[0]
        raise NotImplementedError

    def new_choice(self, response: Any, index: int) -> Any:
        """A choice without text, in the form of the response; for APIs that offer several."""
        raise NotImplementedError

    def index(self, choice: Any, place: int) -> int | None:
        """The index of a choice, its place among the others if the API gives none."""
        index = get(choice, "index")
        return index if type(index) is int else None if self.has_hook_words else place

    def with_index(self, choice: Any, index: int) -> Any:  # noqa: ARG002 - a choice may have none
        """The choice with another index, if the API's choices have one."""
        return choice

    def texts(self, choice: Any) -> list[str]:
        """The texts of a choice that hooks are shown."""
        raise NotImplementedError

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        """The choice with these texts for the old: each in its place if there are as many,
        otherwise all at the place of the first."""
        raise NotImplementedError

    def finish(self, choice: Any) -> str | None:
        """The API's word for why the model stopped."""
        word = get(choice, self.finish_field)
        return word if isinstance(word, str) else None

    def with_finish(self, choice: Any, word: str) -> Any:
        """The choice with another word for why the model stopped."""
        return put(choice, {self.finish_field: word})

    def ratings(self, choice: Any) -> list[LLMSafetyRating] | None:  # noqa: ARG002
        """What hooks are shown of the safety ratings of a choice."""
        return None

    def with_ratings(self, choice: Any, wanted: Sequence[SafetyRatingChange]) -> Any:  # noqa: ARG002
        """The choice with other safety ratings, if the API has them."""
        return choice

    def calls(self, choice: Any) -> list[str]:
        """The names of the tools that a choice calls."""
        raise NotImplementedError

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        """The choice without the calls of these tools; if no other calls are left, it says that the
        model stopped by itself."""
        raise NotImplementedError

    def usage_of(self, response: Any) -> Any:
        """The value that holds the token counts of a response."""
        return get(response, "usage")

    def with_usage(self, response: Any, changes: Mapping[str, Any]) -> Any:
        """The response with other token counts, by the API's names."""
        return put(response, {"usage": put(self.usage_of(response), changes)})

    def new_response(self, like: object) -> Any:
        """A response with no choices, in the form that the caller of ``like`` uses."""
        raise NotImplementedError

    # -- the translator

    def to_hook_llm_request(self, request: object) -> LLMRequest:
        """What hooks are shown of a request."""
        self.check_request(request)
        return self._show_request(request)

    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The request with what the hook names."""
        change = read_change(read_llm_request, "llm_request", hook)
        request = self.new_request(like) if base is None else base
        self.check_request(request)
        # Hooks cannot change a request that cannot be shown to them: this raises for one.
        shown = self._show_request(request)
        if change.model is not None and change.model != self.model_of(request):
            request = self.with_model(request, change.model)
        if change.messages is not None:
            # In the hook format a request without a base has its system messages as turns.
            is_turn = self.system_turns or (base is None and self.has_hook_words)
            request = self.edit_messages(
                request, shown["messages"], change.messages, system_turns=is_turn
            )
        if change.config is not None:
            request = self._edit_settings(request, change.config)
        if change.tool_config is not None:
            request = self._edit_tools(request, change.tool_config)
        return request

    def to_hook_llm_response(self, response: object) -> LLMResponse:
        """What hooks are shown of a response."""
        self.check_response(response)
        return self._show_response(response)

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The response with what the hook names; rebuilt from its texts without a base."""
        change = read_change(read_llm_response, "llm_response", hook)
        response = self.new_response(like) if base is None else base
        self.check_response(response)
        return self._edit_response(response, change, is_new=base is None)

    def to_hook_tool_config(self, tool_config: object) -> HookToolConfig:
        """What hooks are shown of a tool choice."""
        return {} if tool_config is None else self.show_tool_choice(tool_config)

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:  # noqa: ARG002
        """The tool choice with what the hook names; without what an API expresses only by its list
        of tools."""
        change = read_change(read_tool_config, "toolConfig", hook)
        selection = self._select_tools(base, change)
        if selection is None:
            return base
        mode, names = selection
        return self.tool_choice(mode if names != [] else "NONE", names, base)

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the tools a request declares; None when it declares none."""
        self.check_request(request)
        tools = self.tools_of(request)
        names = dict.fromkeys(name for tool in tools for name in self.names_of(tool))
        return [name for name in names if name] or None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool choice and tools, as they stand in it."""
        self.check_request(request)
        return get(request, "tool_choice"), get(request, "tools")

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A finished response whose text is the reason."""
        answer = {"content": {"parts": [reason]}, "finishReason": "STOP", "index": 0}
        return self.from_hook_llm_response({"candidates": [answer]}, like=like)

    def call_names(self, response: object) -> list[str]:
        """The names of the tools that a response calls."""
        self.check_response(response)
        return [name for choice in self.choices(response) for name in self.calls(choice)]

    def has_system_turns(self, request: object) -> bool:  # noqa: ARG002 - all are alike
        """True if a system message may stand between other messages."""
        return self.system_turns

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:
        """The response without the calls of these tools."""
        self.check_response(response)
        choices = self.choices(response)
        kept = [
            self.without_calls(choice, names)
            if not set(names).isdisjoint(self.calls(choice))
            else choice
            for choice in choices
        ]
        return response if are_same(kept, choices) else self.with_choices(response, kept)

    def check_request(self, request: object) -> None:
        """Raise TranslationError for a value that is not a request of this API."""
        if not self.reads_request(request):
            raise TranslationError(
                f"a model request cannot be {type(request).__name__} here; {self.requests}"
            )

    def check_response(self, response: object) -> None:
        """Raise TranslationError for a value that is not a response of this API."""
        if not self.reads_response(response):
            raise TranslationError(
                f"a model response cannot be {type(response).__name__} here; {self.responses}"
            )

    def refuse_unread(self, request: Any) -> None:
        """Raise TranslationError if a request without messages has text in an unknown field."""
        settings = [name for own in self.settings.values() for name in own]
        known = {"model", "tools", "tool_choice", *settings, *self.request_fields}
        refuse_text(request, known, "a model request has no messages")

    def show_messages(self, request: Any, messages: Sequence[M]) -> list[LLMMessage]:
        """The messages that hooks are shown."""
        form = self.form_for(request)
        try:
            return show_messages(messages, form)
        except TranslationError as error:
            problem = error.problem
        for place, message in enumerate(messages):
            try:
                form.text(message)
            except TranslationError as error:
                problem = f"messages[{place}]: {error.problem}"
                break
        raise TranslationError(problem)

    def edit_messages(
        self,
        request: Any,
        shown: Sequence[LLMMessage],
        wanted: Sequence[MessageChange],
        *,
        system_turns: bool,
    ) -> Any:
        """The request of which hooks would be shown ``wanted``."""
        if [{"role": each.role, "content": each.content} for each in wanted] == shown:
            return request
        apart: list[str] = []
        if not system_turns:
            wanted, apart = set_system_apart(shown, wanted)
        if [{"role": each.role, "content": each.content} for each in wanted] != shown:
            # A call stays the model's, and its result the user's, if the text changes its role.
            edited = edit_messages(
                self.messages(request),
                wanted,
                self.form_for(request),
                split_roles=True,
                split_results=self.split_results,
            )
            request = self.with_messages(request, edited)
        return self.with_system(request, apart) if apart else request

    # -- the shared work

    def _show_request(self, request: Any) -> LLMRequest:
        messages = self.messages(request)
        more = get(request, "extra_body")
        if isinstance(more, Mapping) and ("messages" in more or "input" in more):
            raise TranslationError("extra_body replaces the conversation; put it into the request")
        if not messages:
            self.refuse_unread(request)
        shown: LLMRequest = {
            "model": self.model_of(request),
            "messages": self.show_messages(request, messages),
            "config": self._show_settings(request),
        }
        tool_config = self.to_hook_tool_config(self.tool_selection(request)[0])
        if tool_config:
            shown["toolConfig"] = tool_config
        return shown

    def _show_settings(self, request: Any) -> LLMConfig:
        held = self.settings_of(request)
        found: dict[str, Any] = {}
        for name, own in self.settings.items():
            value = next((v for each in own if (v := get(held, each)) is not None), None)
            if name == "stopSequences" and isinstance(value, str):
                value = [value]
            if value is not None:
                found[name] = list(value) if isinstance(value, tuple) else value
        return cast(LLMConfig, well_formed(found, LLMConfigChange))

    def _edit_settings(self, request: Any, change: LLMConfigChange) -> Any:
        shown, held = self._show_settings(request), self.settings_of(request)
        changes: dict[str, Any] = {}
        for name, value in change.named().items():
            if shown.get(name) == value:
                continue
            own = self.settings.get(name)
            if own is None:
                warn(f"a hook's config.{name} was left out: {self.api} has no such setting")
                continue
            set_already = (each for each in own if get(held, each) is not None)
            changes[next(set_already, own[-1])] = value
        return self.with_settings(request, changes) if changes else request

    def _edit_tools(self, request: Any, change: HookToolConfigChange) -> Any:
        selection = self._select_tools(self.tool_selection(request)[0], change)
        if selection is None:
            return request
        mode, names = selection
        declared = self.declared_names(request)
        if names is not None and declared is not None:
            names = [name for name in names if name in declared]
        return self.with_tools(request, mode if names != [] else "NONE", names)

    def _select_tools(
        self, own: Any, change: HookToolConfigChange
    ) -> tuple[str, list[str] | None] | None:
        """The mode and the allowed names that a hook's change gives to a tool choice; None if it
        changes nothing."""
        shown = self.to_hook_tool_config(own)
        wanted = cast(HookToolConfig, {**shown, **change.named()})
        if wanted == shown:
            return None
        mode = wanted.get("mode", "" if self.has_hook_words else "AUTO").upper()
        if "mode" in wanted and mode not in MODES:
            raise TranslationError(
                f"toolConfig.mode {mode!r} is not one of {', '.join(sorted(MODES))}"
            )
        mode = mode if not mode or mode in self.modes else "AUTO"
        return mode, wanted.get("allowedFunctionNames")

    def _show_response(self, response: Any) -> LLMResponse:
        candidates: list[LLMCandidate] = []
        choices = self.choices(response)
        if not choices:
            refuse_text(response, self.response_fields, "a model response has no choices")
        for place, choice in enumerate(choices):
            candidate: LLMCandidate = {"content": {"role": "model", "parts": self.texts(choice)}}
            word = self.finish(choice)
            if isinstance(word, str):
                candidate["finishReason"] = word
            if (index := self.index(choice, place)) is not None:
                candidate["index"] = index
            if (ratings := self.ratings(choice)) is not None:
                candidate["safetyRatings"] = ratings
            candidates.append(candidate)
        shown: LLMResponse = {"candidates": candidates}
        if candidates and candidates[0]["content"]["parts"]:
            shown = {"text": "".join(candidates[0]["content"]["parts"]), "candidates": candidates}
        if (usage := self._show_usage(response)) is not None:
            shown["usageMetadata"] = usage
        return shown

    def _show_usage(self, response: Any) -> LLMUsage | None:
        held = self.usage_of(response)
        if held is None:
            return None
        counts = {name: get(held, own) for name, own in self.usage.items()}
        if counts.get("totalTokenCount") is None and not self.has_hook_words:
            both = [counts.get(name) for name in ("promptTokenCount", "candidatesTokenCount")]
            if all(type(count) is int for count in both):
                counts["totalTokenCount"] = sum(cast(list[int], both))
        found = {name: count for name, count in counts.items() if count is not None}
        return cast(LLMUsage, well_formed(found, UsageChange))

    def _edit_response(self, response: Any, change: LLMResponseChange, *, is_new: bool) -> Any:
        shown = self._show_response(response)
        choices = self.choices(response)
        edited = choices
        if change.candidates is not None:
            edited = self._edit_choices(response, choices, change.candidates, is_new=is_new)
        if edited is choices and change.text is not None and change.text != shown.get("text", ""):
            start = choices[0] if choices else self.new_choice(response, 0)
            edited = [self._with_texts(start, [change.text]), *choices[1:]]
        if edited is not choices:
            response = self.with_choices(response, edited)
        return self._edit_usage(response, change.usage_metadata, shown.get("usageMetadata"))

    def _edit_choices(
        self,
        response: Any,
        choices: list[Any],
        wanted: Sequence[CandidateChange],
        *,
        is_new: bool,
    ) -> list[Any]:
        if self.one_choice:
            if len(wanted) > 1:
                warn(f"a hook's candidates were left out after the first: {self.api} has one")
            wanted = wanted[:1] or [CandidateChange(content=ContentChange(parts=[]))]
        edited: list[Any] = []
        for place, change in enumerate(wanted):
            is_old = place < len(choices)
            choice = choices[place] if is_old else self.new_choice(response, place)
            if change.content is not None and change.content.parts is not None:
                choice = self._with_texts(choice, change.content.parts)
            # A new answer already says that the model stopped by itself.
            is_finished = is_new or not is_old
            if change.finish_reason is not None and (self.has_hook_words or not is_finished):
                choice = self._with_finish(choice, change.finish_reason)
            if change.index is not None and change.index != self.index(choice, place):
                choice = self.with_index(choice, change.index)
            if change.safety_ratings is not None:
                choice = self.with_ratings(choice, change.safety_ratings)
            edited.append(choice)
        return choices if are_same(edited, choices) else edited

    def _with_texts(self, choice: Any, texts: list[str]) -> Any:
        return choice if texts == self.texts(choice) else self.with_texts(choice, texts)

    def _with_finish(self, choice: Any, word: str) -> Any:
        if word == self.finish(choice):
            return choice
        if not self.has_hook_words and word not in self.finish_words:
            known = ", ".join(self.finish_words)
            warn(f"a hook's finishReason {word!r:.80} was left out: {self.api} has {known}")
            return choice
        return self.with_finish(choice, word)

    def _edit_usage(self, response: Any, change: UsageChange | None, shown: LLMUsage | None) -> Any:
        """The response with the counts that a hook names, if the API has them."""
        if change is None or (shown is None and not self.has_hook_words):
            return response
        changes = {
            self.usage[name]: count
            for name, count in change.named().items()
            if name in self.usage and count != (shown or {}).get(name)
        }
        return self.with_usage(response, changes) if changes else response
