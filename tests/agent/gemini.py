"""A server on loopback that speaks the Gemini API, plain and streamed, and keeps what it got."""

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google import genai
from google.genai import types


class GeminiServer:
    """Answers calls with the replies it was given, in order; ``bodies`` has what clients sent.

    A reply is a list of chunks, each a list of parts; the string ``break`` in place of a chunk
    cuts the connection there.
    """

    def __init__(self, replies: Sequence[Sequence[Any]]) -> None:
        self.replies = [list(reply) for reply in replies]
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
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

    def client(self) -> genai.Client:
        """A real client whose calls come here."""
        address = f"http://127.0.0.1:{self._server.server_port}"
        return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=address))

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["Content-Length"])
        self.bodies.append(json.loads(request.rfile.read(length)))
        self.paths.append(request.path)
        chunks = self.replies.pop(0)
        if "streamGenerateContent" in request.path:
            self._stream(request, chunks)
        else:
            parts = [part for chunk in chunks for part in chunk]
            body = json.dumps(_response(parts, last=True)).encode()
            request.send_response(200)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

    def _stream(self, request: BaseHTTPRequestHandler, chunks: Sequence[Any]) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        for number, chunk in enumerate(chunks, start=1):
            if chunk == "break":
                request.close_connection = True
                return
            data = b"data: " + json.dumps(_response(chunk, last=number == len(chunks))).encode()
            data += b"\r\n\r\n"
            request.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            request.wfile.flush()
        request.wfile.write(b"0\r\n\r\n")

    def __enter__(self) -> "GeminiServer":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _response(parts: Sequence[Any], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": {"totalTokenCount": 3}}
