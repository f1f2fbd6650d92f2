"""What the schema says of events is what hooks read, and what their answers are read for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints, is_typeddict

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hookline.contract import Config, HookSystem
from hookline.dialects.claude.events import MAPPED_EVENTS
from hookline.errors import UnknownEventError
from hookline.settings.schema import (
    describe_input,
    describe_output,
    event_schema,
    find_event,
    list_foreign_names,
)
from hookline.settings.schema.events import INPUTS, MODEL_MEANINGS
from hookline.wire import inputs, model
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import DECISION_WORDS, SPECIFIC_FIELDS, TOP_LEVEL_FIELDS
from tests.settings.schema.validating import find_mistake

CASES = sorted((Path(__file__).parents[2] / "conformance" / "cases").glob("*.json"))
BASE = ("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp")
_JSON_TYPES = {bool: "boolean", str: "string", dict: "object", list: "array"}
# As a case calls what the engine is given.
_RENAMED = {"sdk_request": "model_request", "sdk_response": "model_response"}


def part_of(event: str, name: str) -> Draft202012Validator:
    schema = event_schema(event)
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"})


@pytest.mark.parametrize("event", HookEventName)
def test_the_schema_of_an_event_is_one_and_says_what_it_describes(event: HookEventName) -> None:
    schema = event_schema(event)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://hookline.github.io/hookline/schema/events/{event.value}.json"
    assert event.value in schema["title"]
    assert {"input", "output"} <= schema["$defs"].keys()


@pytest.mark.parametrize("event", HookEventName)
async def test_what_hooks_read_in_every_case_fits(event: HookEventName, tmp_path: Path) -> None:
    validator, read = part_of(event, "input"), 0
    for path in CASES:
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("event") != event:
            continue
        payload = {_RENAMED.get(name, name): value for name, value in case["args"].items()}
        for document in await fired_inputs(event, payload, tmp_path):
            assert find_mistake(validator, document) is None, path.stem
            assert tuple(document)[: len(BASE)] == BASE
            read += 1
    assert read


async def fired_inputs(
    event: HookEventName, payload: Mapping[str, Any], directory: Path
) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async with HookSystem(Config(working_dir=directory, session_id="s")) as system:
        system.register_hook(event, seen.append)
        await system.get_event_handler().fire(event, payload)
    return seen


@pytest.mark.parametrize("event", HookEventName)
def test_what_is_described_are_the_fields_of_the_event_in_their_order(event: HookEventName) -> None:
    spec, described = EVENTS[event], describe_input(event)
    own = [field for field in described if "." not in field.name]
    names = (*BASE, *spec.required, *spec.optional)
    assert tuple(field.name for field in own)[: len(names)] == names
    assert {field.name for field in own if field.required} == {*BASE, *spec.required}
    assert all(field.meaning and field.type for field in described)
    required = set(event_schema(event)["$defs"]["input"]["required"])
    assert required == {*BASE, *spec.required}


@pytest.mark.parametrize("event", HookEventName)
def test_a_hook_may_answer_what_the_engine_reads_and_nothing_else(event: HookEventName) -> None:
    described = describe_output(event)
    assert all(field.meaning and field.type for field in described)
    names = [field.name for field in described]
    assert [name for name in names if "." not in name] == list(TOP_LEVEL_FIELDS)
    prefix = "hookSpecificOutput."
    specific = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    own = {name for name in specific if "." not in name}
    assert own == {*SPECIFIC_FIELDS[event], "hookEventName"}

    schema = event_schema(event)["$defs"]
    top = schema["output"]["properties"]
    nested = resolve(schema, top["hookSpecificOutput"])["properties"]
    for properties, known in ((top, TOP_LEVEL_FIELDS), (nested, SPECIFIC_FIELDS[event])):
        for name, kind in known.items():
            property_ = resolve(schema, properties[name])
            # A word is one of a few; msgspec says no more of those.
            said = "string" if "enum" in property_ else property_["type"]
            assert said == _JSON_TYPES.get(kind, "string"), name


def resolve(defs: Mapping[str, Any], node: Mapping[str, Any]) -> Any:
    if "$ref" in node:
        return defs[node["$ref"].removeprefix("#/$defs/")]
    return node


def test_a_decision_is_one_of_the_words_that_are_read() -> None:
    decision = event_schema("BeforeTool")["$defs"]["output"]["properties"]["decision"]
    assert {*decision["enum"]} == DECISION_WORDS


@pytest.mark.parametrize(
    ("event", "answer", "place"),
    [
        ("BeforeTool", {}, None),
        ("BeforeTool", {"decision": "deny", "reason": "no"}, None),
        ("BeforeTool", {"hookSpecificOutput": {"tool_input": {"path": "x"}}}, None),
        ("AfterAgent", {"continue": False, "hookSpecificOutput": {"clearContext": True}}, None),
        ("BeforeModel", {"hookSpecificOutput": {"llm_request": {"config": {"topK": 1}}}}, None),
        ("AfterModel", {"hookSpecificOutput": {"llm_response": {"text": "x"}}}, None),
        ("BeforeTool", {"decison": "deny"}, "$"),
        ("BeforeTool", {"decision": "no"}, "$.decision"),
        ("AfterTool", {"decision": "ask"}, "$.decision"),
        ("BeforeTool", {"continue": "false"}, "$.continue"),
        ("AfterTool", {"hookSpecificOutput": {"tool_input": {}}}, "$.hookSpecificOutput"),
        (
            "AfterTool",
            {"hookSpecificOutput": {"tailToolCallRequest": {"name": "x"}}},
            "$.hookSpecificOutput.tailToolCallRequest",
        ),
        (
            "BeforeModel",
            {"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user"}]}}},
            "$.hookSpecificOutput.llm_request.messages[0]",
        ),
    ],
)
def test_a_wrong_answer_is_told_by_its_place(event: str, answer: object, place: str | None) -> None:
    mistake = find_mistake(part_of(event, "output"), answer)
    assert (mistake and mistake[0]) == place


@pytest.mark.parametrize("event", HookEventName)
def test_every_property_of_an_event_is_described(event: HookEventName) -> None:
    described = (*describe_input(event), *describe_output(event))
    names = {field.name.rpartition(".")[2] for field in described}
    schema = event_schema(event)["$defs"]
    assert names == {name for part in schema.values() for name in part.get("properties", ())}
    for part in schema.values():
        for name, property_ in part.get("properties", {}).items():
            assert property_["description"], (part["title"], name)


def test_the_format_of_the_model_is_described_as_it_is() -> None:
    types = {
        kind
        for kind in vars(model).values()
        if isinstance(kind, type)
        and (is_typeddict(kind) or issubclass(kind, msgspec.Struct))
        and kind.__module__ == model.__name__
    }
    assert types - {model.Change} == {*MODEL_MEANINGS}
    for kind, meanings in MODEL_MEANINGS.items():
        fields = get_type_hints(kind)
        if issubclass(kind, msgspec.Struct):
            fields = dict.fromkeys(kind.__struct_encode_fields__)
        assert {*fields} == {*meanings}, kind


def test_every_type_that_a_hook_reads_describes_its_fields() -> None:
    for kind in vars(inputs).values():
        if is_typeddict(kind) and kind.__module__ == inputs.__name__:
            for name, hint in get_type_hints(kind, include_extras=True).items():
                while not hasattr(hint, "__metadata__"):
                    (hint,) = hint.__args__
                assert [meta.description for meta in hint.__metadata__] != [None], (kind, name)


def test_an_event_is_known_by_the_names_of_both_families() -> None:
    ours = {name: event for name, event in MAPPED_EVENTS.items() if name != event}
    assert ours == list_foreign_names()
    for name, event in MAPPED_EVENTS.items():
        assert find_event(name) is event
        assert event_schema(name) == event_schema(event)
        assert describe_input(name) == describe_input(event)
    assert {*INPUTS} == {*HookEventName}


@pytest.mark.parametrize("ask", [event_schema, describe_input, describe_output])
def test_a_name_that_is_no_event_is_answered_with_the_nearest(ask: Any) -> None:
    with pytest.raises(UnknownEventError, match="did you mean BeforeTool"):
        ask("BeforTool")
    with pytest.raises(UnknownEventError, match="did you mean PreToolUse"):
        ask("PreTolUse")
