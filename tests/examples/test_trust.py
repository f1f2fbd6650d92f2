"""Whoever reviews an example once is not asked again, however often its hooks run."""

import shutil
from pathlib import Path

import pytest

from hookline.config import Config
from hookline.system import HookSystem
from hookline.trust.store import TrustStore
from tests.eleven import ONE_EACH
from tests.examples.toolbox import EXAMPLES

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
    TrustStore().write(Config.load(project).review_project())
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


def test_there_are_examples_to_review() -> None:
    assert len(FOLDERS) >= 15
