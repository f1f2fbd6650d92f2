"""Whoever reviews an example once is not asked again, however often its hooks run."""

import json
import shutil
from pathlib import Path

import pytest

from hookline.contract import Config, HookSystem
from hookline.settings.jsonc import parse
from hookline.trust.store import TrustStore
from hookline.wire.results import HookExecutionResult
from tests.eleven import ONE_EACH
from tests.examples.toolbox import EXAMPLES

pytestmark = pytest.mark.slow

FOLDERS = sorted(file.parents[1].name for file in EXAMPLES.glob("*/.hookline/settings.json"))
# What hooks match: files that are written, and commands that are run.
CALLS = (
    ("write_file", {"file_path": "src/new.py", "content": "x = 1\n"}),
    ("run_shell_command", {"command": "ls"}),
)


@pytest.mark.parametrize("name", FOLDERS)
async def test_running_its_hooks_twice_asks_for_no_second_review(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / name, project)
    (project / "src").mkdir(exist_ok=True)
    TrustStore().write(Config.load(project).project.review())
    for _ in range(2):
        config = Config.load(project)
        assert config.is_trusted_folder()
        async with HookSystem(config) as system:
            handler = system.get_event_handler()
            for firing in ONE_EACH:
                await firing.direct(handler)
            for tool, given in CALLS:
                before = await handler.fire_before_tool_event(tool, dict(given))
                after = await handler.fire_after_tool_event(tool, dict(given), {"llmContent": "x"})
                results = [*before.results, *after.results]
                assert not [result for result in results if result.failed == "untrusted"]
    assert Config.load(project).is_trusted_folder()


def fail_closed(project: Path) -> list[str]:
    """Make all commands in an example's settings fail closed; return their names."""
    file = project / ".hookline" / "settings.json"
    value = parse(file.read_text()).value
    named = []
    for definitions in value.get("hooks", {}).values():
        for definition in definitions if isinstance(definitions, list) else ():
            for hook in definition["hooks"] if isinstance(definition, dict) else ():
                if hook["type"] == "command":
                    hook["onFailure"] = "block"
                    named.append(hook["name"])
    file.write_text(json.dumps(value))
    return named


# One asks a service, which is not here.
@pytest.mark.parametrize("name", sorted({*FOLDERS} - {"policy-service"}))
async def test_its_guards_run_from_their_copies_and_answer_twice(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / name, project)
    (project / "src").mkdir(exist_ok=True)
    named = fail_closed(project)
    looked = Config.load(project).project.review()
    assert {hook.why_open for hook in looked.review.hooks if hook.name in named} <= {""}
    TrustStore().write(looked)
    for _ in range(2):
        async with HookSystem(Config.load(project)) as system:
            handler = system.get_event_handler()
            results: list[HookExecutionResult] = []
            for firing in ONE_EACH:
                results += (await firing.direct(handler)).results
            for tool, given in CALLS:
                results += (await handler.fire_before_tool_event(tool, dict(given))).results
        commands = [each for each in results if each.hook.type == "command"]
        assert [(each.hook.name, each.error) for each in commands if each.failed] == []
    assert Config.load(project).is_trusted_folder()


def test_there_are_examples_to_review() -> None:
    assert len(FOLDERS) >= 15
