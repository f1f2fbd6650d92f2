"""A server on loopback that speaks chat completions and Anthropic's messages, and keeps what it
got; and answers in the form of both."""

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


class ModelServer:
    """Answers calls with the replies it was given, in order; ``bodies`` has what clients sent.

    A reply is the JSON of a plain answer, a list of the events of a streamed one, or a status
    with the JSON of an error. Among the events ``break`` cuts the connection, and ``wait`` says
    no more until the client is gone (``left`` is set then).
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.waiting = threading.Event()
        self.left = threading.Event()
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._answer(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.02))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["Content-Length"])
        self.bodies.append(json.loads(request.rfile.read(length)))
        self.paths.append(request.path)
        reply = self.replies.pop(0)
        if isinstance(reply, list):
            assert self.bodies[-1]["stream"] is True
            try:
                self._stream(request, reply)
            except OSError:
                self.left.set()
                request.close_connection = True
            return
        status, document = reply if isinstance(reply, tuple) else (200, reply)
        body = json.dumps(document).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _stream(self, request: BaseHTTPRequestHandler, events: Sequence[Any]) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

        def write(data: bytes) -> None:
            request.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            request.wfile.flush()

        for event in events:
            if event == "break":
                request.close_connection = True
                return
            if event == "wait":
                self.waiting.set()
                while not self._closing.wait(0.02):
                    write(b": still here\n\n")
                return
            text = event if isinstance(event, str) else json.dumps(event)
            named = f"event: {event['type']}\n" if "/messages" in request.path else ""
            write(f"{named}data: {text}\n\n".encode())
        request.wfile.write(b"0\r\n\r\n")

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def completion(*deltas: dict[str, Any], finish: str | None = "stop") -> list[Any]:
    """A streamed chat completion of one choice; without ``finish`` it never ends its answer."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    # The role in each chunk, as many servers have it.
    said = [chunk({"role": "assistant", **delta}) for delta in deltas]
    if finish is None:
        return [*said, "[DONE]"]
    return [*said, chunk({}, finish), {**head, "choices": [], "usage": USAGE}, "[DONE]"]


def plain_completion(**message: Any) -> dict[str, Any]:
    """A chat completion that is not streamed."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test"}
    return {**head, "choices": [choice], "usage": USAGE}


def calling(place: int, *fragments: str, id: str, name: str) -> list[dict[str, Any]]:
    """The deltas of one tool call, its arguments in fragments."""
    first = {"index": place, "id": id, "type": "function"}
    first["function"] = {"name": name, "arguments": ""}
    rest = [{"index": place, "function": {"arguments": text}} for text in fragments]
    return [{"tool_calls": [delta]} for delta in (first, *rest)]


def message(*blocks: dict[str, Any], stop: str | None = "end_turn") -> list[Any]:
    """A streamed message of Anthropic's; a text is streamed in two halves, and a tool's input byte
    by byte. Without ``stop`` it never ends."""
    events: list[Any] = [{"type": "message_start", "message": plain_message(stop=None)}]
    for place, block in enumerate(blocks):
        start, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": place, "content_block": start})
        events += [
            {"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": place})
    if stop is None:
        return events
    ended = {"stop_reason": stop, "stop_sequence": None}
    return [
        *events,
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


def plain_message(*blocks: dict[str, Any], stop: str | None = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's that is not streamed."""
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-test"}
    usage = {"input_tokens": 5, "output_tokens": 2}
    ended = {"stop_reason": stop, "stop_sequence": None}
    return {**head, "content": list(blocks), **ended, "usage": usage}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool_use(id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            half = len(block["text"]) // 2
            halves = block["text"][:half], block["text"][half:]
            return {**block, "text": ""}, [{"type": "text_delta", "text": t} for t in halves if t]
        case "tool_use":
            written = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in written]
            return {**block, "input": {}}, deltas
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signature]
    return block, []
