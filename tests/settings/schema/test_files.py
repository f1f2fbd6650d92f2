"""Every file that we show or write fits its schema: examples, documents, and what init makes."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hookline.cli.init import LANGUAGES, FirstHook, make_first_hook
from hookline.dialects.claude.events import MAPPED_EVENTS
from hookline.hooktests.cases import FIELD_TYPES, read_test_file
from hookline.hooktests.comparison import WORDS
from hookline.hooktests.schema import FIELD_MEANINGS, WORD_MEANINGS, hooktest_schema
from hookline.settings import jsonc
from hookline.wire.events import HookEventName
from tests.harness.documents import DOCUMENTS, REPOSITORY, Block, read_blocks
from tests.settings.schema.validating import HOOKTESTS, SETTINGS, find_mistake

EXAMPLES = sorted(REPOSITORY.glob("examples/*/.hookline/settings*.json"))
# Claude Code's settings have their own keys, and a gemini or llxprt file those of its program.
_OTHERS = (".claude", ".gemini", ".llxprt")
# What `hookline check` is shown to find.
_WRONG = ("checked/.hookline/settings.json", "slips/.hookline/settings.json")


def read_jsonc(text: str) -> Any:
    return jsonc.parse(text).value


def find_blocks(document: Path) -> list[tuple[Block, Any]]:
    blocks = read_blocks(document.read_text(encoding="utf-8"))
    return [(block, read_jsonc(block.text)) for block in blocks if block.kind in ("json", "jsonc")]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parents[1].name)
def test_the_settings_of_an_example_fit(file: Path) -> None:
    assert find_mistake(SETTINGS, read_jsonc(file.read_text(encoding="utf-8"))) is None


def test_the_settings_and_tests_of_every_document_fit() -> None:
    settings = tests = 0
    for document in DOCUMENTS:
        for block, value in find_blocks(document):
            where, file = f"{document.name}:{block.line}", block.words.get("file", "")
            if file.endswith(".hooktest.json"):
                assert find_mistake(HOOKTESTS, value) is None, where
                tests += 1
            elif file in _WRONG:
                assert find_mistake(SETTINGS, value) is not None, where
            elif is_settings(value) and not any(name in Path(file).parts for name in _OTHERS):
                assert find_mistake(SETTINGS, value) is None, where
                settings += 1
    assert settings > 10
    assert tests


def is_settings(value: Any) -> bool:
    """Whether it is a whole settings file of ours: a test has a list of hooks, and Claude Code's
    events have other names."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    return isinstance(hooks, dict) and hooks.keys().isdisjoint(MAPPED_EVENTS.keys() - HookEventName)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@pytest.mark.parametrize("event", HookEventName)
def test_what_init_writes_fits(event: HookEventName, language: str, tmp_path: Path) -> None:
    hook: FirstHook = make_first_hook(event, language, None)
    assert find_mistake(SETTINGS, hook.additions({}, has_schema=True)) is None
    written = read_jsonc(hook.test_text.decode())
    assert find_mistake(HOOKTESTS, written) is None
    assert next(iter(written)) == "$schema"
    file = tmp_path / "x.hooktest.json"
    file.write_bytes(hook.test_text)
    assert read_test_file(str(file)).problems == ()


def test_the_schema_of_hook_tests_is_one_and_describes_every_field_and_word() -> None:
    schema = hooktest_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == "https://hookline.github.io/hookline/schema/hooktest.json"
    assert {*FIELD_MEANINGS} == {*FIELD_TYPES}
    assert {*WORD_MEANINGS} == {*WORDS}
    for part in schema["$defs"].values():
        assert all(property_["description"] for property_ in part["properties"].values())


FIRED = {"event": "BeforeTool", "tool": "write_file", "tool_input": {}}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({**FIRED, "expect": {"decision": "deny"}}, None),
        ({**FIRED, "expect": {"reason": {"contains": "x"}}, "$schema": "x"}, None),
        ([{**FIRED, "expect": {"blocked": True}}], None),
        ({**FIRED, "tests": [{"expect": {"hooks": {"x": {"exit_code": 0}}}}]}, None),
        ({"tests": [{**FIRED, "expect": {}}], "$schema": "../x.json"}, None),
        ({**FIRED, "event": "PreToolUse", "tool": "Bash", "expect": {}}, None),
        ({}, "$"),
        (3, "$"),
        ({"event": "BeforeTool"}, "$"),
        ({**FIRED, "event": "BeforTool", "expect": {}}, "$.event"),
        ({**FIRED, "expct": {}, "expect": {}}, "$"),
        ({**FIRED, "// note": "x", "expect": {}}, "$"),
        ({**FIRED, "expect": {"decison": "deny"}}, "$.expect"),
        ({**FIRED, "expect": {"decision": "no"}}, "$.expect.decision"),
        ({**FIRED, "expect": {"blocked": "yes"}}, "$.expect.blocked"),
        ({**FIRED, "expect": {"hooks": []}}, "$.expect.hooks"),
        ({**FIRED, "expect": {}, "hooks": []}, "$.hooks"),
        ({**FIRED, "expect": {}, "env": {"A": 1}}, "$.env.A"),
        ([{"expect": {}}], "$[0]"),
        ({"tests": [{"expect": {}}]}, "$.tests[0]"),
        ({**FIRED, "tests": [{}]}, "$.tests[0]"),
        ({**FIRED, "tests": {}}, "$.tests"),
        ({**FIRED, "expect": {}, "tests": []}, "$.expect"),
        ({**FIRED, "name": "x", "tests": []}, "$.name"),
    ],
    ids=json.dumps,
)
def test_a_hook_test_fits_exactly_if_it_can_be_read(
    document: object, place: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "x.hooktest.json"
    file.write_text(json.dumps(document))
    assert bool(read_test_file(str(file)).problems) == (place is not None)
    mistake = find_mistake(HOOKTESTS, document)
    assert (mistake and mistake[0]) == place
