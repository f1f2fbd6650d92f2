"""``hookline test``: hooks put to the test by events and expectations that are data."""

import argparse
import os
from collections.abc import Sequence

from hookline.cli.failures import FAILED, CommandError
from hookline.cli.firing import fire
from hookline.cli.hooktest_report import TestReport, quoted, shown_path, test_document
from hookline.cli.parsing import add_event_arguments, add_trust_arguments
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.hooktests.cases import (
    SUFFIX,
    HookTest,
    HookTestFile,
    Outcome,
    find_test_files,
    read_test_file,
)
from hookline.hooktests.running import HookTestRunner, project_of

EXAMPLES = (
    """hookline test --record 'a greeting' BeforeAgent --input '{"prompt": "Hello"}'""",
    "hookline test",
    "hookline test .hookline/tests -k greeting --fail-fast",
    "hookline test --junit results.xml",
)

_RECORDING = ("input", "tool", "tool_input", "session_id", "from_trace", "force")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is test's own."""
    parser.add_argument(
        "places",
        metavar="FILE|DIR",
        nargs="*",
        help=f"test files, or directories with *{SUFFIX} files in them (default: the project)",
    )
    parser.add_argument("-k", dest="pattern", metavar="TEXT", help="only tests with it in the name")
    parser.add_argument("--fail-fast", action="store_true", help="end with the first that fails")
    parser.add_argument("--watch", action="store_true", help="run again whenever a file changes")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML too")
    add_trust_arguments(parser)
    _add_recording(parser)


def _add_recording(parser: argparse.ArgumentParser) -> None:
    recording = parser.add_argument_group("recording a test")
    recording.add_argument(
        "--record",
        metavar="NAME",
        help="write a test of this name, or to this file, from what hooks say now; the event is "
        "given as for fire: hookline test --record NAME EVENT …",
    )
    add_event_arguments(recording, fields="the event's fields; - reads them from stdin")
    recording.add_argument("--from-trace", metavar="ID", help="an event of the trace instead")
    recording.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Run the tests, or record one; 0 if all passed, 1 if not or if there are none."""
    if options.record is not None:
        from hookline.cli.hooktest_recording import record

        return record(options, screen, fire)
    given = [name for name in _RECORDING if getattr(options, name)]
    if given:
        raise CommandError(f"--{given[0].replace('_', '-')} is for --record NAME; add that")
    if options.watch:
        from hookline.cli.hooktest_watch import watch

        return watch(options, screen, _places(options), lambda: _run_tests(options, screen))
    return _run_tests(options, screen)


def _runner(options: argparse.Namespace) -> HookTestRunner:
    return HookTestRunner(
        fire, cwd=options.cwd, settings_files=options.settings, trusted=options.trust
    )


def _run_tests(options: argparse.Namespace, screen: Screen) -> int:
    """Find, run and show the tests, once."""
    places = _places(options)
    files = [read_test_file(path) for path in find_test_files(places)]
    tests = [test for file in files for test in file.tests if _is_meant(test, options.pattern)]
    runner, report = _runner(options), TestReport(screen, quiet=options.json)
    outcomes: list[Outcome] = []
    for test in tests:
        with report.begin(test):
            outcomes.append(runner.run(test))
        report.tell(outcomes[-1])
        if options.fail_fast and outcomes[-1].status == "failed":
            break
    _write_junit(options.junit, files, outcomes)
    if options.json:
        screen.document(test_document(files, outcomes, runner.problems))
    for problem in runner.problems:
        screen.warning(str(problem))
    report.tell_problems(files)
    _require_tests(files, tests, places, options.pattern)
    report.conclude(files, outcomes, left=len(tests) - len(outcomes))
    is_good = all(outcome.status != "failed" for outcome in outcomes)
    return 0 if is_good and not any(file.problems for file in files) else FAILED


def _places(options: argparse.Namespace) -> list[str]:
    """Where the options say that the tests are."""
    if options.places:
        return list(options.places)
    project = project_of(os.path.abspath(options.cwd or os.getcwd()))
    # Reports of a run are read on other machines, where the project is elsewhere.
    return [min(project, os.path.relpath(project), key=len)]


def _is_meant(test: HookTest, pattern: str | None) -> bool:
    return pattern is None or pattern.casefold() in test.name.casefold()


def _write_junit(
    path: str | None, files: Sequence[HookTestFile], outcomes: Sequence[Outcome]
) -> None:
    if path is None:
        return
    from hookline.files import write_atomically
    from hookline.hooktests.junit import junit_xml

    write_atomically(path, junit_xml(files, outcomes))


def _require_tests(
    files: Sequence[HookTestFile],
    tests: Sequence[HookTest],
    places: Sequence[str],
    pattern: str | None,
) -> None:
    """A run of no tests is a mistake in how it was asked for, and must not look like success."""
    if tests:
        return
    known = [test.name for file in files for test in file.tests]
    if known:
        raise CommandError(
            f"-k {quoted(pattern or '')} is in the name of none of "
            f"{count(len(known), 'test')}; there is {known[0]!r}"
        )
    if any(file.problems for file in files):
        raise CommandError("no tests to run: mend what is wrong with the files first")
    where = ", ".join(shown_path(place) for place in places)
    raise CommandError(
        f"no tests found: there is no *{SUFFIX} in {where}; "
        "record one: hookline test --record NAME EVENT --input JSON"
    )
