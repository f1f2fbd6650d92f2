"""A new event takes three files: what CONTRIBUTING says about that is done here, to a copy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hookline

NAME, FIELD, SPEC = (
    '    BEFORE_UPLOAD = "BeforeUpload"\n',
    '    "file_name": "a string",\n',
    '        EventSpec(HookEventName.BEFORE_UPLOAD, ("file_name",), target="file_name"),\n',
)
TYPES = '''class BeforeUploadInput(TypedDict):
    """BeforeUpload's own field."""

    file_name: str


class BeforeUploadEvent(HookInput, BeforeUploadInput, ActorFields):
    """What a hook reads before a file is uploaded."""


'''
METHOD = '''    async def before_upload(self, file_name: str) -> Answer:
        """Fire BeforeUpload: a file is about to be uploaded."""
        return await self.view.fire(HookEventName.BEFORE_UPLOAD, file_name)

'''
# File -> what is added to it, before a line that it has.
ADDITIONS = {
    "wire/events.py": {
        '    NOTIFICATION = "Notification"\n': NAME,
        '    "details": "an object",\n': FIELD,
        "        EventSpec(\n            HookEventName.NOTIFICATION,\n": SPEC,
    },
    "wire/inputs.py": {"class BeforeToolEvent(HookInput, BeforeToolInput, ActorFields):\n": TYPES},
    "hooks.py": {
        "    async def notification(\n": METHOD,
        "    notification: Final = ": "    before_upload: Final = _Blocking(Face.before_upload)\n",
    },
}
PROGRAM = """
import asyncio, json
from hookline import Hooks, InProcessMessageBus, deny
from hookline.bus import request_hook_execution

bus = InProcessMessageBus()
hooks = Hooks(message_bus=bus)
hooks.on("BeforeUpload", matcher="secret.*")(lambda event: deny(event["file_name"]))
assert hooks.sync.before_upload("secret.txt").reason == "secret.txt"
assert not asyncio.run(hooks.before_upload("readme.txt")).blocked
for input in ({"file_name": "secrets"}, {"file_name": 7}):
    response = asyncio.run(request_hook_execution(bus, "BeforeUpload", input))
    print(json.dumps(response))
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs Python with a copy of the package that has one event more."""
    package = tmp_path / "src" / "hookline"
    shutil.copytree(Path(hookline.__file__).parent, package)
    for file, additions in ADDITIONS.items():
        text = (package / file).read_text(encoding="utf-8")
        for line, added in additions.items():
            assert text.count(line) == 1, (file, line)
            text = text.replace(line, added + line)
        (package / file).write_text(text, encoding="utf-8")

    project = tmp_path / "project"
    project.mkdir()

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(package.parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_an_event_that_three_files_describe_works_wherever_events_do(run: Any) -> None:
    good, bad = map(json.loads, run("-c", PROGRAM).splitlines())
    assert good["output"]["finalOutput"]["decision"] == "deny"
    assert bad["error"]["message"] == "BeforeUpload input: file_name must be a string"
    run("-m", "hookline", "init", "--event", "BeforeUpload")
    assert "passed" in run("-m", "hookline", "test", "--trust")
    schema = json.loads(run("-m", "hookline", "schema", "event", "BeforeUpload"))
    assert "file_name" in json.dumps(schema)
    answer = run(
        "-m", "hookline", "fire", "BeforeUpload", "--input", '{"file_name": "x"}', "--trust"
    )
    assert "before-upload" in answer
