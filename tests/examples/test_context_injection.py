"""The model knows branch, commits and open work without having to look."""

from pathlib import Path

import pytest

from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "context-injection")


@pytest.fixture
def repository(work: Workplace) -> Workplace:
    work.git("init", "--quiet", "--initial-branch=feature/cart")
    work.git("add", ".")
    work.git("commit", "--quiet", "--message=Sell things")
    return work


async def test_the_first_prompt_carries_branch_commits_and_uncommitted_files(
    repository: Workplace,
) -> None:
    repository.write("cart.py", "total = 0\n")
    await repository.run("What next?", "Let us see.")
    [prompt] = repository.sent
    opening, asked, *_ = prompt.split("\n\n")
    assert opening.startswith("Git branch: feature/cart\nLast commits:\n- ")
    assert "Sell things\nUncommitted:\n- ?? cart.py" in opening
    assert asked == "What next?"


async def test_every_prompt_carries_the_todos_that_are_open_then(repository: Workplace) -> None:
    repository.write("cart.py", "total = 0  # TODO: add tax\n")
    repository.write("TODO.md", "- [x] sell\n- [ ] ask for money\n")
    async with repository.agent("One.", "Two.") as agent:
        await agent.run("What is open?")
        first = repository.sent[-1]
        repository.write("cart.py", "total = 119\n")
        await agent.run("And now?")
    assert "- ask for money\n- cart.py:1:total = 0 # TODO: add tax" in first
    assert repository.sent[-1] == (
        "And now?\n\nGit branch: feature/cart\nOpen TODOs:\n- ask for money"
    )


async def test_many_todos_are_cut_short(work: Workplace) -> None:
    work.write("TODO.md", "".join(f"- [ ] item {number}\n" for number in range(25)))
    await work.run("What is open?", "Much.")
    assert work.sent[0].endswith("- item 9\n- and 15 more")


async def test_where_there_is_nothing_to_tell_the_prompt_stays_as_it_is(work: Workplace) -> None:
    await work.run("What next?", "Let us see.")
    assert work.sent == ["What next?"]
