"""A model's server on loopback that answers by what it is asked."""

from collections.abc import Callable
from typing import Any

from tests.harness.loopback import LoopbackServer


class ModelService(LoopbackServer):
    """``answer(body)`` is the answer to a request; a stream of chat completions has its last line
    from here."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__()
        self._answer = answer

    def answer(self, body: Any, path: str) -> Any:  # noqa: ARG002 - the body tells
        answer = self._answer(body)
        is_chat = isinstance(answer, list) and "choices" in answer[0]
        return [*answer, "[DONE]"] if is_chat else answer
