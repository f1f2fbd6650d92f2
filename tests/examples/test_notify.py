"""The user hears of it when the agent needs an answer, on the desktop and elsewhere."""

import json
import os
from pathlib import Path

import pytest

from hookline.agent import TurnResult
from hookline.agent.providers.scripted import call
from hookline.contract import ConfirmationRequest
from tests.examples.loopback import WebService
from tests.examples.toolbox import Workplace

ASKS = {"type": "command", "command": """echo '{"decision": "ask", "reason": "sure?"}'"""}
# In place of the desktop's own program, which shows what this writes down.
NOTIFY_SEND = '#!/bin/sh\nprintf "%s\\n" "$@" > "$HOOKLINE_PROJECT_DIR/shown.txt"\n'


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("NOTIFY_WEBHOOK_URL", raising=False)
    work = Workplace(tmp_path / "my project", "notify")
    settings = {"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [ASKS]}]}}
    work.write(".hookline/settings.local.json", json.dumps(settings))
    work.write("bin/notify-send", NOTIFY_SEND).chmod(0o755)
    monkeypatch.setenv("PATH", f"{work.path / 'bin'}:{os.environ['PATH']}")
    return work


async def run_command(work: Workplace) -> tuple[TurnResult, list[bool]]:
    """Have the agent ask for a command; also whether the user knew when they were asked."""
    known: list[bool] = []

    def confirm(_request: ConfirmationRequest) -> bool:
        known.append(work.exists("shown.txt"))
        return True

    asks = [call("run_shell_command", command="echo '<b>' > out.txt")]
    result = await work.run("Go on.", asks, "Done.", confirm=confirm)
    return result, known


async def test_a_question_is_on_the_desktop_and_at_the_webhook_before_it_is_asked(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WebService(lambda _body: "ok") as service:
        monkeypatch.setenv("NOTIFY_WEBHOOK_URL", service.url)
        _, known = await run_command(work)
    assert known == [True]
    assert service.bodies == [
        {"text": "Agent in my project: Tool run_shell_command requires execution"}
    ]
    assert work.read("shown.txt").splitlines() == [
        *("--", "Agent in my project", "Tool run_shell_command requires execution"),
        "echo '&lt;b&gt;' &gt; out.txt",
    ]
    assert work.read("out.txt") == "<b>\n"


async def test_a_webhook_that_refuses_is_in_the_log_without_its_address_and_the_agent_goes_on(
    work: Workplace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with WebService(lambda _body: "no", status=404) as service:
        monkeypatch.setenv("NOTIFY_WEBHOOK_URL", f"{service.url}s3cret")
        result, known = await run_command(work)
    assert (result.text, known) == ("Done.", [True])
    assert "to_webhook: HTTPError 404" in caplog.text
    assert "s3cret" not in caplog.text


async def test_nobody_is_told_when_nothing_is_asked(
    work: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    await work.run("Go on.", [call("write_file", file_path="a.txt", content="x")], "Done.")
    assert work.read("a.txt") == "x"
    assert not work.exists("shown.txt")
    assert caplog.text == ""
