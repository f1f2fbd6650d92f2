"""Everything that happens is on record, and no secret is."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.agent.providers.scripted import call
from hookline.contract import fire_notification_hook
from hookline.wire.events import HookEventName
from tests.examples.toolbox import Workplace

# Put together here, so that no scanner takes this file for a leak.
AWS_KEY = "AKIA" + "Q7XW2PLM4RTZ8KDN"
ASKS = {"type": "command", "command": """echo '{"decision": "ask", "reason": "sure?"}'"""}


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "audit-log")


def log(work: Workplace, suffix: str = "") -> list[dict[str, Any]]:
    text = work.read(f".hookline/state/audit.jsonl{suffix}")
    return [json.loads(line) for line in text.splitlines()]


async def test_all_eleven_events_are_recorded_in_order(work: Workplace) -> None:
    settings = {"hooks": {"BeforeTool": [{"hooks": [ASKS]}]}}
    work.write(".hookline/settings.local.json", json.dumps(settings))
    write = [call("write_file", file_path="a.txt", content="hello")]
    async with work.agent(write, "Done.", confirm=lambda _request: True) as agent:
        result = await agent.run("Say hello.")
        await agent.compress()
    assert work.read("a.txt") == "hello"
    assert result.text == "Done."
    lines = log(work)
    assert [line["hook_event_name"] for line in lines] == [
        *("SessionStart", "BeforeAgent", "BeforeToolSelection", "BeforeModel", "AfterModel"),
        *("BeforeTool", "Notification", "AfterTool"),
        *("BeforeToolSelection", "BeforeModel", "AfterModel", "AfterAgent"),
        *("PreCompress", "SessionEnd"),
    ]
    assert {line["hook_event_name"] for line in lines} == set(HookEventName)
    assert {line["session_id"] for line in lines} == {work.config.get_session_id()}
    assert lines[5]["tool_input"] == {"file_path": "a.txt", "content": "hello"}
    assert lines[9]["llm_request"]["messages"] == 1


async def test_secrets_are_masked_in_the_log_and_nowhere_else(work: Workplace) -> None:
    keep_tool_events(work)
    secrets = ("hunter2", AWS_KEY, "p4ss", "abcdefgh1234", "s3same", "c0ffee")
    command = (
        f"echo {AWS_KEY} https://me:p4ss@host 'Authorization: Bearer abcdefgh1234' --token s3same "
        "SECRET_KEY=c0ffee and more"
    )
    content = 'PORT=80\n{"password": "hunter2"}\n'
    writes = [
        call("run_shell_command", command=command, env={"API_TOKEN": "hunter2", "LANG": "C"}),
        call("write_file", file_path="a.txt", content=content),
    ]
    await work.run("Go on.", writes, "Done.")
    assert all(secret in work.results[0] for secret in secrets[1:])
    assert work.read("a.txt") == content
    text = work.read(".hookline/state/audit.jsonl")
    assert [secret for secret in secrets if secret in text] == []
    by_tool = {line["tool_name"]: line["tool_input"] for line in log(work)}
    assert by_tool["run_shell_command"]["env"] == {"API_TOKEN": "[masked]", "LANG": "C"}
    assert by_tool["run_shell_command"]["command"].endswith("SECRET_KEY=[masked] and more")
    assert by_tool["write_file"]["content"] == 'PORT=80\n{"password": "[masked]"}\n'


async def test_a_full_log_makes_way_for_a_new_one(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_MAX_BYTES", "2500")
    for number in range(3):
        await fire_notification_hook(work.config, f"{number}" * 9000)
    assert [log(work, suffix)[0]["message"][0] for suffix in ("", ".1", ".2")] == ["2", "1", "0"]
    assert log(work)[0]["message"].endswith("2 [7000 more characters]")
    path = work.path / ".hookline" / "state" / "audit.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600


def keep_tool_events(work: Workplace) -> None:
    """Leave out the other entries, as the README suggests."""
    settings = json.loads(work.read(".hookline/settings.json"))
    kept = {event: settings["hooks"][event] for event in ("BeforeTool", "AfterTool")}
    work.write(".hookline/settings.json", json.dumps({"hooks": kept}))
