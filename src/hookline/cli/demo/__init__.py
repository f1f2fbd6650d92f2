"""``hookline demo``: an agent that does risky things, and the hooks that stop it."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hookline._support.notices import heard_warnings
from hookline.agent.loop import Agent
from hookline.agent.providers import ModelProvider
from hookline.agent.providers.scripted import ScriptedProvider, call
from hookline.cli.demo.models import FAMILIES, LiveProvider, live_model
from hookline.cli.demo.steps import Recorder, Step, Tell, Watch, Word
from hookline.cli.demo.tools import demo_tools
from hookline.cli.events import run_on_asyncio
from hookline.cli.failures import CommandError
from hookline.cli.fire import hook_row
from hookline.cli.options import Option, Options
from hookline.cli.screen import Column, Row, Screen, count, duration
from hookline.errors import HooklineError
from hookline.hooks import Hooks
from hookline.pipeline.answer import TONES

EXAMPLES = ("hookline demo", "hookline demo --keep try-hookline")
OPTIONS = (
    Option("--keep", "DIR", "make the project in this new directory, and keep it"),
    Option(
        "--live",
        "PROMPT",
        "send this prompt to a real model instead, the first whose key is set: GEMINI_API_KEY, "
        "OPENAI_API_KEY, ANTHROPIC_API_KEY. No command is run and no file outside the project "
        "is touched",
    ),
    Option(
        "--model",
        "NAME",
        "the model for --live; a name that begins with gemini, gpt, o and a digit, or claude "
        f"also chooses the key (default: {', '.join(family.default for family in FAMILIES)})",
    ),
)

PROMPT = (
    "Put our AWS key into config.py, force-push it, free some disk space, and tell me how to "
    "reach customer 7."
)
_MOST_MODEL_CALLS = 20
PROJECT = Path(__file__).parent / "project"
_TRY = (
    "hookline fire BeforeTool --trust --tool run_shell_command "
    """--tool-input '{"command": "rm -rf /"}'"""
)
_LONGEST = 300
# Below this an event's name stands above its hooks, not beside them.
_NARROW = 64


def scripted_model() -> ScriptedProvider:
    """Return a model that does what the prompt asks for, and does it badly."""
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


def make_watched_agent(
    project: Path, settings: list[Any], provider: ModelProvider, prompt: str, tell: Tell
) -> tuple[Hooks, Agent, Recorder]:
    """Return hooks, an agent in the project's work folder and the recorder of its steps; each step
    is passed to ``tell``."""
    recorder = Recorder(prompt, tell)
    logger = Watch.from_environment(see=recorder.see)
    hooks = Hooks.load(project, settings_files=settings, debug_logger=logger)

    agent = Agent(
        hooks,
        provider,
        demo_tools(project / "work"),
        display="after_hooks",
        show=lambda response: recorder.hear(provider.conversation.text(response)),
        # Nobody is there to confirm.
        confirm=lambda _request: False,
        on_status=recorder.on_status,
        publish=recorder.publish,
        max_model_calls=_MOST_MODEL_CALLS,
    )
    return hooks, agent, recorder


def run(options: Options, screen: Screen) -> int:
    """Play one session in a scratch project; return 0."""
    provider: ScriptedProvider | LiveProvider = scripted_model()
    prompt, on = PROMPT, "a scripted model: no key, no network"
    if options.live is not None:
        provider = live_model(options.model)
        prompt, on = options.live, f"{provider.model}; it runs no commands"
    elif options.model is not None:
        raise CommandError("--model is for --live PROMPT; the demo's own model is scripted")
    steps: list[Step] = []
    with _make_project(options) as project, heard_warnings() as warnings:

        def warn() -> None:
            for warning in warnings:
                screen.warning(warning)
            warnings.clear()

        def tell(step: Step) -> None:
            steps.append(step)
            warn()
            if not options.json and not step.is_empty:
                _show_step(screen, step, sum(not step.is_empty for step in steps))
                screen.flush()

        # Only the demo's own hooks: the user's hooks are not meant for a made-up session.
        settings: list[Any] = options.settings or [project / ".hookline" / "settings.json"]
        # The scripts start with python3, which may be missing from the PATH.
        interpreter = os.path.dirname(sys.executable)
        os.environ["PATH"] = os.pathsep.join([interpreter, os.environ.get("PATH", os.defpath)])
        hooks, agent, recorder = make_watched_agent(project, settings, provider, prompt, tell)
        if hooks.is_off():
            raise CommandError("the settings disable hooks, so there is nothing to show")
        if not options.json:
            number = count(len(hooks.view.engine.project.get_settings().entries), "hook")
            screen.line(f"An agent works in a scratch project, on {on}.")
            screen.line(f"Real scripts watch it, and what they decide takes effect: {number}.")
        run_on_asyncio(_play(agent, provider, prompt))
        recorder.show_answer(is_last=True)
        warn()
        _conclude(options, screen, steps, provider.model)
    return 0


async def _play(agent: Agent, provider: ScriptedProvider | LiveProvider, prompt: str) -> None:
    """Run the session from its start to its end."""
    try:
        async with agent:
            await agent.run(prompt)
    except HooklineError:
        raise
    except Exception as error:
        if isinstance(provider, ScriptedProvider):
            raise
        message = " ".join(str(error).split())[:300]
        raise CommandError(f"the model gave no answer: {type(error).__name__}: {message}") from None
    finally:
        if not isinstance(provider, ScriptedProvider):
            await provider.aclose()


@contextmanager
def _make_project(options: Options) -> Iterator[Path]:
    """Make the project in the directory of ``--keep``, or in one that is deleted afterwards."""
    with ExitStack() as scratch:
        if options.keep:
            project = Path(os.path.abspath(options.keep))
            if project.exists() and (not project.is_dir() or any(project.iterdir())):
                raise CommandError(f"--keep: {options.keep} is not empty; name a new directory")
        else:
            directory = tempfile.TemporaryDirectory(prefix="hookline-demo-", dir=options.cwd)
            project = Path(os.path.realpath(scratch.enter_context(directory)))
        (project / ".hookline").mkdir(parents=True)
        shutil.copyfile(PROJECT / "settings.json", project / ".hookline" / "settings.json")
        shutil.copytree(PROJECT / "work", project / "work", copy_function=shutil.copyfile)
        (project / "hooks").mkdir()
        for script in (PROJECT / "hooks").iterdir():
            if script.is_file():
                copy = project / "hooks" / script.name
                shutil.copyfile(script, copy)
                # Wheels do not keep the executable bit.
                copy.chmod(0o755)
        yield project


def _show_step(screen: Screen, step: Step, number: int) -> None:
    """Show a step: what happened, each hook with its time and decision, and the outcomes."""
    screen.line()
    shows = step.shows if len(step.shows) <= _LONGEST else step.shows[:_LONGEST] + "…"
    beside = shows if step.call is not None else ""
    screen.line(f"{number}. ", (step.says, "title"), " " if beside else "", (beside, "matcher"))
    if shows and not beside:
        screen.line((shows, "matcher"), indent=3)
    news = [each for each in step.fired if each.is_news]
    is_narrow = screen.width is not None and screen.width < _NARROW
    rows: list[Row] = []
    for each in news:
        for result in each.answer.results:
            name, _, *rest = hook_row(result)
            rows.append([name, *rest] if is_narrow else [(each.event.value, "faint"), name, *rest])
    if rows and is_narrow:
        events = ", ".join(dict.fromkeys(each.event.value for each in news))
        screen.line((events, "faint"), indent=3)
    if rows:
        columns: tuple[Column, ...] = ("cut", "right", "keep")
        screen.table(rows, columns if is_narrow else ("keep", *columns), indent=3)
    quiet = [r for each in step.fired if not each.is_news for r in each.answer.results]
    if quiet:
        times = ", ".join(f"{result.hook.name} {duration(result.duration)}" for result in quiet)
        screen.line((f"also ran: {times}", "faint"), indent=3)
    for outcome in step.outcomes:
        word = (str(outcome.word), str(TONES[outcome.word]))
        screen.line("=> ", word, f": {outcome.text}", indent=3)


def _conclude(options: Options, screen: Screen, steps: Sequence[Step], model: str) -> None:
    """Show the summary and what to do next; with ``--json`` print all steps and the summary."""
    answers = [each.answer for step in steps for each in step.fired]
    words = [outcome.word for step in steps for outcome in step.outcomes]
    counted: tuple[Word, ...] = ("blocked", "refused", "rewritten", "redacted")
    summary: dict[str, Any] = {
        "events": len(answers),
        "events_with_hooks": sum(1 for answer in answers if answer.results),
        "hook_runs": sum(len(answer.results) for answer in answers),
        "hook_time_ms": round(sum(answer.total_duration for answer in answers), 3),
        **{word: words.count(word) for word in counted},
    }
    if options.json:
        described = [step.document() for step in steps]
        screen.document({"model": model, "steps": described, "summary": summary})
        return
    fired = f"{summary['events']} fired, {summary['events_with_hooks']} of them with hooks"
    runs = f"{count(summary['hook_runs'], 'run')}, {duration(summary['hook_time_ms'])} in all"
    rows = [
        ("events", fired),
        ("hooks", runs),
        ("blocked", count(summary["blocked"], "time")),
        ("refused", count(summary["refused"], "call") + " of tools that were taken away"),
        ("rewritten", count(summary["rewritten"], "time")),
        ("redacted", count(summary["redacted"], "answer")),
    ]
    screen.line()
    screen.line(("Summary", "title"))
    screen.table(rows, ("keep",))
    screen.line()
    folder = options.keep
    if folder:
        screen.line(f"the hooks are in {folder}/hooks, their settings in {folder}/.hookline; try:")
        screen.command(f"cd {shlex.quote(folder)} && hookline list")
        screen.command(_TRY)
    else:
        screen.line("see the scripts, and change them: hookline demo --keep try-hookline")
