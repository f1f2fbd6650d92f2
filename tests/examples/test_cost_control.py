"""A session that has cost much costs less from then on, and at last nothing any more."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "cost-control")


def answer(text: str, *, tokens: int) -> dict[str, Any]:
    """A reply of the model that says what it took."""
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"totalTokenCount": tokens},
    }


def spent(work: Workplace) -> list[tuple[int, int]]:
    """The calls and tokens of each line of the one session's count."""
    [ledger] = (work.path / ".hookline" / "state").iterdir()
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    return [(entry.get("calls", 0), entry.get("tokens", 0)) for entry in entries]


async def test_past_the_soft_budget_it_saves_and_past_the_hard_one_it_ends(
    work: Workplace,
) -> None:
    replies = [answer("One.", tokens=210_000), answer("Two.", tokens=190_000), "Three."]
    async with work.agent(*replies, model_config={"temperature": 0.5}) as agent:
        await agent.run("First?")
        await agent.run("Second?")
        result = await agent.run("Third?")
    first, second = work.provider.requests
    assert "maxOutputTokens" not in first["config"]
    assert second["config"]["maxOutputTokens"] == 2048
    assert (second["model"], second["config"]["temperature"]) == ("scripted", 0.5)
    assert result.blocked
    assert result.reason is not None
    assert "2 model calls and 400000 tokens" in result.reason
    assert spent(work) == [(1, 0), (0, 210_000), (1, 0), (0, 190_000)]


async def test_past_the_soft_budget_a_cheaper_model_answers_if_one_is_named(
    work: Workplace,
) -> None:
    settings = work.read(".hookline/settings.json")
    settings = settings.replace('"COST_CHEAP_MODEL": ""', '"COST_CHEAP_MODEL": "small"')
    work.write(".hookline/settings.json", settings.replace('"2048"', '""'))
    look = {"functionCall": {"name": "read_file", "args": {"file_path": "README.md"}}}
    costly = answer("Let me see.", tokens=200_000)
    costly["candidates"][0]["content"]["parts"].append(look)
    await work.run("Go on.", costly, "Done.")
    assert [request["model"] for request in work.provider.requests] == ["scripted", "small"]
    assert "maxOutputTokens" not in work.provider.requests[1]["config"]


async def test_within_budget_nothing_changes_and_silent_models_are_estimated(
    work: Workplace,
) -> None:
    await work.run("x" * 396, [call("read_file", file_path="none")], "Four", model_config={})
    assert [r["config"].keys() for r in work.provider.requests] == [{"tools"}, {"tools"}]
    assert spent(work) == [(1, 0), (0, 99), (1, 0), (0, 100)]


async def test_a_count_that_cannot_be_kept_stops_nobody(
    work: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    work.write(".hookline/state", "in the way")
    result = await work.run("Go on.", "Done.")
    assert result.text == "Done."
    assert "'cost-limit' on BeforeModel failed" in caplog.text
