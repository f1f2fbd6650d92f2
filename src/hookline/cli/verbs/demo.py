"""``hookline demo``: an agent that asks for trouble, and the hooks that are in its way."""

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hookline.agent.providers.genai import GenAIProvider
from hookline.agent.providers.scripted import ScriptedProvider
from hookline.cli.demo_screen import show_step, show_summary, step_document, summary_of
from hookline.cli.demo_session import PROMPT, Session, scripted_model
from hookline.cli.demo_steps import Step
from hookline.cli.failures import CommandError
from hookline.cli.firing import run_on_asyncio
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.errors import HooklineError
from hookline.notices import heard_warnings

EXAMPLES = ("hookline demo", "hookline demo --keep try-hookline")

_FILES = Path(__file__).parents[1] / "demo_project"
_MODEL = "gemini-flash-latest"
_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_TRY = (
    "hookline fire BeforeTool --trust --tool run_shell_command "
    """--tool-input '{"command": "rm -rf /"}'"""
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is the demo's own."""
    parser.add_argument(
        "--keep", metavar="DIR", help="make the project in this new directory, and leave it there"
    )
    parser.add_argument(
        "--live",
        metavar="PROMPT",
        help="put this prompt to a Gemini model instead; needs GEMINI_API_KEY. No command is run "
        "and no file outside the project is touched",
    )
    parser.add_argument("--model", metavar="NAME", help=f"the model of --live (default: {_MODEL})")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """One session in a scratch project; always 0."""
    provider = _provider(options)
    with _project(options) as project, heard_warnings() as heard:
        demo = _Demo(options, screen, heard)
        session = _session(options, project, provider, demo)
        demo.introduce(len(session.config.get_settings().entries), provider.model)
        run_on_asyncio(_run(session, provider))
        demo.conclude(session)
    return 0


class _Demo:
    """Shows steps as they come, or keeps them for the one document."""

    def __init__(self, options: argparse.Namespace, screen: Screen, heard: list[str]) -> None:
        self._options = options
        self._screen = screen
        self._heard = heard
        self._steps: list[Step] = []
        self._shown = 0

    def introduce(self, hooks: int, model: str) -> None:
        """What is about to be seen."""
        if self._options.json:
            return
        live = self._options.live is not None
        told = f"{model}; it runs no commands" if live else "a scripted model: no key, no network"
        self._screen.line(f"An agent works in a scratch project, on {told}.")
        watching = count(hooks, "hook")
        self._screen.line(f"Real scripts watch it, and what they decide takes effect: {watching}.")

    def tell(self, step: Step) -> None:
        """A step is complete."""
        self._steps.append(step)
        self._warn()
        is_empty = not (step.shows or step.outcomes or any(f.is_news for f in step.fired))
        if self._options.json or is_empty:
            return
        self._shown += 1
        show_step(self._screen, step, self._shown)
        self._screen.flush()

    def conclude(self, session: Session) -> None:
        """The sum, and what to do next."""
        self._warn()
        summary = summary_of(self._steps)
        if self._options.json:
            steps = [step_document(step) for step in self._steps]
            self._screen.document({"model": session.model, "steps": steps, "summary": summary})
            return
        show_summary(self._screen, summary)
        self._screen.line()
        _point_on(self._screen, self._options.keep)

    def _warn(self) -> None:
        for warning in self._heard:
            self._screen.warning(warning)
        self._heard.clear()


@contextmanager
def _project(options: argparse.Namespace) -> Iterator[Path]:
    """The project's directory: ``--keep``'s, or one that is gone afterwards."""
    if options.keep:
        project = Path(os.path.abspath(options.keep))
        if project.exists() and (not project.is_dir() or any(project.iterdir())):
            raise CommandError(f"--keep: {options.keep} is not empty; name a new directory")
        _copy_project(project)
        yield project
        return
    with tempfile.TemporaryDirectory(prefix="hookline-demo-", dir=options.cwd) as scratch:
        project = Path(os.path.realpath(scratch))
        _copy_project(project)
        yield project


def _copy_project(project: Path) -> None:
    (project / ".hookline").mkdir(parents=True)
    shutil.copyfile(_FILES / "settings.json", project / ".hookline" / "settings.json")
    shutil.copytree(_FILES / "work", project / "work", copy_function=shutil.copyfile)
    (project / "hooks").mkdir()
    for script in (_FILES / "hooks").iterdir():
        if script.is_file():
            copy = project / "hooks" / script.name
            shutil.copyfile(script, copy)
            # Wheels do not keep the bit.
            copy.chmod(0o755)


def _provider(options: argparse.Namespace) -> ScriptedProvider | GenAIProvider:
    if options.live is None:
        if options.model is not None:
            raise CommandError("--model is for --live PROMPT; the demo's own model is scripted")
        return scripted_model()
    if not any(os.environ.get(name) for name in _KEYS):
        raise CommandError(
            "--live needs a key of the Gemini API: set GEMINI_API_KEY, or leave --live out for "
            "the scripted model"
        )
    return GenAIProvider(options.model or _MODEL)


def _session(
    options: argparse.Namespace,
    project: Path,
    provider: ScriptedProvider | GenAIProvider,
    demo: _Demo,
) -> Session:
    # Only the demo's own hooks: what the user has configured is not meant for a made-up session.
    settings: list[Any] = options.settings or [project / ".hookline" / "settings.json"]
    # The scripts ask for python3, and the PATH may have none.
    interpreter = os.path.dirname(sys.executable)
    os.environ["PATH"] = os.pathsep.join([interpreter, os.environ.get("PATH", os.defpath)])
    prompt = PROMPT if options.live is None else options.live
    session = Session(project, settings, provider, prompt, demo.tell)
    if session.config.get_hook_system() is None:
        raise CommandError("the settings disable hooks, so there is nothing to show")
    return session


async def _run(session: Session, provider: ScriptedProvider | GenAIProvider) -> None:
    if isinstance(provider, ScriptedProvider):
        await session.run()
        return
    try:
        await session.run()
    except HooklineError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        raise CommandError(f"the model gave no answer: {type(error).__name__}: {said}") from None
    finally:
        await provider.aclose()


def _point_on(screen: Screen, kept: str | None) -> None:
    if kept:
        screen.line(f"the hooks are in {kept}/hooks, their settings in {kept}/.hookline; try:")
        screen.line(f"cd {shlex.quote(kept)} && hookline list", indent=2)
        screen.line(_TRY, indent=2)
    else:
        screen.line("see the scripts, and change them: hookline demo --keep try-hookline")
