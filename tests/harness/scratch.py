"""Nothing of the machine reaches a test: its home, its settings and its variables are its own."""

import json
import os
import pwd
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookline._support import places
from hookline.dialects import ROWS
from tests.harness import processes

# Each of these changes what a hook, a shell or the terminal output does.
_CLEARED = frozenset(
    {
        *("CI", "SURFACE", "BASH_ENV", "ENV", "CDPATH", "SHELLOPTS", "BASHOPTS", "IFS"),
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"),
        *("PYTHONSTARTUP", "PYTHONWARNINGS", "PYTHONASYNCIODEBUG", "PYTHONUNBUFFERED"),
    }
)
_CLEARED_PREFIXES = (
    *("HOOKLINE_", "LLXPRT_", "GEMINI_", "CLAUDE_", "GOOGLE_", "OPENAI_", "ANTHROPIC_"),
    *("GITHUB_", "GIT_", "XDG_", "LC_", "BASH_FUNC_", "NODE_", "PERL5", "RUBY", "LD_", "DYLD_"),
)
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Project:
    """A scratch project directory with hook scripts and settings files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def script(self, name: str, text: str) -> Path:
        path = self.write(name, text)
        path.chmod(0o755)
        return path

    def settings(self, data: object, *, file: str = ".hookline/settings.json") -> Path:
        """Write settings: any JSON value, or a string as it stands."""
        return self.write(file, data if isinstance(data, str) else json.dumps(data, indent=2))

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Ground:
    """The home, the temporary directory and the working directory of the tests of one process.

    They are used by one test after another for as long as each leaves them empty: most tests do,
    and new ones for each took a fifth of a run.
    """

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._changes = pytest.MonkeyPatch()
        self._lay()

    def clean(self) -> Path:
        """Return the directory above them, another one if a test left something in it."""
        if self._look() != self._fresh:
            self.leave()
            shutil.rmtree(self.path, ignore_errors=True)
            self._lay()
        return self.path

    def enter(self, mark: str) -> None:
        """Begin a test, which is known by a mark."""
        now = dict(os.environ)
        for name in now.keys() - self._environment.keys() - {"PYTEST_CURRENT_TEST"}:
            del os.environ[name]
        os.environ.update(self._environment.items() - now.items())
        os.environ[processes.MARK] = mark
        tempfile.tempdir = None
        os.chdir(self.path / "cwd")

    def leave(self) -> None:
        """Put everything back that was there before the first test."""
        self._changes.undo()

    def _lay(self) -> None:
        self.path = self._factory.mktemp("own")
        self._changes.chdir(self.path)
        _isolate(self._changes, self.path)
        self._environment = dict(os.environ)
        self._fresh = self._look()

    def _look(self) -> list[object]:
        try:
            inside = [self.path / name for name in ("home", "tmp", "cwd")]
            entries = [os.listdir(path) for path in (self.path, *inside)]
            return [sorted(entries[0]), entries[1:], [path.stat().st_mode for path in inside]]
        except OSError:
            return []


@pytest.fixture(scope="session", autouse=True)
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """For the fixtures that are made before any test's own, and for every test."""
    with _heeding_signals():
        shared = Ground(tmp_path_factory)
        yield shared
        shared.leave()


@contextmanager
def _heeding_signals() -> Iterator[None]:
    """What runs in the background or under nohup ignores signals, and so would all it starts.

    A handler is not handed on: this process goes on ignoring them, those that it starts do not.
    """
    ignored = [n for n in _ENDING_SIGNALS if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def system_file() -> Path:
    """Where the system's settings of a test are."""
    return Path(places.SYSTEM_SETTINGS[sys.platform])


def _isolate(monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    for name in [name for name in os.environ if _changes_behaviour(name)]:
        monkeypatch.delenv(name)
    directories = {
        "HOME": own / "home",
        "XDG_CONFIG_HOME": own / "home" / ".config",
        "XDG_STATE_HOME": own / "home" / ".local" / "state",
        "XDG_DATA_HOME": own / "home" / ".local" / "share",
        "XDG_CACHE_HOME": own / "home" / ".cache",
        "XDG_RUNTIME_DIR": own / "run",
        "XDG_DATA_DIRS": own / "share",
        "TMPDIR": own / "tmp",
    }
    for name, path in directories.items():
        monkeypatch.setenv(name, str(path))
    monkeypatch.setenv("LANG", "C.UTF-8")
    # What others call python3 may be a shell script that looks for one, ten times as slow.
    search = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", search)
    # No variable moves it, so nothing but the code can.
    system = own / "etc" / "hookline" / "settings.json"
    monkeypatch.setitem(places.SYSTEM_SETTINGS, sys.platform, str(system))
    managed = own / "etc" / "claude-code" / "managed-settings.json"
    monkeypatch.setitem(ROWS["claude"].managed, sys.platform, str(managed))
    account = list(pwd.getpwuid(os.getuid()))
    account[5] = str(own / "home")
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: pwd.struct_passwd(account))
    for name in ("home", "tmp", "cwd"):
        (own / name).mkdir()


def _changes_behaviour(name: str) -> bool:
    return name in _CLEARED or name.startswith(_CLEARED_PREFIXES)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")
