"""What each trigger hands back, and that none of them ever raises."""

import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline import Config, contract
from hookline.contract import ToolResult, execute_tool_with_hooks
from hookline.errors import HooklineError
from hookline.settings.reader import SettingsReader
from tests.agent.scripts import hooks, say, specific

TOOLS = [{"functionDeclarations": [{"name": "a"}]}]
REQUEST = {"model": "m", "contents": "q", "config": {"tools": TOOLS}}
RESPONSE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]}

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "fire_before_tool_hook": ("t", {}),
    "fire_after_tool_hook": ("t", {}, {"llmContent": "x"}),
    "fire_before_model_hook": (REQUEST,),
    "fire_after_model_hook": (REQUEST, RESPONSE),
    "fire_before_tool_selection_hook": (REQUEST,),
    "fire_before_agent_hook": ("p",),
    "fire_after_agent_hook": ("p", "r"),
    "fire_session_start_hook": ("startup",),
    "fire_session_end_hook": ("exit",),
    "fire_pre_compress_hook": ("auto",),
    "fire_notification_hook": ("m",),
    "fire_tool_notification_hook": ({"type": "exec", "title": "t"},),
    "fire_claude_event": ("SubagentStart", {"agent_id": "a", "agent_type": "t"}),
}
DEFAULTS: dict[str, msgspec.Struct] = {
    "fire_before_model_hook": contract.BeforeModelHookResult(),
    "fire_after_model_hook": contract.AfterModelHookResult(RESPONSE),
    "fire_before_tool_selection_hook": contract.BeforeToolSelectionHookResult(),
}


# What hooks read of each of them: the event, and its own fields.
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "fire_before_tool_hook": ("BeforeTool", {"tool_name": "t", "tool_input": {}}),
    "fire_after_tool_hook": ("AfterTool", {"tool_name": "t", "tool_response": {"llmContent": "x"}}),
    "fire_before_agent_hook": ("BeforeAgent", {"prompt": "p"}),
    "fire_after_agent_hook": (
        "AfterAgent",
        {"prompt": "p", "prompt_response": "r", "stop_hook_active": False},
    ),
    "fire_session_start_hook": ("SessionStart", {"source": "startup"}),
    "fire_session_end_hook": ("SessionEnd", {"reason": "exit"}),
    "fire_pre_compress_hook": ("PreCompress", {"trigger": "auto"}),
    "fire_notification_hook": ("Notification", {"message": "m"}),
    "fire_tool_notification_hook": (
        "Notification",
        {
            "message": "Tool t requires execution",
            "notification_type": "ToolPermission",
            "details": {"type": "exec", "title": "t"},
        },
    ),
}


def test_the_safe_defaults_neither_block_nor_stop_nor_change_anything() -> None:
    unchanged = {"blocked": False, "reason": None, "should_stop": False, "system_message": None}
    defaults = {name: msgspec.structs.asdict(default) for name, default in DEFAULTS.items()}
    assert defaults == {
        "fire_before_model_hook": {
            **unchanged,
            "synthetic_response": None,
            "modified_request": None,
        },
        "fire_after_model_hook": {
            **unchanged,
            "response": RESPONSE,
            "stop_reason": None,
            "suppress_output": False,
        },
        "fire_before_tool_selection_hook": {
            "tool_config": None,
            "tools": None,
            "should_stop": False,
            "stop_reason": None,
        },
    }


def test_every_trigger_is_tried_here() -> None:
    fired = {name for name in vars(contract) if name.startswith("fire_")}
    assert fired == ARGUMENTS.keys()


@pytest.mark.parametrize("name", ARGUMENTS)
async def test_disabled_hooks_give_the_safe_default(name: str) -> None:
    config = Config(enable_hooks=False)
    assert await getattr(contract, name)(config, *ARGUMENTS[name]) == DEFAULTS.get(name)


@pytest.mark.requirement("GUAR-2", "INV-5")
@pytest.mark.parametrize("name", ARGUMENTS)
async def test_a_broken_engine_gives_the_safe_default_and_is_logged(
    name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_reader: SettingsReader) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(SettingsReader, "read", fail)
    config = Config.load(tmp_path)
    assert await getattr(contract, name)(config, *ARGUMENTS[name]) == DEFAULTS.get(name)
    assert "no disk" in caplog.text


@pytest.mark.parametrize("name", READ)
async def test_a_trigger_fires_its_event_and_hands_back_what_hooks_answer(name: str) -> None:
    config, read = Config(), []
    event, fields = READ[name]

    def hook(document: dict[str, Any]) -> dict[str, Any]:
        read.append(document)
        return {"systemMessage": "noted"}

    config.register_hook(event, hook)
    output = await getattr(contract, name)(config, *ARGUMENTS[name])
    assert output.system_message == "noted"
    assert read[0].items() >= fields.items()


async def test_a_trigger_passes_on_what_it_is_told_besides() -> None:
    config = Config()
    read: list[dict[str, Any]] = []
    for event in ("BeforeTool", "AfterTool", "AfterAgent", "Notification"):
        config.register_hook(event, read.append)
    names: dict[str, Any] = {"mcp_context": {"server_name": "s"}, "original_request_name": "first"}
    given: dict[str, Any] = {**names, "original_tool_input": {"a": 1}}
    more: dict[str, Any] = {"notification_type": "n", "level": "high", "details": {"a": 1}}
    await contract.fire_before_tool_hook(config, "t", {}, **names)
    await contract.fire_after_tool_hook(config, "t", {}, {}, **given)
    await contract.fire_after_agent_hook(config, "p", "r", True)
    await contract.fire_notification_hook(config, "m", **more)
    for document, fields in zip(
        read, [names, given, {"stop_hook_active": True}, more], strict=True
    ):
        assert document.items() >= fields.items()


def test_the_root_of_a_command_is_its_first_word() -> None:
    told = {"command": " rm -rf x", "rootCommand": "rm"}
    assert contract.describe_command(" rm -rf x") == told
    assert contract.describe_command(" ") == {"command": " ", "rootCommand": ""}


@pytest.mark.requirement("INV-2")
async def test_triggers_share_one_system_and_build_no_part_of_the_engine() -> None:
    config = Config(hooks=hooks("BeforeTool", "true"))
    await contract.fire_before_tool_hook(config, "t", {})
    system = config.get_hook_system()
    assert system is not None
    registry = system.get_registry()
    await contract.fire_after_tool_hook(config, "t", {}, {})
    assert config.get_hook_system() is system
    assert system.get_registry() is registry
    source = inspect.getsource(contract)
    assert not any(part in source for part in ("HookRegistry(", "HookPlanner(", "HookRunner("))


@pytest.mark.requirement("INV-4", "DELTA-HAPP-002")
async def test_before_model_says_block_reason_and_stop() -> None:
    config = Config(hooks=hooks("BeforeModel", say({"continue": False, "stopReason": "enough"})))
    result = await contract.fire_before_model_hook(config, REQUEST)
    assert (result.blocked, result.should_stop, result.reason) == (True, True, "enough")


async def test_before_model_hands_back_the_very_request_when_nothing_changed() -> None:
    config = Config(hooks=hooks("BeforeModel", say({"systemMessage": "m"})))
    result = await contract.fire_before_model_hook(config, REQUEST)
    assert result.modified_request is REQUEST
    assert result.system_message == "m"


async def test_before_model_hands_back_a_response_in_the_models_place() -> None:
    config = Config(hooks=hooks("BeforeModel", specific(llm_response={"text": "cached"})))
    result = await contract.fire_before_model_hook(config, REQUEST)
    assert (result.blocked, result.should_stop) == (True, False)
    assert result.synthetic_response["candidates"][0]["content"]["parts"] == [{"text": "cached"}]
    config = Config(hooks=hooks("BeforeModel", say({"decision": "deny", "systemMessage": "m"})))
    denied = await contract.fire_before_model_hook(config, REQUEST)
    assert (denied.synthetic_response, denied.reason) == (None, "No reason provided")
    assert denied.system_message == "m"


async def test_after_model_says_stop_message_and_suppression() -> None:
    said = {"continue": False, "stopReason": "enough", "systemMessage": "m", "suppressOutput": True}
    config = Config(hooks=hooks("AfterModel", say(said)))
    result = await contract.fire_after_model_hook(config, REQUEST, RESPONSE)
    assert (result.blocked, result.reason) == (False, None)
    assert (result.should_stop, result.stop_reason) == (True, "enough")
    assert (result.system_message, result.suppress_output) == ("m", True)
    assert result.response is RESPONSE
    config = Config(hooks=hooks("AfterModel", say({"systemMessage": "m"})))
    result = await contract.fire_after_model_hook(config, REQUEST, RESPONSE)
    assert result == contract.AfterModelHookResult(RESPONSE, system_message="m")


async def test_tool_selection_says_stop_and_why() -> None:
    stop = {"continue": False, "stopReason": "enough"}
    config = Config(hooks=hooks("BeforeToolSelection", say(stop)))
    result = await contract.fire_before_tool_selection_hook(config, REQUEST)
    assert (result.should_stop, result.stop_reason) == (True, "enough")
    config = Config(hooks=hooks("BeforeToolSelection", say({"suppressOutput": True})))
    result = await contract.fire_before_tool_selection_hook(config, REQUEST)
    assert (result.should_stop, result.stop_reason) == (False, None)


async def test_after_model_block_leaves_a_response_that_carries_the_reason() -> None:
    config = Config(hooks=hooks("AfterModel", say({"decision": "deny", "reason": "rude"})))
    result = await contract.fire_after_model_hook(config, REQUEST, RESPONSE)
    assert (result.blocked, result.reason) == (True, "rude")
    assert result.response["candidates"][0]["content"]["parts"] == [{"text": "rude"}]


async def test_tool_selection_keeps_the_declarations_and_restricts_the_names() -> None:
    config = Config(
        hooks=hooks("BeforeToolSelection", specific(toolConfig={"allowedFunctionNames": ["a"]}))
    )
    result = await contract.fire_before_tool_selection_hook(config, REQUEST)
    assert result.tools is TOOLS
    calling = result.tool_config["functionCallingConfig"]
    assert calling == {"mode": "AUTO", "allowedFunctionNames": ["a"]}


async def test_without_hooks_the_tools_result_is_returned_as_it_is() -> None:
    result = ToolResult("x", metadata={"n": 1})
    config = Config(enable_hooks=False)
    assert await execute_tool_with_hooks(config, "t", {}, lambda _given: result) is result


async def test_an_exception_of_the_tool_is_the_tools_own() -> None:
    def broken(_given: dict[str, Any]) -> str:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await execute_tool_with_hooks(Config(hooks=hooks("AfterTool", "true")), "t", {}, broken)


async def test_where_nobody_can_be_asked_an_ask_is_a_block() -> None:
    config = Config(hooks=hooks("BeforeTool", say({"decision": "ask", "reason": "sure?"})))
    result = await execute_tool_with_hooks(config, "t", {}, lambda _given: "ran")
    assert result.llm_content == "sure? (nobody can be asked to confirm it)"
    assert result.error is not None


async def test_a_question_that_fails_is_not_a_yes() -> None:
    def confirm(_request: object) -> bool:
        raise HooklineError("no terminal")

    config = Config(hooks=hooks("BeforeTool", say({"decision": "ask", "reason": "sure?"})))
    result = await execute_tool_with_hooks(config, "t", {}, lambda _given: "ran", confirm=confirm)
    assert result.error is not None
    assert "sure?" in str(result.llm_content)


async def test_tool_selection_hands_back_no_name_that_the_request_does_not_declare() -> None:
    names = ["a", "undeclared"]
    for declared, left in ((REQUEST, ["a"]), ({"model": "m", "contents": "q"}, [])):
        narrow = specific(toolConfig={"mode": "ANY", "allowedFunctionNames": names})
        config = Config(hooks=hooks("BeforeToolSelection", narrow))
        done = await contract.fire_before_tool_selection_hook(config, declared)
        calling = done.tool_config["functionCallingConfig"]
        assert calling == {"mode": "ANY" if left else "NONE", "allowedFunctionNames": left}
        config.dispose()
