"""A model that says what it is told to, for an agent that runs with no key: Claude's Messages API
on loopback."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Block = dict[str, Any]


def say(text: str) -> Block:
    """The model says something."""
    return {"type": "text", "text": text}


def call(name: str, **given: Any) -> Block:
    """The model calls a tool."""
    return {"type": "tool_use", "id": f"toolu_{id(given)}", "name": name, "input": given}


@contextmanager
def serve(*replies: Block) -> Iterator[dict[str, str]]:
    """The environment in which Claude Code gets these replies, one after the other."""
    left = iter(replies)

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in stream(next(left, say("Nothing.")), request["model"]):
                text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def stream(block: Block, model: str) -> Iterator[Block]:
    """A reply as the API streams it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": model}
    yield {"type": "message_start", "message": {**message, "content": [], "usage": usage}}
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if block["type"] == "text" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}
