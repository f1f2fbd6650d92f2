"""Each system message that is to be displayed reaches the user, once, from every event."""

from typing import Any

import pytest

from hookline.agent.providers.scripted import call
from hookline.wire.events import HookEventName
from tests.agent.scripts import Bench, hooks, say

CALL = [call("note", text="one")]


def messages_on(*events: HookEventName, **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for event in events or tuple(HookEventName):
        settings |= hooks(event.value, say({"systemMessage": f"{event.value} says", **more}))
    return settings


async def test_the_messages_of_all_events_reach_the_user_in_order() -> None:
    heard: list[str] = []
    settings = messages_on()
    ask = {"decision": "ask", "reason": "sure?", "systemMessage": "BeforeTool says"}
    settings |= hooks("BeforeTool", say(ask))
    bench = Bench(settings, [CALL, "ok"], notify=heard.append, confirm=lambda _: True)
    async with bench.agent as agent:
        await agent.run("go")
        await agent.compress()
    assert {message.removesuffix(" says") for message in heard} == set(HookEventName)
    assert heard[:7] == [
        f"{event} says"
        for event in (
            *("SessionStart", "BeforeAgent", "BeforeToolSelection", "BeforeModel", "AfterModel"),
            *("BeforeTool", "Notification"),
        )
    ]
    assert heard[-1] == "SessionEnd says"


async def test_a_suppressed_message_does_not_reach_the_user_but_the_model() -> None:
    heard: list[str] = []
    events = (HookEventName.AFTER_TOOL, HookEventName.BEFORE_AGENT)
    bench = Bench(messages_on(*events, suppressOutput=True), [CALL, "ok"], notify=heard.append)
    await bench.run()
    assert heard == []
    assert "[System] AfterTool says" in bench.sent()


async def test_a_message_beside_a_block_or_a_stop_reaches_the_user() -> None:
    heard: list[str] = []
    stop = {"continue": False, "stopReason": "enough", "systemMessage": "stopped"}
    deny = {"decision": "deny", "reason": "no", "systemMessage": "denied"}
    settings = hooks("BeforeTool", say(deny)) | hooks("AfterModel", "exit 0")
    bench = Bench(settings | hooks("AfterAgent", say(stop)), [CALL, "ok"], notify=heard.append)
    await bench.run()
    assert heard == ["denied", "stopped"]


async def test_a_callback_may_be_awaited() -> None:
    heard: list[str] = []

    async def notify(message: str) -> None:
        heard.append(message)

    bench = Bench(messages_on(HookEventName.BEFORE_AGENT), ["ok"], notify=notify)
    await bench.run()
    assert heard == ["BeforeAgent says"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_callback_that_raises_is_warned_of_and_the_agent_goes_on(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def notify(message: str) -> None:
        raise OSError(f"no screen for {message}")

    async def notify_later(message: str) -> None:
        notify(message)

    bench = Bench(messages_on(), [CALL, "ok"], notify=notify_later if is_async else notify)
    result = await bench.run()
    assert result.text == "ok"
    assert bench.notes == [{"text": "one"}]
    assert "the notify callback raised: OSError: no screen for AfterTool says" in caplog.text


async def test_without_messages_nobody_is_told_anything() -> None:
    heard: list[str] = []
    settings = hooks("BeforeTool", say({"decision": "allow"})) | hooks("AfterTool", "exit 1")
    await Bench(settings, [CALL, "ok"], notify=heard.append).run()
    assert heard == []
