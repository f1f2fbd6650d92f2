"""Where the user's and the system's files are; on Linux two variables decide.

They are those of the XDG Base Directory Specification. platformdirs knows the other systems, but
loading it takes several times as long as a hook runs. No variable moves the system's settings: the
people and agents they guard control their own environment.
"""

import os
import sys

STATE_VARIABLE = "HOOKLINE_STATE_DIR"
_APP = "hookline"
SYSTEM_SETTINGS = {"darwin": "/Library/Application Support/hookline/settings.json"}


def home_dir() -> str | None:
    """Return the user's home directory, None if there is none."""
    home = os.path.expanduser("~")
    return home if os.path.isabs(home) else None


def user_config_dir() -> str | None:
    """Return the directory of the user's settings, None if there is none."""
    return _find_app_dir("user_config_dir", "XDG_CONFIG_HOME", ".config")


def user_state_dir() -> str | None:
    """Return the directory of the user's records, None if there is none."""
    state_dir = os.environ.get(STATE_VARIABLE, "")
    if os.path.isabs(state_dir):
        return state_dir
    return _find_app_dir("user_state_dir", "XDG_STATE_HOME", ".local/state")


def account_state_dir() -> str | None:
    """Return the directory of the user's records that no variable moves, None if the account has
    no home."""
    home = account_home()
    if home is None:
        return None
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", _APP)
    return os.path.join(home, ".local", "state", _APP)


def account_home() -> str | None:
    """Return the home directory of the user's account, whatever HOME says; None if it has none."""
    import pwd

    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return home if os.path.isabs(home) else None


def hook_state_dir(project_dir: str) -> str | None:
    """Return the folder of the user's in which a project's hooks may write, outside of the project;
    None if there is none."""
    project = os.path.realpath(project_dir)
    places = (place for place in (user_state_dir(), account_state_dir()) if place is not None)
    state = next((p for p in places if not is_inside(os.path.realpath(p), project)), None)
    if state is None:
        return None
    return os.path.join(state, "hooks", project_key(project_dir))


def is_inside(path: str, directory: str) -> bool:
    """True if a path is a directory, or is in it; both are real paths."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def project_key(project_dir: str) -> str:
    """Return a name for a project's folder among others: valid on any file system, and readable
    for people."""
    import zlib

    path = os.path.realpath(project_dir)
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in path).strip("-")
    return f"{readable[-100:]}-{zlib.crc32(os.fsencode(path)):08x}"


def system_settings_file() -> str:
    """Return the path of the settings that apply to all users."""
    return SYSTEM_SETTINGS.get(sys.platform, "/etc/hookline/settings.json")


def _find_app_dir(name: str, variable: str, default: str) -> str | None:
    if sys.platform != "linux":
        import platformdirs

        try:
            return str(getattr(platformdirs, name)(_APP, appauthor=False))
        except RuntimeError:
            return None
    # The specification wants relative paths ignored.
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        home = home_dir()
        if home is None:
            return None
        base = os.path.join(home, default)
    return os.path.join(base, _APP)
