"""The schema of a test file, for editors: the fields that ``cases`` reads and the words that
``comparing`` knows, each with its meaning."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from hookline.dialects import list_event_names
from hookline.hooktests.cases import FIELD_TYPES
from hookline.hooktests.comparison import WORDS
from hookline.settings import schema
from hookline.settings.schema.document import make_type

FIELD_MEANINGS: dict[str, str] = {
    "name": "The name of the test; left out, it is the name of the file or the test's number.",
    "event": "The event to fire, by our name or Claude Code's; the input is in the same words.",
    "input": "The fields of the event, as for `hookline fire --input`.",
    "tool": "The name of the tool: short for tool_name in the input.",
    "tool_input": "The input of the tool: short for tool_input in the input.",
    "llm_request": "The request to the model as hooks read it: short for it in the input.",
    "llm_response": "The model's response as hooks read it: short for it in the input.",
    "session_id": "The session that the event belongs to.",
    "claude": "True reads Claude Code's settings as well; left out, `hookline test` decides.",
    "hooks": "Only hooks of these names take part; left out, all do, the user's own too.",
    "env": "Variables for the hooks; null removes one.",
    "files": "Paths and contents: the hooks run in a scratch directory that has these files.",
    "skip": "Why the test is not run for now.",
    "expect": "What the hooks should do. Of an object the named fields are compared; null means no "
    'value; {"contains": …}, {"matches": …} and the like test a value.',
    "$schema": "Where an editor finds the description of this file.",
}
WORD_MEANINGS: dict[str, str] = {
    "decision": "What an agent would do.",
    "blocked": "Whether the event is blocked.",
    "ask": "Whether the user should be asked.",
    "stop": "Whether the agent should stop.",
    "reason": "Why it is blocked, stopped or asked about.",
    "context": "What is added for the model to read.",
    "tool_input": "The input that the tool is called with after the hooks.",
    "tool_output": "What the model reads in place of the tool's result.",
    "llm_request": "The model's request after the hooks.",
    "llm_response": "The response after the hooks, or the one they gave in its place; null if the "
    "model is called.",
    "tools": "The tools that the model may call, in any order; null for all.",
    "exports": "Variables for the commands that the agent runs in this session.",
    "keep_history": "Whether the history stays as it is.",
    "output": "The merged answer of all hooks, in the names that scripts use.",
    "hooks": "The name of a hook, and what is expected of its result: exit_code, failed, stdout …",
    "no_hooks": "Whether no hook ran.",
    "event": "The event that was fired.",
    "plan": "Which hooks were to run, and how.",
    "results": "The result of each hook, in the order of the plan.",
    "success": "Whether every hook ran as it should.",
    "errors": "What failed.",
    "all_outputs": "The answers of the hooks, one by one.",
    "final_output": "The merged answer of all hooks.",
    "view": "What the answer means for an agent.",
    "should_stop": "Whether the agent should stop.",
    "stop_reason": "Why the agent should stop.",
    "system_message": "What the user is told.",
    "suppress_output": "Whether messages are kept off the user's screen.",
    "total_duration_ms": "How many milliseconds the hooks took, all together.",
}
_WORD_TYPES: dict[str, Any] = {
    "decision": Literal["allow", "approve", "ask", "block", "deny", "stop"],
    "hooks": dict[str, Any],
    **dict.fromkeys(("blocked", "ask", "stop", "no_hooks", "keep_history"), bool),
}
_NEEDS_EVENT = {"required": ["event"]}
# The rules for an object that is a test, and for one that has ``tests``.
_FORMS = {
    "if": {"required": ["tests"]},
    "then": {
        "properties": {"name": {"not": {}}, "expect": {"not": {}}},
        "if": {"not": _NEEDS_EVENT},
        "then": {"properties": {"tests": {"items": _NEEDS_EVENT}}},
    },
    "else": {"required": ["event", "expect"]},
}


def hooktest_schema() -> schema.Schema:
    """Make the JSON Schema of a file of hook tests."""
    words = {word: (_WORD_TYPES.get(word, Any), WORD_MEANINGS.get(word, "")) for word in WORDS}
    expect = make_type("Expect", "What the hooks should do on an event.", words)
    events: Any = Literal[list_event_names()]
    kinds = {**FIELD_TYPES, "event": events, "expect": expect}
    fields = {name: (kind, FIELD_MEANINGS.get(name, "")) for name, kind in kinds.items()}
    test: Any = make_type(
        "HookTest", "One event, and what is expected of the hooks.", fields, required=("expect",)
    )
    tests = (list[test], "The tests; the fields beside them apply to each.")
    whole: Any = make_type("HookTests", "A test, or several.", {**fields, "tests": tests})
    listed: Any = list[Annotated[test, Meta(extra_json_schema=_NEEDS_EVENT)]]
    forms = {"if": {"type": "object"}, "then": _FORMS}
    return schema.render(
        Annotated[listed | whole, Meta(extra_json_schema=forms)],
        title="Hook tests of hookline",
        description="Events, and what is expected of the hooks: run them with `hookline test`.",
        name="hooktest",
    )
