"""An example at work: its folder copied to a scratch project, and an agent there with real tools.

The tools do what they say to files below the project and nothing else; what the model reads of
them, what the user is shown and what the model was sent can be looked at afterwards.
"""

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from hookline.agent import Agent, ScheduledCall, ScriptedProvider, Tool, TurnResult
from hookline.contract import Config

EXAMPLES = Path(__file__).parents[2] / "examples"


class Workplace:
    """A project made from an example; ``run`` has an agent work in it by a script of replies."""

    made: ClassVar[list["Workplace"]] = []

    def __init__(self, project: Path, example: str) -> None:
        Workplace.made.append(self)
        shutil.copytree(EXAMPLES / example, project, dirs_exist_ok=True)
        self.path = project
        self.config = Config.load(project, trusted=True)
        self.provider = ScriptedProvider()
        self.shown: list[Any] = []
        self.published: list[ScheduledCall] = []

    def agent(self, *replies: Any, **options: Any) -> Agent:
        """A new agent whose model gives these replies; options are those of ``Agent``."""
        self.provider = ScriptedProvider(replies)
        self.shown, self.published = [], []
        return Agent(
            self.config,
            self.provider,
            tools_in(self.path),
            show=self.shown.append,
            publish=self.published.append,
            **options,
        )

    async def run(self, prompt: str, *replies: Any, **options: Any) -> TurnResult:
        """One session of one turn."""
        async with self.agent(*replies, **options) as agent:
            return await agent.run(prompt)

    def close(self) -> None:
        system = self.config.get_hook_system()
        if system is not None:
            system.dispose()

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_bytes().decode()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def git(self, *words: str) -> str:
        """What git prints in the project, as a user who is not the machine's."""
        user = ("-c", "user.name=me", "-c", "user.email=me@localhost")
        done = subprocess.run(
            ["git", *user, *words], cwd=self.path, check=True, capture_output=True, text=True
        )
        return done.stdout

    @property
    def results(self) -> list[str]:
        """What the model was sent as the results of its tool calls, in order."""
        parts = [part for content in self._last_contents() for part in content["parts"]]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [text for answer in responses for text in answer["response"].values()]

    @property
    def sent(self) -> list[str]:
        """The texts of the messages in the last request to the model."""
        parts = [part for content in self._last_contents() for part in content["parts"]]
        return [part["text"] for part in parts if "text" in part]

    @property
    def shown_text(self) -> str:
        """Everything of the model that reached the display."""
        return "".join(self.provider.conversation.text(response) for response in self.shown)

    def _last_contents(self) -> list[dict[str, Any]]:
        contents: list[dict[str, Any]] = self.provider.requests[-1]["contents"]
        return contents


def tools_in(project: Path) -> list[Tool]:
    """Tools named as agents name theirs, for files of the project and commands in it."""

    def write_file(args: dict[str, Any]) -> str:
        path = project / args["file_path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(args["content"], encoding="utf-8", newline="")
        return f"Wrote {args['file_path']}."

    def replace(args: dict[str, Any]) -> str:
        path = project / args["file_path"]
        text = path.read_bytes().decode()
        if args["old_string"] not in text:
            raise ValueError("old_string is not in the file")
        changed = text.replace(args["old_string"], args["new_string"], 1)
        path.write_text(changed, encoding="utf-8", newline="")
        return f"Changed {args['file_path']}."

    def read_file(args: dict[str, Any]) -> str:
        path: Path = project / args["file_path"]
        return path.read_bytes().decode()

    async def run_shell_command(args: dict[str, Any]) -> str:
        process = await asyncio.create_subprocess_shell(
            args["command"],
            cwd=project,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return f"{output.decode()}(exit {process.returncode})"

    return [
        Tool(name="write_file", run=write_file, kind="edit"),
        Tool(name="replace", run=replace, kind="edit"),
        Tool(name="read_file", run=read_file),
        Tool(name="run_shell_command", run=run_shell_command, kind="exec"),
    ]
