"""The real client of the Responses API, with requests that never leave the process."""

import json
from typing import Any

import httpx2 as httpx
import pytest
from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from hookline import Hooks, add_context, ask, deny
from hookline.adapters.openai_agents import hooked
from tests.adapters.openai_agents.playing import PLAYS

SECRET = "swordfish"


def message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "pay",
    "status": "completed",
    "arguments": '{"to":"ann"}',
}


class Server:
    """Answers requests one after the other; ``requests`` is what it was sent."""

    def __init__(self, *outputs: dict[str, Any]) -> None:
        self._outputs = iter(outputs)
        self.requests: list[dict[str, Any]] = []
        transport = httpx.MockTransport(self._answer)
        self.client = AsyncOpenAI(
            api_key="none",
            base_url="http://127.0.0.1:9/v1",
            http_client=httpx.AsyncClient(transport=transport),
        )
        provider = OpenAIProvider(openai_client=self.client)
        self.config = RunConfig(model_provider=provider)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        self.requests.append(asked)
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "model": "gpt-4.1",
            "status": "completed",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "output": [next(self._outputs)],
        }
        if not asked.get("stream"):
            return httpx.Response(200, json=response)
        event = {"type": "response.completed", "sequence_number": 0, "response": response}
        text = f"event: response.completed\ndata: {json.dumps(event)}\n\n"
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


@function_tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@pytest.mark.parametrize("way", ["run", "run_streamed"])
async def test_what_hooks_put_into_a_conversation_is_what_the_api_takes(way: str) -> None:
    hooks, play = Hooks(), PLAYS[way]
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    hooks.on("BeforeAgent")(lambda _event: add_context("today is Monday"))
    hooks.on("AfterModel")(
        lambda event: deny("no passwords") if SECRET in str(event["llm_response"]) else None
    )
    server = Server(message(f"It is {SECRET}."), CALL, message("Paid."))
    agent = hooked(Agent(name="clerk", model="gpt-4.1", tools=[pay]), hooks)
    played = await play(agent, "Tell.", run_config=server.config)
    assert played.output == "no passwords"
    again = [*played.result.to_input_list(), {"role": "user", "content": "Pay."}]
    played = await play(agent, again, run_config=server.config)
    state = played.result.to_state()
    state.approve(played.result.interruptions[0])
    played = await play(agent, state, run_config=server.config)
    assert played.output == "Paid."
    first, second, third = (request["input"] for request in server.requests)
    assert [item["content"] for item in first] == ["Tell.", "today is Monday"]
    ids = {item.get("id") for item in [*second, *third]}
    assert ids <= {None, "fc_1"}
    assert "hookline" not in json.dumps(third)
    assert SECRET not in json.dumps(third)
    assert third[-1]["output"] == "paid ann"
    await server.client.close()


async def test_tools_that_hooks_forbid_are_not_in_the_request() -> None:
    hooks = Hooks()
    chosen = {"toolConfig": {"mode": "NONE"}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    server = Server(message("Fine."))
    agent = hooked(Agent(name="clerk", model="gpt-4.1", tools=[pay]), hooks)
    assert (await Runner.run(agent, "Hi.", run_config=server.config)).final_output == "Fine."
    assert not server.requests[0].get("tools")
    assert "tool_choice" not in server.requests[0]
    await server.client.close()
