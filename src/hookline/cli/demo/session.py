"""The session of the demo: a prompt that gets an agent into all kinds of trouble, and its end."""

from pathlib import Path
from typing import Any

from hookline.agent.loop import Agent
from hookline.agent.providers import ModelProvider
from hookline.agent.providers.scripted import ScriptedProvider, call
from hookline.cli.demo.steps import Recorder, Tell, Watch
from hookline.cli.demo.tools import demo_tools
from hookline.config import Config

PROMPT = (
    "Put our AWS key into config.py, force-push it, free some disk space, and tell me how to "
    "reach customer 7."
)

_MOST_MODEL_CALLS = 20


def scripted_model() -> ScriptedProvider:
    """A model that does what the prompt asks for, and does it badly."""
    return ScriptedProvider(
        [
            [call("web_fetch", url="https://example.com/where-to-put-keys")],
            [call("write_file", file_path="config.py", content='KEY = "AKIAIOSFODNN7EXAMPLE"\n')],
            [call("write_file", file_path="config.py", content='KEY = os.environ["AWS_KEY"]\n')],
            [call("run_shell_command", command="git push --force origin main")],
            [call("run_shell_command", command="rm -rf ~/")],
            [call("read_file", file_path="customers.csv")],
            (
                "config.py reads the key from the environment. You reach customer 7, Ada ",
                "Lovelace, at ada.lovelace@example.com or +1 202 ",
                "555 0178.",
            ),
        ]
    )


class Session:
    """An agent in the project's work folder, watched; ``tell`` hears of each step."""

    def __init__(
        self, project: Path, settings: list[Any], provider: ModelProvider, prompt: str, tell: Tell
    ) -> None:
        self._prompt = prompt
        self._provider = provider
        self.model = provider.model
        self._recorder = Recorder(prompt, tell)
        self.config = Config.load(
            project,
            settings_files=settings,
            debug_logger=Watch.from_environment(see=self._recorder.see),
        )
        self.agent = Agent(
            self.config,
            provider,
            demo_tools(project / "work"),
            display="after_hooks",
            show=self._show,
            # Nobody is there to ask who knows what the demo is about.
            confirm=lambda _request: False,
            on_status=self._recorder.on_status,
            publish=self._recorder.publish,
            max_model_calls=_MOST_MODEL_CALLS,
        )

    async def run(self) -> None:
        """The session from its start to its end."""
        async with self.agent as agent:
            await agent.run(self._prompt)

    def _show(self, response: Any) -> None:
        conversation = self._provider.conversation
        is_last = not conversation.calls(response)
        self._recorder.answered(conversation.text(response).strip(), is_last=is_last)
