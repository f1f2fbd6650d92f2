"""Test files are found below a directory, and hold one test, a list, or tests that share fields."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.hooktests import cases
from hookline.hooktests.cases import (
    HookTestError,
    HookTestFile,
    brings_code,
    find_test_files,
    read_test_file,
)

ASK = {"event": "BeforeAgent", "input": {"prompt": "Hi"}, "expect": {"decision": "allow"}}


def read(value: Any, name: str = "some.hooktest.json") -> HookTestFile:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value))
    return read_test_file(name)


def problem_in(value: Any) -> str:
    file = read(value)
    assert file.tests == ()
    (problem,) = file.problems
    return str(problem)


def test_one_test_is_named_after_its_file() -> None:
    (test,) = read(ASK).tests
    assert (test.name, test.event, test.input) == ("some", "BeforeAgent", {"prompt": "Hi"})


def test_tests_of_a_list_without_names_are_numbered() -> None:
    tests = read([ASK, {**ASK, "name": "mine"}, {**ASK, "skip": "later"}]).tests
    assert [test.name for test in tests] == ["test 1", "mine", "test 3"]
    assert [test.skip for test in tests] == [None, None, "later"]


def test_an_empty_name_is_none() -> None:
    nameless = {**ASK, "name": ""}
    assert [test.name for test in (*read(nameless).tests, *read([nameless]).tests)] == [
        *("some", "test 1")
    ]


def test_a_test_keeps_its_own_name_of_the_event_and_whether_claude_codes_settings_are_read() -> (
    None
):
    theirs = {**ASK, "event": "UserPromptSubmit", "claude": False}
    (test,), (ours,) = read(theirs).tests, read(ASK).tests
    assert (test.event, test.event_name, test.claude) == ("BeforeAgent", "UserPromptSubmit", False)
    assert (ours.event_name, ours.claude, ours.files, ours.env) == ("BeforeAgent", None, None, {})


def test_what_a_test_brings_is_named_files_before_variables() -> None:
    fields: list[dict[str, Any]] = [{}, {"env": {"A": ""}}, {"files": {"a": ""}, "env": {"A": ""}}]
    codes = [read({**ASK, **each}).tests[0].code for each in fields]
    assert codes == ["", "it sets variables", "it brings files"]


def test_comments_trailing_commas_and_a_byte_order_mark_are_welcome() -> None:
    text = '\ufeff// about keys\n{"event": "SessionStart", "input": {"source": "startup",}, '
    (test,) = read(text + '/* and */ "expect": {},}').tests
    assert (test.line, test.expect) == (2, {})


def test_what_stands_at_the_top_holds_for_every_test_that_does_not_say_otherwise() -> None:
    shared = {"event": "BeforeTool", "tool": "write_file", "hooks": ["a"], "env": {"A": "1"}}
    own: dict[str, Any] = {"tool_input": {}, "expect": {}}
    first, second = read(
        {**shared, "tests": [own, {**own, "tool": "replace", "env": {"B": None}, "hooks": ["b"]}]}
    ).tests
    assert first.input == {"tool_name": "write_file", "tool_input": {}}
    assert second.input["tool_name"] == "replace"
    assert (first.hooks, second.hooks) == (("a",), ("b",))
    assert second.env == {"A": "1", "B": None}


def test_inputs_and_files_at_the_top_are_completed_by_each_test() -> None:
    shared = {**ASK, "input": {"a": 1, "prompt": "x"}, "files": {"a": "1", "b": "1"}}
    del shared["expect"]
    own = {"input": {"prompt": "Hi"}, "files": {"b": "2"}, "expect": {}}
    (test,) = read({**shared, "tests": [own]}).tests
    assert test.input == {"a": 1, "prompt": "Hi"}
    assert test.files == {"a": "1", "b": "2"}


def test_a_test_brings_code_if_it_has_files_or_variables() -> None:
    for fields, is_code in (({}, False), ({"files": {"a": ""}}, True), ({"env": {"A": ""}}, True)):
        read([ASK, {**ASK, **fields}])
        assert brings_code("some.hooktest.json") is is_code


def test_a_file_may_name_its_schema_for_editors() -> None:
    schema = {"$schema": "./hooktest.schema.json"}
    for value in ({**schema, **ASK}, {**schema, "tests": [{"name": "some", **ASK}]}):
        file = read(value)
        assert ([test.name for test in file.tests], file.problems) == (["some"], ())


def test_the_shorthands_of_fire_complete_the_input() -> None:
    fields = {"event": "AfterTool", "input": {"tool_response": "ok"}, "session_id": "s"}
    (test,) = read({**fields, "tool": "ls", "tool_input": {"p": 1}, "expect": {}}).tests
    assert test.input == {
        "tool_response": "ok",
        "tool_name": "ls",
        "tool_input": {"p": 1},
        "session_id": "s",
    }


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        ("[1]", ":1:2: a test must be an object, {…}"),
        ("7", ":1:1: the file must hold a test, {…}, or a list of tests"),
        ('{"tests": 1}', ":1:11: tests must be a list of tests"),
        ('{"expect": {}', ":1:14: is not valid JSON: expected ',' or '}'"),
        ({"evnt": "x"}, ":1:10: 'evnt' has no meaning in a test; did you mean event?"),
        ({"tests": [], "expect": {}}, "'expect' has no meaning at the top of a file; there are"),
        ({"expect": {}}, "event is missing; there are BeforeTool, AfterTool,"),
        ({"event": "BeforeTol"}, "'BeforeTol' is not a hook event; did you mean BeforeTool"),
        ({"event": "zzz"}, "'zzz' is not a hook event; there are BeforeTool,"),
        ({**ASK, "input": {}}, "BeforeAgent input: prompt is missing"),
        ({**ASK, "tool": "x"}, "tool is for BeforeTool and AfterTool, not for BeforeAgent"),
        (
            {**ASK, "llm_response": {}},
            "llm_response is for AfterModel, not for BeforeAgent",
        ),
        (
            {**ASK, "expect": {"llm_response": {}}},
            "llm_response can be expected of BeforeModel or AfterModel, not of BeforeAgent",
        ),
        (
            {**ASK, "expect": {"tools": []}},
            "tools can be expected of BeforeToolSelection, not of BeforeAgent",
        ),
        ({"tests": [], "$schema": "x", "$shema": "y"}, "'$shema' has no meaning at the top"),
        ({**ASK, "hooks": []}, "hooks must be a list of hook names"),
        ({**ASK, "env": {"A": 1}}, "env must be an object of strings"),
        ({**ASK, "skip": True}, "skip must be a string that says why"),
        ({**ASK, "files": {"../x": ""}}, "'../x' must be a path inside the directory"),
        ({**ASK, "files": {"/x": ""}}, "'/x' must be a path inside the directory"),
        ({**ASK, "files": {"a/../x": ""}}, "'a/../x' must be a path inside the directory"),
        ({**ASK, "files": {"./": ""}}, "'./' must be a path inside the directory"),
        ({**ASK, "files": {"a\0": ""}}, "must be a path inside the directory"),
        ({**ASK, "expect": {"decison": "deny"}}, "'decison' cannot be expected; did you mean deci"),
        ({**ASK, "expect": {"decision": "no"}}, "decision must be one of allow, approve, ask"),
        ({**ASK, "expect": {"decision": ["deny"]}}, "decision must be one of allow, approve, ask"),
        ({**ASK, "expect": {"blocked": 1}}, "blocked must be true or false"),
        ({**ASK, "expect": {"hooks": []}}, "hooks must be an object of hook names"),
        ({"event": "BeforeAgent", "input": {"prompt": ""}}, "expect is missing: say what"),
        (
            {"event": "SessionEnd", "input": {"reason": "exit"}, "expect": {"decision": "deny"}},
            "SessionEnd cannot be blocked or stopped, so its decision is never deny",
        ),
        (
            {"event": "SessionEnd", "input": {"reason": "exit"}, "expect": {"decision": "stop"}},
            "SessionEnd cannot be blocked or stopped, so its decision is never stop",
        ),
    ],
)
def test_what_is_no_test_is_told_with_its_place(test: Any, problem: str) -> None:
    told = problem_in(test)
    assert told.startswith("some.hooktest.json:")
    assert problem in told


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("a string", ["name", "event", "tool", "session_id"]),
        ("an object", ["input", "tool_input", "llm_request", "llm_response", "expect"]),
        ("true or false", ["claude"]),
        ("a string that says why", ["skip"]),
    ],
)
def test_each_field_has_its_own_kind_of_value(words: str, fields: list[str]) -> None:
    for field in fields:
        assert problem_in({**ASK, field: 5}).endswith(f": {field} must be {words}")


def test_a_request_stands_beside_an_event_of_the_model_alone() -> None:
    request = {"model": "m", "messages": []}
    (test,) = read({"event": "BeforeModel", "llm_request": request, "expect": {}}).tests
    assert test.input == {"llm_request": request}
    events = "BeforeModel, AfterModel and BeforeToolSelection"
    told = problem_in({**ASK, "llm_request": request})
    assert told.endswith(f": llm_request is for {events}, not for BeforeAgent")


def test_a_bad_test_keeps_none_of_its_neighbours_from_running() -> None:
    file = read([{"event": "x"}, {**ASK, "name": "a"}, {**ASK, "name": "a"}])
    assert [test.name for test in file.tests] == ["a"]
    first, second = map(str, file.problems)
    assert "'x' is not a hook event; there are BeforeTool, AfterTool," in first
    assert "another test is named 'a'; rename one" in second


def test_files_that_cannot_be_read_are_problems_too() -> None:
    Path("latin").write_bytes(b'{"name": "\xe9"}')
    Path("folder").mkdir()
    assert (
        str(read_test_file("latin").problems[0])
        == "latin:1:11: is not valid JSON: this is not UTF-8"
    )
    (problem,) = read_test_file("folder").problems
    assert "cannot be read: Is a directory" in str(problem)
    assert (problem.kind, problem.file) == ("unreadable", "folder")


def touch(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def test_files_come_from_top_to_bottom_and_from_a_to_z() -> None:
    touch("b.hooktest.json", "a.hooktest.json", "sub/c.hooktest.json", "a.json")
    touch(
        ".hookline/tests/d.hooktest.json", "node_modules/x/e.hooktest.json", ".git/f.hooktest.json"
    )
    assert find_test_files(".") == [
        "a.hooktest.json",
        "b.hooktest.json",
        ".hookline/tests/d.hooktest.json",
        "sub/c.hooktest.json",
    ]


def test_a_file_that_is_named_counts_whatever_its_name_and_only_once() -> None:
    touch("plain.json", "t/a.hooktest.json")
    Path("t/link.hooktest.json").symlink_to("a.hooktest.json")
    assert find_test_files("plain.json", "t", "t/a.hooktest.json") == [
        "plain.json",
        "t/a.hooktest.json",
    ]


def test_a_place_that_is_not_there_is_an_error() -> None:
    with pytest.raises(HookTestError, match="there is no file or directory nowhere; name one"):
        find_test_files("nowhere")


def test_a_place_with_too_many_folders_is_not_searched_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    touch("t/a/a.hooktest.json", "t/b/b.hooktest.json")
    monkeypatch.setattr(cases, "MOST_FOLDERS", 3)
    assert len(find_test_files("t")) == 2
    monkeypatch.setattr(cases, "MOST_FOLDERS", 2)
    with pytest.raises(HookTestError, match="t has more than 2 directories"):
        find_test_files("t")
