"""Where the files of a user and of a system are; on Linux three variables say it all.

They are those of the XDG Base Directory Specification. platformdirs knows the other systems, but
loading it takes several times as long as a hook runs.
"""

import os
import sys

_APP = "hookline"


def home_dir() -> str | None:
    """The user's home, None for a user who has none."""
    home = os.path.expanduser("~")
    return home if os.path.isabs(home) else None


def user_config_dir() -> str | None:
    """Where the user's settings are, None for a user who has no place for them."""
    if sys.platform != "linux":
        return _platform_dir("user_config_dir")
    return _user_dir("XDG_CONFIG_HOME", ".config")


def user_state_dir() -> str | None:
    """Where records are kept for the user, None for a user who has no place for them."""
    if sys.platform != "linux":
        return _platform_dir("user_state_dir")
    return _user_dir("XDG_STATE_HOME", ".local/state")


def site_config_dir() -> str | None:
    """Where the settings for all users are."""
    if sys.platform != "linux":
        return _platform_dir("site_config_dir")
    named = os.environ.get("XDG_CONFIG_DIRS", "").split(os.pathsep)
    return os.path.join(next(filter(os.path.isabs, named), "/etc/xdg"), _APP)


def _user_dir(variable: str, folder: str) -> str | None:
    # The specification wants relative paths ignored.
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        home = home_dir()
        if home is None:
            return None
        base = os.path.join(home, folder)
    return os.path.join(base, _APP)


def _platform_dir(name: str) -> str | None:
    import platformdirs

    try:
        return str(getattr(platformdirs, name)(_APP, appauthor=False))
    except RuntimeError:
        return None
