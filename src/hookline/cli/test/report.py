"""Shows hook tests: a line for each as it ends, and for a failed one the difference."""

from collections.abc import Sequence
from typing import Any

from hookline.cli.screen import Screen, count, duration, shorten_path
from hookline.hooktests.cases import HookTestFile, Outcome
from hookline.hooktests.explanation import explain_outcome, is_difference

_WORDS = {"passed": ("pass", "good"), "failed": ("FAIL", "bad"), "skipped": ("skip", "care")}


def show_outcome(screen: Screen, outcome: Outcome, before: Sequence[Outcome]) -> None:
    """Show a test that has ended; ``before`` are those shown already."""
    test = outcome.test
    if not before or before[-1].test.file != test.file:
        screen.line((shorten_path(test.file), "title"))
    why = f"  ({test.skip})" if outcome.status == "skipped" else ""
    time = "" if outcome.status == "skipped" else duration(outcome.duration)
    row = (_WORDS[outcome.status], (f"{time:>7}", "faint"), test.name + why)
    # The further lines of a long name stay in its own column.
    screen.table([row], ("keep", "keep"))
    # The signs of a difference are explained only once.
    is_explained = any(is_difference(failure) for each in before for failure in each.failures)
    for line in explain_outcome(
        outcome, say_time=duration, is_explained=is_explained, elsewhere="--json has them all"
    ):
        show = screen.quote if line.is_quoted else screen.line
        show(*line.spans, indent=8 if line.is_quoted else 6)
    screen.flush()


def show_sum(
    screen: Screen, files: Sequence[HookTestFile], outcomes: Sequence[Outcome], *, left: int
) -> None:
    """Show the summary and what to do next; ``left`` tests did not run."""
    sums = _sum_up(files, outcomes)
    parts = [(f"{sums[word]} {word}", role) for word, (_, role) in _WORDS.items() if sums[word]]
    if sums["errors"]:
        parts.append((f"{count(sums['errors'], 'test')} could not be read", "bad"))
    if left:
        parts.append((f"{left} not run", "care"))
    spans = [(f"{count(sums['tests'], 'test')} in {duration(sums['duration_ms'])}", "")]
    for index, part in enumerate(parts):
        spans += [(", " if index else ": ", ""), part]
    screen.line()
    screen.line(*spans)
    if any(outcome.untrusted for outcome in outcomes):
        screen.line("review the project's hooks with `hookline trust`, or pass --trust")


def make_document(
    files: Sequence[HookTestFile], outcomes: Sequence[Outcome], problems: Sequence[Any]
) -> dict[str, Any]:
    """Return the document of ``test --json``."""
    tests = []
    for outcome in outcomes:
        test = outcome.test
        document: dict[str, Any] = {
            "file": test.file,
            "line": test.line,
            "name": test.name,
            "event": test.event.value,
            "status": outcome.status,
            "duration_ms": round(outcome.duration, 3),
        }
        if test.skip is not None:
            document["skip"] = test.skip
        if outcome.status == "failed":
            warnings = [str(warning) for warning in outcome.warnings]
            document |= {"failures": outcome.failures, "warnings": warnings}
            document["fired"] = outcome.document
        tests.append(document)
    unread = [problem for file in files for problem in file.problems]
    return {
        "summary": _sum_up(files, outcomes),
        "tests": tests,
        "errors": [{"place": problem.place, "message": problem.text} for problem in unread],
        "problems": [{"place": problem.place, "message": problem.text} for problem in problems],
    }


def _sum_up(files: Sequence[HookTestFile], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Count the tests that passed, failed, were skipped, and could not be read."""
    statuses: list[str] = [outcome.status for outcome in outcomes]
    return {
        "tests": len(statuses),
        **{status: statuses.count(status) for status in _WORDS},
        "errors": sum(len(file.problems) for file in files),
        "duration_ms": round(sum(outcome.duration for outcome in outcomes), 3),
    }
