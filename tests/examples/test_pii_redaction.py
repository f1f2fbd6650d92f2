"""Personal data in an answer reaches neither the user nor the history."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace

ANSWER = "Write to jane.doe@example.org or call +49 170 1234567."
REDACTED = "Write to [EMAIL] or call [PHONE]."


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "pii-redaction")


async def test_personal_data_is_neither_shown_nor_kept_when_the_display_is_held_back(
    work: Workplace,
) -> None:
    async with work.agent(ANSWER, display="after_hooks") as agent:
        result = await agent.run("Who is in charge?")
    assert work.shown_text == REDACTED
    assert result.text == REDACTED
    assert "jane" not in str(agent.chat.history)


async def test_an_address_that_was_streamed_in_pieces_is_found(work: Workplace) -> None:
    chunks = (
        "Card 4111 1111 ",
        "1111 1111, IBAN DE89 3704 0044 ",
        "0532 0130 00, j@exa",
        "mple.org",
    )
    await work.run("Go on.", chunks, display="after_hooks")
    assert work.shown_text == "Card [CARD], IBAN [IBAN], [EMAIL]"


async def test_the_model_is_sent_what_was_left_of_its_own_words(work: Workplace) -> None:
    asks = [ANSWER, call("write_file", file_path="note.txt", content="called")]
    await work.run("Go on.", asks, "Done.", display="after_hooks")
    assert REDACTED in work.sent
    assert "jane" not in str(work.provider.requests[-1])
    assert work.read("note.txt") == "called"


async def test_a_live_display_has_shown_it_already_but_the_history_is_clean(
    work: Workplace,
) -> None:
    async with work.agent(ANSWER) as agent:
        await agent.run("Who is in charge?")
    assert work.shown_text == ANSWER
    assert "jane" not in str(agent.chat.history)


async def test_an_answer_without_personal_data_is_left_as_it_is(work: Workplace) -> None:
    answer = (
        "On 2024-11-15 version 1.2.3 went to 192.168.100.20; build 4012888888881882, 100 200 300."
    )
    await work.run("What happened?", answer, display="after_hooks")
    assert work.shown_text == answer


async def test_an_answer_that_could_not_be_checked_is_discarded(work: Workplace) -> None:
    (work.path / "hooks" / "redact_pii.py").write_text("#!/bin/sh\nexit 1\n")
    result = await work.run("Who is in charge?", ANSWER, display="after_hooks")
    assert result.blocked
    assert "jane" not in work.shown_text + result.text
