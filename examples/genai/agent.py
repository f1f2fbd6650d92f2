"""A clerk that asks Gemini through google-genai, whose mail and answers go through hooks.

The model is a fake one, which tries to write to a stranger and then tells whom it wrote to.
"""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google import genai

from hookline import Hooks
from hookline.adapters.genai import hooked

HERE = Path(__file__).parent
HTTPX: Any = import_module("httpx" if find_spec("httpx") else "httpx2")


def reply(request: Any) -> Any:
    """First a stranger, then a colleague, then a report."""
    turns = len(json.loads(request.content)["contents"])
    part: dict[str, Any] = {"text": "I wrote to ann@example.org."}
    if turns < 5:
        to = "x@elsewhere.net" if turns == 1 else "ann@example.org"
        part = {"functionCall": {"name": "send_mail", "args": {"to": to, "text": "Hi."}}}
    content = {"role": "model", "parts": [part]}
    return HTTPX.Response(200, json={"candidates": [{"content": content, "finishReason": "STOP"}]})


def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    print(f"sending to {to}: {text}")
    return "sent"


# "hookline trust" would let the hooks run; here the folder is this program's own.
with hooked(
    genai.Client,
    hooks=Hooks.load(HERE, trusted=True),
    api_key="none",
    http_options={"client_args": {"transport": HTTPX.MockTransport(reply)}},
) as client:
    chat = client.chats.create(model="gemini-2.5-flash", config={"tools": [send_mail]})
    print(chat.send_message("Say hello.").text)
