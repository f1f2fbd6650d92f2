"""What an output's accessors say, as one JSON object."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli.demo.steps import Word
from hookline.dialects.claude.events import ClaudeEventName
from hookline.pipeline.answer import (
    EFFECTS,
    TONES,
    Answer,
    EventWord,
    describe_hook,
    make_empty_answer,
    most_sent_back,
    result_document,
)
from hookline.pipeline.modelcall import ModelCall
from hookline.replies import add_context, combine, deny, stop
from hookline.trace.events import DECISIONS
from hookline.translate.genai import GenAITranslator
from hookline.wire import codec
from hookline.wire.events import EventName, HookEventName
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import CommandHook, HookSource
from hookline.wire.outputs import SPECIFIC_FIELDS
from hookline.wire.results import HookExecutionResult
from tests.arbitrary import JSON
from tests.eleven import REQUEST, RESPONSE, WITH_TOOLS, Json

COMMON = {
    "blocked": False,
    "ask": False,
    "stop": False,
    "effective_reason": "No reason provided",
    "additional_context": None,
    "clear_context": False,
    "tail_tool_call": None,
}


def view(event: HookEventName, request: Any = REQUEST, **answer: Any) -> Json:
    translator = GenAITranslator()
    values = (request, RESPONSE) if event is HookEventName.AFTER_MODEL else (request,)
    fired = FiredEvent(event, "", values)
    return Answer.read(fired, answer, ModelCall(translator, request)).view()


def saying(decision: str | None = None, **specific: Any) -> Json:
    return {"decision": decision, "hookSpecificOutput": specific}


@pytest.mark.parametrize("event", HookEventName)
def test_every_event_has_the_common_part(event: HookEventName) -> None:
    seen = view(event)
    assert {name: seen[name] for name in COMMON} == COMMON
    assert codec.copy(seen) == seen


def test_the_common_part_says_what_is_applied() -> None:
    seen = view(
        HookEventName.AFTER_TOOL,
        decision="block",
        reason="r",
        **{"continue": False},
        hookSpecificOutput={
            "additionalContext": "c",
            "clearContext": True,
            "tailToolCallRequest": {"name": "t", "args": {}},
        },
    )
    assert seen == {
        "blocked": True,
        "ask": False,
        "stop": True,
        "effective_reason": "r",
        "additional_context": "c",
        # The context is cleared after a turn alone.
        "clear_context": False,
        "tail_tool_call": {"name": "t", "args": {}},
    }
    specific = {"additionalContext": "c", "clearContext": True, "tailToolCallRequest": {}}
    seen = view(HookEventName.BEFORE_MODEL, hookSpecificOutput=specific)
    assert {name: seen[name] for name in COMMON} == COMMON
    assert view(HookEventName.AFTER_AGENT, hookSpecificOutput=specific)["clear_context"]


def test_what_is_added_and_replaced_beside_a_decision() -> None:
    context = {"additionalContext": "c"}
    assert view(HookEventName.BEFORE_TOOL, hookSpecificOutput=context)["additional_context"] == "c"
    new = {"updatedToolOutput": "t"}
    assert view(HookEventName.AFTER_TOOL, hookSpecificOutput=new)["tool_output"] == "t"
    assert "tool_output" not in view(HookEventName.BEFORE_TOOL, hookSpecificOutput=new)


@pytest.mark.parametrize(
    ("answer", "send_back"),
    [
        ({}, None),
        (deny("r"), "r"),
        (add_context("c"), "c"),
        (combine(deny("r"), add_context("c")), "r\n\nc"),
        (combine(stop("s"), add_context("c")), None),
    ],
)
def test_a_turn_goes_on_with_the_reason_and_what_hooks_add(
    answer: dict[str, Any], send_back: str | None
) -> None:
    def read(event: HookEventName) -> Answer:
        return Answer.read(FiredEvent(event, "", ("p", "r", False)), answer)

    assert read(HookEventName.AFTER_AGENT).send_back == send_back
    assert read(HookEventName.BEFORE_AGENT).send_back is None


def test_an_agent_of_the_hosts_is_sent_back_as_the_agent_is() -> None:
    event = ClaudeEventName.SUBAGENT_STOP
    assert Answer.read(FiredEvent(event), deny("r")).send_back == "r"
    assert Answer.read(FiredEvent(event), stop("s")).send_back is None
    assert Answer.read(FiredEvent(ClaudeEventName.SUBAGENT_START), deny("r")).send_back is None


def test_the_model_does_not_read_what_the_user_is_told() -> None:
    said = {"systemMessage": "both", "hookSpecificOutput": {"userMessage": "user"}}
    for event in HookEventName:
        answer = Answer.read(FiredEvent(event), said)
        assert answer.system_message == "both\nuser"
        assert answer.message == "both"
        assert answer.texts_for_model == ["[System] both"]
    hidden = Answer.read(FiredEvent(HookEventName.BEFORE_TOOL), {**said, "suppressOutput": True})
    assert hidden.system_message is None


def test_fields_that_are_taken_away_kept_or_exported_are_shown() -> None:
    gone: Json = {"removeToolInput": ["a"]}
    seen = view(HookEventName.BEFORE_TOOL, hookSpecificOutput=gone)
    assert (seen["tool_input"], seen["removed_tool_input"]) == (None, ["a"])
    exports: Json = {"exports": {"A": "1"}}
    assert view(HookEventName.SESSION_START, hookSpecificOutput=exports)["exports"] == {"A": "1"}
    kept: Json = {"keepHistory": True}
    assert view(HookEventName.PRE_COMPRESS, hookSpecificOutput=kept)["keep_history"] is True
    for event, names in (
        (HookEventName.BEFORE_TOOL, {"removed_tool_input"}),
        (HookEventName.SESSION_START, {"exports"}),
        (HookEventName.PRE_COMPRESS, {"keep_history"}),
    ):
        assert names.isdisjoint(view(event))


@pytest.mark.parametrize(
    ("event", "output", "word"),
    [
        (HookEventName.BEFORE_TOOL, saying(removeToolInput=["a"]), "rewritten"),
        (HookEventName.BEFORE_TOOL, saying(removeToolInput=[1]), "ok"),
        (HookEventName.BEFORE_TOOL, saying(tool_input={}), "ok"),
        (HookEventName.BEFORE_TOOL, saying("allow", tool_input={"a": 1}), "rewritten"),
        (HookEventName.BEFORE_TOOL, saying("allow", additionalContext="c"), "context added"),
        (HookEventName.BEFORE_TOOL, saying("ask", tool_input={"a": 1}), "ask"),
        (HookEventName.BEFORE_TOOL, saying("deny", additionalContext="c"), "deny"),
        (HookEventName.BEFORE_TOOL, saying("approve"), "approve"),
        (HookEventName.AFTER_TOOL, saying("allow", updatedToolOutput="[key]"), "redacted"),
        (HookEventName.AFTER_AGENT, saying(clearContext=True), "history cleared"),
        (HookEventName.SESSION_START, saying(exports={"A": "1"}), "variables set"),
        (HookEventName.PRE_COMPRESS, saying(keepHistory=True), "history kept"),
        (HookEventName.PRE_COMPRESS, saying(keepHistory=False), "ok"),
        (HookEventName.BEFORE_MODEL, saying(llm_response={"text": "t"}), "answered"),
        (HookEventName.NOTIFICATION, saying(userMessage="m"), "ok"),
        (HookEventName.SESSION_END, saying("block"), "block"),
        (ClaudeEventName.PERMISSION_REQUEST, saying(tool_input={"a": 1}), "rewritten"),
    ],
)
def test_a_hook_did_in_a_word_what_its_answer_decides_or_does_to_the_event(
    event: EventName, output: Json, word: str
) -> None:
    assert describe_hook(event, output)[:2] == (word, "")
    assert word in TONES


def test_every_word_on_a_screen_has_a_tone() -> None:
    of_hooks = ("ok", "allow", "approve", "block", "deny", "stop", "ask", "failed", "started")
    words = {*get_args(EventWord), *of_hooks, *get_args(Word), *DECISIONS}
    assert words == TONES.keys()


def test_an_answer_that_comes_too_late_does_nothing_to_its_event() -> None:
    late = describe_hook(
        HookEventName.BEFORE_TOOL, saying("allow", tool_input={"a": 1}), is_late=True
    )
    assert late == ("allow", "", ())


def test_before_tool_shows_the_rewritten_input() -> None:
    seen = view(HookEventName.BEFORE_TOOL, hookSpecificOutput={"tool_input": {"a": 1}})
    assert seen["tool_input"] == {"a": 1}


def test_before_model_shows_the_request_and_an_answer_in_the_models_place() -> None:
    specific = {"llm_request": {"model": "model-b"}, "llm_response": {"text": "cached"}}
    seen = view(HookEventName.BEFORE_MODEL, hookSpecificOutput=specific)
    assert seen["blocked"]
    assert seen["modified_request"] == {**REQUEST, "model": "model-b"}
    assert seen["synthetic_response"]["candidates"][0]["content"]["parts"] == [{"text": "cached"}]


def test_after_model_shows_the_changed_response() -> None:
    seen = view(HookEventName.AFTER_MODEL, hookSpecificOutput={"llm_response": {"text": "bye"}})
    assert seen["modified_response"]["candidates"][0]["content"]["parts"] == [{"text": "bye"}]
    assert view(HookEventName.AFTER_MODEL)["modified_response"] is None


def test_before_tool_selection_shows_the_tools_that_are_left() -> None:
    config = {"mode": "ANY", "allowedFunctionNames": ["read"]}
    event = HookEventName.BEFORE_TOOL_SELECTION
    seen = view(event, WITH_TOOLS, hookSpecificOutput={"toolConfig": config})
    selection = seen["tool_selection"]
    assert selection["toolConfig"]["functionCallingConfig"] == config
    assert selection["tools"] == WITH_TOOLS["config"]["tools"]
    assert view(event)["tool_selection"] == {}


REQUEST_READ = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "config": {"topK": 1},
}
OFFERED = {"available_tools": ["a", "b"], "llm_request": REQUEST_READ}


@pytest.mark.parametrize(
    ("event", "read", "answer", "words"),
    [
        ("BeforeTool", {}, {"decision": "allow", "reason": "fine"}, ()),
        ("BeforeTool", {}, {"decision": "deny", "continue": False}, ("stopped",)),
        # What is not run is not rewritten; what is added is read with the refusal.
        (
            "BeforeTool",
            {"tool_input": {"a": 1}},
            {
                "decision": "deny",
                "hookSpecificOutput": {"tool_input": {"a": 2}, "additionalContext": "c"},
            },
            ("blocked", "context added"),
        ),
        (
            "BeforeTool",
            {"tool_input": {"a": 1}},
            {
                "decision": "ask",
                "hookSpecificOutput": {"removeToolInput": ["a"], "additionalContext": "c"},
            },
            ("asked", "rewritten", "context added"),
        ),
        # An echo changes nothing.
        (
            "BeforeTool",
            {"tool_input": {"a": 1, "b": 2}},
            {"hookSpecificOutput": {"tool_input": {"a": 1}, "removeToolInput": ["c"]}},
            (),
        ),
        (
            "AfterTool",
            {"tool_response": {"llmContent": "x"}},
            {"hookSpecificOutput": {"updatedToolOutput": "x"}},
            (),
        ),
        (
            "AfterTool",
            {"tool_response": {"stdout": "x"}},
            {"hookSpecificOutput": {"updatedToolOutput": "x"}},
            ("redacted",),
        ),
        ("AfterTool", {}, {"decision": "block", "reason": "r"}, ("blocked", "redacted")),
        ("BeforeAgent", {}, {"decision": "ask"}, ()),
        (
            "BeforeAgent",
            {},
            {"decision": "deny", "hookSpecificOutput": {"additionalContext": "c"}},
            ("blocked",),
        ),
        (
            "AfterAgent",
            {},
            {"hookSpecificOutput": {"additionalContext": "c", "clearContext": True}},
            ("sent back", "history cleared"),
        ),
        (
            "BeforeModel",
            {"llm_request": REQUEST_READ},
            {"hookSpecificOutput": {"llm_request": {"config": {"topK": 1}}}},
            (),
        ),
        (
            "BeforeModel",
            {"llm_request": REQUEST_READ},
            {"hookSpecificOutput": {"llm_request": {"config": {"topK": 2}}}},
            ("rewritten",),
        ),
        (
            "BeforeModel",
            {"llm_request": REQUEST_READ},
            {"decision": "deny", "hookSpecificOutput": {"llm_response": {"text": "t"}}},
            ("blocked", "answered"),
        ),
        (
            "AfterModel",
            {"llm_response": {"text": "t"}},
            {"hookSpecificOutput": {"llm_response": {"text": "t"}}},
            (),
        ),
        (
            "AfterModel",
            {"llm_response": {"text": "t"}},
            {"hookSpecificOutput": {"llm_response": {"text": ""}}},
            ("redacted",),
        ),
        ("AfterModel", {"llm_response": {"text": "t"}}, {"decision": "deny"}, ("blocked",)),
        (
            "BeforeToolSelection",
            OFFERED,
            {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["b", "a"]}}},
            (),
        ),
        (
            "BeforeToolSelection",
            OFFERED,
            {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}},
            ("restricted",),
        ),
        (
            "BeforeToolSelection",
            OFFERED,
            {"hookSpecificOutput": {"toolConfig": {"mode": "ANY"}}},
            ("restricted",),
        ),
        ("BeforeToolSelection", OFFERED, {"decision": "deny"}, ("blocked", "restricted")),
        ("SessionEnd", {}, {"decision": "deny", "continue": False}, ()),
        (
            "SessionStart",
            {},
            {"hookSpecificOutput": {"exports": {"A": "1"}, "additionalContext": "c"}},
            ("variables set", "context added"),
        ),
        ("SessionStart", {}, {"hookSpecificOutput": {"exports": {"A": 1}}}, ()),
        ("SessionStart", {}, {"hookSpecificOutput": {"additionalContext": ""}}, ()),
        ("AfterAgent", {}, {"hookSpecificOutput": {"clearContext": False}}, ()),
        ("PreCompress", {}, {"hookSpecificOutput": {"keepHistory": False}}, ()),
        ("AfterTool", {}, {"hookSpecificOutput": {"tailToolCallRequest": "t"}}, ()),
    ],
)
def test_an_answer_did_to_its_event_what_took_effect(
    event: str, read: Json, answer: Json, words: tuple[str, ...]
) -> None:
    fired = FiredEvent(HookEventName(event))
    assert Answer.read(fired, answer).find_effects(read) == words
    assert set(words) <= set(EFFECTS)


@given(
    st.sampled_from([*HookEventName, ClaudeEventName.PERMISSION_REQUEST]),
    st.sampled_from(sorted({name for fields in SPECIFIC_FIELDS.values() for name in fields})),
    JSON,
    JSON,
)
def test_whatever_a_log_holds_its_effects_are_found(
    event: EventName, name: str, value: Any, read: Any
) -> None:
    fields = ("tool_input", "tool_response", "llm_request", "llm_response", "available_tools")
    answer = Answer.read(FiredEvent(event), {"hookSpecificOutput": {name: value}})
    event_read = dict.fromkeys(fields, read)
    assert set(answer.find_effects(event_read)) <= set(EFFECTS)
    answer.find_change(event_read)


@pytest.mark.parametrize(
    ("event", "read", "answer", "change"),
    [
        (
            "BeforeTool",
            {"tool_input": {"a": 1, "b": 2, "c": 3}},
            saying(tool_input={"b": 0}, removeToolInput=["c"]),
            ("tool input", {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0}),
        ),
        (
            "AfterTool",
            {"tool_response": {"llmContent": "key", "error": None}},
            saying(updatedToolOutput="[key]"),
            ("tool result", "key", "[key]"),
        ),
        ("AfterTool", {"tool_response": "key"}, deny("no keys"), ("tool result", "key", "no keys")),
        (
            "BeforeModel",
            {"llm_request": REQUEST_READ},
            saying(llm_request={"model": "n"}),
            ("model request", REQUEST_READ, {**REQUEST_READ, "model": "n"}),
        ),
        (
            "AfterModel",
            {"llm_response": {"text": "t", "candidates": []}},
            saying(llm_response={"text": "u", "candidates": None}),
            ("model response", {"text": "t"}, {"text": "u"}),
        ),
        (
            "AfterModel",
            {},
            saying(llm_response={"text": "u"}),
            ("model response", None, {"text": "u"}),
        ),
        (
            "BeforeToolSelection",
            OFFERED,
            saying(toolConfig={"allowedFunctionNames": ["b", "c"]}),
            ("tools", ["a", "b"], ["b"]),
        ),
        ("BeforeToolSelection", OFFERED, deny("no"), ("tools", ["a", "b"], [])),
        (
            "BeforeToolSelection",
            {"llm_request": {"toolConfig": {"mode": "none"}}, "available_tools": ["a"]},
            saying(toolConfig={"mode": "AUTO"}),
            None,
        ),
        ("BeforeTool", {"tool_input": {"a": 1}}, stop("enough"), None),
        ("BeforeTool", {"tool_input": {"a": 1}}, saying("deny", tool_input={"a": 2}), None),
        ("BeforeTool", {"tool_input": {"a": 1}}, saying(tool_input={"a": 1}), None),
        ("BeforeAgent", {"prompt": "p"}, saying(additionalContext="c"), None),
    ],
)
def test_a_change_has_what_was_there_before_and_after(
    event: str, read: Json, answer: Json, change: tuple[str, Any, Any] | None
) -> None:
    found = Answer.read(FiredEvent(HookEventName(event)), answer).find_change(read)
    assert (found and (found.what, found.before, found.after)) == change


@pytest.mark.parametrize(
    ("event", "answer", "word", "decision", "reason"),
    [
        ("BeforeTool", deny("no"), "blocked", "deny", "no"),
        ("BeforeTool", combine(deny("no"), stop("enough")), "stop", "stop", "enough"),
        ("BeforeTool", {"decision": "ask", "reason": "sure?"}, "ask", "ask", "sure?"),
        ("AfterTool", {"decision": "ask", "reason": "sure?"}, "allowed", "allow", None),
        ("BeforeTool", {"decision": "allow", "reason": "fine"}, "allowed", "allow", None),
        ("BeforeTool", {"decision": "deny"}, "blocked", "deny", "No reason provided"),
        ("SessionEnd", combine(deny("no"), stop("enough")), "allowed", "allow", None),
        (
            "BeforeModel",
            saying(llm_response={"text": "t"}),
            "blocked",
            "deny",
            "a hook answers in the model's place",
        ),
        (
            "BeforeModel",
            saying("deny", llm_response={"text": 5}),
            "blocked",
            "deny",
            "No reason provided",
        ),
    ],
)
def test_an_answer_has_one_word_and_its_reason(
    event: str, answer: Json, word: str, decision: str, reason: str | None
) -> None:
    read = Answer.read(FiredEvent(HookEventName(event)), answer)
    assert (read.word, read.decision, read.reason, read.why) == (word, decision, reason, reason)


def test_an_answer_to_nothing_lets_it_go_on() -> None:
    answer = make_empty_answer()
    assert (answer.event, answer.word, answer.decision) == (None, "no hook matched", "allow")
    assert (answer.tool_input, answer.request, answer.response) == (None, None, None)
    assert (answer.tools, answer.exports, answer.texts_for_model) == (None, {}, [])
    assert repr(answer) == "<Answer to no event: no hook matched>"


@pytest.mark.parametrize(
    ("said", "most"),
    [
        *(("", 8), ("3", 3), ("0", 8), ("-1", 8), ("two", 8), ("2.5", 8), ("²", 8), (" 3", 8)),
        *(("999999999", 999_999_999), ("1000000000", 8)),
    ],
)
def test_the_user_says_how_often_a_turn_is_sent_back(
    monkeypatch: pytest.MonkeyPatch, said: str, most: int
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", said)
    assert most_sent_back() == most


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        *(("exit", "exit 3"), ("signal", "SIGKILL"), ("timeout", "timeout")),
        ("output_limit", "output limit"),
    ],
)
def test_a_hook_that_failed_says_how(failed: str, why: str) -> None:
    event = HookEventName.BEFORE_TOOL
    part = describe_hook(event, None, failed=failed, exit_code=3, signal="SIGKILL")
    assert part == ("failed", why, ())
    assert describe_hook(event, None, failed="signal").why == "signal"


def test_a_hook_gives_the_reason_of_its_stop_before_that_of_its_decision() -> None:
    part = describe_hook(HookEventName.BEFORE_TOOL, combine(deny("no"), stop("enough")))
    assert part == ("stop", "enough", ("stopped",))
    assert describe_hook(HookEventName.BEFORE_TOOL, deny("no")) == ("deny", "no", ("blocked",))
    assert describe_hook(HookEventName.BEFORE_TOOL, None) == ("ok", "", ())


def test_a_result_as_json_has_only_what_is_known() -> None:
    hook = CommandHook(name="h", command="true", source=HookSource.USER)
    event, always = HookEventName.BEFORE_TOOL, {"hook": "h", "type": "command", "source": "user"}
    texts: Json = {"stdout": "o", "stderr": "e"}
    result = HookExecutionResult(
        hook=hook, event_name=event, success=True, duration=1.23456, **texts
    )
    bare = {**always, "success": True, "duration_ms": 1.235, **texts}
    assert result_document(result) == bare
    more: Json = {"exit_code": 0, "signal": "SIGTERM", "failed": "signal", "output": {}}
    result = msgspec.structs.replace(result, **more, warnings=("w",), started=True)
    assert result_document(result) == {**bare, **more, "warnings": ["w"], "started": True}
