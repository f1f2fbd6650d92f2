"""Measures an event with one http hook, compared with the same request of the bare client.

Not named after the protocol: run as a script, a module here would hide the package ``http``.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from benchmarks import fixtures
from benchmarks.sampling import Group, Loop, Measurement, Workload, awaiting
from hookline import Hooks
from hookline.wire import codec

_TARGET = 2.0
# In a process of its own, as a hook's server is.
_SERVER = r"""
import os, re, socket, sys, threading

def serve(connection):
    body = b'{"decision": "allow"}'
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    received = b""
    while piece := connection.recv(65536):
        received += piece
        head, _, rest = received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length and len(rest) >= int(length[1]):
            received = b""
            connection.sendall(answer)

def end_with_parent():
    sys.stdin.read()
    os._exit(0)

threading.Thread(target=end_with_parent, daemon=True).start()
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
"""


@contextmanager
def posting(loop: Loop) -> Iterator[Group]:
    """Run a server, and yield the group that posts to it."""
    argv = [sys.executable, "-c", _SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/"
        client = httpx.AsyncClient(trust_env=False)
        hook = {"type": "http", "url": url}
        hooks = Hooks(user_hooks={"BeforeTool": [{"hooks": [hook]}]})
        body = codec.encode(fixtures.event(fixtures.TOOL_INPUT))

        async def post() -> None:
            response = await client.post(
                url, content=body, headers={"content-type": "application/json"}
            )
            if response.json()["decision"] != "allow":
                raise RuntimeError("the server did not answer")

        async def fire() -> None:
            answer = await hooks.before_tool(fixtures.TOOL_NAME, fixtures.TOOL_INPUT)
            if answer.word == "failed":
                raise RuntimeError("the hook did not answer")

        try:
            yield Group(
                100,
                [
                    Measurement(
                        ours=Workload("one http hook on loopback", awaiting(loop, fire)),
                        baseline=Workload(
                            "the bare client's request, without hookline", awaiting(loop, post)
                        ),
                        target=_TARGET,
                    )
                ],
            )
        finally:
            server.kill()
            hooks.close()
            loop.run(client.aclose())
