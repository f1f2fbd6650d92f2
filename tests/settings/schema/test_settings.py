"""The schema of the settings is what the engine reads: keys, types and defaults."""

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hookline.settings.reader import GivenTrust, Layer, combine, read_layer
from hookline.settings.schema import describe_settings, settings_schema
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource
from tests.settings.schema.validating import SETTINGS, find_mistake

CASES = sorted((Path(__file__).parents[2] / "conformance" / "cases").glob("*.json"))
COMMAND = {"type": "command", "command": "true"}
HTTP = {"type": "http", "url": "https://policy.example.com/hooks"}
PROMPT = {"type": "prompt", "prompt": "Is it safe?"}


def with_hook(**fields: object) -> dict[str, Any]:
    return with_definition(hooks=[{**COMMAND, **fields}])


def with_definition(**fields: object) -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [fields]}}


def read(document: Mapping[str, Any]) -> Layer:
    return read_layer(document, HookSource.SYSTEM, "settings.json")


def test_the_schema_is_one_and_says_what_it_describes() -> None:
    schema = settings_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "https://hookline.github.io/hookline/schema/settings.json"
    assert schema["title"] == "Settings of hookline"
    assert schema["description"]
    assert "x-layers" not in json.dumps(schema)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_accepts_the_settings_of_a_case_exactly_if_the_engine_does(path: Path) -> None:
    hooks = json.loads(path.read_text(encoding="utf-8")).get("settings", {}).get("hooks")
    document = {} if hooks is None else {"hooks": hooks}
    mistake, problems = find_mistake(SETTINGS, document), read(document).problems
    if path.stem in _ONLY_THE_ENGINE_SEES:
        assert (mistake, len(problems)) == (None, 1)
    else:
        assert (mistake is None) == (not problems), (mistake, problems)


# The matcher is no regular expression, or not one of Python's: the schema takes any text.
_ONLY_THE_ENGINE_SEES = {"match-invalid-regex-equal", "match-invalid-regex-not-equal"}

# A mistake -> where a reader is shown it.
_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"enableHooks": "yes"}, "$.enableHooks"),
    ({"hooks": []}, "$.hooks"),
    ({"hooks": {"BeforTool": []}}, "$.hooks"),
    ({"hooks": {"PreToolUse": []}}, "$.hooks"),
    ({"hooks": {"// BeforeTool": []}}, "$.hooks"),
    ({"hooks": {"BeforeTool": {}}}, "$.hooks.BeforeTool"),
    ({"hooks": {"BeforeTool": [[]]}}, "$.hooks.BeforeTool[0]"),
    ({"hooks": {"disabled": "guard"}}, "$.hooks.disabled"),
    ({"hooks": {"required": [1]}}, "$.hooks.required[0]"),
    ({"hooks": {"enabled": 1}}, "$.hooks.enabled"),
    ({"hooks": {"tools": "Bash"}}, "$.hooks.tools"),
    ({"hooks": {"tools": {"shell": ""}}}, "$.hooks.tools.shell"),
    ({"hooks": {"tools": {"shell": {}}}}, "$.hooks.tools.shell"),
    ({"hooks": {"tools": {"sh": {"name": "Bash", "fields": []}}}}, "$.hooks.tools.sh.fields"),
    ({"hooks": {"tools": {"sh": {"name": "Bash", "also": "x"}}}}, "$.hooks.tools.sh.also"),
    ({"hooksConfig": {"enabled": "no"}}, "$.hooksConfig.enabled"),
    ({"hooksConfig": True}, "$.hooksConfig"),
    ({"hookline": {"trace": 1}}, "$.hookline.trace"),
    ({"security": []}, "$.security"),
    ({"security": {"privateHookHosts": "x"}}, "$.security.privateHookHosts"),
    (
        {"security": {"environmentVariableRedaction": {"allowed": [1]}}},
        "$.security.environmentVariableRedaction.allowed[0]",
    ),
    ({"strict": "true"}, "$.strict"),
    ({"claude": "yes"}, "$.claude"),
    ({"plugins": "here"}, "$.plugins"),
    ({"tools": {"enableHooks": "no"}}, "$.tools.enableHooks"),
    ({"tools": "crm_lookup"}, "$.tools"),
    ({"tools": {"crm_lookup": {"nam": "Read"}}}, "$.tools.crm_lookup"),
    (with_definition(matcher="x"), "$.hooks.BeforeTool[0]"),
    (with_definition(hooks=[], matcher=3), "$.hooks.BeforeTool[0].matcher"),
    (with_definition(hooks=[COMMAND], sequential="yes"), "$.hooks.BeforeTool[0].sequential"),
    (with_definition(hooks=["ls"]), "$.hooks.BeforeTool[0].hooks[0]"),
    (with_definition(hooks=[{"command": "ls"}]), "$.hooks.BeforeTool[0].hooks[0]"),
    (with_hook(type="runtime"), "$.hooks.BeforeTool[0].hooks[0].type"),
    (with_hook(command=" "), "$.hooks.BeforeTool[0].hooks[0].command"),
    (with_hook(args="x"), "$.hooks.BeforeTool[0].hooks[0].args"),
    (with_hook(args=[1]), "$.hooks.BeforeTool[0].hooks[0].args[0]"),
    (with_hook(env={"A": 1}), "$.hooks.BeforeTool[0].hooks[0].env.A"),
    (with_hook(env={"A=B": "x"}), "$.hooks.BeforeTool[0].hooks[0].env"),
    (with_hook(env={"": "x"}), "$.hooks.BeforeTool[0].hooks[0].env"),
    (with_hook(env={"A": "\0"}), "$.hooks.BeforeTool[0].hooks[0].env.A"),
    (with_hook(name=None), "$.hooks.BeforeTool[0].hooks[0].name"),
    (with_hook(description=1), "$.hooks.BeforeTool[0].hooks[0].description"),
    (with_hook(timeout=0), "$.hooks.BeforeTool[0].hooks[0].timeout"),
    (with_hook(timeout="5s"), "$.hooks.BeforeTool[0].hooks[0].timeout"),
    (with_hook(timeout=True), "$.hooks.BeforeTool[0].hooks[0].timeout"),
    (with_hook(onFailure="deny"), "$.hooks.BeforeTool[0].hooks[0].onFailure"),
    (with_hook(warm="yes"), "$.hooks.BeforeTool[0].hooks[0].warm"),
    (with_hook(managed=1), "$.hooks.BeforeTool[0].hooks[0].managed"),
    (with_hook(**{"async": 1}), "$.hooks.BeforeTool[0].hooks[0].async"),
    (
        with_hook(**{"async": True, "onFailure": "block"}),
        "$.hooks.BeforeTool[0].hooks[0].async",
    ),
    (with_definition(hooks=[{**HTTP, "url": "x"}]), "$.hooks.BeforeTool[0].hooks[0].url"),
    (
        with_definition(hooks=[{**HTTP, "headers": {"A": 1}}]),
        "$.hooks.BeforeTool[0].hooks[0].headers.A",
    ),
    (
        with_definition(hooks=[{**HTTP, "allowedEnvVars": "A"}]),
        "$.hooks.BeforeTool[0].hooks[0].allowedEnvVars",
    ),
    ({"tools": "crm_lookup"}, "$.tools"),
    (with_definition(hooks=[{**PROMPT, "prompt": ""}]), "$.hooks.BeforeTool[0].hooks[0].prompt"),
    (with_definition(hooks=[{**PROMPT, "model": 1}]), "$.hooks.BeforeTool[0].hooks[0].model"),
    (
        with_definition(hooks=[{**PROMPT, "continueOnBlock": 1}]),
        "$.hooks.BeforeTool[0].hooks[0].continueOnBlock",
    ),
]


@pytest.mark.parametrize(("document", "place"), _MISTAKES, ids=json.dumps)
def test_what_the_engine_complains_of_is_refused_with_its_place(
    document: dict[str, Any], place: str
) -> None:
    assert read(document).problems
    mistake = find_mistake(SETTINGS, document)
    assert mistake is not None
    assert mistake[0] == place


@pytest.mark.parametrize(
    ("document", "place", "word"),
    [
        ({"hook": {}}, "$", "hook"),
        ({"hooks": {"BeforeTool": [], "matcher": "x"}}, "$.hooks", "matcher"),
        (with_definition(hooks=[], matchers="x"), "$.hooks.BeforeTool[0]", "matchers"),
        (with_hook(onfailure="block"), "$.hooks.BeforeTool[0].hooks[0]", "onfailure"),
        (with_hook(url="https://x.example"), "$.hooks.BeforeTool[0].hooks[0]", "url"),
        ({"hookline": {"traced": True}}, "$.hookline", "traced"),
        ({"security": {"redaction": {}}}, "$.security", "redaction"),
    ],
)
def test_a_key_that_nothing_reads_is_refused_where_the_engine_says_nothing(
    document: dict[str, Any], place: str, word: str
) -> None:
    mistake = find_mistake(SETTINGS, document)
    assert mistake is not None
    assert mistake[0] == place
    assert repr(word) in mistake[1]


# The engine takes null for a key that was left out, and does not read what is for people or for
# other programs; an editor says that the value makes no sense.
@pytest.mark.parametrize(
    "document",
    [
        {"enableHooks": None},
        {"hooks": None},
        {"hooks": {"disabled": None}},
        {"security": None},
        {"$schema": 1},
        {"hooks": {"notifications": "all"}},
        with_definition(hooks=[COMMAND], description=1),
    ],
    ids=json.dumps,
)
def test_what_makes_no_sense_is_refused_though_the_engine_can_do_without(
    document: dict[str, Any],
) -> None:
    assert not read(document).problems
    assert find_mistake(SETTINGS, document) is not None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"$schema": "./settings.schema.json", "//": "ours", "$comment": 1, "_comment_2": {}},
        with_definition(**{"hooks": [{**COMMAND, "// why": "it is true"}], "$comment": "x"}),
        {"hooks": {"BeforeTool": []}, "security": {"_comment": "none"}},
        {"tools": ["crm_lookup"]},
        {"tools": {"crm_lookup": "Read", "sh": {"name": "Bash"}, "enableHooks": True}},
        {"tools": {"enableHooks": False, "sandbox": "docker"}},
        {"hooks": {"tools": ["crm_lookup"]}},
        {"hooks": {"tools": {"shell": "Bash", "cat": {"name": "Read", "fields": {"a": "b"}}}}},
        with_definition(hooks=[COMMAND, HTTP, PROMPT], matcher=None, sequential=True),
        with_hook(**{"async": True, "onFailure": "allow", "timeout": 0.5, "env": {"A": ""}}),
        with_hook(**{"async": False, "onFailure": "block", "managed": True, "args": []}),
        {"hooks": {event.value: [] for event in HookEventName}},
    ],
    ids=json.dumps,
)
def test_what_the_engine_takes_is_accepted(document: dict[str, Any]) -> None:
    assert not read(document).problems
    assert find_mistake(SETTINGS, document) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
_FULL: dict[str, Any] = {
    "$schema": "./settings.schema.json",
    "enableHooks": True,
    "hooks": {
        "BeforeTool": [
            {
                "sequential": True,
                "hooks": [
                    {**COMMAND, "args": ["x"], "env": {"A": "b"}, "warm": True, "timeout": 5},
                    {**COMMAND, "async": True, "name": "x", "description": "y", "managed": True},
                    {**HTTP, "headers": {"A": "b"}, "allowedEnvVars": ["A"], "onFailure": "block"},
                    {**PROMPT, "model": "m", "continueOnBlock": True},
                ],
            }
        ],
        "Notification": [{"matcher": "ToolPermission", "hooks": []}],
        "enabled": True,
        "disabled": ["x"],
        "required": ["y"],
        "tools": {
            "shell": {"name": "Bash", "fields": {"a": ["b"]}, "paths": ["p"], "also": ["x"]},
            "cat": "Read",
        },
    },
    "hooksConfig": {"enabled": True, "disabled": ["x"]},
    "hookline": {"trace": True},
    "security": {
        "environmentVariableRedaction": {"enabled": True, "allowed": ["A"], "blocked": ["B"]},
        "privateHookHosts": ["policy.corp"],
    },
    "strict": True,
    "tools": {"enableHooks": True},
    "claude": True,
    "plugins": ["folder"],
}


def find_places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, held in items:
        yield (*path, key)
        if isinstance(held, dict | list):
            yield from find_places(held, (*path, key))


@given(place=st.sampled_from([(), *find_places(_FULL)]), value=_JSON)
def test_whatever_stands_at_a_key_the_schema_refuses_what_the_engine_complains_of(
    place: tuple[str | int, ...], value: object
) -> None:
    document: dict[str, Any] = copy.deepcopy(_FULL)
    assert not read(document).problems
    if place:
        held: Any = document
        for key in place[:-1]:
            held = held[key]
        held[place[-1]] = value
    problems = [problem for problem in read(document).problems if problem.path[-1:] != ("matcher",)]
    if problems or not place:
        assert (find_mistake(SETTINGS, document) is None) == (not problems)


def test_a_hook_that_says_nothing_is_as_its_defaults_say() -> None:
    """What the schema calls the default is what the engine uses."""
    names = {"async": "background", "allowedEnvVars": "allowed_env"}
    layer = read(with_definition(hooks=[COMMAND, HTTP, PROMPT]))
    assert not layer.problems
    for kind, entry in zip(("CommandHook", "HttpHook", "PromptHook"), layer.entries, strict=True):
        defaults = dict(defaults_of(kind))
        for key, default in defaults.items():
            used = getattr(entry.hook, names.get(key, _snake(key)))
            assert (list(used) if isinstance(used, tuple) else used) == default, key
        assert {"timeout", "onFailure", "managed"} <= defaults.keys()
        assert entry.sequential is dict(defaults_of("Definition"))["sequential"]


def test_settings_that_say_nothing_are_as_their_defaults_say() -> None:
    trust = GivenTrust(True)
    nothing = combine([read({})], trust=trust)
    redaction = "security.environmentVariableRedaction"
    objects = {
        "": "Settings",
        "hooks.": "HooksSection",
        "hooksConfig.": "HooksConfig",
        "hookline.": "HooklineSection",
        "security.": "Security",
        f"{redaction}.": "Redaction",
    }
    defaults = {
        path + key: value for path, kind in objects.items() for key, value in defaults_of(kind)
    }
    events = {f"hooks.{event.value}" for event in HookEventName}
    said = {key: value for key, value in defaults.items() if key not in events}
    assert said == {
        **dict.fromkeys(("enableHooks", "hooks.enabled", "hooksConfig.enabled"), nothing.enabled),
        "strict": nothing.strict,
        "hookline.trace": nothing.trace,
        "hooks.disabled": [],
        "hooksConfig.disabled": [],
        "hooks.required": list(nothing.required),
        "hooks.tools": nothing.tools or {},
        f"{redaction}.enabled": nothing.redaction.enabled,
        f"{redaction}.allowed": list(nothing.redaction.allowed),
        f"{redaction}.blocked": list(nothing.redaction.blocked),
        "security.privateHookHosts": list(nothing.private_hosts),
        "plugins": [],
    }
    for key, value in said.items():
        document: Any = value
        for name in reversed(key.split(".")):
            document = {name: document}
        spelt_out = combine([read(document)], trust=trust)
        assert msgspec.structs.asdict(spelt_out) == msgspec.structs.asdict(nothing), key


def defaults_of(kind: str) -> Iterator[tuple[str, Any]]:
    schema = settings_schema()
    part = schema["$defs"].get(kind, schema)
    for key, node in part["properties"].items():
        if "default" in node:
            yield key, node["default"]


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def test_hooks_has_every_event() -> None:
    assert {*HookEventName} <= settings_schema()["$defs"]["HooksSection"]["properties"].keys()


def test_every_property_is_described_once() -> None:
    keys = describe_settings()
    paths = [key.path for key in keys]
    assert len(paths) == len(set(paths))
    assert all(all(key) for key in keys), [key for key in keys if not all(key)]
    known = {path.rpartition(".")[2] for path in paths}
    assert known == {
        name for part in settings_schema()["$defs"].values() for name in part["properties"]
    }
    timeout = next(key for key in keys if key.path == "hooks.EVENT[].hooks[].timeout")
    assert (timeout.type, timeout.default, timeout.layers) == ("number", "60000", "every layer")
    assert "milliseconds" in timeout.meaning


def test_what_a_project_may_not_say_is_told_with_the_key() -> None:
    """The engine reports overreach for exactly the keys that are not for every layer."""
    layers = {key.path: key.layers for key in describe_settings()}
    said: dict[str, dict[str, Any]] = {
        "security.environmentVariableRedaction": {"security": {"environmentVariableRedaction": {}}},
        "security.privateHookHosts": {"security": {"privateHookHosts": ["policy.corp"]}},
        "hookline.trace": {"hookline": {"trace": True}},
        "hooks.EVENT[].hooks[].managed": with_hook(managed=True),
        "strict": {"strict": True},
        "hooks.required": {"hooks": {"required": ["x"]}},
    }
    for path, document in said.items():
        read_there = read_layer(document, HookSource.PROJECT, "settings.json")
        is_refused = [problem.kind for problem in read_there.problems] == ["overreach"]
        assert is_refused == (not layers[path].startswith("every layer")), path
