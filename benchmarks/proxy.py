"""Measures a call of an MCP server through ``hookline mcp``, compared with a direct call.

Not named after the protocol: run as a script, a module here would hide the package ``mcp``.
"""

import json
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.installed import Environment
from benchmarks.sampling import Group, Measurement, Run, Workload

# Milliseconds that a call may take more if no hook matches.
_MORE = 1
_SERVER = """
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": asked["params"]["arguments"]["text"]}]}
    else:
        result = {"tools": [{"name": "echo"}]}
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def proxied(environment: Environment, scratch: Path, stack: ExitStack) -> Group:
    """One call at a time, from the line of the request to that of its result."""
    server, settings = scratch / "server.py", scratch / "mcp.json"
    server.write_text(_SERVER)
    hook = {"type": "command", "command": "exit 2"}
    settings.write_text(
        json.dumps({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}})
    )
    direct = [str(environment.python), str(server)]
    options = ["--name", "echo", "--settings", str(settings)]
    proxy = [str(environment.hookline), "mcp", *options, "--", *direct]
    return Group(
        200,
        [
            Measurement(
                ours=Workload("hookline mcp, no match", _calling(proxy, scratch, stack)),
                baseline=Workload("the same server directly", _calling(direct, scratch, stack)),
                unit="ms",
                more=_MORE,
            )
        ],
    )


def _calling(argv: list[str], directory: Path, stack: ExitStack) -> Run:
    process = stack.enter_context(
        subprocess.Popen(argv, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    # Close its input before waiting for its end.
    stack.callback(process.stdin.close)
    stdin, stdout = process.stdin, process.stdout
    params = {"name": "echo", "arguments": {"text": "hello"}}

    def run(iterations: int) -> float:
        started = time.perf_counter()
        for number in range(iterations):
            asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            stdin.write(json.dumps(asked).encode() + b"\n")
            stdin.flush()
            if b"hello" not in stdout.readline():
                raise RuntimeError(f"{argv} did not answer")
        return time.perf_counter() - started

    return run
