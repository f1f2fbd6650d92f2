"""Nothing of the machine reaches a test: its home, its settings and its variables are its own."""

import json
import os
import pwd
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
from tests.harness.leaks import Watch

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


@pytest.fixture(scope="session", autouse=True)
def _isolated_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the fixtures that are made before any test's own."""
    with pytest.MonkeyPatch.context() as monkeypatch, _heeding_signals():
        _isolate(monkeypatch, tmp_path_factory.mktemp("run"))
        yield


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


@pytest.fixture(autouse=True)
def isolated(no_leaks: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hidden, so that a test may use any plain name in its tmp dir.
    own = tmp_path / ".test"
    _isolate(monkeypatch, own)
    monkeypatch.setenv(processes.MARK, no_leaks.mark)
    (own / "cwd").mkdir()
    monkeypatch.chdir(own / "cwd")


def system_file(own: Path) -> Path:
    """Where the system's settings of a test are, below its hidden directory."""
    return own / "etc" / "hookline" / "settings.json"


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
    monkeypatch.setattr(tempfile, "tempdir", None)
    # No variable moves it, so nothing but the code can.
    monkeypatch.setitem(places.SYSTEM_SETTINGS, sys.platform, str(system_file(own)))
    managed = own / "etc" / "claude-code" / "managed-settings.json"
    monkeypatch.setitem(ROWS["claude"].managed, sys.platform, str(managed))
    account = list(pwd.getpwuid(os.getuid()))
    account[5] = str(own / "home")
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: pwd.struct_passwd(account))
    for path in (own / "home", own / "tmp"):
        path.mkdir(parents=True)


def _changes_behaviour(name: str) -> bool:
    return name in _CLEARED or name.startswith(_CLEARED_PREFIXES)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")
