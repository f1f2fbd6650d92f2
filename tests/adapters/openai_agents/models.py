"""The SDK's scripted model, which tells its texts in pieces, as models do."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agents.testing import ScriptedModel

_PIECE = 6


class TalkingModel(ScriptedModel):
    async def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        stream: Any = super().stream_response(*args, **options)
        async with aclosing(stream):
            async for event in stream:
                if event.type != "response.output_text.delta":
                    yield event
                    continue
                for at in range(0, len(event.delta), _PIECE):
                    yield event.model_copy(update={"delta": event.delta[at : at + _PIECE]})
