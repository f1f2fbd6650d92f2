"""The sentences about tool selection: hooks can only narrow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.pipeline.aggregator import merge_outputs
from hookline.wire.events import HookEventName
from hookline.wire.outputs import DefaultHookOutput
from tests.arbitrary import JSON
from tests.eleven import Json

EVENT = HookEventName.BEFORE_TOOL_SELECTION
NONE: Json = {"mode": "NONE", "allowedFunctionNames": []}
MODES = st.sampled_from(["AUTO", "ANY", "NONE", "auto", "VALIDATED", None, 7])
NAMES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=4)
CONFIGS = st.fixed_dictionaries(
    {}, optional={"mode": MODES, "allowedFunctionNames": NAMES | JSON, "other": JSON}
)


def selected(*configs: Any, **fields: Any) -> Any:
    answers = [{"hookSpecificOutput": {"toolConfig": config}} for config in configs]
    output = merged(*answers, fields)
    assert output.hook_specific_output is not None
    return output.hook_specific_output.get("toolConfig")


def merged(*answers: Json) -> DefaultHookOutput:
    output = merge_outputs(EVENT, answers)
    assert output is not None
    return output


@pytest.mark.parametrize(
    ("modes", "mode"),
    [
        (["AUTO"], "AUTO"),
        (["ANY", "AUTO"], "ANY"),
        (["AUTO", "ANY"], "ANY"),
        (["any"], "ANY"),
        (["auto", " Any\n"], "ANY"),
        ([None], "AUTO"),
        ([["ANY"]], "AUTO"),
        (["VALIDATED", "ANY"], "ANY"),
    ],
)
def test_any_outranks_auto_and_what_is_unknown_is_auto(modes: list[Any], mode: str) -> None:
    assert selected(*({"mode": mode} for mode in modes)) == {"mode": mode}


def test_none_outranks_all_and_leaves_the_list_empty() -> None:
    any_of = {"mode": "ANY", "allowedFunctionNames": ["a"]}
    assert selected(any_of, {"mode": "NONE"}) == NONE
    assert selected({"mode": "NONE", "allowedFunctionNames": ["a"]}, any_of) == NONE
    assert selected({"mode": " none"}, any_of) == NONE


def test_allow_lists_are_intersected_and_sorted() -> None:
    first = {"mode": "ANY", "allowedFunctionNames": ["c", "b", "a", "b"]}
    second = {"allowedFunctionNames": ["d", "c", "a"]}
    assert selected(first) == {"mode": "ANY", "allowedFunctionNames": ["a", "b", "c"]}
    assert selected(first, second) == {"mode": "ANY", "allowedFunctionNames": ["a", "c"]}


def test_an_empty_intersection_is_none() -> None:
    first = {"mode": "ANY", "allowedFunctionNames": ["a"]}
    assert selected(first, {"allowedFunctionNames": ["b"]}) == NONE
    assert selected({"mode": "ANY", "allowedFunctionNames": []}) == NONE


@pytest.mark.parametrize("names", ["abc", 7, None, ["a", 1], {"a": 1}, [["a"]]])
def test_an_allow_list_that_is_no_list_of_strings_is_ignored(names: object) -> None:
    assert selected({"mode": "ANY", "allowedFunctionNames": names}) == {"mode": "ANY"}
    both = selected({"allowedFunctionNames": names}, {"allowedFunctionNames": ["a"]})
    assert both == {"mode": "AUTO", "allowedFunctionNames": ["a"]}


@pytest.mark.parametrize("config", [None, "ANY", 7, ["ANY"]])
def test_a_hook_without_a_tool_config_contributes_nothing(config: object) -> None:
    assert selected(config) is None
    assert selected(config, {"mode": "ANY"}) == {"mode": "ANY"}
    assert merged({}).to_wire() == {"hookSpecificOutput": {"hookEventName": EVENT.value}}


@pytest.mark.parametrize("word", ["block", "deny"])
def test_a_block_leaves_no_tool(word: str) -> None:
    any_of = {"mode": "ANY", "allowedFunctionNames": ["a"]}
    assert selected(any_of, decision=word) == NONE
    assert selected(decision=word) == NONE
    assert merged({"decision": word}, {"decision": "allow"}).decision == word


def test_stops_blocks_with_their_reasons_and_messages_are_kept() -> None:
    output = merged(
        {"decision": "deny", "reason": "no", "systemMessage": "a"},
        {"continue": False, "stopReason": "enough", "reason": "and"},
        {"decision": "allow", "reason": "dropped", "systemMessage": "b"},
    )
    assert output.to_wire() == {
        "continue": False,
        "stopReason": "enough",
        "systemMessage": "a\nb",
        "decision": "deny",
        "reason": "no\nand",
        "hookSpecificOutput": {"hookEventName": EVENT.value, "toolConfig": NONE},
    }


def test_a_message_that_is_to_be_suppressed_stays_suppressed() -> None:
    output = merged({"systemMessage": "secret", "suppressOutput": True}, {})
    assert output.suppress_output is True


def test_what_a_caller_does_to_one_selection_does_not_reach_the_next() -> None:
    selected({"mode": "NONE"})["allowedFunctionNames"].append("rm")
    selected(decision="deny")["allowedFunctionNames"].append("rm")
    assert selected({"mode": "NONE"}) == NONE
    assert selected(decision="deny") == NONE


@given(st.lists(CONFIGS, min_size=1, max_size=4), CONFIGS)
def test_one_more_hook_only_narrows(configs: list[Json], more: Json) -> None:
    before, after = selected(*configs), selected(*configs, more)
    ranks = ["AUTO", "ANY", "NONE"]
    assert ranks.index(after["mode"]) >= ranks.index(before["mode"])
    allowed = before.get("allowedFunctionNames")
    if allowed is not None:
        assert set(after["allowedFunctionNames"]) <= set(allowed)


@given(st.lists(CONFIGS, min_size=1, max_size=4))
def test_the_selection_does_not_depend_on_the_order_of_hooks(configs: list[Json]) -> None:
    assert selected(*configs) == selected(*reversed(configs))
