"""``hookline test``: runs hook tests, which are files of events and expectations."""

import os
import sys
from collections.abc import Sequence

from hookline.cli.events import fire, tell_copies
from hookline.cli.failures import FAILED, CommandError
from hookline.cli.options import SOURCES, TRUST, Option, Options, event_options, find_sources, flag
from hookline.cli.progress import Progress
from hookline.cli.screen import Screen, count, shorten_path
from hookline.cli.test.report import make_document, show_outcome, show_sum
from hookline.engine.project import Project
from hookline.errors import HooklineError
from hookline.hooktests.cases import (
    PASSED_BY,
    SUFFIX,
    HookTestFile,
    Outcome,
    find_test_files,
    read_test_file,
)
from hookline.hooktests.runs import HookTestRunner, project_of

EXAMPLES = (
    """hookline test --record 'a greeting' BeforeAgent --input '{"prompt": "Hello"}'""",
    "hookline test",
    "hookline test .hookline/tests -k greeting --fail-fast",
    "hookline test --junit results.xml",
)
_RECORDING = "recording a test"
_RECORDING_OPTIONS = (
    *event_options("the event's fields; - reads them from stdin", group=_RECORDING),
    Option("--from-trace", "ID", "record this event of the trace instead", group=_RECORDING),
    flag("--force", "replace the file if it exists", group=_RECORDING),
)
OPTIONS = (
    Option(
        "places",
        "FILE|DIR",
        f"test files, or directories with *{SUFFIX} files in them (default: the project)",
        default=(),
        count="*",
    ),
    Option("-k", "TEXT", "run only tests with this text in their name", attribute="pattern"),
    flag("--fail-fast", "stop after the first test that fails"),
    flag("--watch", "run the tests again whenever a file changes"),
    Option("--junit", "FILE", "also write the results to this file as JUnit XML"),
    *TRUST,
    Option(
        "--record",
        "NAME",
        "write a test of this name, or to this file, from what the hooks answer now; give the "
        "event as for fire: hookline test --record NAME EVENT …",
        group=_RECORDING,
    ),
    *_RECORDING_OPTIONS,
    *SOURCES,
)
# How often the watcher yields without a change; the first time says that it has started.
_TURN_MS = 200


def run(options: Options, screen: Screen) -> int:
    """Run the tests, or record one; return 0 if all passed, 1 if not or if there are none."""
    if options.record is not None:
        from hookline.cli.test.record import record

        return record(options, screen, fire)
    for option in _RECORDING_OPTIONS:
        if getattr(options, option.key):
            raise CommandError(f"{option.name} is for --record NAME; add that")
    return _watch(options, screen) if options.watch else _run_tests(options, screen)


def _run_tests(options: Options, screen: Screen) -> int:
    """Find, run and show the tests, once."""
    places = _find_places(options)
    files = [read_test_file(path) for path in find_test_files(*places)]
    pattern = (options.pattern or "").casefold()
    tests = [test for file in files for test in file.tests if pattern in test.name.casefold()]
    runner = HookTestRunner(fire, cwd=options.cwd, trusted=options.trust, **find_sources(options))
    outcomes: list[Outcome] = []
    if options.trust is None and options.settings is None:
        for project in dict.fromkeys(map(project_of, _list_folders(options, places))):
            load = {"project_dir": project, "copies": True, **find_sources(options)}
            tell_copies(screen, Project.load(project, **load), json=options.json)
    for test in tests:
        with Progress(sys.stderr) as progress:
            progress.show(f"  {test.name} …")
            outcome = runner.run(test)
        if not options.json:
            show_outcome(screen, outcome, outcomes)
        outcomes.append(outcome)
        if options.fail_fast and outcome.status == "failed":
            break
    if options.junit is not None:
        from hookline._support.files import write_atomically
        from hookline.hooktests.junit import junit_xml

        write_atomically(options.junit, junit_xml(files, outcomes))
    if options.json:
        screen.document(make_document(files, outcomes, runner.problems))
    for problem in runner.problems:
        screen.warning(shorten_path(str(problem)))
    for file in files:
        for unread in file.problems:
            place = shorten_path(str(unread.place))
            screen.note(("error:", "bad"), f" {place}: {unread.text}")
    if not tests:
        # A run without tests is a mistake in the command, and must not look like success.
        raise CommandError(_explain_none(files, places, options.pattern))
    if not options.json:
        show_sum(screen, files, outcomes, left=len(tests) - len(outcomes))
    is_good = all(outcome.status != "failed" for outcome in outcomes)
    return 0 if is_good and not any(file.problems for file in files) else FAILED


def _list_folders(options: Options, places: Sequence[str]) -> list[str]:
    if options.cwd is not None:
        return [os.path.abspath(options.cwd)]
    absolute = map(os.path.abspath, places)
    return [each if os.path.isdir(each) else os.path.dirname(each) for each in absolute]


def _find_places(options: Options) -> list[str]:
    """Return the places of the tests: those given, or else the project."""
    if options.places:
        return list(options.places)
    project = project_of(os.path.abspath(options.cwd or os.getcwd()), claude=options.claude)
    # Reports are read on other machines too, where the project has another path.
    return [min(project, os.path.relpath(project), key=len)]


def _explain_none(files: Sequence[HookTestFile], places: Sequence[str], pattern: str | None) -> str:
    names = [test.name for file in files for test in file.tests]
    if names:
        import shlex

        return (
            f"none of {count(len(names), 'test')} has {shlex.quote(pattern or '')} in its name; "
            f"one is {names[0]!r}"
        )
    if any(file.problems for file in files):
        return "no tests to run: fix what is wrong with the files first"
    return (
        f"no tests found: there is no *{SUFFIX} in {', '.join(map(shorten_path, places))}; "
        "record one: hookline test --record NAME EVENT --input JSON"
    )


def _watch(options: Options, screen: Screen) -> int:
    """Run the tests again after each change, until a signal."""
    if options.json:
        raise CommandError(
            "--json prints one document, but --watch has many results; leave one out"
        )
    try:
        import watchfiles
    except ImportError:
        raise CommandError(
            "--watch needs the package watchfiles: pip install 'hookline[watch]'"
        ) from None
    from hookline.hooktests.watch import Watched

    places = _find_places(options)
    folders = [place if os.path.isdir(place) else os.path.dirname(place) for place in places]
    start = [options.cwd] if options.cwd else folders
    watched = Watched(
        list(dict.fromkeys(project_of(os.path.abspath(p), claude=options.claude) for p in start)),
        test_files=[place for place in places if os.path.isfile(place)],
        **find_sources(options),
    )

    def matters(_change: object, path: str) -> bool:
        return PASSED_BY.isdisjoint(path.split(os.sep)) and watched.matters(path)

    changes = watchfiles.watch(
        *watched.roots(), watch_filter=matters, rust_timeout=_TURN_MS, yield_on_timeout=True
    )
    is_first = True
    for changed in changes:
        if not changed and not is_first:
            continue
        if not is_first:
            names = sorted({shorten_path(path) for _, path in changed})
            screen.line()
            screen.line(("changed: ", "care"), ", ".join(names))
        is_first = False
        watched.look()
        try:
            _run_tests(options, screen)
        except (HooklineError, OSError) as error:
            # The next change may fix it.
            screen.note(("hookline: ", "bad"), str(error))
        screen.line(("waiting for a change; Ctrl-C ends", "faint"))
        screen.flush()
    return 0
