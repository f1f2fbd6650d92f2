"""The home directory of the passwd file is the test's own, as no variable moves it."""

import os
import pwd
from pathlib import Path

import pytest

from tests.trust.attacks.kit import PASSWD_HOME, Scene


@pytest.fixture(autouse=True)
def passwd_home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home that the passwd file names: here that of HOME, until a test moves HOME."""
    home = os.environ["HOME"]
    user = pwd.struct_passwd(("tester", "x", os.getuid(), os.getgid(), "", home, "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: user)
    monkeypatch.setattr(pwd, "getpwnam", lambda _name: user)
    monkeypatch.setenv(PASSWD_HOME, home)
    return Path(home)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
