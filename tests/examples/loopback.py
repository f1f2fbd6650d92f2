"""A web service on loopback that answers as a test says, and keeps what it was sent."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class WebService:
    """Answers each POST with the JSON that ``answer`` gives for it; ``bodies`` are those sent."""

    def __init__(self, answer: Callable[[Any], Any], *, status: int = 200) -> None:
        self.bodies: list[Any] = []
        self._answer = answer
        self._status = status
        self.closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.respond(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Joined when the service closes: a test leaves no thread behind.
        self._server.daemon_threads = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @classmethod
    def hanging(cls) -> "WebService":
        """A service that takes requests and never answers."""
        service = cls(lambda _body: service.closing.wait())
        return service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> "WebService":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["Content-Length"])
        body = json.loads(request.rfile.read(length))
        self.bodies.append(body)
        answer = json.dumps(self._answer(body)).encode()
        if self.closing.is_set():
            return
        request.send_response(self._status)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)
