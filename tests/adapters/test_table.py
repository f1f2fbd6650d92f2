"""Every adapter through the conformance table, cell by cell."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from tests.adapters.harnesses import HARNESSES
from tests.kit.adapters import (
    SCENARIOS,
    Harness,
    Limit,
    Message,
    Run,
    Scenario,
    render_column,
    render_table,
    run_cell,
)
from tools.effects import DOCUMENTS, render_effects, write_effects

BLOCK = next(scenario for scenario in SCENARIOS if scenario.cell == "BeforeTool block")


@pytest.mark.parametrize(
    ("harness", "scenario"),
    [
        pytest.param(harness, scenario, id=f"{harness.name}-{scenario.cell}")
        for harness in HARNESSES
        for scenario in SCENARIOS
    ],
)
async def test_table(harness: Harness, scenario: Scenario) -> None:
    """The cell is what the harness declares, in each of its modes."""
    result = await run_cell(harness, scenario)
    assert not result.complaints, "\n".join(result.complaints)


def test_the_tables_in_the_documents_are_what_is_declared_and_measured() -> None:
    tables, marked = render_effects(HARNESSES), set[str]()
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        marked |= {name for name in tables if f"<!-- effects:{name} -->" in text}
        advice = "run .venv-adapters/bin/python tools/effects.py"
        assert write_effects(text, tables) == text, f"{document.name} is out of date: {advice}"
    assert "all" in marked


def test_a_row_has_the_mark_of_its_cells_and_names_those_that_fail_among_others() -> None:
    row = [scenario.cell for scenario in SCENARIOS if scenario.row == BLOCK.row]

    def render(*limits: Limit) -> str:
        cells = dict(zip(row, limits, strict=False))
        harness = Harness(name="x", title="X", modes=("sync",), limits=cells, run=obey)
        return render_table([harness]).splitlines()[2].split("|")[2].strip()

    missing = Limit("✗", why="no seam")
    assert render(Limit("✓"), Limit("✓", note="well")) == "✓ well"
    assert render(*[missing] * len(row)) == "✗"
    assert render(missing, Limit("✓")) == "◐ BeforeTool block ✗"
    assert render(Limit("◐", note="a"), Limit("◐", note="b"), Limit("◐", note="a")) == "◐ a; b"


def test_a_table_is_written_between_its_marks_and_nowhere_else() -> None:
    text = "a\n<!-- effects:x -->\n| old |\n<!-- /effects -->\nb\n"
    written = write_effects(text, {"x": "| new |\n"})
    assert written == text.replace("old", "new")
    with pytest.raises(KeyError):
        write_effects(text, {})


async def complaints_about(
    play: Callable[[Run], Awaitable[None]], limit: Limit | None = None
) -> Sequence[str]:
    """What the table says of an adapter that plays the first cell so, in two modes."""
    limits = {} if limit is None else {BLOCK.cell: limit}
    harness = Harness(name="x", title="X", modes=("sync", "stream"), limits=limits, run=play)
    return (await run_cell(harness, BLOCK)).complaints


async def obey(run: Run) -> None:
    """What an adapter does that reaches the cell."""
    run.next_reply([Message("user", "Go on.")], [])
    answer = await run.hooks.session(run.session_id).before_tool("shell", {"command": "ls"})
    run.next_reply([Message("tool", answer.reason or "")], [])
    run.finish("All is done.")


async def ignore(run: Run) -> None:
    """What one does that has no seam."""
    run.next_reply([], [])
    run.tools[0].function("ls")


async def test_a_cell_holds_only_if_it_holds_in_every_mode() -> None:
    async def obey_unless_streamed(run: Run) -> None:
        await (ignore if run.streams else obey)(run)

    assert not await complaints_about(obey)
    (said,) = await complaints_about(obey_unless_streamed)
    assert said.startswith("stream: the blocked tool ran: ")
    partly = Limit("◐", why="a stream has no seam", fails_in=("stream",))
    assert not await complaints_about(obey_unless_streamed, partly)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit("✗", why="no seam"), "sync: declared as ✗ (no seam), but it works"),
        (Limit("–", why="no seam"), "sync: declared as – (no seam), but it works"),
        (
            Limit("◐", why="hm", fails_in=("stream",)),
            "stream: declared as ◐ (hm), but it works",
        ),
        (Limit("◐"), "a limit of ◐ must say why"),
        (Limit("◐", why="hm", fails_in=("Stream",)), "fails_in names 'Stream', which is not"),
        (Limit("✓", fails_in=("stream",)), "✓ holds for all modes; remove fails_in"),
        (Limit("◐", why="hm", fails_in=("sync", "stream")), "it fails in all modes; declare ✗"),
    ],
)
async def test_a_limit_that_is_not_what_was_measured_is_a_complaint(
    limit: Limit, said: str
) -> None:
    assert any(line.startswith(said) for line in await complaints_about(obey, limit))


async def test_a_declared_limit_is_measured_to_fail() -> None:
    assert not await complaints_about(ignore, Limit("✗", why="no seam"))
    assert await complaints_about(ignore)


async def test_what_raises_and_what_comes_under_another_session_is_a_complaint() -> None:
    async def break_down(_run: Run) -> None:
        raise LookupError("no such agent")

    async def mix_sessions_up(run: Run) -> None:
        await run.hooks.session("another").before_tool("shell", {})
        await obey(run)

    assert "it raised LookupError: no such agent" in (await complaints_about(break_down))[0]
    assert "events have the session ids ['another']" in (await complaints_about(mix_sessions_up))[0]


@pytest.mark.parametrize(("error", "count"), [("the disk is full", 0), ("no such agent", 1)])
async def test_only_the_error_that_the_tool_raises_may_come_through(error: str, count: int) -> None:
    raising = next(scenario for scenario in SCENARIOS if scenario.raises is not None)

    async def fail(run: Run) -> None:
        response = {"error": {"message": "the disk is full"}}
        await run.hooks.session(run.session_id).after_tool("shell", {}, response)
        raise OSError(error)

    harness = Harness(name="x", title="X", modes=("sync",), run=fail)
    complaints = (await run_cell(harness, raising)).complaints
    assert [*complaints] == [f"sync: it raised OSError: {error}"] * count
    assert harness.conversations == 50


def test_the_limit_of_a_cell_counts_before_that_of_its_row() -> None:
    cell, row = Limit("◐", why="partly"), Limit("✗", why="no seam")
    limits = {BLOCK.cell: cell, BLOCK.row: row}
    harness = Harness(name="x", title="X", modes=("sync",), limits=limits, run=obey, delegates=True)
    of = [harness.limit_of(scenario) for scenario in SCENARIOS]
    assert (of[0], of[1], of[-1]) == (cell, row, Limit("✓"))
    assert f"| {BLOCK.cell} | ◐ | partly |\n" in render_column(harness)


def test_a_limit_of_what_is_no_cell_is_refused() -> None:
    limits = {"BeforeTools block": Limit("✗", why="no seam")}
    with pytest.raises(ValueError, match="'BeforeTools block'"):
        Harness(name="x", title="X", modes=("sync",), limits=limits, run=obey)
