"""Answers as hooks give them, and as broken or hostile ones do."""

from typing import Any

from hypothesis import strategies as st

from hookline.wire.events import EVENTS, HookEventName
from tests.arbitrary import JSON
from tests.eleven import Json

# One of each kind of JSON: what a field is given by a hook that has it wrong.
odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1.5, "x", "deny", [], ["x", 1], {}, {"x": {"y": []}}]
)
texts = st.sampled_from(["", "a", "b\nc"])
words = st.sampled_from(["allow", "approve", "ask", "block", "deny", "maybe", "Deny", ""])
specific_fields: dict[str, st.SearchStrategy[Any]] = {
    "additionalContext": texts,
    "clearContext": st.booleans(),
    "tool_input": st.dictionaries(texts, st.integers(0, 2), max_size=2),
    "removeToolInput": st.lists(texts | odd, max_size=2),
    "userMessage": texts,
    "exports": st.dictionaries(texts, texts | odd, max_size=2),
    "keepHistory": st.booleans(),
    "tailToolCallRequest": st.sampled_from([{"name": "t", "args": {}}, {"name": "t"}]),
    "llm_request": st.sampled_from([{"model": "m"}, {"config": {"topK": 1}}, {"messages": [1]}]),
    "llm_response": st.sampled_from([{"text": "t"}, {"candidates": []}, {"candidates": 1}]),
    "toolConfig": st.sampled_from([{"mode": "ANY"}, {"allowedFunctionNames": ["a"]}, {}]),
    "permissionDecision": words,
    "permissionDecisionReason": texts,
    "novel": odd,
}
specifics = st.fixed_dictionaries({}, optional=specific_fields)
tidy_answers: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "continue": st.booleans(),
        "stopReason": texts,
        "suppressOutput": st.booleans(),
        "systemMessage": texts,
        "decision": words,
        "reason": texts,
        "hookSpecificOutput": specifics,
        "novel": odd,
    },
)
wild_answers: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("continue", "stopReason", "suppressOutput", "systemMessage"), odd),
        "decision": odd | words,
        "reason": odd,
        "hookSpecificOutput": odd
        | st.fixed_dictionaries({}, optional=dict.fromkeys(specific_fields, odd)),
    },
)
answers = tidy_answers | wild_answers | st.dictionaries(st.text(max_size=3), JSON, max_size=2)
events = st.sampled_from(HookEventName)
# A block has an effect on these; SessionStart merges like them.
guarded_events = st.sampled_from(
    [e for e in HookEventName if EVENTS[e].blockable or e is HookEventName.SESSION_START]
)
