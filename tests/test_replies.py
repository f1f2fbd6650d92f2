"""What a hook says, as the dictionaries of the protocol."""

import itertools
import json
import subprocess
import sys

from hookline import (
    add_context,
    allow,
    ask,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline.pipeline.answer import Answer
from hookline.wire.events import HookEventName
from hookline.wire.fired import FiredEvent


def test_each_reply_is_the_protocols_own_dictionary() -> None:
    assert allow() == {"decision": "allow"}
    assert deny("no") == {"decision": "deny", "reason": "no"}
    assert ask("sure?") == {"decision": "ask", "reason": "sure?"}
    assert stop("enough") == {"continue": False, "stopReason": "enough"}
    assert rewrite(command="ls") == {"hookSpecificOutput": {"tool_input": {"command": "ls"}}}
    assert add_context("c") == {"hookSpecificOutput": {"additionalContext": "c"}}
    assert replace_result("r") == {"decision": "deny", "reason": "r"}
    assert message("m") == {"systemMessage": "m"}


def test_combined_replies_are_merged_deeply() -> None:
    combined = combine(rewrite(a=1), rewrite(b=2), add_context("c"), message("m"))
    specific = {"tool_input": {"a": 1, "b": 2}, "additionalContext": "c"}
    assert combined == {"hookSpecificOutput": specific, "systemMessage": "m"}


def test_no_reply_takes_a_stricter_one_back() -> None:
    assert combine(deny("a"), allow())["decision"] == "deny"
    assert combine(ask("a"), allow())["decision"] == "ask"
    assert combine(allow(), deny("a"))["decision"] == "deny"
    assert combine(stop("x"), {"continue": True})["continue"] is False


def test_what_comes_after_a_continue_that_does_not_count_still_counts() -> None:
    combined = combine(stop("x"), {"continue": True, "systemMessage": "m"})
    assert combined == {**stop("x"), "systemMessage": "m"}


def test_texts_of_combined_replies_are_joined() -> None:
    assert combine(deny("a"), deny("b"))["reason"] == "a\nb"
    assert combine(message("a"), message("b"))["systemMessage"] == "a\nb"
    both = combine(add_context("a"), add_context("b"))
    assert both == add_context("a\nb")


def test_of_other_values_the_last_counts() -> None:
    assert combine({"suppressOutput": False}, {"suppressOutput": True}) == {"suppressOutput": True}
    assert combine({"continue": True}, stop("x"))["continue"] is False
    assert combine(deny("a"), {"decision": "no"})["decision"] == "no"
    assert combine({"decision": "no"}, allow())["decision"] == "allow"
    assert combine({"reason": "a"}, {"reason": 5}) == {"reason": 5}
    assert combine({"reason": 5}, {"reason": "a"}) == {"reason": "a"}
    assert combine({"reason": {"a": 1}}, {"reason": 5}) == {"reason": 5}
    assert combine() == {}


def test_the_strictest_of_all_decisions_stands() -> None:
    words = ["allow", "approve", "ask", "block", "deny"]
    for weaker, stricter in itertools.combinations(words, 2):
        for pair in ((weaker, stricter), (stricter, weaker)):
            assert combine(*({"decision": word} for word in pair)) == {"decision": stricter}


def test_combining_alters_no_reply() -> None:
    first, second = rewrite(a={"deep": 1}), rewrite(a={"deeper": 2})
    combined = combine(first, second)
    assert (first, second) == (rewrite(a={"deep": 1}), rewrite(a={"deeper": 2}))
    assert combined == rewrite(a={"deep": 1, "deeper": 2})


def test_a_script_can_print_a_reply() -> None:
    code = "import json; from hookline import deny; print(json.dumps(deny('no')))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    answer = Answer.read(FiredEvent(HookEventName.BEFORE_TOOL), json.loads(printed))
    assert (answer.blocked, answer.reason) == (True, "no")
