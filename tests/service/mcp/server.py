"""An MCP server of plain JSON-RPC on its standard streams, for processes that tests start.

Its tools do what their names say; ``--log FILE`` keeps the lines that it is sent.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

TOOLS = (
    *("echo", "exit", "kill", "sleep", "say", "complain", "have_child", "flood", "environment"),
)


def write(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def run_tool(name: str, arguments: dict[str, Any]) -> Any:
    if name == "exit":
        os._exit(arguments["code"])
    if name == "kill":
        os.kill(os.getpid(), arguments["signal"])
    if name == "sleep":
        time.sleep(arguments["seconds"])
    if name == "say":
        os.write(1, arguments["text"].encode("latin-1"))
        if arguments.get("exit"):
            os._exit(0)
    if name == "complain":
        os.write(2, arguments["text"].encode())
    if name == "have_child":
        # One that outlives it, holds its streams and does not heed SIGTERM.
        script = "trap '' TERM; sleep 600 & wait; sleep 600"
        subprocess.Popen(["sh", "-c", script])
    if name == "flood":
        return {"content": [{"type": "text", "text": "x" * arguments["size"]}]}
    if name == "environment":
        return {"content": [{"type": "text", "text": os.environ.get(arguments["name"], "")}]}
    return {"content": [{"type": "text", "text": json.dumps(arguments)}]}


def answer(message: dict[str, Any]) -> Any:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "plain", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {}} for name in TOOLS]}
    if method == "tools/call":
        return run_tool(params["name"], params.get("arguments") or {})
    return {}


def main() -> None:
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    log = sys.argv[sys.argv.index("--log") + 1] if "--log" in sys.argv else os.devnull
    with open(log, "ab", buffering=0) as kept:
        for line in sys.stdin.buffer:
            kept.write(line)
            message = json.loads(line)
            if "method" in message and "id" in message:
                write({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)})
    while "--stubborn" in sys.argv:
        time.sleep(1)


if __name__ == "__main__":
    main()
