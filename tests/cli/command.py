"""The real command in a process of its own: piped, or on a terminal that remembers its screen."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HOOKLINE = (sys.executable, "-m", "hookline")
# The modules of the command line that each verb loads.
EVERY_VERB = frozenset({"failures", "options", "screen"})
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
# A terminal whose other side is closed may drop what nobody has read yet. So that side stays open
# until this has come through it, behind all that the program wrote.
_END = b"\0the end of the output\0"
_TIME = re.compile(r" *\b\d+(\.\d+)? (ms|s)\b")


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def hookline(
    *arguments: str, cwd: Path | None = None, stdin: str | None = None, **environment: str
) -> Done:
    """Run the command with its output piped."""
    done = subprocess.run(
        [*HOOKLINE, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def on_terminal(
    *arguments: str,
    cwd: Path | None = None,
    columns: int = 80,
    typed: bytes = b"",
    look: Callable[[str], object] = lambda _shown: None,
    program: tuple[str, ...] = HOOKLINE,
    **environment: str,
) -> Done:
    """Run the command on a terminal where something is typed; ``out`` is all that it shows.

    ``look`` is called with all that was shown so far, whenever there is more.
    """
    with _terminal(columns) as (master, slave):
        process = subprocess.Popen(
            [*program, *arguments],
            cwd=cwd,
            env=os.environ | {"TERM": "xterm-256color"} | environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )

        def mark_end() -> None:
            process.wait()
            os.write(slave, _END)

        marking = threading.Thread(target=mark_end)
        marking.start()
        written = b""
        try:
            os.write(master, typed)
            while not written.endswith(_END):
                written += os.read(master, 65536)
                look(written.removesuffix(_END).decode(errors="ignore"))
        finally:
            process.kill()
            marking.join()
    shown = written.removesuffix(_END).decode().replace("\r\n", "\n")
    return Done(process.returncode, shown, "")


def read_rest(master: int, slave: int) -> bytes:
    """Read what a terminal still has from programs that have ended."""
    os.write(slave, _END)
    shown = b""
    while not shown.endswith(_END):
        shown += os.read(master, 65536)
    return shown.removesuffix(_END)


@contextlib.contextmanager
def _terminal(columns: int) -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    try:
        yield master, slave
    finally:
        os.close(slave)
        os.close(master)


def timeless(text: str) -> str:
    """The text with durations, and the blanks that set them, in one form."""
    return _TIME.sub(" 0 ms", text)


def left_on_screen(text: str) -> str:
    """A terminal's lines without what was written over, as while a hook takes its time."""
    return "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))


def command_hook(command: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **fields}


def settings(event: str, *hooks: dict[str, Any], matcher: str | None = None) -> dict[str, Any]:
    """Settings with one definition of one event."""
    definition: dict[str, Any] = {"hooks": list(hooks)}
    if matcher is not None:
        definition["matcher"] = matcher
    return {"hooks": {event: [definition]}}


def answer(**fields: Any) -> str:
    """A command that prints an answer."""
    return f"cat > /dev/null; printf '%s' '{json.dumps(fields)}'"
