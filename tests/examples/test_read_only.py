"""Only tools that read are offered, and no other runs, whichever way it is called."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from hookline.contract import execute_tool_with_hooks
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    work = Workplace(tmp_path / "my project", "read-only")
    work.write("a.txt", "hello")
    return work


async def test_the_model_is_offered_only_tools_that_read(work: Workplace) -> None:
    await work.run("What is in a.txt?", "A greeting.")
    config = work.provider.requests[0]["config"]
    assert config["toolConfig"]["functionCallingConfig"] == {
        "mode": "AUTO",
        "allowedFunctionNames": ["read_file"],
    }
    [declared] = config["tools"][0]["functionDeclarations"]
    assert declared["name"] == "read_file"


async def test_a_write_that_the_model_asks_for_nevertheless_does_not_run(work: Workplace) -> None:
    asks = [
        call("write_file", file_path="a.txt", content="bye"),
        call("read_file", file_path="a.txt"),
    ]
    result = await work.run("Say bye.", asks, "I cannot.")
    assert work.read("a.txt") == "hello"
    assert work.results == ["The tool write_file is not allowed in this call.", "hello"]
    assert result.text == "I cannot."


async def test_a_write_that_does_not_come_from_the_model_is_denied(work: Workplace) -> None:
    ran: list[object] = []
    given = {"file_path": "a.txt"}
    denied = await execute_tool_with_hooks(work.config, "write_file", given, ran.append)
    assert ran == []
    assert "show it as a diff" in denied.llm_content
    await execute_tool_with_hooks(work.config, "read_file", given, ran.append)
    assert ran == [given]


async def test_without_its_script_the_model_has_no_tools_at_all(work: Workplace) -> None:
    (work.path / "hooks" / "read_only.py").unlink()
    await work.run("What is in a.txt?", [call("read_file", file_path="a.txt")], "I cannot know.")
    calling = work.provider.requests[0]["config"]["toolConfig"]["functionCallingConfig"]
    assert calling["mode"] == "NONE"
    assert work.results == ["The tool read_file is not allowed in this call."]
