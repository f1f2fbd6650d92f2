"""A model's server on loopback: it answers as a test says, streamed or not, and keeps what it was
sent."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelService:
    """``answer(body)`` gives the JSON of a response, or the list of a stream's events; None in it
    breaks the connection off. ``bodies`` are the requests, ``left`` is set when a client closed a
    stream before it had ended."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.bodies: list[Any] = []
        self.left = threading.Event()
        self.go_on = threading.Event()
        self._answer = answer
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.bodies.append(body)
                answer = service._answer(body)
                if isinstance(answer, list):
                    service._stream(self, answer)
                else:
                    service._reply(self, answer)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Joined when the service closes: a test leaves no thread behind.
        self._server.daemon_threads = False
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "ModelService":
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _reply(self, request: BaseHTTPRequestHandler, answer: Any) -> None:
        data = json.dumps(answer).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _stream(self, request: BaseHTTPRequestHandler, events: list[Any]) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.close_connection = True

        def send(text: str) -> None:
            data = text.encode()
            request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            request.wfile.flush()

        try:
            for event in events:
                if event is None:
                    return
                if event == "wait":
                    # Until the client closes: writing fails once it has.
                    while not self.go_on.wait(0.01):
                        send(": still here\n\n")
                    continue
                named = f"event: {event['type']}\n" if "type" in event else ""
                send(f"{named}data: {json.dumps(event)}\n\n")
            if "choices" in events[0]:
                send("data: [DONE]\n\n")
            request.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.left.set()
