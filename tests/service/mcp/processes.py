"""The real ``hookline mcp`` in a process of its own, and a client that talks to it over pipes."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")
SECONDS = 30


class Client:
    """A client that started the proxy."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: Path) -> None:
        self.process = process
        self._errors = errors
        self._buffer = b""

    @property
    def said(self) -> str:
        """What is on standard error by now."""
        return self._errors.read_text(errors="replace")

    def wait_until_said(self, text: str) -> None:
        deadline = time.monotonic() + SECONDS
        while text not in self.said:
            assert time.monotonic() < deadline, f"it did not say {text!r}: {self.said}"
            time.sleep(0.01)

    def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive_raw(self) -> bytes:
        assert self.process.stdout is not None
        out = self.process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([out], [], [], SECONDS)
            data = os.read(out, 1 << 20) if ready else b""
            assert data, f"no message came: {self.said}"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def receive(self) -> Any:
        return json.loads(self.receive_raw())

    def call(self, id: Any, tool: str, **arguments: Any) -> Any:
        """The answer to a call."""
        self.send_call(id, tool, **arguments)
        return self.receive()

    def send_call(self, id: Any, tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def initialize(self) -> Any:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        return self.receive()

    def leave(self) -> int:
        """Close its input; the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        return self.process.wait(SECONDS)


@contextmanager
def proxy(
    cwd: Path,
    *options: str,
    server: tuple[str, ...] = (sys.executable, str(SERVER)),
    trust: str = "--trust",
    name: str | None = "plain",
    **env: str,
) -> Iterator[Client]:
    """A proxy with the hooks of a directory, and its client."""
    errors = cwd / f"stderr-{time.monotonic_ns()}.log"
    named = () if name is None or "--name" in options else ("--name", name)
    command = [sys.executable, "-m", "hookline", "mcp", trust, *named, *options, "--", *server]
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    client = Client(process, errors)
    try:
        yield client
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
