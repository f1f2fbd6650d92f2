"""Paths as people read them: from here, or from the home directory where that is shorter."""

import os


def shown(path: str) -> str:
    """The path from here if it is below, else from ``~`` if it is below that, else whole."""
    for start, sign in ((os.getcwd(), ""), (os.path.expanduser("~"), f"~{os.sep}")):
        below = os.path.join(start, "")
        if path.startswith(below):
            return sign + path.removeprefix(below)
    return path
