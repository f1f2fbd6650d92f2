"""A policy service decides about tool calls, and one that does not answer holds nobody up."""

import json
import time
from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.loopback import WebService
from tests.examples.toolbox import Workplace

# Milliseconds, for a machine that takes its time to start a script.
PATIENT = 30_000
WRITE = [call("write_file", file_path="a.txt", content="x")]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return Workplace(tmp_path / "my project", "policy-service")


def change_hook(work: Workplace, **fields: object) -> None:
    settings = json.loads(work.read(".hookline/settings.json"))
    settings["hooks"]["BeforeTool"][0]["hooks"][0].update(fields)
    work.write(".hookline/settings.json", json.dumps(settings))


async def test_what_the_service_denies_does_not_run_and_the_model_reads_its_reason(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_hook(work, timeout=PATIENT)
    verdict = {"decision": "deny", "reason": "Not on Fridays."}
    with WebService(lambda _event: verdict) as service:
        monkeypatch.setenv("POLICY_URL", service.url)
        await work.run("Go on.", WRITE, "I see.")
    assert not work.exists("a.txt")
    assert work.results == ["Not on Fridays."]
    [event] = service.bodies
    assert (event["hook_event_name"], event["tool_name"]) == ("BeforeTool", "write_file")
    assert event["tool_input"] == {"file_path": "a.txt", "content": "x"}


async def test_what_the_service_allows_runs(
    work: Workplace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    change_hook(work, timeout=PATIENT)
    with WebService(lambda _event: {"decision": "allow"}) as service:
        monkeypatch.setenv("POLICY_URL", service.url)
        await work.run("Go on.", WRITE, "Done.")
    assert work.read("a.txt") == "x"
    assert work.results == ["Wrote a.txt."]
    assert caplog.text == ""


async def test_when_the_service_does_not_answer_the_agent_goes_on_and_the_log_says_so(
    work: Workplace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with WebService.hanging() as service:
        monkeypatch.setenv("POLICY_URL", service.url)
        started = time.monotonic()
        result = await work.run("Go on.", WRITE, "Done.")
        assert 3 <= time.monotonic() - started < 15
    assert work.read("a.txt") == "x"
    assert result.text == "Done."
    # None if the hook was so slow to start that its time was over before it could ask.
    assert len(service.bodies) <= 1
    assert "'policy-service' on BeforeTool failed: ran longer than its timeout" in caplog.text


async def test_with_on_failure_block_nothing_runs_that_the_service_did_not_allow(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_hook(work, timeout=1000, onFailure="block")
    with WebService.hanging() as service:
        monkeypatch.setenv("POLICY_URL", service.url)
        await work.run("Go on.", WRITE, "I see.")
    assert not work.exists("a.txt")
    assert "policy-service failed: ran longer" in work.results[0]


async def test_a_service_in_trouble_counts_as_one_that_did_not_answer(
    work: Workplace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    change_hook(work, timeout=PATIENT)
    with WebService(lambda _event: {"decision": "deny"}, status=503) as service:
        monkeypatch.setenv("POLICY_URL", service.url)
        await work.run("Go on.", WRITE, "Done.")
    assert work.read("a.txt") == "x"
    assert "no answer of the policy service: HTTP Error 503" in caplog.text
