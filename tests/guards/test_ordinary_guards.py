"""Guards as people write them after the guides of hookline, LLxprt Code and Gemini CLI: under
``onFailure: "block"`` each works, or its error says in one line what to change."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import Answer

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
INPUTS: dict[str, dict[str, Any]] = {
    "BeforeTool": {"tool_name": "write_file", "tool_input": {"path": "x", "content": "TEXT"}},
    "AfterTool": {
        "tool_name": "write_file",
        "tool_input": {"path": "x", "content": "TEXT"},
        "tool_response": {"llmContent": "written"},
    },
    "BeforeAgent": {"prompt": "TEXT"},
    "BeforeModel": {"llm_request": REQUEST},
    "BeforeToolSelection": {"llm_request": REQUEST},
}
# What each guard looks for in its input.
IF_SECRET = "if grep -q api_key"


class Guard(NamedTuple):
    """A guard and its event; ``needs`` is what its error says to change, if it does not work."""

    name: str
    event: str
    script: str
    needs: str = ""


WORKING = [
    Guard(
        "its answer on stderr and exit 2",
        "BeforeTool",
        f"""{IF_SECRET}; then echo '{{"decision":"deny","reason":"a secret"}}' >&2; exit 2; fi""",
    ),
    Guard(
        "its answer on stdout and exit 2",
        "BeforeTool",
        f"""{IF_SECRET}; then
  DIR=/etc; echo "{{\\"decision\\": \\"deny\\", \\"reason\\": \\"not into $DIR\\"}}"; exit 2
fi
echo '{{"decision": "allow"}}'""",
    ),
    Guard(
        "its answer on stdout and exit 0",
        "BeforeTool",
        f"""{IF_SECRET}; then echo '{{"decision":"block","reason":"no"}}'; else echo '{{}}'; fi""",
    ),
    Guard("words on stderr and exit 2", "BeforeTool", f"{IF_SECRET}; then echo no >&2; exit 2; fi"),
    Guard(
        "a permission as Claude Code has it",
        "BeforeTool",
        f"""{IF_SECRET}; then WORD=deny; else WORD=allow; fi
cat <<EOF
{{"hookSpecificOutput": {{
  "hookEventName": "PreToolUse",
  "permissionDecision": "$WORD",
  "permissionDecisionReason": "the scan says $WORD"
}}}}
EOF""",
    ),
    Guard(
        "another input",
        "BeforeTool",
        f"""{IF_SECRET}; then exit 2; fi
echo '{{"decision":"allow","hookSpecificOutput":{{"tool_input":{{"content":"safe"}}}}}}'""",
    ),
    Guard(
        "progress on stderr",
        "BeforeTool",
        f"""echo 'scanning {{...}}' >&2
{IF_SECRET}; then echo '{{"decision":"deny"}}'; else echo '{{"decision":"allow"}}'; fi""",
    ),
    Guard(
        "a line of words",
        "AfterTool",
        f"""{IF_SECRET}; then echo '{{"decision":"deny"}}'; else echo "✅ Logged"; fi""",
    ),
    Guard(
        "a context of several lines that nobody escaped",
        "BeforeAgent",
        f"""{IF_SECRET}; then exit 2; fi
cat <<EOF
{{
  "hookSpecificOutput": {{
    "hookEventName": "BeforeAgent",
    "additionalContext": "Recent commits:
$(printf 'a1 first\\nb2 second')"
  }}
}}
EOF""",
    ),
    Guard(
        "a colour around it",
        "BeforeTool",
        f"""{IF_SECRET}; then printf '\\033[31m{{"decision":"deny"}}\\033[0m\\n'; fi""",
    ),
    Guard(
        "Python that dumps",
        "BeforeModel",
        """python3 -c '
import json, sys
asked = json.load(sys.stdin)["llm_request"]["messages"][-1]["content"]
print(json.dumps({"continue": "api_key" not in asked, "stopReason": "a secret"}))'""",
    ),
    Guard(
        "a list of tools",
        "BeforeToolSelection",
        f"""{IF_SECRET}; then echo '{{"decision":"deny"}}'; exit 0; fi
echo '{{"hookSpecificOutput": {{"hookEventName": "BeforeToolSelection", "toolConfig": {{
  "functionCallingConfig": {{"mode": "any", "allowedFunctionNames": ["read_file"]}}}}}},
  "systemMessage": "1 of 9 tools"}}'""",
    ),
]
PROGRESS = "print progress to stderr"
FAILING = [
    Guard(
        "progress before its answer",
        "BeforeTool",
        f"""echo Checking...
{IF_SECRET}; then echo '{{"decision":"deny"}}'; else echo '{{"decision":"allow"}}'; fi""",
        PROGRESS,
    ),
    Guard(
        "the output of a test runner",
        "AfterTool",
        "cat >/dev/null; echo 'FAIL sum.test.ts > adds { a: 1 }'",
        PROGRESS,
    ),
    Guard(
        "an allowance after its denial",
        "BeforeTool",
        f"""{IF_SECRET}; then echo '{{"decision":"deny"}}'; fi; echo '{{"decision":"allow"}}'""",
        PROGRESS,
    ),
    Guard(
        "Python that prints a dict",
        "BeforeTool",
        """cat >/dev/null; python3 -c 'print({"decision": "deny"})'""",
        "print one JSON object",
    ),
    Guard(
        "an object as JavaScript logs it",
        "BeforeTool",
        """cat >/dev/null; echo "{ decision: 'deny', reason: 'no' }" """,
        "print one JSON object",
    ),
    Guard(
        "a reason that nobody escaped",
        "BeforeTool",
        """cat >/dev/null; printf '{"decision":"deny","reason":"%s"}' 'say "no"' """,
        "print one JSON object",
    ),
    Guard(
        "another word",
        "BeforeTool",
        """cat >/dev/null; echo '{"decision":"reject"}'""",
        "is not one of allow, approve, ask, block, deny",
    ),
    Guard(
        "fields of its own",
        "BeforeTool",
        """cat >/dev/null; echo '{"result":"ok","findings":[]}'""",
        "none of its fields (result, findings) is one of continue, ",
    ),
    Guard(
        "an input as Claude Code has it",
        "BeforeTool",
        """cat >/dev/null; echo '{"hookSpecificOutput":{"updatedInput":{"content":"safe"}}}'""",
        "write hookSpecificOutput.tool_input",
    ),
    Guard(
        "a server that it starts",
        "BeforeTool",
        "cat >/dev/null; sleep 20 & echo '{}'",
        "a background process holds stdout; redirect it",
    ),
]


def fire(tmp_path: Path, guard: Guard, text: str) -> Answer:
    (tmp_path / "guard.sh").write_text(f"#!/bin/bash\n{guard.script}\n")
    hook = {"type": "command", "command": "bash ./guard.sh", "name": "guard", "timeout": 20_000}
    hook |= {"onFailure": "block"} | ({"timeout": 1_500} if "holds stdout" in guard.needs else {})
    config = Config(working_dir=tmp_path, hooks={guard.event: [{"hooks": [hook]}]})
    return HookSystem(config).fire_blocking(guard.event, put(INPUTS[guard.event], text))


def put(value: Any, text: str) -> Any:
    """The input with a text in the place of ``TEXT``, or of what the user said."""
    if isinstance(value, dict):
        return {name: put(each, text) for name, each in value.items()}
    if isinstance(value, list):
        return [put(each, text) for each in value]
    return text if value in ("TEXT", "hi") else value


@pytest.mark.parametrize("guard", WORKING, ids=lambda guard: guard.name)
def test_it_holds_back_what_it_should_and_nothing_else(tmp_path: Path, guard: Guard) -> None:
    harmless = fire(tmp_path, guard, "hello { world")
    assert (harmless.blocked, harmless.errors) == (False, [])
    assert not any(
        "failed" in warning for result in harmless.results for warning in result.warnings
    )
    dangerous = fire(tmp_path, guard, "api_key = 1")
    assert (dangerous.blocked, dangerous.errors) == (True, [])


@pytest.mark.leaves("process")
@pytest.mark.parametrize("guard", FAILING, ids=lambda guard: guard.name)
def test_it_is_told_in_one_line_what_to_change(tmp_path: Path, guard: Guard) -> None:
    answer = fire(tmp_path, guard, "api_key = 1")
    assert answer.blocked
    [result] = answer.results
    assert result.error is not None
    assert guard.needs in result.error
    assert len(result.error.splitlines()) == 1
    assert len(result.error) < 200
