"""Redaction and denial through the real clients: nothing of the text is left, anywhere."""

import json
import sys
from typing import Any

import pytest

from hookline import Hooks, deny, stop
from tests.adapters.calls.conftest import Caller
from tests.adapters.calls.service import ModelService
from tests.harness.scratch import Project

ADDRESS = "ada.lovelace@example.org"
TEXT = f"Write to {ADDRESS}, she knows."

REDACT = f"""#!{sys.executable}
import json, re, sys

event = json.load(sys.stdin)
response = event["llm_response"]
for candidate in response["candidates"]:
    parts = candidate["content"]["parts"]
    candidate["content"]["parts"] = [re.sub(r"[\\w.]+@[\\w.]+\\w", "[e-mail]", p) for p in parts]
changed = {{"candidates": response["candidates"]}}
print(json.dumps({{"hookSpecificOutput": {{"llm_response": changed}}}}))
"""
GUARD = f"""#!{sys.executable}
import json, sys

event = json.load(sys.stdin)
if any("ledger" in message["content"] for message in event["llm_request"]["messages"]):
    print("the ledger is not for models", file=sys.stderr)
    sys.exit(2)
"""


def redact(event: Any) -> Any:
    text = event["llm_response"].get("text", "")
    changed = {"text": text.replace(ADDRESS, "[e-mail]")}
    return {"hookSpecificOutput": {"llm_response": changed}}


def hooks_with(project: Project, event: str, name: str, script: str) -> Hooks:
    command = str(project.script(name, script))
    settings = {event: [{"hooks": [{"type": "command", "command": command}]}]}
    return Hooks(hooks=settings, working_dir=project.path, trusted=True)


def as_text(answers: Any) -> str:
    """All that an answer or its chunks hold, in every way that somebody might look."""
    values = answers if isinstance(answers, list) else [answers]
    return "".join(value.model_dump_json(warnings=False) + repr(value) for value in values)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", ["script", "function"])
def test_a_redacted_answer_leaves_no_trace(
    caller: Caller, project: Project, kind: str, stream: bool
) -> None:
    """Neither in what the user sees, nor in what goes back to the model."""
    api = caller.api
    if kind == "script":
        hooks = hooks_with(project, "AfterModel", "redact.py", REDACT)
    else:
        hooks = Hooks()
        hooks.on("AfterModel")(redact)
    request = api.request("who knows?")

    def go_on(answers: list[Any]) -> dict[str, Any]:
        return api.go_on(request, caller.answer(answers[-1], stream), "thanks")

    answer = (lambda _body: api.events(TEXT)) if stream else (lambda _body: api.response(TEXT))
    with ModelService(answer) as service:
        answers = caller.call(hooks, service, request, go_on, stream=stream)
    for each in answers:
        shown = as_text(each)
        assert "lovelace" not in shown
        assert "ada." not in shown
        assert api.text(caller.answer(each, stream)) == "Write to [e-mail], she knows."
        if stream:
            assert api.streamed_text(each) == "Write to [e-mail], she knows."
    first, second = service.bodies
    assert "who knows?" in json.dumps(first)
    assert "Write to [e-mail], she knows." in json.dumps(second)
    assert "lovelace" not in json.dumps(second)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_script_that_denies_on_a_word_of_the_prompt_sees_it(
    caller: Caller, project: Project, stream: bool
) -> None:
    api = caller.api
    hooks = hooks_with(project, "BeforeModel", "guard.py", GUARD)
    answer = (lambda _body: api.events("fine")) if stream else (lambda _body: api.response("fine"))
    with ModelService(answer) as service:
        requests = [api.request("read the ledger"), api.request("read the news")]
        denied, made = caller.call(hooks, service, *requests, stream=stream)
    assert len(service.bodies) == 1
    assert "ledger" not in json.dumps(service.bodies)
    assert api.text(caller.answer(denied, stream)) == "the ledger is not for models"
    assert api.text(caller.answer(made, stream)) == "fine"
    if stream:
        assert api.streamed_text(denied) == "the ledger is not for models"
        kinds = {type(chunk) for chunk in made}
        assert {type(chunk) for chunk in denied} <= kinds
    else:
        assert type(denied) is type(made)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("said", [deny("not this"), stop("not this")])
def test_a_rejected_answer_leaves_its_reason_alone(
    caller: Caller, stream: bool, said: dict[str, Any]
) -> None:
    api, hooks = caller.api, Hooks()
    hooks.on("AfterModel")(lambda _event: {**said, "decision": "deny", "reason": "not this"})
    answer = api.events(TEXT, "shell") if stream else api.response(TEXT, "shell")
    with ModelService(lambda _body: answer) as service:
        (got,) = caller.call(hooks, service, api.request("q"), stream=stream)
    assert "lovelace" not in as_text(got)
    assert "shell" not in as_text(got)
    assert api.text(caller.answer(got, stream)) == "not this"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_stop_leaves_the_loop_nothing_to_call(caller: Caller, stream: bool) -> None:
    api, hooks = caller.api, Hooks()
    hooks.on("AfterModel")(lambda _event: stop("enough"))
    answer = api.events("I call", "shell") if stream else api.response("I call", "shell")
    with ModelService(lambda _body: answer) as service:
        (got,) = caller.call(hooks, service, api.request("q"), stream=stream)
    whole = caller.answer(got, stream)
    assert (api.text(whole), api.calls(whole)) == ("I call", [])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_what_is_no_text_survives_a_redaction(caller: Caller, stream: bool) -> None:
    """Calls, thoughts and signatures stay what and where they are."""
    api, hooks = caller.api, Hooks()
    hooks.on("AfterModel")(redact)
    answer = api.events(TEXT, "shell", "read") if stream else api.response(TEXT, "shell", "read")
    with ModelService(lambda _body: answer) as service:
        (got,) = caller.call(hooks, service, api.request("q"), stream=stream)
    whole = caller.answer(got, stream)
    shown = as_text(got)
    assert api.calls(whole) == ["shell", "read"]
    assert "lovelace" not in shown
    if api.name == "anthropic":
        assert [block.type for block in whole.content] == [
            *("thinking", "text", "tool_use", "tool_use"),
        ]
        assert (whole.content[0].signature, whole.content[2].input) == ("sig", {"x": 1})
        assert (whole.stop_reason, whole.usage.output_tokens) == ("tool_use", 9 if stream else 1)
    elif api.name == "openai-chat":
        calls = whole.choices[0].message.tool_calls
        assert [call.function.arguments for call in calls] == ['{"x":1}'] * 2
        assert (whole.choices[0].finish_reason, whole.usage.total_tokens) == ("tool_calls", 3)
    else:
        kinds = [item.type for item in whole.output]
        assert kinds == ["reasoning", "message", "function_call", "function_call"]
        assert whole.output[2].arguments == '{"x":1}'
