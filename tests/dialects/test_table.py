"""Another dialect is a file and a row in the table."""

import pytest

from hookline import Hooks
from hookline.dialects import (
    DIALECTS,
    ROWS,
    ForeignDialect,
    Row,
    find_named_event,
    list_event_names,
    load_foreign,
    read_named_event,
)
from hookline.errors import UnknownEventError
from hookline.shell.programs import hook_variables
from hookline.wire.events import EVENTS, HookEventName


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> ForeignDialect:
    row = Row("tests.dialects.toy", "Toy", "TOY_PROJECT_DIR", ".toy")
    monkeypatch.setitem(ROWS, "toy", row)
    monkeypatch.delitem(DIALECTS, "toy", raising=False)
    return load_foreign("toy")


def test_it_is_found_by_its_name_and_any_other_name_is_the_native_one(toy: ForeignDialect) -> None:
    assert DIALECTS["toy"] is toy
    assert DIALECTS["unknown"].name == "native"


def test_its_events_are_found_and_read_by_their_names() -> None:
    assert find_named_event("aboutToRun") is HookEventName.BEFORE_TOOL
    assert EVENTS["BellRung"].target == "tone"
    assert "BellRung" in list_event_names()
    fired = read_named_event("aboutToRun", {"tool": "sh", "with": {"command": "ls"}})
    assert (fired.event, fired.target) == (HookEventName.BEFORE_TOOL, "run_shell_command")
    assert read_named_event("BellRung", {"tone": "low"}).values == ("low",)
    with pytest.raises(UnknownEventError):
        find_named_event("BellRang")


async def test_a_host_fires_them_by_name() -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_name"]))
    await hooks.fire("aboutToRun", {"tool": "sh", "with": {"command": "ls"}})
    answer = await hooks.fire("BellRung", {"tone": "low"})
    assert (seen, answer.word) == (["run_shell_command"], "no hook matched")


def test_the_variables_of_hooks_are_those_of_the_table() -> None:
    variables = hook_variables(project_dir="/p", cwd="/c", session_id="s", event="BeforeTool")
    assert variables[ROWS["claude"].project_variable] == "/p"
