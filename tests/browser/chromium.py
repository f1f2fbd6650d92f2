"""A real browser that looks at one page: headless Chromium, spoken to over its own protocol."""

import contextlib
import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-port=0", "--window-size=1280,860"),
)
# Key -> what else the protocol wants to know of it.
_CODES = {"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40}


class Page:
    """One open page; ``requests`` are what it asked for, ``errors`` what it complained of."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self.requests: list[str] = []
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> Any:
        """Ask the browser something, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=30))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    def open(self, path: Path) -> None:
        self.send("Page.navigate", url=path.as_uri())
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : "
            "window.addEventListener('load', done))"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({selector!r}).innerText"))

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element, as a person does."""
        box = self.evaluate(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        self.drag(box, box)

    def drag(self, start: Sequence[float], end: Sequence[float]) -> None:
        for kind, (x, y) in (
            ("mouseMoved", start),
            ("mousePressed", start),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def press(self, key: str) -> None:
        code = _CODES.get(key, 0)
        text = {} if code else {"text": key}
        for kind in ("keyDown", "keyUp"):
            given = text if kind == "keyDown" else {}
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **given
            )

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def prefer(self, scheme: str) -> None:
        """Light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(b64decode(self.send("Page.captureScreenshot")["data"]))

    def _hear(self, event: dict[str, Any]) -> None:
        given = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif event["method"] == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded":
            self.errors.append(given["entry"]["text"])


def browser() -> str:
    """The path of a Chromium; ``make test-browser`` has installed one."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "there is no Chromium here; make test-browser installs one, or says how"
    return found


@contextlib.contextmanager
def opened(scratch: Path) -> Iterator[Page]:
    """A browser of its own, with nothing remembered, and gone afterwards."""
    home = scratch / "chromium"
    home.mkdir()
    process = subprocess.Popen(
        [browser(), *_OPTIONS, f"--user-data-dir={home}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        address = _address(process.stderr)
        with connect(_page_of(address), max_size=None) as socket:
            page = Page(socket)
            yield page
            page.send("Browser.close")
        process.wait(30)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _address(stderr: Any) -> str:
    for line in stderr:
        _, found, address = line.decode(errors="replace").partition("DevTools listening on ")
        if found:
            return str(address.strip())
    raise AssertionError("Chromium ended before it could be spoken to")


def _page_of(address: str) -> str:
    """The address of the one page there is, asked of the browser itself."""
    with connect(address, max_size=None) as socket:
        socket.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
        while True:
            answer = json.loads(socket.recv(timeout=30))
            if answer.get("id") == 1:
                break
    pages = [t for t in answer["result"]["targetInfos"] if t["type"] == "page"]
    base = address.partition("/devtools/")[0]
    return f"{base}/devtools/page/{pages[0]['targetId']}"
