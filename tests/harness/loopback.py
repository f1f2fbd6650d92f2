"""A model's server on loopback: it answers as a test says, streamed or not, and keeps what clients
sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

S = TypeVar("S", bound="LoopbackServer")


class LoopbackServer:
    """``bodies`` and ``paths`` are of the requests, in order.

    What ``answer`` gives is the JSON of a response, a status with the JSON of an error, or the list
    of a stream's events. Among the events ``break`` cuts the connection, and ``wait`` says no more
    (``waiting`` is set) until the client is gone (``left`` is set) or the server closes.
    """

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.waiting = threading.Event()
        self.left = threading.Event()
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.serve(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Joined when the server closes: a test leaves no thread behind.
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(0.02))

    def answer(self, body: Any, path: str) -> Any:
        """What to answer to a request."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self: S) -> S:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.bodies.append(body)
        self.paths.append(request.path)
        answer = self.answer(body, request.path)
        if isinstance(answer, list):
            try:
                self._stream(request, answer)
            except OSError:
                self.left.set()
                request.close_connection = True
            return
        status, document = answer if isinstance(answer, tuple) else (200, answer)
        data = json.dumps(document).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _stream(self, request: BaseHTTPRequestHandler, events: list[Any]) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

        def write(text: str) -> None:
            data = text.encode()
            request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            request.wfile.flush()

        for event in events:
            if event == "break":
                request.close_connection = True
                return
            if event == "wait":
                self.waiting.set()
                # Writing fails once the client has gone.
                while not self._closing.wait(0.01):
                    write(": still here\n\n")
                return
            named = (
                f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            )
            text = event if isinstance(event, str) else json.dumps(event)
            write(f"{named}data: {text}\n\n")
        request.wfile.write(b"0\r\n\r\n")
