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
    return _app_dir("user_config_dir", "XDG_CONFIG_HOME", ".config")


def user_state_dir() -> str | None:
    """Where records are kept for the user, None for a user who has no place for them."""
    return _app_dir("user_state_dir", "XDG_STATE_HOME", ".local/state")


def site_config_dir() -> str | None:
    """Where the settings for all users are."""
    return _app_dir("site_config_dir", "XDG_CONFIG_DIRS", "/etc/xdg")


def _app_dir(name: str, variable: str, default: str) -> str | None:
    if sys.platform != "linux":
        import platformdirs

        try:
            return str(getattr(platformdirs, name)(_APP, appauthor=False))
        except RuntimeError:
            return None
    # The specification wants relative paths ignored. Only the site has more than one.
    named = os.environ.get(variable, "")
    listed = named.split(os.pathsep) if name == "site_config_dir" else [named]
    base = next(filter(os.path.isabs, listed), default)
    if not os.path.isabs(base):
        home = home_dir()
        if home is None:
            return None
        base = os.path.join(home, base)
    return os.path.join(base, _APP)
