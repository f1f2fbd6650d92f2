"""Runs the scenarios through a harness, holds its declared limits to what was measured, and writes
the tables of the documentation: of what is declared, so that every cell must have been measured."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.front import Hooks
from hookline.testing.adapters.run import Observed, Run
from hookline.testing.adapters.scenarios import SCENARIOS, Hook, Scenario

Mark: TypeAlias = Literal["✓", "◐", "✗", "–"]
_SECONDS = 60


class Limit(msgspec.Struct, frozen=True):
    """How far an adapter reaches a cell. ``note`` are a few words for the table, ``why`` a sentence
    for the adapter's page; ``fails_in`` are the modes in which a ◐ does not hold."""

    mark: Mark
    note: str = ""
    why: str = ""
    fails_in: tuple[str, ...] = ()


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter in the table. ``name`` is that of its module, ``title`` the heading of its column;
    ``modes`` are the ways in which its users run an agent; ``limits`` are for what it does not
    reach fully, or in a way worth a word, by cell or row; ``run`` holds the conversation of a run
    in ``run.mode``. ``conversations`` are as many as a machine can hold at once: fewer where each
    is a process."""

    name: str
    title: str
    modes: tuple[str, ...]
    run: Callable[[Run], Awaitable[None]]
    limits: Mapping[str, Limit] = {}
    conversations: int = 50

    def __post_init__(self) -> None:
        known = {name for scenario in SCENARIOS for name in (scenario.cell, scenario.row)}
        if unknown := [name for name in self.limits if name not in known]:
            raise ValueError(
                f"the limits of {self.name} name {unknown}, which is no cell and no row"
            )

    def limit_of(self, scenario: Scenario) -> Limit:
        """What is declared of a cell."""
        limits = self.limits
        return limits.get(scenario.cell) or limits.get(scenario.row) or Limit("✓")


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of a cell: ``problems`` by mode, and ``complaints`` where that is not what
    the harness declares."""

    scenario: Scenario
    limit: Limit
    problems: Mapping[str, Sequence[str]]
    complaints: Sequence[str]


def run_table(harness: Harness) -> list[CellResult]:
    """Every cell in every mode."""

    async def run_cells() -> list[CellResult]:
        return [await run_cell(harness, scenario) for scenario in SCENARIOS]

    return asyncio.run(run_cells())


async def run_cell(harness: Harness, scenario: Scenario) -> CellResult:
    """One cell in every mode."""
    problems = {mode: [*await _play(harness, scenario, mode)] for mode in harness.modes}
    limit = harness.limit_of(scenario)
    expected = harness.modes if limit.mark in ("✗", "–") else limit.fails_in
    complaints = [*_check_limit(limit, harness)]
    for mode, found in problems.items():
        if found and mode not in expected:
            complaints.append(f"{mode}: {'; '.join(found)}")
        elif not found and mode in expected:
            complaints.append(f"{mode}: declared as {limit.mark} ({limit.why}), and it holds")
    return CellResult(scenario=scenario, limit=limit, problems=problems, complaints=complaints)


def _check_limit(limit: Limit, harness: Harness) -> Iterator[str]:
    if limit.mark != "✓" and not limit.why:
        yield f"a limit of {limit.mark} must say why"
    if limit.fails_in and limit.mark != "◐":
        yield f"{limit.mark} fails in all modes or in none, so that fails_in says nothing"
    for mode in limit.fails_in:
        if mode not in harness.modes:
            yield f"fails_in names {mode!r}, which is none of the modes {[*harness.modes]}"
    if {*limit.fails_in} == {*harness.modes}:
        yield "what fails in all modes is ✗"


async def _play(harness: Harness, scenario: Scenario, mode: str) -> Iterable[str]:
    """What is wrong with a scenario in one mode."""
    observed = Observed(mode=mode, session_id=f"table-{uuid.uuid4().hex}")
    with Hooks() as hooks:
        for hook in scenario.hooks:
            options: dict[str, Any] = {} if hook.matcher is None else {"matcher": hook.matcher}
            hooks.on(hook.event, **options)(_noting(hook, observed))
        run = Run(
            hooks,
            observed,
            prompts=scenario.prompts,
            replies=scenario.replies,
            approves=scenario.approves,
            compresses=scenario.compresses,
        )
        try:
            async with asyncio.timeout(_SECONDS):
                await harness.run(run)
        except Exception as error:
            observed.error = error
    return [*_check_run(observed, scenario), *scenario.check(observed)]


def _check_run(observed: Observed, scenario: Scenario) -> Iterator[str]:
    """What is wrong whatever the scenario is about."""
    error = observed.error
    if error is not None and (scenario.raises is None or scenario.raises not in str(error)):
        yield f"it raised {type(error).__name__}: {error}"
    others = {event["session_id"] for event in observed.events} - {observed.session_id}
    if others:
        yield f"events came under {sorted(others)}, not under {observed.session_id}"


def _noting(hook: Hook, observed: Observed) -> Callable[[dict[str, Any]], Any]:
    """The hook's function, which notes the events that it is given."""

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
    """One adapter's column in Markdown, cell by cell, with what there is to say of each."""
    lines = ["| effect | | |", "|---|---|---|"]
    for scenario in SCENARIOS:
        limit = harness.limit_of(scenario)
        words = "; ".join(filter(None, (limit.note, limit.why)))
        lines.append(f"| {scenario.cell} | {limit.mark} | {words} |")
    return "".join(f"{line}\n" for line in lines)


def _render_row(harness: Harness, row: str) -> str:
    """The row's mark: that of all its cells, ◐ where they differ; their notes, and the names of
    those that fail among others that do not."""
    limits = {s.cell: harness.limit_of(s) for s in SCENARIOS if s.row == row}
    marks = {limit.mark for limit in limits.values()}
    notes = [
        limit.note or (f"{cell} ✗" if limit.mark == "✗" and len(marks) > 1 else "")
        for cell, limit in limits.items()
    ]
    mark = marks.pop() if len(marks) == 1 else "◐"
    return " ".join(filter(None, (mark, "; ".join(dict.fromkeys(filter(None, notes))))))
