"""Three hooks rewrite a request in turn, each on top of what those before it did."""

from pathlib import Path

import pytest

from hookline.agent import Text, Turn
from tests.examples.toolbox import Workplace

LONG = "begin " + "x" * 30_000 + " end"


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "request-chain")


async def run_after_long_history(work: Workplace) -> list[str]:
    """The history afterwards, in which the first message is long."""
    async with work.agent("Done.") as agent:
        texts = [LONG, "One.", "Two?", "Two.", "Three?"]
        agent.chat.history += [
            Turn("model" if place % 2 else "user", (Text(text),))
            for place, text in enumerate(texts[:4])
        ]
        await agent.run(texts[4])
        return [turn.text for turn in agent.chat.history]


async def test_each_hook_works_on_what_those_before_it_left(work: Workplace) -> None:
    history = await run_after_long_history(work)
    rules, shortened, *others = work.sent
    assert rules.startswith("Rules of this project:")
    assert shortened.startswith("begin xxx")
    assert shortened.endswith("xxx end")
    assert "[28010 characters left out]" in shortened
    assert others == ["One.", "Two?", "Two.", "Three?"]
    # The request as it came was a long one.
    assert work.provider.requests[0]["model"] == "gemini-2.5-flash"
    assert history == [LONG, *others, "Done."]


async def test_what_is_new_is_not_shortened_and_a_long_request_has_another_model(
    work: Workplace,
) -> None:
    await work.run(LONG, "Done.")
    assert work.sent[1:] == [LONG]
    assert work.provider.requests[0]["model"] == "gemini-2.5-pro"


async def test_a_hook_of_the_chain_that_fails_leaves_the_others_at_work(
    work: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    (work.path / "hooks" / "rules.md").unlink()
    await run_after_long_history(work)
    assert [len(text) < 3000 for text in work.sent] == [True] * 5
    assert work.provider.requests[0]["model"] == "gemini-2.5-flash"
    assert "'add-rules' on BeforeModel failed" in caplog.text


async def test_without_rules_and_with_the_right_model_a_request_stays_as_it_is(
    work: Workplace,
) -> None:
    work.write("hooks/rules.md", "\n")
    settings = work.read(".hookline/settings.json")
    work.write(".hookline/settings.json", settings.replace("gemini-2.5-flash", "scripted"))
    await work.run("Go on.", "Done.")
    [request] = work.provider.requests
    assert (work.sent, request["model"]) == (["Go on."], "scripted")
