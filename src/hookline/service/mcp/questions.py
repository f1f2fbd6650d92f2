"""Asks the user a hook's question through the client: with a request as a server sends it, or since
2026-07-28 with a result that wants input, after which the client calls again.

Each question has an id that cannot be guessed, and its answer counts once, for exactly the call it
was about: neither the client nor the server can forge an approval.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from hookline._support.notices import one_line
from hookline.calls.tool import ConfirmationRequest, Deferred, text_of
from hookline.service.mcp.calls import Call
from hookline.service.mcp.messages import CANCELLED, Json, Message, make_message
from hookline.service.mcp.results import INPUT_REQUIRED, Reply

# The name of our question beside those of the server.
CONFIRMATION = "hookline-confirm"
# Questions that wait for the client to call again; the oldest is forgotten, and asked anew.
MOST_QUESTIONS = 1000
_MOST_SHOWN = 2000
_FORM: Json = {"type": "object", "properties": {}}


class InputNeeded(Deferred):
    """The result of the call asks the user; the client then calls again."""

    def __init__(self, request: ConfirmationRequest) -> None:
        self.request = request
        super().__init__(request.reason)


class Resumed(msgspec.Struct, frozen=True):
    """What hooks answered to a call that the client repeats, and whether the user allowed it."""

    answered: Json
    is_allowed: bool


class _Question(msgspec.Struct, frozen=True):
    call: Call
    answered: Json


class Questions:
    """The open questions of one client; ``send`` sends it a message."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._prefix = f"hookline-{secrets.token_hex(16)}-"
        self._numbers = count(1)
        self._open: dict[str, asyncio.Future[Message]] = {}
        self._deferred: OrderedDict[str, _Question] = OrderedDict()
        self._allowed: OrderedDict[str, _Question] = OrderedDict()

    async def ask(self, request: ConfirmationRequest) -> bool:
        """Ask the user with a request; raises RuntimeError if the client answers with an error."""
        id, params = self._make_id(), _describe(request)
        answer = self._open[id] = asyncio.get_running_loop().create_future()
        self._send(make_message(id=id, method="elicitation/create", params=params))
        try:
            response = await answer
        except asyncio.CancelledError:
            params = {"requestId": id, "reason": "the call was cancelled"}
            self._send(make_message(method=CANCELLED, params=params))
            raise
        finally:
            del self._open[id]
        fields = response.fields
        if fields.get("error") is not None:
            raise RuntimeError(f"the client answered {text_of(fields['error'])}")
        return not response.is_doubled and _is_accepted(fields.get("result"))

    def take(self, response: Message) -> bool:
        """Take the answer to a question; return False if it answers something else."""
        if not isinstance(response.id, str) or not response.id.startswith(self._prefix):
            return False
        answer = self._open.get(response.id)
        # The call may have been cancelled in the meantime.
        if answer is not None and not answer.done():
            answer.set_result(response)
        return True

    def defer(self, call: Call, request: ConfirmationRequest) -> Reply:
        """Return a result that asks the user."""
        state = self._make_id()
        answered: Json = {"decision": "ask", "reason": request.reason}
        if request.system_message:
            answered["systemMessage"] = request.system_message
        if request.tool_input is not call.arguments:
            answered["hookSpecificOutput"] = {"tool_input": request.tool_input}
        _remember(self._deferred, state, _Question(call, answered))
        asked = {"method": "elicitation/create", "params": {"mode": "form", **_describe(request)}}
        return Reply(
            {
                "resultType": INPUT_REQUIRED,
                "inputRequests": {CONFIRMATION: asked},
                "requestState": state,
            }
        )

    def allow_again(self, call: Call, state: Any) -> None:
        """Remember that the user allowed a call, for when the client repeats it with the input that
        the server asked for."""
        if call.answered is not None and isinstance(state, str):
            _remember(self._allowed, state, _Question(call, call.answered))

    def resume(self, call: Call) -> Resumed | None:
        """Return the user's answer about a call that the client repeats; None for any other call.
        The server gets the input that the client gave it before."""
        state = call.params.get("requestState")
        if not call.is_modern or not isinstance(state, str):
            return None
        allowed = self._allowed.pop(state, None)
        if allowed is not None:
            return Resumed(allowed.answered, True) if call.says_the_same_as(allowed.call) else None
        if not state.startswith(self._prefix):
            return None
        asked = self._deferred.pop(state, None)
        responses = call.params.get("inputResponses")
        input_keys = ("inputResponses", "requestState")
        call.params = {name: value for name, value in call.params.items() if name not in input_keys}
        if asked is None or not call.says_the_same_as(asked.call):
            return None
        before = asked.call.params
        call.params |= {name: before[name] for name in input_keys if name in before}
        response = responses.get(CONFIRMATION) if isinstance(responses, dict) else None
        return Resumed(asked.answered, _is_accepted(response))

    def _make_id(self) -> str:
        """Return an id that only the client learns: a server that knew it could have the user
        answer a question of its own under it."""
        return f"{self._prefix}{next(self._numbers)}"


def _remember(questions: OrderedDict[str, _Question], state: str, question: _Question) -> None:
    questions[state] = question
    if len(questions) > MOST_QUESTIONS:
        questions.popitem(last=False)


def _describe(request: ConfirmationRequest) -> Json:
    shown = text_of(request.tool_input)
    if len(shown) > _MOST_SHOWN:
        shown = f"{shown[:_MOST_SHOWN]}… (+{len(shown) - _MOST_SHOWN} characters)"
    said = [request.reason, *([request.system_message] if request.system_message else [])]
    # No character of a name or an argument may change how the rest is shown.
    message = "\n".join([*said, "", f"Allow {one_line(f'{request.tool_name} {shown}')}?"])
    return {"message": message, "requestedSchema": _FORM}


def _is_accepted(result: Any) -> bool:
    return isinstance(result, dict) and result.get("action") == "accept"
