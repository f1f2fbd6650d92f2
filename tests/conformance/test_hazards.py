"""Inputs on which a hook system loses a denial, hangs, leaks or corrupts, one test for each.

The tests have the names of the files; what a correct engine does is in their descriptions.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.contract import Config, HookSystem
from hookline.runner.context import RunLimits
from hookline.testing.conformance import run_case
from tests.eleven import Json
from tests.runner.contained import time_begins_with

HAZARDS = Path(__file__).parent / "hazards"


def read(name: str, change: tuple[str, str] = ("", "")) -> Json:
    """A case; with a change, there is more time to see what it is about."""
    text = (HAZARDS / f"{name}.json").read_text(encoding="utf-8")
    assert change[0] in text
    case: Json = json.loads(text.replace(*change) if change[0] else text)
    return case


def answer(name: str) -> Json:
    return run_case(read(name))


def translated(name: str) -> list[Any]:
    results: list[Any] = answer(name)["translated"]
    return results


def assert_denied(given: Json, reason: str = "guard says no") -> None:
    assert given["view"]["blocked"] is True
    assert given["view"]["effective_reason"] == reason


def test_every_hazard_has_its_test() -> None:
    names = {path.stem.replace("-", "_") for path in HAZARDS.glob("*.json")}
    assert len(names) == 28
    assert {f"test_{name}" for name in names} <= globals().keys()


@pytest.mark.leaves("process")
def test_background_child_holds_the_result() -> None:
    before = time.monotonic()
    given = run_case(read("background-child-holds-the-result", ("sleep 3 &", "sleep 30 &")))
    assert time.monotonic() - before < 20
    assert_denied(given)
    assert given["results"][0]["exit_code"] == 0


def test_bashrc_is_sourced() -> None:
    given = answer("bashrc-is-sourced")
    assert_denied(given)
    assert given["all_outputs"] == [{"decision": "deny", "reason": "guard says no"}]


def test_config_merge_drops_fields() -> None:
    [request] = translated("config-merge-drops-fields")
    assert request["config"] == {
        "temperature": 0.7,
        "maxOutputTokens": 9,
        "systemInstruction": "be brief",
        "tools": [{"functionDeclarations": [{"name": "t"}]}],
    }


def test_decision_case_and_spaces(caplog: pytest.LogCaptureFixture) -> None:
    given = answer("decision-case-and-spaces")
    assert_denied(given, "typo in case")
    assert "decision 'Deny' counts as deny" in caplog.text
    case = read("decision-case-and-spaces", ('\\"Deny\\"', '\\" deny \\"'))
    assert_denied(run_case(case), "typo in case")
    assert "decision ' deny ' counts as deny" in caplog.text
    case = read("decision-case-and-spaces", ('\\"Deny\\"', '\\"denied\\"'))
    assert run_case(case)["view"]["blocked"] is False
    assert "decision 'denied' is not one of allow, approve, ask, block, deny" in caplog.text


def test_empty_text_part_shifts_messages() -> None:
    shown, back = translated("empty-text-part-shifts-messages")
    assert shown["messages"] == [{"role": "user", "content": "next"}]
    assert back == read("empty-text-part-shifts-messages")["translate"][1]["args"][1]


def test_empty_tool_name_matches_all() -> None:
    given = answer("empty-tool-name-matches-all")
    assert (given["plan"], given["results"], given["success"]) == (None, [], True)


def test_exclamation_mark_in_path() -> None:
    specific = answer("exclamation-mark-in-path")["final_output"]["hookSpecificOutput"]
    assert specific == {"argv": ["$CWD"]}


def test_exit_2_silent() -> None:
    given = answer("exit-2-silent")
    assert_denied(given, "Blocked by hook h")
    assert (given["error_count"], given["results"][0]["exit_code"]) == (0, 2)


def test_exit_code_2_message_from_stdout() -> None:
    assert_denied(answer("exit-code-2-message-from-stdout"), "real reason")


def test_longer_variable_name_is_eaten() -> None:
    # Bare, it is the user's own variable and split as the shell splits it.
    specific = answer("longer-variable-name-is-eaten")["final_output"]["hookSpecificOutput"]
    assert specific == {"argv": ["backup", "value"]}


def test_model_allow_overrides_deny() -> None:
    case = read("model-allow-overrides-deny")
    assert_denied(run_case(case))
    [definition] = case["settings"]["hooks"]["BeforeModel"]
    definition["hooks"].reverse()
    assert_denied(run_case(case))
    stop = {"type": "command", "name": "stop", "command": "printf '{\"continue\":false}'"}
    definition["hooks"].insert(0, stop)
    given = run_case(case)
    assert given["view"]["stop"] is True
    assert_denied(given)


def test_non_string_matcher_disables_event(caplog: pytest.LogCaptureFixture) -> None:
    given = answer("non-string-matcher-disables-event")
    assert [entry["name"] for entry in given["registry"]] == ["guard"]
    assert_denied(given)
    assert "BeforeTool[1].matcher: must be a string" in caplog.text


def test_object_content_is_stringified() -> None:
    [refused] = translated("object-content-is-stringified")
    assert list(refused) == ["error"]
    assert "$.messages[0].content" in refused["error"]


def test_plugin_type_runs_as_command(caplog: pytest.LogCaptureFixture) -> None:
    given = answer("plugin-type-runs-as-command")
    assert (given["registry"], given["plan"]) == ([], None)
    assert caplog.text.count("unknown type 'plugin'") == 3


def test_quoted_variable_breaks_on_space() -> None:
    specific = answer("quoted-variable-breaks-on-space")["final_output"]["hookSpecificOutput"]
    assert specific == {"argv": ["ok"]}


def test_runtime_type_in_settings(caplog: pytest.LogCaptureFixture) -> None:
    given = answer("runtime-type-in-settings")
    assert [entry["name"] for entry in given["registry"]] == ["ok"]
    assert given["plan"]["hooks"] == ["ok"]
    assert "can only be registered in code" in caplog.text


def test_sequential_loses_earlier_tool_input() -> None:
    given = answer("sequential-loses-earlier-tool-input")
    assert given["view"]["tool_input"] == {"a": 1, "b": 2}
    assert given["collected"]["seen.json"]["json"]["tool_input"] == {"a": 1, "b": 0}


def test_signal_death_reported_as_exit_0(tmp_path: Path) -> None:
    given = answer("signal-death-reported-as-exit-0")
    assert given["results"] == [{"hook": "h", "success": False, "failed": "signal"}]
    assert (given["all_outputs"], given["final_output"]) == ([], None)
    hooks = read("signal-death-reported-as-exit-0")["settings"]["hooks"]
    hooks["BeforeTool"][0]["hooks"][0]["onFailure"] = "block"
    system = HookSystem(Config(working_dir=tmp_path, hooks=hooks))
    processed = system.fire_blocking("BeforeTool", {"tool_name": "x", "tool_input": {}})
    assert processed.results[0].signal == "SIGKILL"
    assert processed.final_output is not None
    assert processed.final_output.is_blocking_decision()


def test_string_specific_output_cancels_denials(caplog: pytest.LogCaptureFixture) -> None:
    given = answer("string-specific-output-cancels-denials")
    assert_denied(given)
    assert given["all_outputs"][1] == {}
    assert "hookSpecificOutput must be an object; it was ignored" in caplog.text


def test_suppress_output_still_announces(tmp_path: Path) -> None:
    given = answer("suppress-output-still-announces")
    assert given["final_output"]["systemMessage"] == "secret detail"
    case = read("suppress-output-still-announces")
    system = HookSystem(Config(working_dir=tmp_path, hooks=case["settings"]["hooks"]))
    processed = system.fire_blocking(case["event"], case["args"])
    assert (processed.suppress_output, processed.system_message) == (True, None)


def test_synthetic_response_needs_denial() -> None:
    view = answer("synthetic-response-needs-denial")["view"]
    assert view["blocked"] is True
    [candidate] = view["synthetic_response"]["candidates"]
    assert candidate["content"] == {"role": "model", "parts": [{"text": "cached"}]}


def test_text_moves_before_media() -> None:
    [request] = translated("text-moves-before-media")
    assert request == read("text-moves-before-media")["translate"][0]["args"][1]


def test_thought_text_differs_between_fields() -> None:
    [response] = translated("thought-text-differs-between-fields")
    assert response["text"] == "shown"
    assert response["candidates"][0]["content"]["parts"] == ["shown"]


def test_thoughts_become_visible_text() -> None:
    shown, back = translated("thoughts-become-visible-text")
    assert shown["messages"] == [{"role": "model", "content": "answer"}]
    parts = back["contents"][0]["parts"]
    assert parts[0] == {"text": "secret plan ", "thought": True}
    assert parts[1]["text"] == "secret plan answer"


async def test_timeout_never_sigkills(tmp_path: Path) -> None:
    case = read("timeout-never-sigkills", ("TERM; ", "TERM; touch begun; "))
    limits = RunLimits(kill_grace=0.3)
    config = Config(working_dir=tmp_path, hooks=case["settings"]["hooks"], limits=limits)
    async with HookSystem(config) as system, asyncio.timeout(6):
        with time_begins_with(str(tmp_path / "begun")):
            processed = await system.get_event_handler().fire(case["event"], case["args"])
    [result] = processed.results
    assert (result.failed, result.signal, result.stdout) == ("timeout", "SIGKILL", "")
    assert 0.5 < result.duration / 1000 < 5


def test_timeout_zero(caplog: pytest.LogCaptureFixture) -> None:
    assert_denied(answer("timeout-zero"))
    assert "timeout: must be a number of milliseconds above 0" in caplog.text


def test_tool_names_string_split() -> None:
    given = answer("tool-names-string-split")
    assert given["final_output"]["hookSpecificOutput"]["toolConfig"] == {"mode": "ANY"}
    assert given["view"]["tool_selection"]["toolConfig"]["functionCallingConfig"] == {"mode": "ANY"}


def test_trust_check_looks_at_wrong_field() -> None:
    given = answer("trust-check-looks-at-wrong-field")
    assert given["registry"][0]["trusted"] is False
    assert (given["plan"], given["results"]) == (None, [])
