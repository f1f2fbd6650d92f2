"""Decides which changes need another run: those of tests, settings, and scripts that hooks name.

No other file of a project matters to a test, and a log that a hook writes there must not start the
next run.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hookline._support.places import home_dir
from hookline.engine.project import Project
from hookline.hooktests.cases import SUFFIX
from hookline.settings.reader import find_settings_files
from hookline.trust.ground import Ground
from hookline.trust.review import TrustError, look_at
from hookline.wire.hooks import CommandHook


class Watched:
    """The files that matter to the tests of some places, as of the last ``look``."""

    def __init__(
        self,
        projects: Sequence[str],
        *,
        test_files: Iterable[str] = (),
        settings_files: Sequence[str] | None = None,
        claude: bool | None = None,
        plugins: Sequence[str] = (),
    ) -> None:
        self._projects = projects
        self._test_files = {os.path.realpath(file) for file in test_files}
        self._given = settings_files
        self._claude = claude
        self._plugins = plugins
        self._settings: set[str] = set()
        self._scripts: set[str] = set()
        self._kinds: set[tuple[str, str]] = set()
        self.look()

    def look(self) -> None:
        """Find the settings and the scripts again."""
        settings: list[str] = list(self._given or ())
        scripts: list[str] = []
        for project in self._projects:
            if self._given is None:
                settings += [file.path for file in find_settings_files(project, home_dir())]
            read = Project.load(
                project,
                project_dir=project,
                settings_files=self._given,
                claude=self._claude,
                plugins=self._plugins,
            )
            ground = Ground.of(project)
            entries = read.get_settings().entries
            settings += read.list_files()
            for entry in entries:
                if isinstance(entry.hook, CommandHook):
                    with suppress(TrustError):  # an unreadable script runs no test
                        look = look_at(entry, project_dir=project, cwd=project, states={})
                        scripts += map(ground.place_of, look.files)
        self._settings = set(map(os.path.realpath, settings))
        self._scripts = set(map(os.path.realpath, scripts))
        self._kinds = set(map(_find_kind, self._scripts))

    def roots(self) -> list[str]:
        """Return the directories to watch, including those of files that do not exist yet."""
        above = {os.path.dirname(file) for file in (*self._test_files, *self._settings)}
        above |= {os.path.dirname(script) for script in self._scripts}
        return [place for place in {*self._projects, *above} if os.path.isdir(place)]

    def matters(self, path: str) -> bool:
        """True if a change of a file may change a test's outcome; a file beside a script, of the
        same kind, may be a module of it."""
        real = os.path.realpath(path)
        if path.endswith(SUFFIX) or real in self._test_files or real in self._settings:
            return True
        return real in self._scripts or _find_kind(real) in self._kinds


def _find_kind(path: str) -> tuple[str, str]:
    return os.path.dirname(path), os.path.splitext(path)[1]
