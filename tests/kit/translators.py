"""The laws of translation, as checks for any translator.

Each check takes a translator and one value of its API, as JSON or as an SDK's own object, and
raises AssertionError if the translator breaks the contract of ``HookTranslator``. The values come
from hypothesis or from a list of examples::

    @given(request=requests())
    def test_requests_obey_the_laws(request):
        check_request(translator, request)

Values may hold two marks. A text that hooks must not be shown, and that must survive every edit,
contains ``HIDDEN``: put it in the arguments and ids of calls, in thoughts, signatures and other
fields. A text that hooks are shown contains ``SECRET``, and so does what repeats that text
(annotations, log probabilities, a parsed form of it): nothing of it may be left after hooks
replaced it.
"""

import dataclasses
import enum
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, TypeAlias, cast

import msgspec

from hookline._support.notices import heard_warnings
from hookline.errors import TranslationError
from hookline.translate import HookTranslator
from hookline.wire import codec
from hookline.wire.model import LLMMessage, LLMRequest, LLMResponse

HIDDEN = "⟨hidden⟩"
SECRET = "jane@example.org"

Messages: TypeAlias = Callable[[Any], Sequence[Any]]

_NEW = "⟨new⟩"
_UNDECLARED = "no_tool_of_this_name"
# A setting of the format -> a value that it can have.
_SETTINGS: dict[str, Any] = {
    "temperature": 0.125,
    "maxOutputTokens": 77,
    "topP": 0.625,
    "topK": 13,
    "stopSequences": ["⟨stop⟩"],
    "candidateCount": 2,
    "presencePenalty": 0.375,
    "frequencyPenalty": 0.875,
}


def find_messages(request: Any) -> Sequence[Any]:
    """The messages of a request where most APIs have them: the request itself if it is a list,
    else its ``messages`` or ``input``. Empty if that is not a list."""
    found = request
    for name in ("messages", "input"):
        if not isinstance(found, list | tuple):
            has_it = isinstance(request, Mapping) and name in request
            found = request[name] if has_it else getattr(request, name, None)
    return found if isinstance(found, list | tuple) else ()


def check_request(
    translator: HookTranslator, request: Any, *, messages: Messages = find_messages
) -> None:
    """Check every law of a request: reading it, and every kind of edit. ``messages`` finds its
    messages as the API has them; if it finds none, only what hooks are shown is compared."""
    before = to_json(request)
    shown = _show_request(translator, request)
    expect(HIDDEN not in str(shown), "hooks are shown something hidden", shown)
    echo = translator.from_hook_llm_request(shown, request)
    expect(echo is request, "an untouched request must come back as itself", echo)
    nothings: list[dict[str, Any]] = [{}, {"messages": None, "config": {}, "toolConfig": {}}]
    for nothing in nothings:
        echo = translator.from_hook_llm_request(nothing, request)
        expect(echo is request, "a change of nothing must give the request itself", echo)
    for place in range(len(shown["messages"])):
        _check_edit(translator, request, shown, place, messages)
        _check_removal(translator, request, shown, place, messages)
    for place in range(len(shown["messages"]) + 1):
        _check_addition(translator, request, shown, place, messages)
        _check_system_message(translator, request, shown, place)
    _check_settings(translator, request, shown)
    check_redacted_request(translator, request)
    check_tools(translator, request)
    expect(to_json(request) == before, "the request was altered", request)


def check_redacted_request(translator: HookTranslator, request: Any) -> None:
    """Check that a text replaced by a hook leaves no trace, and that nothing hidden is lost."""
    shown = _show_request(translator, request)
    wanted = [
        {**each, "content": each["content"].replace(SECRET, _NEW)} for each in shown["messages"]
    ]
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    expect_messages(_show_request(translator, edited)["messages"], wanted, edited)
    expect(SECRET not in str(to_json(edited)), "a replaced text left a trace", edited)
    _expect_hidden(edited, request)
    check_valid(edited)


def check_tools(translator: HookTranslator, request: Any) -> None:
    """Check tool selection: tools that hooks take away leave the request's own list, and its tool
    choice does not name them; only declared names are sent; if none is left, no tool is allowed."""
    declared = translator.tool_names(request)
    before = _show_request(translator, request)
    for mode in ("AUTO", "ANY", "NONE"):
        edited = translator.from_hook_llm_request({"toolConfig": {"mode": mode}}, request)
        shown = _show_request(translator, edited)
        expect(shown["messages"] == before["messages"], "the messages changed", edited)
        _expect_hidden([*find_messages(edited)], [*find_messages(request)])
        if mode != "NONE" and "allowedFunctionNames" not in before.get("toolConfig", {}):
            _expect_hidden(edited, request)
        if mode == "NONE" and declared:
            expect(not get_allowed(translator, edited), "NONE must allow no tool", edited)
    for count in range(len(declared or ()) + 1):
        names = (declared or [])[:count]
        config = {"mode": "ANY", "allowedFunctionNames": [*names, _UNDECLARED]}
        edited = translator.from_hook_llm_request({"toolConfig": config}, request)
        check_valid(edited)
        if declared:
            expect(_UNDECLARED not in str(to_json(edited)), "an undeclared name was sent", edited)
            allowed = get_allowed(translator, edited)
            # A tool choice may name functions alone, and leave an API's own tools to the list.
            is_so = allowed <= {*names} and bool(allowed) == bool(names)
            expect(is_so, f"{sorted(names)} were allowed, not {allowed}", edited)
            _check_offered(translator, request, edited, names)
    change = {"mode": "NONE", "allowedFunctionNames": []}
    own, _tools = translator.tool_selection(request)
    made = translator.from_hook_tool_config(change, own, like=request)
    if made is not None:
        word = translator.to_hook_tool_config(made).get("mode")
        expect(word == "NONE", f"the tool config says {word}, not NONE", made)


def get_allowed(translator: HookTranslator, request: Any) -> set[str]:
    """The names of the tools that the API lets the model call."""
    config = translator.to_hook_llm_request(request).get("toolConfig", {})
    declared = set(translator.tool_names(request) or ())
    if config.get("mode") == "NONE":
        return set()
    return declared & set(config.get("allowedFunctionNames", declared))


def _check_offered(
    translator: HookTranslator, request: Any, edited: Any, names: Sequence[str]
) -> None:
    """Check that the request declares these tools alone. Without any tool, all may stay declared
    and forbidden: some APIs refuse a conversation with calls if no tool is declared."""
    offered = translator.tool_names(edited) or []
    config = _show_request(translator, edited).get("toolConfig", {})
    if not names and offered and offered == translator.tool_names(request):
        is_forbidden = config.get("mode") == "NONE"
        expect(is_forbidden, f"{offered} are offered after all were taken away", edited)
        return
    expect(offered == [*names], f"{offered} are offered, not {[*names]}", edited)
    chosen = set(config.get("allowedFunctionNames", ()))
    expect(chosen <= {*names}, f"the tool choice names {chosen - {*names}}", edited)
    again = translator.from_hook_llm_request({"toolConfig": dict(config)}, edited)
    expect(again is edited, "the same selection must give the request itself", again)


def check_response(translator: HookTranslator, response: Any) -> None:
    """Every law of a response: reading it, and every kind of edit."""
    before = to_json(response)
    shown = _show_response(translator, response)
    expect(HIDDEN not in str(shown), "hooks are shown something hidden", shown)
    echo = translator.from_hook_llm_response(shown, response)
    expect(echo is response, "an untouched response must come back as itself", echo)
    candidates = shown["candidates"]
    for place, candidate in enumerate(candidates):
        parts = candidate["content"]["parts"]
        changes = [[*parts[:n], _NEW, *parts[n + 1 :]] for n in range(len(parts))]
        for texts in (*changes, [], [_NEW], [*parts, _NEW]):
            edited = _edit_candidate(translator, response, place, texts)
            now = _show_response(translator, edited)
            found = now["candidates"][place]["content"]["parts"]
            is_taken = "".join(found) == "".join(texts)
            expect(is_taken, f"{texts} gave {found}", edited)
            others = [c for n, c in enumerate(now["candidates"]) if n != place]
            expected = [c for n, c in enumerate(candidates) if n != place]
            expect(others == expected, "another candidate changed", edited)
            usage = now.get("usageMetadata"), shown.get("usageMetadata")
            expect(usage[0] == usage[1], "the usage changed", edited)
            _expect_hidden(edited, response)
            expect(type(edited) is type(response), "the type changed", edited)
            check_valid(edited)
    if candidates:
        edited = translator.from_hook_llm_response({"text": _NEW}, response)
        text = _show_response(translator, edited).get("text")
        expect(text == _NEW, f"the text became {text!r}", edited)
    check_redacted_response(translator, response)
    calls = translator.call_names(response)
    same = translator.drop_calls(response, [_UNDECLARED])
    expect(same is response, "a response without such calls must stay itself", same)
    left = translator.drop_calls(response, calls)
    expect(not translator.call_names(left), "calls are left", left)
    expect(
        _read_texts(translator, left) == _read_texts(translator, response), "texts changed", left
    )
    check_valid(left)
    expect(to_json(response) == before, "the response was altered", response)


def check_redacted_response(translator: HookTranslator, response: Any) -> None:
    """Check that a text replaced by a hook leaves no trace, and that nothing hidden is lost."""
    shown = _show_response(translator, response)
    wanted = [
        {"content": {"parts": [part.replace(SECRET, _NEW) for part in each["content"]["parts"]]}}
        for each in shown["candidates"]
    ]
    edited = translator.from_hook_llm_response({"candidates": wanted}, response)
    expect(SECRET not in str(to_json(edited)), "a replaced text left a trace", edited)
    _expect_hidden(edited, response)
    check_valid(edited)


def check_answers(translator: HookTranslator, like: Any, kind: type) -> None:
    """Check that a hook's answer in place of the model's, and the answer to a blocked call, have
    the type that the caller expects for a request or response like this one."""
    answers = {
        "text": translator.from_hook_llm_response({"text": _NEW}, like=like),
        "candidates": translator.from_hook_llm_response(
            {"candidates": [{"content": {"parts": [_NEW]}, "finishReason": "STOP"}]}, like=like
        ),
        "reason": translator.empty_response(_NEW, like=like),
    }
    for name, answer in answers.items():
        expect(isinstance(answer, kind), f"an answer by {name} is {type(answer).__name__}", answer)
        expect(_read_texts(translator, answer) == [[_NEW]], "its text is wrong", answer)
        expect(not translator.call_names(answer), "it calls tools", answer)
        check_valid(answer)
        again = translator.from_hook_llm_response(_show_response(translator, answer), answer)
        expect(again is answer, "reading it gives another value", again)


def check_any_value(translator: HookTranslator, value: Any) -> None:
    """Check that any value passed as a request, response or tool config is read, and then comes
    back as itself, or is refused with TranslationError."""
    for read, write in (
        (translator.to_hook_llm_request, translator.from_hook_llm_request),
        (translator.to_hook_llm_response, translator.from_hook_llm_response),
    ):
        try:
            shown = cast(Mapping[str, Any], read(value))
        except TranslationError:
            continue
        echo = write(shown, value)
        expect(echo is value, "an untouched value must come back as itself", echo)
    asks: list[Callable[[], object]] = [
        lambda: translator.tool_names(value),
        lambda: translator.tool_selection(value),
        lambda: translator.has_system_turns(value),
        lambda: translator.call_names(value),
        lambda: translator.drop_calls(value, ["a"]),
        lambda: translator.to_hook_tool_config(value),
        lambda: translator.from_hook_tool_config({"mode": "ANY"}, value),
        lambda: translator.from_hook_tool_config({"mode": "ANY"}, like=value),
        lambda: translator.from_hook_llm_request({"model": "m"}, value),
        lambda: translator.from_hook_llm_request({"model": "m"}, like=value),
        lambda: translator.from_hook_llm_response({"text": "t"}, value),
        lambda: translator.from_hook_llm_response({"text": "t"}, like=value),
        lambda: translator.empty_response("no", like=value),
    ]
    for ask in asks:
        _allow_refusal(ask)


def check_any_answer(
    translator: HookTranslator, answer: Any, *, request: Any = None, response: Any = None
) -> None:
    """Check that any answer of a hook is applied or refused with TranslationError."""
    before = to_json([answer, request, response])
    with heard_warnings():
        if request is not None:
            _allow_refusal(lambda: translator.from_hook_llm_request(answer, request))
            config, _tools = translator.tool_selection(request)
            _allow_refusal(lambda: translator.from_hook_tool_config(answer, config, like=request))
        if response is not None:
            _allow_refusal(lambda: translator.from_hook_llm_response(answer, response))
            _allow_refusal(lambda: translator.from_hook_llm_response(answer, like=response))
    expect(to_json([answer, request, response]) == before, "a value was altered", answer)


def check_valid(value: Any) -> None:
    """Check that the class of a pydantic object accepts its JSON."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            check_valid(item)
    elif hasattr(value, "model_dump_json"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dumped = value.model_dump_json()
            type(value).model_validate_json(dumped)


def to_json(value: Any) -> Any:
    """The content of an SDK's value as JSON, without the fields that are not set."""
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return to_json(msgspec.structs.asdict(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json({each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return to_json(dict(value))
    return repr(value)


def expect(is_so: bool, problem: str, value: object) -> None:
    """Raise AssertionError, with the value that the translator made, unless ``is_so``."""
    if not is_so:
        raise AssertionError(f"{problem}: {value!r:.2000}")


def expect_messages(
    found: Sequence[LLMMessage], wanted: Sequence[Mapping[str, Any]], value: object
) -> None:
    """Raise AssertionError unless hooks are shown these messages, except those without text."""
    expected = [dict(each) for each in wanted if each["content"]]
    expect([*found] == expected, f"hooks are shown {found}, not {expected}", value)


def _show_request(translator: HookTranslator, request: Any) -> LLMRequest:
    """What hooks read of a request, after encoding and decoding it as JSON."""
    shown = translator.to_hook_llm_request(request)
    read: LLMRequest = codec.decode(codec.encode(shown))
    return read


def _show_response(translator: HookTranslator, response: Any) -> LLMResponse:
    read: LLMResponse = codec.decode(codec.encode(translator.to_hook_llm_response(response)))
    return read


def _read_texts(translator: HookTranslator, response: Any) -> list[list[str]]:
    shown = translator.to_hook_llm_response(response)
    return [each["content"]["parts"] for each in shown["candidates"]]


def _edit_candidate(translator: HookTranslator, response: Any, place: int, texts: list[str]) -> Any:
    count = len(translator.to_hook_llm_response(response)["candidates"])
    changes: list[dict[str, Any]] = [{} for _ in range(count)]
    changes[place] = {"content": {"parts": texts}}
    return translator.from_hook_llm_response({"candidates": changes}, response)


def _check_edit(
    translator: HookTranslator, request: Any, shown: LLMRequest, place: int, messages: Messages
) -> None:
    wanted = [dict(each) for each in shown["messages"]]
    wanted[place]["content"] = _NEW
    before = to_json(request)
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    expect(to_json(request) == before, "the request was altered", request)
    expect_messages(_show_request(translator, edited)["messages"], wanted, edited)
    _expect_hidden(edited, request)
    _expect_same_fields(edited, request)
    check_valid(edited)
    old, new = messages(request), messages(edited)
    if old:
        expect(len(old) == len(new), "a message came or went", edited)
        changed = sum(now is not was for was, now in zip(old, new, strict=True))
        expect(changed == 1, f"{changed} messages changed instead of one", edited)


def _check_removal(
    translator: HookTranslator, request: Any, shown: LLMRequest, place: int, messages: Messages
) -> None:
    wanted = [each for n, each in enumerate(shown["messages"]) if n != place]
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    expect_messages(_show_request(translator, edited)["messages"], wanted, edited)
    _expect_hidden(edited, request)
    _expect_same_fields(edited, request)
    check_valid(edited)
    old, new = messages(request), messages(edited)
    if old:
        left = {id(message) for message in new}
        gone = [message for message in old if id(message) not in left]
        expect(len(gone) == 1, f"{len(gone)} messages changed instead of one", edited)


def _check_addition(
    translator: HookTranslator, request: Any, shown: LLMRequest, place: int, messages: Messages
) -> None:
    for role in ("user", "model"):
        added = {"role": role, "content": _NEW}
        wanted = [*shown["messages"][:place], added, *shown["messages"][place:]]
        edited = translator.from_hook_llm_request({"messages": wanted}, request)
        expect_messages(_show_request(translator, edited)["messages"], wanted, edited)
        _expect_hidden(edited, request)
        _expect_same_fields(edited, request)
        check_valid(edited)
        old, new = messages(request), messages(edited)
        if old:
            kept = [message for message in old if any(message is each for each in new)]
            order = [message for message in new if any(message is each for each in old)]
            expect(all(map(is_, kept, order)), "an addition moved another message", edited)
            # A message with results of tools may be split, since the results must follow the calls
            # in the message before it.
            counts = len(old) - len(kept), len(new) - len(order)
            expect(counts in ((0, 1), (1, 3)), "an addition changed another message", edited)


def _check_system_message(
    translator: HookTranslator, request: Any, shown: LLMRequest, place: int
) -> None:
    added = {"role": "system", "content": _NEW}
    wanted = [*shown["messages"][:place], added, *shown["messages"][place:]]
    edited = translator.from_hook_llm_request({"messages": wanted}, request)
    expect(_NEW in str(to_json(edited)), "a hook's system message is lost", edited)
    if translator.has_system_turns(request):
        expect_messages(_show_request(translator, edited)["messages"], wanted, edited)
    _expect_hidden(edited, request)
    check_valid(edited)


def _check_settings(translator: HookTranslator, request: Any, shown: LLMRequest) -> None:
    for name, value in _SETTINGS.items():
        if shown["config"].get(name) == value:
            continue
        with heard_warnings() as heard:
            edited = translator.from_hook_llm_request({"config": {name: value}}, request)
        if edited is request:
            expect(bool(heard), f"{name} was left out without a warning", edited)
            continue
        now = _show_request(translator, edited)
        expected = {**shown["config"], name: value}
        expect(now["config"] == expected, f"config is {now['config']}, not {expected}", edited)
        expect(now["messages"] == shown["messages"], "the messages changed", edited)
        _expect_hidden(edited, request)
        check_valid(edited)
    edited = translator.from_hook_llm_request({"model": _NEW}, request)
    if edited is not request:
        model = _show_request(translator, edited)["model"]
        expect(model == _NEW, f"the model is {model!r}", edited)
        _expect_hidden(edited, request)


def _expect_hidden(edited: Any, base: Any) -> None:
    """Check that hidden texts are in the same order, once each; a system prompt may have a new text
    at its end."""
    found = [[text for text in _find_strings(to_json(v)) if HIDDEN in text] for v in (base, edited)]
    old, new = ([text.replace(_NEW, "").strip() for text in texts] for texts in found)
    expect(new == old, f"what hooks are not shown became {new}, not {old}", edited)


def _expect_same_fields(edited: Any, base: Any) -> None:
    """Check that an edit of messages changed one field of a request, and the others are the same
    objects."""
    if isinstance(base, Mapping):
        expect(edited.keys() == base.keys(), "a field came or went", edited)
        changed = [name for name in base if edited[name] is not base[name]]
        names = ", ".join(map(str, changed)) or "nothing"
        expect(len(changed) == 1, f"{names} changed instead of one field", edited)


def _find_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _find_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _find_strings(item)


def _allow_refusal(ask: Callable[[], object]) -> None:
    try:
        ask()
    except TranslationError:
        return
