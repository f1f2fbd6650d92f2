"""Runs the scenarios through a harness, compares its declared limits with the results, and writes
the tables of the documentation from the declared limits."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.hooks import Hooks
from tests.kit.adapters.run import Observed, Run
from tests.kit.adapters.scenarios import SCENARIOS, Hook, Scenario

Mark: TypeAlias = Literal["✓", "◐", "✗", "–"]
_SECONDS = 60


class Limit(msgspec.Struct, frozen=True):
    """How well an adapter supports a cell. ``note`` is a few words for the table, ``why`` a
    sentence for the adapter's page; ``fails_in`` are the modes in which a ◐ does not hold."""

    mark: Mark
    note: str = ""
    why: str = ""
    fails_in: tuple[str, ...] = ()


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter in the table. ``name`` is that of its module, ``title`` the heading of its column;
    ``modes`` are the ways in which its users run an agent; ``limits`` says, by cell or row, what it
    does not support fully or supports in a special way; ``run`` holds the conversation of a run in
    ``run.mode``. ``conversations`` is how many a machine can hold at once: fewer if each is a
    process. ``delegates`` says that an agent of the framework can have a tool that runs another
    agent; the cells of sub-agents are measured only then."""

    name: str
    title: str
    modes: tuple[str, ...]
    run: Callable[[Run], Awaitable[None]]
    limits: Mapping[str, Limit] = {}
    conversations: int = 50
    delegates: bool = False

    def __post_init__(self) -> None:
        known = {name for scenario in SCENARIOS for name in (scenario.cell, scenario.row)}
        if unknown := [name for name in self.limits if name not in known]:
            raise ValueError(
                f"the limits of {self.name} name {unknown}, which are neither cells nor rows"
            )

    def limit_of(self, scenario: Scenario) -> Limit:
        """The limit declared for a cell."""
        if scenario.delegates and not self.delegates:
            return Limit("–", why="the table has no agent here that a tool runs")
        limits = self.limits
        return limits.get(scenario.cell) or limits.get(scenario.row) or Limit("✓")


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a cell: ``problems`` by mode, and ``complaints`` if that is not what the
    harness declares."""

    scenario: Scenario
    limit: Limit
    problems: Mapping[str, Sequence[str]]
    complaints: Sequence[str]


def run_table(harness: Harness) -> list[CellResult]:
    """Run every cell in every mode."""

    async def run_cells() -> list[CellResult]:
        return [await run_cell(harness, scenario) for scenario in SCENARIOS]

    return asyncio.run(run_cells())


async def run_cell(harness: Harness, scenario: Scenario) -> CellResult:
    """Run one cell in every mode."""
    if scenario.delegates and not harness.delegates:
        limit = harness.limit_of(scenario)
        return CellResult(scenario=scenario, limit=limit, problems={}, complaints=())
    problems = {mode: [*await _play(harness, scenario, mode)] for mode in harness.modes}
    limit = harness.limit_of(scenario)
    expected = harness.modes if limit.mark in ("✗", "–") else limit.fails_in
    complaints = [*_check_limit(limit, harness)]
    for mode, found in problems.items():
        if found and mode not in expected:
            complaints.append(f"{mode}: {'; '.join(found)}")
        elif not found and mode in expected:
            complaints.append(f"{mode}: declared as {limit.mark} ({limit.why}), but it works")
    return CellResult(scenario=scenario, limit=limit, problems=problems, complaints=complaints)


def _check_limit(limit: Limit, harness: Harness) -> Iterator[str]:
    if limit.mark != "✓" and not limit.why:
        yield f"a limit of {limit.mark} must say why"
    if limit.fails_in and limit.mark != "◐":
        yield f"{limit.mark} holds for all modes; remove fails_in, or declare ◐"
    for mode in limit.fails_in:
        if mode not in harness.modes:
            yield f"fails_in names {mode!r}, which is not one of the modes {[*harness.modes]}"
    if {*limit.fails_in} == {*harness.modes}:
        yield "it fails in all modes; declare ✗"


async def _play(harness: Harness, scenario: Scenario, mode: str) -> Iterable[str]:
    """Play a scenario in one mode, and say what is wrong."""
    observed = Observed(mode=mode, session_id=f"table-{uuid.uuid4().hex}")
    with Hooks() as hooks:
        for hook in scenario.hooks:
            options: dict[str, Any] = {} if hook.matcher is None else {"matcher": hook.matcher}
            hooks.on(hook.event, **options)(_note_events(hook, observed))
        run = Run(
            hooks,
            observed,
            prompts=scenario.prompts,
            replies=scenario.replies,
            approves=scenario.approves,
            compresses=scenario.compresses,
            delegates=scenario.delegates,
        )
        try:
            async with asyncio.timeout(_SECONDS):
                await harness.run(run)
        except Exception as error:
            observed.error = error
    return [*_check_run(observed, scenario), *scenario.check(observed)]


def _check_run(observed: Observed, scenario: Scenario) -> Iterator[str]:
    """Say what is wrong with a run of any scenario."""
    error = observed.error
    if error is not None and (scenario.raises is None or scenario.raises not in str(error)):
        yield f"it raised {type(error).__name__}: {error}"
    others = {event["session_id"] for event in observed.events} - {observed.session_id}
    if others:
        yield f"events have the session ids {sorted(others)}, not {observed.session_id}"


def _note_events(hook: Hook, observed: Observed) -> Callable[[dict[str, Any]], Any]:
    """The hook's function, with a note of each event that it gets."""

    def answer(event: dict[str, Any]) -> Any:
        observed.events.append(event)
        return hook.answer(event)

    return answer


def render_table(harnesses: Sequence[Harness]) -> str:
    """The full table in Markdown, a column for each adapter."""
    lines = [
        f"| | {' | '.join(harness.title for harness in harnesses)} |",
        f"|---|{'---|' * len(harnesses)}",
    ]
    for row in dict.fromkeys(scenario.row for scenario in SCENARIOS):
        marks = (_render_row(harness, row) for harness in harnesses)
        lines.append(f"| {row} | {' | '.join(marks)} |")
    return "".join(f"{line}\n" for line in lines)


def render_column(harness: Harness) -> str:
    """One adapter's column in Markdown: each cell with its mark, note and reason."""
    lines = ["| effect | | |", "|---|---|---|"]
    for scenario in SCENARIOS:
        limit = harness.limit_of(scenario)
        words = "; ".join(filter(None, (limit.note, limit.why)))
        lines.append(f"| {scenario.cell} | {limit.mark} | {words} |")
    return "".join(f"{line}\n" for line in lines)


def _render_row(harness: Harness, row: str) -> str:
    """The row's mark: that of all its cells, ◐ if they differ; then their notes, and the names of
    those that fail if others do not."""
    limits = {s.cell: harness.limit_of(s) for s in SCENARIOS if s.row == row}
    marks = {limit.mark for limit in limits.values()}
    notes = [
        limit.note or (f"{cell} ✗" if limit.mark == "✗" and len(marks) > 1 else "")
        for cell, limit in limits.items()
    ]
    mark = marks.pop() if len(marks) == 1 else "◐"
    return " ".join(filter(None, (mark, "; ".join(dict.fromkeys(filter(None, notes))))))
