"""Hooks that try to have processes outlive them, as bash scripts that wait when they are set up.

``begun`` is written when all of a script's processes are where they want to be.
"""

import sys

_LONG = "sleep 600"
# A setsid(1) that leads a group, as under job control, forks and ends unless it is to wait: that is
# a double fork, and out of reach.
_BEGUN = "sleep 0.1; echo on > begun"


def _python(code: str) -> str:
    """A command that runs Python code without single quotes."""
    return f"{sys.executable} -S -c '{code}'"


_SETPGID = _python("import os, time; os.setpgid(0, 0); time.sleep(600)")
_STUBBORN = 'trap "" TERM; while :; do sleep 0.05; done'
# Every child is in a session or a group of its own by the time that it sleeps.
_FORKER = """
import os, time
for _ in range(3000):
    if os.fork() == 0:
        os.{leave}
        time.sleep(600)
    time.sleep(0.01)
"""
# Is another process in another group every few milliseconds, for half a minute.
_HOPPER = """
import os, time
for _ in range(15000):
    if os.fork():
        os._exit(0)
    os.setpgid(0, 0)
    time.sleep(0.002)
"""
# As many as double every twentieth of a second, if nobody ends them before they are 500.
_BOMB = """
import os, time
for _ in range(9):
    time.sleep(0.05)
    if os.fork() == 0:
        os.setpgid(0, 0)
time.sleep(600)
"""
_ON_TERM = """
import os, signal, time
def fork(*_):
    for _ in range(20):
        if os.fork() == 0:
            os.setpgid(0, 0)
            break
signal.signal(signal.SIGTERM, fork)
while True:
    time.sleep(600)
"""
# Its parent has ended when it makes a session of its own.
_LEAVES_ON_TERM = """
import os, signal, time
def leave(*_):
    time.sleep(0.05)
    os.setsid()
signal.signal(signal.SIGTERM, leave)
while True:
    time.sleep(600)
"""

ESCAPES = {
    "timeout(1)": f"timeout 600 {_LONG} & {_BEGUN}; wait",
    "job control": f"set -m; {_LONG} & {_LONG} | {_LONG} & {_BEGUN}; wait",
    "job control in the foreground": f"({_BEGUN}) & set -m; {_LONG}; echo on > next; {_LONG}",
    "setpgid": f"{_SETPGID} & sleep 0.3; {_BEGUN}; wait",
    "an orphan in a group of its own": f"(set -m; {_LONG} &); {_BEGUN}; {_LONG}",
    "setsid": f"setsid {_LONG} & {_BEGUN}; wait",
    "setsid, under a name like a line of /proc": "ln -s $(command -v sleep) ') Z 0 0 ('; "
    f"setsid './) Z 0 0 (' 600 & {_BEGUN}; wait",
    "setsid, waited for": f"({_BEGUN}) & setsid --wait {_LONG}",
    "setsid in setsid in setsid": f"setsid setsid -w setsid -w {_LONG} & "
    f"setsid bash -c 'setsid bash -c \"setsid {_LONG} & wait\" & wait' & {_BEGUN}; wait",
    "all three in each other": "timeout 600 setsid bash -c "
    f"'set -m; timeout 600 bash -c \"set -m; setsid -w {_LONG} & {_LONG} & wait\" & wait' & "
    f"sleep 0.1; {_BEGUN}; wait",
    "a group of its own that ignores TERM": f"set -m; ({_STUBBORN}) & {_BEGUN}; wait",
    "a session of its own that ignores TERM": f"setsid bash -c '{_STUBBORN}' & {_BEGUN}; wait",
    "all ignore TERM": f"trap '' TERM; set -m; {_LONG} & setsid -w {_LONG} & {_BEGUN}; wait",
    "stopped": f"setsid {_LONG} & kill -STOP $!; set -m; {_LONG} & kill -STOP $!; "
    f"{_BEGUN}; {_LONG}",
    "all stopped": f"set -m; (trap '' TERM; {_LONG}) & {_BEGUN}; kill -STOP $! $$; {_LONG}",
    "a child in a new group every 10 ms": _python(_FORKER.format(leave="setpgid(0, 0)"))
    + f" & sleep 0.3; {_BEGUN}; wait",
    "a child in a new session every 10 ms": _python(_FORKER.format(leave="setsid()"))
    + f" & sleep 0.3; {_BEGUN}; wait",
    "another process every 2 ms": f"{_python(_HOPPER)} & sleep 0.3; {_BEGUN}; {_LONG}",
    "twice as many every 50 ms": f"{_python(_BOMB)} & sleep 0.2; echo on > begun; wait",
    "setsid on TERM": f"{_python(_LEAVES_ON_TERM)} & sleep 0.3; {_BEGUN}; {_LONG}",
    "twenty in new groups on TERM": f"{_python(_ON_TERM)} & sleep 0.3; {_BEGUN}; wait",
    "a name that reads like a line of /proc": (
        f"cp $(which sleep) 'a) S 1 1 1 0'; set -m; './a) S 1 1 1 0' 600 & {_BEGUN}; wait"
    ),
}
