"""Hooks of the kinds that people publish, run as they are: from a project's settings and from a
plugin folder."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.agent import Agent, ScriptedProvider, Tool
from hookline.agent.providers.scripted import call
from hookline.calls.tool import ConfirmationRequest

PUBLISHED = Path(__file__).parent / "published"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("jq") and shutil.which("bash")),
        reason="these hooks are written for jq, bash",
    ),
]


class Place:
    """A project whose agent has these hooks, in one of the two ways."""

    def __init__(self, project: Path, options: dict[str, Any]) -> None:
        self.project = project
        self.options = options
        self.notes: list[str] = []
        self.asked: list[ConfirmationRequest] = []
        self.ran: list[dict[str, Any]] = []

    def hooks(self) -> Hooks:
        return Hooks.load(self.project, trusted=True, **self.options)

    async def run(
        self,
        *replies: Any,
        prompt: str = "Go on",
        confirm: bool | None = None,
        tool: Callable[[dict[str, Any]], Any] | None = None,
        hooks: Hooks | None = None,
    ) -> tuple[Agent, ScriptedProvider, Any]:
        """A session of one turn, with tools that write, run and read."""

        def run_tool(given: dict[str, Any]) -> Any:
            self.ran.append(given)
            if tool is not None:
                return tool(given)
            if "content" in given:
                Path(given["file_path"]).write_text(given["content"])
            return "ok"

        def ask(request: ConfirmationRequest) -> bool:
            self.asked.append(request)
            return bool(confirm)

        provider = ScriptedProvider(replies)
        made = hooks or self.hooks()
        names = ("write_file", "replace", "run_shell_command", "read_file")
        with made:
            agent = Agent(
                made,
                provider,
                [Tool(name=name, run=run_tool, kind="exec") for name in names],
                notify=self.notes.append,
                confirm=None if confirm is None else ask,
                transcript=self.project / "transcript.jsonl",
            )
            async with agent:
                result = await agent.run(prompt)
        return agent, provider, result


@pytest.fixture(params=["settings", "plugin"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    project = tmp_path / "project"
    project.mkdir()
    if request.param == "plugin":
        plugin = tmp_path / "plugins of the house" / "house-rules"
        shutil.copytree(PUBLISHED, plugin)
        yield Place(project, {"plugins": [plugin]})
        return
    folder = project / ".claude"
    shutil.copytree(PUBLISHED, folder)
    text = (folder / "hooks" / "hooks.json").read_text()
    hooks = json.loads(text.replace("${CLAUDE_PLUGIN_ROOT}", "${CLAUDE_PROJECT_DIR}/.claude"))
    settings = {"permissions": {"allow": ["Bash(ls:*)"]}, "hooks": hooks["hooks"]}
    (folder / "settings.json").write_text(json.dumps(settings))
    yield Place(project, {"claude": True})


def read_by_model(provider: ScriptedProvider) -> str:
    """Everything of the last request, as text."""
    return json.dumps(provider.requests[-1], ensure_ascii=False)


async def test_a_python_guard_that_imports_its_own_package_denies(place: Place) -> None:
    path = str(place.project / "package-lock.json")
    _, provider, _ = await place.run([call("write_file", file_path=path, content="{}")], "Well.")
    assert place.ran == []
    assert "package-lock.json is generated: change its source." in read_by_model(provider)


async def test_an_inline_one_liner_of_bash_and_jq_denies(place: Place) -> None:
    change = {"file_path": "web/.env", "old_string": "a", "new_string": "b"}
    _, provider, _ = await place.run([call("replace", **change)], "Well.")
    assert place.ran == []
    assert f"{place.project}/web/.env holds secrets" in read_by_model(provider)


@pytest.mark.parametrize(
    "command", ["git push origin main", "cd sub && git push", "echo $(git push -f)"]
)
async def test_a_rule_for_some_commands_guards_them_wherever_they_stand(
    place: Place, command: str
) -> None:
    _, provider, _ = await place.run([call("run_shell_command", command=command)], "Well.")
    assert place.ran == []
    assert "Push from CI, not from here." in read_by_model(provider)


async def test_a_rule_for_some_commands_leaves_the_others_alone(place: Place) -> None:
    await place.run([call("run_shell_command", command="git pull")], "Well.")
    assert place.ran == [{"command": "git pull"}]


async def test_a_hook_in_the_form_of_arguments_rewrites_the_input(place: Place) -> None:
    given = {"command": "npm run build", "description": "Build it"}
    await place.run([call("run_shell_command", **given)], "Well.")
    assert place.ran == [{"command": "pnpm run build", "description": "Build it"}]


async def test_an_approver_answers_for_the_user(place: Place) -> None:
    hooks = place.hooks()

    @hooks.on("BeforeTool")
    def careful(_event: dict[str, Any]) -> dict[str, Any]:
        return {"decision": "ask", "reason": "is that meant?"}

    replies = [
        [call("run_shell_command", command="ls -l")],
        [call("run_shell_command", command="rm -rf /")],
        [call("run_shell_command", command="make")],
        "Well.",
    ]
    _, provider, _ = await place.run(*replies, confirm=True, hooks=hooks)
    assert place.ran == [{"command": "ls -l"}, {"command": "make"}]
    assert [request.tool_input["command"] for request in place.asked] == ["make"]
    assert "never that" in read_by_model(provider)
    assert (place.project / "notified.txt").read_text() == (
        "Tool run_shell_command requires execution\n"
    )


async def test_a_formatter_gives_feedback_beside_the_result(place: Place) -> None:
    path = place.project / "a.py"
    given = {"file_path": str(path), "content": "if x:\n\ty()\n"}
    _, provider, _ = await place.run([call("write_file", **given)], "Well.")
    assert path.read_text() == "if x:\n    y()\n"
    [answer] = [
        part["functionResponse"]["response"]
        for content in provider.requests[-1]["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert answer["output"].startswith("ok\n\nTabs in a.py became spaces: read it again.")


async def test_a_notifier_runs_beside_the_agent(place: Place) -> None:
    given = {"file_path": str(place.project / "b.py"), "content": "x\n"}
    hooks = place.hooks()
    provider = ScriptedProvider([[call("write_file", **given)], "Well.", "Again."])
    tool = Tool(name="write_file", run=lambda _given: "ok")
    with hooks:
        async with Agent(hooks, provider, [tool], notify=place.notes.append) as agent:
            await agent.run("Go on")
            system = hooks.config.get_hook_system()
            assert system is not None
            assert await asyncio.to_thread(system.wait_for_background, 30)
            await agent.run("And again")
    assert "told the team" in place.notes
    assert place.notes.count("told the team") == 1


async def test_a_failure_has_hooks_of_its_own(place: Place) -> None:
    def fail(_given: dict[str, Any]) -> str:
        raise OSError("disk full")

    _, provider, _ = await place.run(
        [call("run_shell_command", command="cp a b")], "Well.", tool=fail
    )
    assert "disk full" in read_by_model(provider)


async def test_a_prompt_gets_context(place: Place) -> None:
    _, provider, _ = await place.run("Well.", prompt="Look at EXP-12")
    assert "EXP-12 is about the export." in read_by_model(provider)


async def test_a_prompt_with_a_key_is_refused(place: Place) -> None:
    _, provider, result = await place.run("Well.", prompt="use AKIAIOSFODNN7EXAMPLE")
    assert (result.refused, result.reason) == (True, "Take the key out of your prompt.")
    assert provider.requests == []


async def test_a_session_starts_with_plain_text_and_variables(place: Place) -> None:
    agent, provider, _ = await place.run("Well.")
    assert "Branch: main. Two files are not committed." in read_by_model(provider)
    assert agent.exports["NODE_ENV"] == "development"
    first, *rest = agent.exports["PATH"].split(os.pathsep)
    assert first == str(place.project / "node_modules" / ".bin")
    assert os.pathsep.join(rest) == os.environ["PATH"]


async def test_a_stop_loop_reads_the_transcript(place: Place) -> None:
    loop = place.project / "loop.md"
    loop.write_text("Not yet: run the tests.")
    _, provider, result = await place.run("Some of it.", "More of it.", "ALL DONE now.")
    assert result.text == "ALL DONE now."
    assert len(provider.requests) == 3
    assert "Not yet: run the tests." in read_by_model(provider)
    assert place.notes.count("once more") == 2
    assert not loop.exists()


async def test_a_counter_of_subagents_sends_the_last_one_back(place: Place) -> None:
    fields = {"agent_id": "a1", "agent_type": "reviewer", "agent_transcript_path": ""}
    with place.hooks() as hooks:
        answers = [await hooks.fire_claude_event("SubagentStop", fields) for _ in range(3)]
        other = await hooks.fire_claude_event("SubagentStop", {**fields, "agent_type": "planner"})
    assert [answer.denied for answer in answers] == [False, False, True]
    assert answers[-1].reason == "Three reviews are enough: sum them up."
    assert other.plan is None
    assert json.loads((place.project / "subagents.json").read_text()) == {"reviewer": 3}


async def test_a_history_that_a_hook_wants_kept_is_not_compressed(place: Place) -> None:
    hooks = place.hooks()
    provider = ScriptedProvider(["One.", "Two.", "Three."])
    with hooks:
        notify = place.notes.append
        made = Agent(hooks, provider, notify=notify, compress_above=2, keep_turns=1)
        async with made as agent:
            for prompt in ("a", "b", "c"):
                await agent.run(prompt)
            assert len(agent.chat.history) == 6
    assert "Keep it all." in place.notes
