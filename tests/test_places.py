"""The directories of a user and a system are those that platformdirs knows."""

import platformdirs
import pytest

from hookline.places import home_dir, site_config_dir, user_config_dir, user_state_dir

VARIABLES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS")


def known() -> list[str]:
    """What platformdirs answers."""
    names = ("user_config_dir", "user_state_dir", "site_config_dir")
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
    assert [user_config_dir(), user_state_dir(), site_config_dir()] == expected


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
