"""What a case may ask of the runner beyond what the recorded ones do."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.testing.conformance import describe_differences, main, run_case
from tests.eleven import Json, command

NOTES: Json = {"tool_name": "fs_read", "tool_input": {"path": "notes.txt"}}
TAP = command("cat > stdin.json")


def case(**fields: Any) -> Json:
    return {"name": "made", "event": "BeforeTool", "args": NOTES, **fields}


def runtime(name: str, action: Json, **fields: Any) -> Json:
    config = {"type": "runtime", "name": name, **fields.pop("config", {})}
    return {"event": "BeforeTool", "config": config, "action": action, **fields}


def with_hooks(*hooks: Json, event: str = "BeforeTool", **definition: Any) -> Json:
    return {"hooks": {event: [{**definition, "hooks": list(hooks)}]}}


def test_runtime_hooks_registered_before_loading_stay_and_others_are_replaced() -> None:
    answer = run_case(
        case(
            settings=with_hooks(command("true", name="project")),
            register_before_init=[
                runtime("kept", {"return": {"reason": "r"}}),
                {"event": "BeforeTool", "source": "user", "config": command("true", name="user")},
                {"event": "BeforeTool", "source": "project", "config": command("true", name="p")},
            ],
        )
    )
    assert [(e["name"], e["source"]) for e in answer["registry"]] == [
        ("kept", "runtime"),
        ("project", "project"),
    ]
    assert answer["plan"]["hooks"] == ["kept", "project"]
    assert answer["runtime_inputs"]["kept"][0]["cwd"] == "$CWD"


def test_a_runtime_hook_may_sleep_throw_and_run_out_of_its_own_time() -> None:
    answer = run_case(
        case(
            register=[
                runtime("slow", {"sleep_ms": 5_000}, config={"timeout": 50}),
                runtime("late", {"sleep_ms": 20, "throw": "boom"}),
                runtime("quick", {"return": {"decision": "deny"}}, matcher="fs", sequential=True),
            ]
        )
    )
    assert answer["results"] == [
        {"hook": "slow", "success": False, "failed": "timeout"},
        {"hook": "late", "success": False, "failed": "error"},
        {"hook": "quick", "success": True, "output": {"decision": "deny"}},
    ]
    assert answer["plan"]["sequential"] is True
    assert answer["error_count"] == 2


@pytest.mark.parametrize(
    "hook",
    [
        {"event": "BeforeTol", "config": command("true")},
        {"event": "BeforeTool", "config": command("true"), "source": "moon"},
        {"event": "BeforeTool", "config": command("true"), "matcher": ["x"]},
        {"event": "BeforeTool", "config": command("true", timeout=0)},
        {"event": "BeforeTool", "config": {"type": "runtime", "name": "r", "timeout": "soon"}},
        {"event": "BeforeTool", "config": {"type": "runtime", "name": 5}},
        {"event": "BeforeTool", "config": {"type": "http", "url": "x"}},
        {"event": "BeforeTool", "config": None},
    ],
)
def test_a_hook_that_could_not_run_is_counted_as_refused(hook: Json) -> None:
    answer = run_case(case(register=[hook]))
    assert answer["registration_errors"] == 1
    assert answer["registry"] == []


def test_the_event_is_fired_as_often_as_asked_and_the_last_result_counts() -> None:
    count = command('echo x >> trace.txt; printf \'{"reason":"%s"}\' $(wc -l < trace.txt)')
    answer = run_case(case(settings=with_hooks(count), fire_times=3, collect=["trace.txt"]))
    assert answer["collected"] == {"trace.txt": {"text": "x\nx\nx\n"}}
    assert answer["final_output"]["reason"] == "3"


@pytest.mark.parametrize(
    ("confirmation", "message"),
    [
        ({"type": "edit", "title": "T", "fileName": "f", "fileDiff": "d"}, "editing"),
        ({"type": "exec", "title": "T", "command": "ls -a", "rootCommand": "ls"}, "execution"),
        ({"type": "mcp", "title": "T", "serverName": "s", "toolDisplayName": "d"}, "MCP"),
        ({"type": "info", "title": "T", "prompt": "p", "urls": ["u"]}, "information"),
    ],
)
def test_a_confirmation_becomes_a_notification(confirmation: Json, message: str) -> None:
    answer = run_case(
        case(
            event="Notification",
            args={"confirmation": {**confirmation, "onConfirm": "not shown"}},
            settings=with_hooks(TAP, event="Notification", matcher="ToolPermission"),
            collect=["stdin.json"],
        )
    )
    read = answer["collected"]["stdin.json"]["json"]
    assert read["message"] == f"Tool T requires {message}"
    assert read["details"] == confirmation
    assert read["notification_type"] == "ToolPermission"


def test_home_is_set_up_where_the_case_says_it_is() -> None:
    show = command('cp ~/note.txt seen.txt; printf \'{"reason":"%s"}\' "$HOME"')
    answer = run_case(
        case(
            env={"HOME": "$ROOT/elsewhere"},
            setup_home={"note.txt": {"content": "hello", "mode": "600"}},
            settings=with_hooks(show),
            collect=["seen.txt"],
        )
    )
    assert answer["collected"] == {"seen.txt": {"text": "hello"}}
    assert answer["final_output"]["reason"] == "$ROOT/elsewhere"


@pytest.mark.parametrize("name", ["a/b", 'it\'s $(fun) "here"!', "ünï\tcode", "home", "-x"])
def test_the_working_directory_may_have_any_name(name: str) -> None:
    answer = run_case(
        case(
            cwd_name=name,
            files={"deep/er/note.txt": "hello"},
            settings=with_hooks(command('test "$PWD" = "$GEMINI_CWD" && cat deep/er/note.txt')),
            collect=["deep/er/note.txt"],
        )
    )
    assert answer["final_output"]["systemMessage"] == "hello"
    assert answer["collected"] == {"deep/er/note.txt": {"text": "hello"}}


def test_what_cannot_be_collected_is_null_and_what_is_no_text_is_still_shown() -> None:
    mess = command("mkdir d; printf '\\377x' > odd; printf '[1]' > list; : > empty")
    names = ["d", "missing", "odd", "list", "empty"]
    answer = run_case(case(settings=with_hooks(mess), collect=names))
    assert answer["collected"] == {
        "d": None,
        "missing": None,
        "odd": {"text": "\ufffdx"},
        "list": {"json": [1]},
        "empty": {"text": ""},
    }


def test_a_hook_that_a_signal_ended_has_no_exit_code() -> None:
    answer = run_case(case(settings=with_hooks(command("kill -TERM $$"))))
    assert answer["results"] == [{"hook": "h", "success": False, "failed": "signal"}]
    assert (answer["success"], answer["error_count"], answer["final_output"]) == (False, 1, None)


def test_redaction_lists_and_identities_come_from_the_settings() -> None:
    said = {
        "enableEnvironmentVariableRedaction": True,
        "allowedEnvironmentVariables": ["my_token"],
        "blockedEnvironmentVariables": ["PLAIN"],
    }
    show = command('printf \'{"reason":"%s,%s,%s"}\' "$MY_TOKEN" "$PLAIN" "$OTHER_KEY"; cat >in')
    answer = run_case(
        case(
            env={"MY_TOKEN": "t", "PLAIN": "p", "OTHER_KEY": "k"},
            settings={
                **with_hooks(show),
                "sanitization": said,
                "session_id": "",
                "transcript_path": "/t.json",
            },
            collect=["in"],
        )
    )
    assert answer["final_output"]["reason"] == "t,,"
    read = answer["collected"]["in"]["json"]
    assert (read["session_id"], read["transcript_path"]) == ("", "/t.json")


def test_only_the_times_of_the_run_become_placeholders() -> None:
    own = {"timestamp": "2024-01-02T03:04:05.678Z", "sent": 7}
    answer = run_case(
        case(
            args={"tool_name": "fs_read", "tool_input": own},
            settings=with_hooks(TAP),
            collect=["stdin.json"],
        )
    )
    read = answer["collected"]["stdin.json"]["json"]
    assert (read["timestamp"], read["tool_input"]) == ("$TIMESTAMP", own)


def test_an_event_or_input_that_is_none_is_answered_with_a_failure() -> None:
    for made in (case(event="BeforeTol"), case(args={})):
        answer = run_case(made)
        assert (answer["plan"], answer["success"], answer["error_count"]) == (None, False, 1)


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        ({"a": 1}, {"a": 1, "more": 2}, []),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": None}}, ["a.c: expected nothing, got None"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ["a[1].b: expected 2, got 3"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: expected [1], got [1, 2]"]),
        ({"a": True}, {"a": 1}, ["a: expected True, got 1"]),
        ({"a": None}, {}, ["a: expected None, got nothing"]),
        ({"a": 1}, {"a": 1.0}, []),
    ],
)
def test_differences_are_named_by_their_place(
    expected: Json, actual: Json, lines: list[str]
) -> None:
    assert list(describe_differences(expected, actual)) == lines


def test_a_changed_expectation_is_a_difference_and_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = case(settings=with_hooks(command("true")), expect={"success": True, "error_count": 0})
    good, wrong = tmp_path / "good.json", tmp_path / "wrong.json"
    good.write_text(json.dumps(made))
    wrong.write_text(json.dumps({**made, "expect": {"success": False, "error_count": 0}}))
    assert main([str(good), str(wrong)]) == 1
    assert capsys.readouterr().out == (
        "made: \n  success: expected False, got True\n1 passed, 1 failed\n"
    )


def test_a_file_that_is_no_case_does_not_keep_the_others_from_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"a": "{", "b": "[]", "c": "{}", "d": json.dumps(case(expect={"success": True}))}
    paths = [tmp_path / f"{name}.json" for name in (*texts, "missing")]
    for path, text in zip(paths, texts.values(), strict=False):
        path.write_text(text)
    assert main(list(map(str, paths))) == 1
    printed = capsys.readouterr()
    assert printed.out == "1 passed, 4 failed\n"
    assert [line.partition(":")[0] for line in printed.err.splitlines()] == [
        str(path) for path in paths if path.stem != "d"
    ]


def test_the_environment_of_the_caller_is_untouched() -> None:
    before = dict(os.environ)
    run_case(case(env={"EXTRA": "1"}, settings=with_hooks(command("true"))))
    assert dict(os.environ) == before
