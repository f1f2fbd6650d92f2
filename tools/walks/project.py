"""The project of a walk: the working directory, with one hook that is a script."""

import json
from pathlib import Path

_HOOK = '#!/bin/sh\ncat > /dev/null\necho \'{"decision": "approve"}\'\n'


def write_project(settings: str, *, event: str, matcher: str) -> None:
    """Write the script, and settings that run it."""
    script = Path("guard.sh")
    script.write_text(_HOOK)
    script.chmod(0o755)
    hooks = [{"type": "command", "name": "guard", "command": "./guard.sh"}]
    Path(settings).parent.mkdir()
    Path(settings).write_text(
        json.dumps({"hooks": {event: [{"matcher": matcher, "hooks": hooks}]}})
    )
