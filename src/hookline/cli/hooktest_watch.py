"""``hookline test --watch``: the tests again after every change, until somebody ends it."""

import argparse
import os
from collections.abc import Callable

from hookline.cli.failures import CommandError
from hookline.cli.hooktest_report import shown_path
from hookline.cli.screen import Screen
from hookline.errors import HooklineError
from hookline.hooktests.cases import PASSED_BY
from hookline.hooktests.running import project_of
from hookline.hooktests.watching import Watched

# How often the watcher says that nothing happened, which is how it says that it has begun.
_TURN_MS = 200


def watch(
    options: argparse.Namespace, screen: Screen, places: list[str], run: Callable[[], int]
) -> int:
    """Run, wait for a change, and again; ends by a signal."""
    if options.json:
        raise CommandError("--json prints one document, so it cannot be for --watch; leave one out")
    try:
        import watchfiles
    except ImportError:
        raise CommandError(
            "--watch needs the package watchfiles: pip install 'hookline[watch]'"
        ) from None
    watched = _watched(options, places)

    def matters(_change: object, path: str) -> bool:
        return PASSED_BY.isdisjoint(path.split(os.sep)) and watched.matters(path)

    changes = watchfiles.watch(
        *watched.roots(), watch_filter=matters, rust_timeout=_TURN_MS, yield_on_timeout=True
    )
    is_first = True
    for changed in changes:
        if changed or is_first:
            if not is_first:
                names = sorted({shown_path(path) for _, path in changed})
                screen.line()
                screen.line(("changed: ", "care"), ", ".join(names))
            is_first = False
            watched.look()
            _run(screen, run)
    return 0


def _watched(options: argparse.Namespace, places: list[str]) -> Watched:
    start = [options.cwd] if options.cwd else [_directory(place) for place in places]
    projects = list(dict.fromkeys(project_of(os.path.abspath(place)) for place in start))
    return Watched(
        projects,
        test_files=[place for place in places if os.path.isfile(place)],
        settings_files=options.settings,
    )


def _directory(place: str) -> str:
    return place if os.path.isdir(place) else os.path.dirname(os.path.abspath(place))


def _run(screen: Screen, run: Callable[[], int]) -> None:
    try:
        run()
    except (HooklineError, OSError) as error:
        # The next change may mend it.
        screen.note(("hookline: ", "bad"), str(error))
    screen.line(("waiting for a change; Ctrl-C ends", "faint"))
    screen.flush()
