"""A page for each event, and one with a table of all."""

import inspect
import re
from collections.abc import Sequence
from typing import NamedTuple

from hookline import Hooks
from hookline.dialects.claude.events import MAPPED_EVENTS
from hookline.settings.schema import Field, describe_input, describe_output
from hookline.wire.events import EVENTS, EventSpec, HookEventName
from hookline.wire.inputs import ActorFields
from hookline.wire.outputs import SPECIFIC_FIELDS
from tools.reference.examples import read_document, show_example
from tools.reference.markdown import code, codes, escape, json_block, page, table


class Told(NamedTuple):
    """What an agent does with answers to an event, which no type says; "" for no effect."""

    when: str
    blocked: str
    stopped: str
    asked: str = ""


_TOLD: dict[HookEventName, Told] = {
    HookEventName.BEFORE_TOOL: Told(
        "Before a tool runs, for each call.",
        "The tool does not run. The model reads the reason as the tool's result.",
        "The tool does not run, and the agent's loop ends.",
        "The user is asked. Where nobody can be asked, the tool does not run.",
    ),
    HookEventName.AFTER_TOOL: Told(
        "After a tool ran, also when it failed.",
        "The model reads the reason in place of the tool's result.",
        "The agent's loop ends.",
    ),
    HookEventName.BEFORE_AGENT: Told(
        "When the user sent a prompt, before the agent's turn.",
        "The turn does not happen, and the prompt is forgotten.",
        "The turn ends. The prompt stays in the history.",
    ),
    HookEventName.AFTER_AGENT: Told(
        "When the agent wants to end its turn.",
        "The agent goes on: the reason is its next prompt. This happens a limited number of times "
        "a turn.",
        "The turn ends.",
    ),
    HookEventName.BEFORE_MODEL: Told(
        "Before a request is sent to the model.",
        "The model is not called. The hook's `llm_response`, or an empty response with the "
        "reason, stands for its answer.",
        "The model is not called, and the agent's loop ends.",
    ),
    HookEventName.AFTER_MODEL: Told(
        "When the model has answered, before anything is done with the answer.",
        "The response is discarded, and the turn ends with the reason.",
        "The agent's loop ends.",
    ),
    HookEventName.BEFORE_TOOL_SELECTION: Told(
        "Before the model is offered its tools, once for each request.",
        "The model gets no tools for this call (mode `NONE`).",
        "The model is not called, and the agent's loop ends.",
    ),
    HookEventName.SESSION_START: Told("When a session starts.", "", ""),
    HookEventName.SESSION_END: Told("When a session ends.", "", ""),
    HookEventName.PRE_COMPRESS: Told("Before the history is compressed.", "", ""),
    HookEventName.NOTIFICATION: Told(
        "When the user should know of something, such as a question for permission.", "", ""
    ),
}
_FIRST_ARE_COMMON = 5
_SPECIFIC = "hookSpecificOutput."
_NO_EFFECT = "No effect but a warning: the event goes on."


def file_of(event: HookEventName) -> str:
    """The page of an event, in the folder of events."""
    return f"{_snake(event).replace('_', '-')}.md"


def render_index() -> str:
    rows = [
        (
            f"[{event.value}]({file_of(event)})",
            _TOLD[event].when,
            code(EVENTS[event].target) if EVENTS[event].target else "–",
            "yes" if EVENTS[event].blockable else "no",
            codes(_own_fields(event)) or "–",
        )
        for event in HookEventName
    ]
    names = ("event", "when it is fired", "matcher looks at", "can be blocked", "own answers")
    return page(
        "Events",
        "An agent fires an event at each step. Every hook on it reads one JSON object and may "
        "answer with one. Each event has a page: what a hook reads, what it may answer, and an "
        "example that runs.",
        table(names, rows),
        "*Own answers* are fields of `hookSpecificOutput`, beside `userMessage`, which every "
        "event takes. How matchers are compared: [matchers](../matchers.md). What the exit "
        "status of a hook does: [exit codes](../exit-codes.md). `hookline schema event NAME` "
        "prints the JSON Schema of an event.",
        "## What every hook reads",
        _fields_table(describe_input(HookEventName.BEFORE_AGENT)[:_FIRST_ARE_COMMON]),
        "The event's own fields follow. A field that is not always there is left out, not null. "
        "These come last, each where the agent's program knows it:",
        *_field_tables([*filter(_is_of_actor, describe_input(HookEventName.BEFORE_AGENT))]),
        "## What every hook may answer",
        _fields_table(_common_answers(), required=False),
        "A hook that prints nothing, or `{}`, has nothing to say. Plain text that is no JSON "
        "becomes a `systemMessage`.",
        "## Which answers an event heeds",
        table(
            ("event", "`deny` or `block`", "`continue: false`", "`ask`"),
            [
                (
                    f"[{event.value}]({file_of(event)})",
                    *(told or "no effect" for told in _TOLD[event][1:]),
                )
                for event in HookEventName
            ],
        ),
        "What has no effect is warned of. A stop outranks a block, a block outranks `ask`, and a "
        "later hook takes neither back.",
        "## Names in Claude Code",
        table(
            ("Claude Code", "here"),
            [(code(name), _link(event)) for name, event in MAPPED_EVENTS.items()],
        ),
        "An event can be fired by either name. Events that Claude Code alone has are fired by "
        "name with `hooks.fire_claude_event`; see [Claude Code's hooks](../../claude.md).",
    )


def render_event(event: HookEventName) -> str:
    spec, told = EVENTS[event], _TOLD[event]
    fields = describe_input(event)[_FIRST_ARE_COMMON:]
    own = [field for field in fields if not _is_of_actor(field)]
    specific = [
        field._replace(name=field.name.removeprefix(_SPECIFIC))
        for field in describe_output(event)
        if field.name.startswith(_SPECIFIC)
    ]
    claude = [name for name, ours in MAPPED_EVENTS.items() if ours is event]
    facts = [
        ("fired", told.when),
        ("matcher looks at", _describe_target(spec)),
        ("can be blocked", "yes" if spec.blockable else "no"),
        ("Claude Code's name", codes(claude) or "–"),
        ("by hand", code(f"hookline fire {event.value} --input JSON")),
        ("in Python", _describe_method(event)),
    ]
    return page(
        event.value,
        "\n".join(f"- **{what}**: {told}" for what, told in facts),
        "## What a hook reads",
        "One JSON object on stdin, for a function its only argument. This is a whole one:",
        json_block(read_document(event)),
        f"The first {_FIRST_ARE_COMMON} fields are those of [every event](index.md), and so are "
        f"{codes([*ActorFields.__annotations__])}, which come last where they are known. Its own:",
        *_field_tables(own),
        "## What a hook may answer",
        "One JSON object on stdout, for a function what it returns. Every field may be left out. "
        "In `hookSpecificOutput`, for this event:",
        *_field_tables(specific, required=False),
        "At the top level, as on every event:",
        _fields_table(_top_level(event), required=False),
        "What the agent does about it:",
        table(
            ("answer", "effect"),
            [
                ('`"decision": "deny"` or `"block"`', told.blocked or _NO_EFFECT),
                ('`"continue": false`', told.stopped or _NO_EFFECT),
                ('`"decision": "ask"`', told.asked or _NO_EFFECT),
                ('`"decision": "allow"`, or none', "It goes on, with what the hook changes."),
            ],
        ),
        "## Exit status of a hook",
        table(("exit", "effect"), _exit_rows(spec, told)),
        "More on these: [exit codes](../exit-codes.md).",
        "## Example",
        show_example(event),
        "`--trust` runs a project's hooks for once without a review; `hookline trust` reviews "
        "them for good.",
    )


def _is_of_actor(field: Field) -> bool:
    return field.name.partition(".")[0] in ActorFields.__annotations__


def _link(event: HookEventName) -> str:
    return f"[{event.value}]({file_of(event)})"


def _snake(event: HookEventName) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.value).lower()


def _own_fields(event: HookEventName) -> list[str]:
    return [name for name in SPECIFIC_FIELDS[event] if name != "userMessage"]


def _top_level(event: HookEventName) -> list[Field]:
    return [field for field in describe_output(event) if "." not in field.name]


def _common_answers() -> list[Field]:
    """The fields of the top level; one whose meaning depends on the event says so."""
    first, *others = (_top_level(event) for event in HookEventName)
    meanings = [{field.name: field.meaning for field in fields} for fields in others]
    depends = "It depends on the event: see the table below."
    return [
        field
        if all(told[field.name] == field.meaning for told in meanings)
        else field._replace(meaning=depends)
        for field in first
    ]


def _describe_target(spec: EventSpec) -> str:
    if spec.target is None:
        return "nothing: hooks on it always run"
    words = f": {codes(spec.triggers)}" if spec.triggers else ""
    return f"`{spec.target}`{words}"


def _describe_method(event: HookEventName) -> str:
    """The method of the front that fires it, with its parameters."""
    signature = inspect.signature(getattr(Hooks, _snake(event)))
    names: list[str] = []
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(parameter.name)
    return code(f"await hooks.{_snake(event)}({', '.join(names)})")


def _field_tables(fields: Sequence[Field], *, required: bool = True) -> list[str]:
    """A table of the fields, and one for each object among them."""
    by_parent: dict[str, list[Field]] = {}
    for field in fields:
        parent, _, name = field.name.rpartition(".")
        by_parent.setdefault(parent, []).append(field._replace(name=name))
    parts: list[str] = []
    for parent, held in by_parent.items():
        item = ", of each item" if parent.endswith("[]") else ""
        parts += [f"The fields of `{parent.removesuffix('[]')}`{item}:"] if parent else []
        parts.append(_fields_table(held, required=required))
    return parts


def _fields_table(fields: Sequence[Field], *, required: bool = True) -> str:
    """A table of fields; ``required`` adds a column that says if a field is always there."""
    there = {True: ", always", False: ", sometimes"}
    rows = [
        (
            code(field.name),
            field.type + (there[field.required] if required else ""),
            escape(field.meaning),
        )
        for field in fields
    ]
    return table(("field", "type", "meaning"), rows)


def _exit_rows(spec: EventSpec, told: Told) -> list[tuple[str, str]]:
    failed = "The hook failed: a warning, and the event goes on as if the hook were not there."
    if spec.blockable:
        failed += ' With `"onFailure": "block"`, or strict, it is blocked.'
    return [
        ("0", "What it printed to stdout is its answer."),
        (
            "2",
            f"Blocked, with what it wrote to stderr as the reason. {told.blocked}"
            if told.blocked
            else _NO_EFFECT,
        ),
        ("any other, a signal, a timeout", failed),
    ]
