"""The entries of a ``hooks`` object: what loads, what is skipped, and what is said about it."""

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects import DIALECTS
from hookline.dialects.native import NativeDialect
from hookline.errors import InvalidHookError
from hookline.settings.jsonc import parse
from hookline.settings.reader import (
    Origin,
    Parsed,
    parse_hooks,
    runtime_hook,
    settings_hook,
)
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource, HttpHook
from tests.arbitrary import JSON
from tests.eleven import Json, command

GOOD = command("true", name="good")
FIRST = ("BeforeTool", 0, "hooks", 0)
KEYS = st.sampled_from(
    [
        *("BeforeTool", "Notification", "enabled", "matcher", "sequential", "hooks", "type"),
        *("command", "args", "name", "timeout", "env", "onFailure", "managed", "warm"),
    ]
)
ODD_JSON = st.recursive(
    JSON | st.sampled_from(["command", "runtime", "*", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


def load(raw: object, *, source: HookSource = HookSource.PROJECT) -> Parsed:
    return parse_hooks(raw, source=source, origin=Origin("settings"))


def defined(*hooks: object, **definition: Any) -> Json:
    return {"BeforeTool": [{**definition, "hooks": list(hooks)}]}


def names(parsed: Parsed) -> list[str]:
    return [entry.hook.name for entry in parsed.entries]


def said(parsed: Parsed) -> list[str]:
    return [problem.text for problem in parsed.problems]


def one(raw: Json, *, source: HookSource = HookSource.PROJECT) -> tuple[CommandHook, list[str]]:
    parsed = load(defined(raw), source=source)
    hook = parsed.entries[0].hook
    assert isinstance(hook, CommandHook)
    return hook, said(parsed)


def test_a_definition_gives_an_entry_for_each_of_its_hooks_in_order() -> None:
    parsed = load(defined(command("a"), command("b", name="c"), matcher="write", sequential=True))
    first, second = parsed.entries
    assert (first.event, first.matcher, first.sequential) == (
        HookEventName.BEFORE_TOOL,
        "write",
        True,
    )
    assert [first.hook.name, second.hook.name] == ["h", "c"]
    assert first.matches("write_file")
    assert not parsed.problems


class OpenDialect(NativeDialect):
    """On one of its events a failure never blocks."""

    open_events = frozenset({"AfterAgent"})


def test_a_dialect_may_let_failures_go_on_where_a_hook_would_block() -> None:
    definitions = [{"hooks": [command("a", onFailure="block")]}]
    raw = {"AfterAgent": definitions, "BeforeTool": definitions}
    source, origin = HookSource.PROJECT, Origin("settings")
    parsed = parse_hooks(raw, source=source, origin=origin, dialect=OpenDialect())
    assert [entry.hook.on_failure for entry in parsed.entries] == ["allow", "block"]
    assert len(parsed.problems) == 1
    assert '"block" has no effect on AfterAgent' in parsed.problems[0].text
    assert DIALECTS["claude"].open_events == {
        *("Stop", "SubagentStop", "TaskCompleted", "TeammateIdle")
    }


def test_a_hook_has_every_field_as_written() -> None:
    hook, problems = one(
        {
            "type": "command",
            "command": "scan",
            "args": ["--strict"],
            "name": "secret-scan",
            "description": "looks for secrets",
            "timeout": 5000,
            "env": {"MODE": "strict"},
            "onFailure": "block",
            "warm": True,
        }
    )
    assert problems == []
    assert hook.warm
    assert (hook.command, hook.args, hook.env) == ("scan", ("--strict",), {"MODE": "strict"})
    assert (hook.name, hook.description) == ("secret-scan", "looks for secrets")
    assert (hook.timeout, hook.on_failure, hook.managed) == (5000, "block", False)
    assert hook.source is HookSource.PROJECT


def test_a_hook_has_defaults_for_what_is_not_written() -> None:
    hook, problems = one({"type": "command", "command": "scan"})
    assert problems == []
    assert (hook.timeout, hook.on_failure, hook.managed) == (60_000, "allow", False)
    assert (hook.args, hook.env, hook.description, hook.warm) == (None, {}, None, False)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"name": "n"}, "n"),
        ({}, "run it"),
        ({"name": ""}, "run it"),
        ({"args": ["-a", "b c"]}, "run it -a b c"),
        ({"args": []}, "run it"),
        ({"args": ["x"], "name": "n"}, "n"),
    ],
)
def test_a_hook_is_called_by_its_name_else_by_its_command(fields: Json, name: str) -> None:
    hook, _ = one({"type": "command", "command": "run it", **fields})
    assert hook.name == name


@pytest.mark.parametrize(
    ("raw", "kind", "path"),
    [
        ([], "skipped", ()),
        ({"BeforeTol": []}, "unknown-event", ("BeforeTol",)),
        ({"BeforeTool": {}}, "skipped", ("BeforeTool",)),
        ({"BeforeTool": [1]}, "skipped", ("BeforeTool", 0)),
        (defined(matcher=7), "skipped", ("BeforeTool", 0, "matcher")),
        (defined(matcher="["), "bad-matcher", ("BeforeTool", 0, "matcher")),
        (defined(sequential=7), "bad-field", ("BeforeTool", 0, "sequential")),
        (defined({"type": "http"}), "skipped", FIRST),
        (defined(command("x", timeout=0)), "bad-field", ("BeforeTool", 0, "hooks", 0, "timeout")),
        (
            defined(command("x", managed=True)),
            "overreach",
            ("BeforeTool", 0, "hooks", 0, "managed"),
        ),
    ],
)
def test_a_problem_says_by_its_kind_what_it_is_and_by_its_path_where(
    raw: Any, kind: str, path: tuple[str | int, ...]
) -> None:
    (problem,) = load(raw).problems
    assert (problem.kind, problem.path, problem.file) == (kind, path, "settings")
    assert problem.skipped is (kind in ("skipped", "unknown-event"))


@pytest.mark.parametrize("key", ["enabled", "disabled", "notifications"])
@pytest.mark.parametrize("value", [True, ["x"], {"a": 1}, None])
def test_reserved_keys_are_settings_and_not_events(key: str, value: object) -> None:
    parsed = load({key: value, **defined(GOOD)})
    assert names(parsed) == ["good"]
    assert said(parsed) == []


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("BeforeTol", "BeforeTol: is not a hook event and was skipped; did you mean BeforeTool"),
        ("zzzz", "zzzz: is not a hook event and was skipped"),
        ("PreToolUse", "PreToolUse: is not a hook event and was skipped"),
    ],
)
def test_an_unknown_event_is_skipped_with_the_nearest_name(key: str, message: str) -> None:
    parsed = load({key: [{"hooks": [GOOD]}], **defined(GOOD)})
    assert names(parsed) == ["good"]
    assert len(parsed.problems) == 1
    assert said(parsed)[0].startswith(message)


@pytest.mark.parametrize("definitions", [None, {}, {"hooks": [GOOD]}, "x", 7, True])
def test_definitions_that_are_not_a_list_are_skipped_and_other_events_load(
    definitions: object,
) -> None:
    parsed = load({"AfterTool": definitions, **defined(GOOD)})
    assert names(parsed) == ["good"]
    assert "AfterTool: must be a list of definitions" in said(parsed)[0]


@pytest.mark.parametrize("definition", [None, "x", 7, [], {}, {"hooks": GOOD}, {"matcher": "*"}])
def test_a_definition_without_a_list_of_hooks_is_skipped_and_its_neighbours_load(
    definition: object,
) -> None:
    parsed = load({"BeforeTool": [{"hooks": [GOOD]}, definition, {"hooks": [GOOD]}]})
    assert names(parsed) == ["good", "good"]
    assert said(parsed) == ["BeforeTool[1]: must be an object with a list of hooks; it was skipped"]


@pytest.mark.parametrize("matcher", [["fs_read"], 7, True, {}])
def test_a_matcher_that_is_not_a_string_skips_its_definition_and_no_other(matcher: object) -> None:
    bad = {"matcher": matcher, "hooks": [command("x", name="bad")]}
    parsed = load({"BeforeTool": [bad, {"hooks": [GOOD]}]})
    assert names(parsed) == ["good"]
    assert said(parsed) == ["BeforeTool[0].matcher: must be a string; the definition was skipped"]


def test_a_matcher_that_does_not_compile_is_warned_of_and_its_hooks_load() -> None:
    parsed = load(defined(GOOD, matcher="[grid"))
    assert names(parsed) == ["good"]
    assert parsed.entries[0].matches("[grid")
    assert said(parsed)[0].startswith("BeforeTool[0].matcher: '[grid' is not a regular")


@pytest.mark.parametrize("matcher", [None, "", "  ", "*"])
def test_no_matcher_null_blank_and_star_match_every_tool(matcher: str | None) -> None:
    written = load(defined(GOOD, matcher=matcher)).entries[0]
    absent = load(defined(GOOD)).entries[0]
    assert written.matches("any")
    assert absent.matches("any")


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        (None, "must be an object, not null"),
        ("ls", "must be an object, not a string"),
        ([], "must be an object, not a list"),
        (3, "must be an object, not a number"),
        ({}, "has no type"),
        ({"command": "ls"}, "has no type"),
        ({"type": "", "command": "ls"}, "has the unknown type ''"),
        ({"type": "Command", "command": "ls"}, "has the unknown type 'Command'"),
        ({"type": "plugin", "command": "ls"}, "has the unknown type 'plugin'"),
        ({"type": ["command"], "command": "ls"}, "has the unknown type"),
        ({"type": "runtime", "name": "x"}, "can only be registered in code"),
        ({"type": "command"}, "needs a command"),
        ({"type": "command", "command": ""}, "needs a command"),
        ({"type": "command", "command": "  "}, "needs a command"),
        ({"type": "command", "command": ["ls"]}, "needs a command"),
    ],
)
def test_an_entry_that_is_no_hook_is_skipped_and_its_neighbours_load(
    hook: object, problem: str
) -> None:
    parsed = load(defined(GOOD, hook, GOOD))
    assert names(parsed) == ["good", "good"]
    assert len(parsed.problems) == 1
    assert problem in said(parsed)[0]
    assert said(parsed)[0].startswith("BeforeTool[0].hooks[1]: ")
    assert said(parsed)[0].endswith("; it was skipped")


@pytest.mark.parametrize(
    "timeout", [0, -1, -0.5, math.nan, math.inf, 10**400, True, False, "5000", None, [], {}]
)
def test_a_timeout_that_is_no_number_above_zero_is_warned_of_and_the_default(
    timeout: object,
) -> None:
    hook, problems = one(command("x", timeout=timeout))
    assert hook.timeout == 60_000
    (problem,) = problems
    assert problem.startswith("BeforeTool[0].hooks[0].timeout: must be a number of milliseconds")
    assert problem.endswith("60000 is used instead")


@pytest.mark.parametrize("timeout", [1, 0.5, 5000, 2**40, sys.float_info.max])
def test_a_timeout_above_zero_stands(timeout: float) -> None:
    hook, problems = one(command("x", timeout=timeout))
    assert hook.timeout == timeout
    assert problems == []


@pytest.mark.parametrize(
    ("field", "value", "default"),
    [
        ("args", "x", None),
        ("args", ["x", 1], None),
        ("args", None, None),
        ("description", 7, None),
        ("env", "MODE=x", {}),
        ("env", ["x"], {}),
        ("onFailure", "deny", "allow"),
        ("onFailure", True, "allow"),
        ("onFailure", ["block"], "allow"),
        ("onFailure", None, "allow"),
        ("managed", "yes", False),
        ("warm", "yes", False),
        ("warm", 1, False),
    ],
)
def test_any_other_field_of_the_wrong_type_is_warned_of_and_the_default(
    field: str, value: object, default: object
) -> None:
    hook, problems = one(command("x") | {field: value})
    attribute = "on_failure" if field == "onFailure" else field
    assert getattr(hook, attribute) == default
    assert len(problems) == 1
    assert problems[0].startswith(f"BeforeTool[0].hooks[0].{field}: must be ")


@pytest.mark.parametrize("name", [7, None, True, ["n"]])
def test_a_name_that_is_no_string_is_warned_of_and_the_command_is_the_name(name: object) -> None:
    hook, problems = one({"type": "command", "command": "ls", "name": name})
    assert hook.name == "ls"
    assert problems == ["BeforeTool[0].hooks[0].name: must be a string; it was ignored"]


@pytest.mark.parametrize("sequential", [1, "true", None, []])
def test_sequential_that_is_no_boolean_is_warned_of_and_false(sequential: object) -> None:
    parsed = load(defined(GOOD, sequential=sequential))
    assert parsed.entries[0].sequential is False
    assert said(parsed) == ["BeforeTool[0].sequential: must be true or false; it was ignored"]


def test_a_variable_that_cannot_be_one_is_left_out_and_the_others_stay() -> None:
    env = {"A": "1", "B": 2, "C": None, "": "x", "D=E": "x", "F": "a\0b", "G": ""}
    hook, problems = one(command("x", env=env))
    assert hook.env == {"A": "1", "G": ""}
    assert [problem.split(":")[0].rpartition("env.")[2] for problem in problems] == [
        *("B", "C", "", "D=E", "F"),
    ]


@pytest.mark.parametrize("source", [s for s in HookSource if s is not HookSource.SYSTEM])
def test_managed_counts_in_the_system_layer_only(source: HookSource) -> None:
    hook, problems = one(command("x", managed=True), source=source)
    assert hook.managed is False
    assert "counts only in the system's settings" in problems[0]
    kept, none = one(command("x", managed=True), source=HookSource.SYSTEM)
    assert kept.managed is True
    assert none == []


@pytest.mark.parametrize("raw", ["x", 7, True, [GOOD], []])
def test_hooks_that_are_no_object_are_reported_and_give_nothing(raw: object) -> None:
    parsed = load(raw)
    assert parsed.entries == ()
    assert "hooks must be an object of events" in said(parsed)[0]


def test_events_may_be_named_by_the_enum_in_code() -> None:
    assert names(load({HookEventName.BEFORE_TOOL: ({"hooks": (GOOD,)},)})) == ["good"]


def test_a_problem_in_a_file_has_the_line_and_column_of_its_value() -> None:
    text = """{
  "hooks": {
    "BeforeTool": [
      {"hooks": [{"type": "command", "command": "a", "timeout": -1}]},
      {"hooks": [
        {"type": "http"}]}
    ]
  }
}"""
    document = parse(text)
    parsed = parse_hooks(
        document.value["hooks"],
        source=HookSource.USER,
        origin=Origin("/s.json", document, ("hooks",)),
    )
    assert [problem.place for problem in parsed.problems] == ["/s.json:4:65", "/s.json:6:9"]
    assert (parsed.entries[0].file, parsed.entries[0].line) == ("/s.json", 4)


@given(ODD_JSON)
def test_no_hooks_object_whatever_raises(raw: Any) -> None:
    parsed = load(raw)
    assert all(isinstance(entry.hook, CommandHook) for entry in parsed.entries)
    assert all(problem.message for problem in parsed.problems)


@given(st.lists(st.one_of(ODD_JSON, st.just(GOOD)), max_size=5))
def test_a_good_hook_loads_whatever_stands_beside_it(hooks: list[Any]) -> None:
    assert names(load(defined(*hooks))).count("good") >= hooks.count(GOOD)


@pytest.mark.parametrize(
    "config", [{"type": "command"}, {"type": "http"}, {**GOOD, "timeout": 0}, {**GOOD, "env": 1}]
)
def test_a_hook_given_in_code_that_a_file_would_be_warned_of_raises(config: Json) -> None:
    with pytest.raises(InvalidHookError):
        settings_hook(config, source=HookSource.RUNTIME)
    assert settings_hook(GOOD, source=HookSource.RUNTIME).name == "good"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": ""}, "a runtime hook needs a name"),
        ({"function": 7}, "a hook is a function, or a mapping as in the settings"),
        ({"timeout": "5"}, "timeout: must be a number of milliseconds above 0"),
        ({"onFailure": "maybe"}, 'onFailure: must be "allow" or "block"'),
        ({"managed": True}, "managed: counts only in the system's settings"),
        ({"description": 7}, "description: must be a string"),
    ],
)
def test_a_function_is_read_and_refused_as_a_command_is(fields: Json, problem: str) -> None:
    config = {"name": "guard", "function": print, "timeout": 5, "onFailure": "block"}
    hook = runtime_hook(config, source=HookSource.RUNTIME)
    assert (hook.name, hook.timeout, hook.on_failure) == ("guard", 5, "block")
    assert (hook.function, hook.is_async) == (print, False)
    with pytest.raises(InvalidHookError) as caught:
        runtime_hook({**config, **fields}, source=HookSource.RUNTIME)
    assert str(caught.value) == problem


@pytest.mark.parametrize("prompt", ["", "  \n", 1, None, ["x"]])
def test_a_prompt_hook_without_a_prompt_is_skipped(prompt: object) -> None:
    parsed = load(defined({"type": "prompt", "prompt": prompt}, GOOD))
    assert names(parsed) == ["good"]
    assert said(parsed) == ["BeforeTool[0].hooks[0]: a prompt hook needs a prompt; it was skipped"]


@pytest.mark.parametrize(("length", "name"), [(60, "x" * 60), (61, "x" * 60 + "…")])
def test_a_prompt_without_a_name_is_called_by_its_first_sixty_characters(
    length: int, name: str
) -> None:
    assert names(load(defined({"type": "prompt", "prompt": f"\n{'x' * length} "}))) == [name]


@pytest.mark.parametrize(
    ("field", "value", "left", "message"),
    [
        ("headers", {"a": "b", "c": 1}, {"a": "b"}, "must be a string"),
        ("headers", {"a": "b"}, {"a": "b"}, ""),
        ("headers", [], {}, "must be an object of strings"),
        ("allowedEnvVars", ["A", 1], (), "must be a list of strings"),
        ("allowedEnvVars", "A", (), "must be a list of strings"),
        ("allowedEnvVars", ["A", "B"], ("A", "B"), ""),
    ],
)
def test_of_an_http_hooks_fields_only_strings_count(
    field: str, value: object, left: object, message: str
) -> None:
    parsed = load(defined({"type": "http", "url": " https://a.example/x?key=1 ", field: value}))
    (hook,) = (entry.hook for entry in parsed.entries)
    assert isinstance(hook, HttpHook)
    assert {"headers": hook.headers, "allowedEnvVars": hook.allowed_env}[field] == left
    assert (hook.name, hook.url) == ("https://a.example/x", "https://a.example/x?key=1")
    assert [problem.message.split(": ")[1] for problem in parsed.problems] == (
        [message] if message else []
    )


@pytest.mark.parametrize("url", ["", "ftp://a", "https://", "https:///x", "a.example", None, 1])
def test_an_http_hook_without_a_web_address_is_skipped(url: object) -> None:
    parsed = load(defined({"type": "http", "url": url}))
    assert (names(parsed), [problem.kind for problem in parsed.problems]) == ([], ["skipped"])


def test_a_slip_in_a_definition_or_a_hook_is_said_with_what_comes_of_it() -> None:
    parsed = load(defined({**GOOD, "onfailure": "block"}, Sequential=True))
    first, second = parsed.problems
    assert (first.kind, first.path) == ("misread-key", ("BeforeTool", 0, "Sequential"))
    assert first.message == "BeforeTool[0].Sequential: is not a key of a definition"
    assert first.consequence == "no hook sees what the one before it changed"
    assert second.path == (*FIRST, "onfailure")
    assert second.consequence == "a failure of the hook lets the agent go on"
    assert "onFailure" in second.remedy


def test_a_hook_that_fails_closed_is_never_left_in_the_background() -> None:
    hook, problems = one(command("x") | {"async": True})
    assert (hook.background, problems) == (True, [])
    hook, problems = one(command("x", onFailure="block") | {"async": True})
    assert not hook.background
    (problem,) = problems
    assert problem.startswith("BeforeTool[0].hooks[0].async: is not for a hook that fails closed")
    assert problem.endswith("; the hook is waited for")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(None, "null"), (True, "true or false"), (1.5, "a number"), ("x", "a string"), ([], "a list")],
)
def test_a_hook_that_is_no_object_is_named_by_what_it_is(raw: object, kind: str) -> None:
    (problem,) = load(defined(raw)).problems
    assert problem.message == f"BeforeTool[0].hooks[0]: must be an object, not {kind}"


@pytest.mark.parametrize("name", ["${/}a${/}b", "${pathSeparator}a/b"])
def test_an_extensions_separators_are_replaced_everywhere(name: str) -> None:
    config = command(name, args=[name], env={"A": name})
    hook, problems = one(config, source=HookSource.EXTENSIONS)
    assert (hook.command, hook.args, hook.env) == ("/a/b", ("/a/b",), {"A": "/a/b"})
    assert problems == []
    hook, _ = one(config)
    assert hook.command == name


@pytest.mark.parametrize("field", ["command", "args", "env"])
def test_an_extension_without_a_path_that_names_it_is_warned_of(field: str) -> None:
    config = command("x", args=["x"], env={"A": "x"})
    path = "${extensionPath}/x"
    config[field] = {"command": path, "args": [path], "env": {"A": path}}[field]
    _, problems = one(config, source=HookSource.EXTENSIONS)
    (problem,) = problems
    assert "names ${extensionPath}, and its extension has no path" in problem
