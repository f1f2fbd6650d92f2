"""Gemini through the google-genai client; the SDK is imported when the provider is made."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from hookline.errors import HooklineError
from hookline.translate.genai_conversation import GenAIConversation
from hookline.translate.genai_forms import enum_word, field, plain, with_fields

_SUMMARIZE = (
    "Summarize the conversation so far for your own later use: what the user wants, what was done,"
    " what was decided, what is left to do. Keep names, paths and figures exact."
)


class GenAIProvider:
    """A model behind ``google.genai.Client``; requests and responses are the SDK's types."""

    system_role = False

    def __init__(self, model: str, *, client: Any = None) -> None:
        try:
            from google import genai
        except ImportError:
            raise HooklineError(
                "the google-genai package is not installed; pip install 'hookline[genai]'"
            ) from None
        self.model = model
        self.conversation = GenAIConversation("typed")
        self._is_own = client is None
        self._client = genai.Client() if client is None else client

    async def aclose(self) -> None:
        """Close the connections of a client that was made here."""
        if self._is_own:
            await self._client.aio.aclose()
            self._client.close()

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """One call of the model, as the API streams it."""
        chunks = await self._client.aio.models.generate_content_stream(
            model=request.model, contents=request.contents, config=_accepted(request.config)
        )
        async for chunk in chunks:
            yield chunk

    async def summarize(self, contents: Sequence[Any]) -> str:
        """A summary by the model itself."""
        asked = [*contents, self.conversation.text_content("user", _SUMMARIZE)]
        response = await self._client.aio.models.generate_content(model=self.model, contents=asked)
        return self.conversation.text(response)


def _accepted(config: Any) -> Any:
    """The config as the API takes it: names beside AUTO are refused there, and what they mean,
    these functions or a text, is called VALIDATED."""
    tool_config = field(config, "toolConfig")
    calling = field(tool_config, "functionCallingConfig")
    names, mode = field(calling, "allowedFunctionNames"), plain(field(calling, "mode"))
    if not names or (mode or "AUTO").upper() != "AUTO":
        return config
    validated = enum_word("typed", "FunctionCallingConfigMode", "VALIDATED")
    calling = with_fields(calling, {"mode": validated}, form="typed")
    tool_config = with_fields(tool_config, {"functionCallingConfig": calling}, form="typed")
    return with_fields(config, {"toolConfig": tool_config}, form="typed")
