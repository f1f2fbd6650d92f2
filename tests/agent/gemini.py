"""A server on loopback that speaks the Gemini API, plain and streamed, and keeps what it got."""

from collections.abc import Sequence
from typing import Any

from google import genai
from google.genai import types

from tests.harness.loopback import LoopbackServer


class GeminiServer(LoopbackServer):
    """Answers calls with the replies it was given, in order.

    A reply is a list of chunks, each a list of parts; the string ``break`` in place of a chunk
    cuts the connection there.
    """

    def __init__(self, replies: Sequence[Sequence[Any]]) -> None:
        super().__init__()
        self.replies = [list(reply) for reply in replies]

    def client(self) -> genai.Client:
        """A real client whose calls come here."""
        return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=self.url))

    def answer(self, body: Any, path: str) -> Any:  # noqa: ARG002 - replies come in order
        chunks = self.replies.pop(0)
        if "streamGenerateContent" not in path:
            return _response([part for chunk in chunks for part in chunk], last=True)
        return [
            chunk if chunk == "break" else _response(chunk, last=number == len(chunks))
            for number, chunk in enumerate(chunks, start=1)
        ]


def _response(parts: Sequence[Any], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": {"totalTokenCount": 3}}
