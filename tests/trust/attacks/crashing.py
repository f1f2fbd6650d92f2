"""``python -m tests.trust.attacks.crashing PROJECT [--calm]``: review a project again and again,
each time killed at a random moment, and print every answer that is neither of the review before
nor of the one that was killed. With ``--calm`` nothing is killed.

A process of its own, since the reviews are forked: starting the command takes longer than they do.
"""

import json
import os
import pwd
import random
import signal
import sys
import time
from pathlib import Path

from tests.trust.attacks.kit import PASSWD_HOME, call, fire

KILLS = 40


def attempt(project: Path, version: int, *, killed_after: float | None = None) -> float:
    """Review a version of the guard, and return how long that took."""
    script = f"#!/bin/sh\necho version {version} >&2\nexit 2\n" + "#" * 50_000
    (project / "hooks/x.sh").write_text(script)
    began = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(call("trust", "--yes", "--cwd", str(project)).status)
    if killed_after is not None:
        time.sleep(killed_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert status == 0 or killed_after is not None, status
    return time.monotonic() - began


def main(project: Path, *, kills: int) -> None:
    home = os.environ[PASSWD_HOME]
    user = pwd.struct_passwd(("tester", "x", os.getuid(), os.getgid(), "", home, "/bin/sh"))
    pwd.getpwuid = lambda _uid: user
    pwd.getpwnam = lambda _name: user
    attempt(project, 0)
    longest = max(attempt(project, -1), attempt(project, 0))
    answers = [fire(project).reason]
    wrong = []
    for version in range(1, kills + 1):
        attempt(project, version, killed_after=random.uniform(0, longest))
        answers.append(fire(project).reason)
        if answers[-1] not in (answers[-2], f"version {version}"):
            wrong.append(answers[-2:])
    for version in (98, 99):
        attempt(project, version)
    answers.append(fire(project).reason)
    sys.stdout.write(json.dumps({"wrong": wrong, "answers": answers}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), kills=0 if "--calm" in sys.argv else KILLS)
