"""The directories of a user are those that platformdirs knows, or that a variable names; the
system's settings have one place."""

import platformdirs
import pytest

from hookline._support import places
from hookline._support.places import (
    home_dir,
    system_settings_file,
    user_config_dir,
    user_state_dir,
)

VARIABLES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")


def known() -> list[str]:
    """What platformdirs answers."""
    names = ("user_config_dir", "user_state_dir")
    return [getattr(platformdirs, name)("hookline", appauthor=False) for name in names]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("value", ["/x/y", "/x/y/", "relative", "", ":/a:/b", None])
def test_the_directories_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, value: str | None, platform: str
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
        if value is not None:
            monkeypatch.setenv(variable, value)
    expected = known()
    # Elsewhere platformdirs is asked, which has made up its mind about the platform by now.
    monkeypatch.setattr("sys.platform", platform)
    assert [user_config_dir(), user_state_dir()] == expected


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", "/etc/hookline/settings.json"),
        ("darwin", "/Library/Application Support/hookline/settings.json"),
    ],
)
def test_no_variable_moves_the_systems_settings(
    monkeypatch: pytest.MonkeyPatch, platform: str, place: str
) -> None:
    for variable in ("XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "HOME", "HOOKLINE_STATE_DIR"):
        monkeypatch.setenv(variable, "/elsewhere")
    # That of a test is elsewhere.
    monkeypatch.delitem(places.SYSTEM_SETTINGS, "linux", raising=False)
    monkeypatch.setattr("sys.platform", platform)
    assert system_settings_file() == place


def test_a_variable_moves_what_is_kept_for_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", "/somewhere/else")
    assert user_state_dir() == "/somewhere/else"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_user_without_a_home_has_no_directories_but_those_that_are_named(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    def unknown(_uid: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr("sys.platform", platform)
    assert home_dir() is None
    assert user_config_dir() is None
    assert user_state_dir() == "/somewhere/hookline"
