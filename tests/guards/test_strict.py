"""Strict mode and required hooks: what blocks, who may ask for it, that nobody takes it back."""

import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.contract import Config, HookSystem
from hookline.errors import NoFolderError
from hookline.pipeline.answer import Answer
from tests.guards.project import (
    PASSING,
    TOOL,
    fire,
    guard_project,
    hook,
    running,
    settings_of,
    trust,
    write_user_settings,
)
from tests.harness.scratch import Project

CRASHING = hook("exit 1", name="crash", onFailure="allow")
PASSES = hook("true", name="pass", onFailure="allow")


def in_code(tmp_path: Path, *hooks: dict[str, Any], **options: Any) -> Answer:
    config = Config(working_dir=tmp_path, hooks=settings_of(*hooks)["hooks"], **options)
    return HookSystem(config).fire_blocking("BeforeTool", TOOL)


class TestWhatStrictBlocks:
    def test_a_hook_that_fails_whatever_its_on_failure(self, tmp_path: Path) -> None:
        assert not in_code(tmp_path, CRASHING).blocked
        answer = in_code(tmp_path, CRASHING, strict=True)
        assert (answer.blocked, str(answer.reason)[:14]) == (True, "crash failed: ")

    @pytest.mark.parametrize(
        "said",
        ["""echo '{"decison": "deny"}'""", """echo '{"decision": "deny", }'""", "echo [1]"],
    )
    def test_a_garbled_answer(self, tmp_path: Path, said: str) -> None:
        answer = in_code(tmp_path, hook(said, onFailure="allow"), strict=True)
        assert [result.failed for result in answer.results] == ["malformed"]
        assert answer.blocked

    @pytest.mark.parametrize("mode", [{}, {"strict": True}])
    @pytest.mark.parametrize("own", ["continue", "block"])
    def test_text_with_a_brace_is_context_of_claude_unless_the_hook_itself_fails_closed(
        self, project: Project, own: str, mode: dict[str, Any]
    ) -> None:
        said = {"type": "command", "command": "echo 'Use {braces}'", "onFailure": own}
        settings = {"hooks": {"UserPromptSubmit": [{"hooks": [said]}]}}
        project.settings(settings, file=".claude/settings.json")
        answer = fire(project.path, "BeforeAgent", claude=True, trusted=True, **mode)
        assert answer.blocked is (own == "block")
        assert answer.context == (None if own == "block" else "Use {braces}")

    def test_a_hook_that_fails_blocks_though_its_text_is_context_of_claude(
        self, project: Project
    ) -> None:
        said = {"type": "command", "command": "exit 1"}
        settings = {"hooks": {"UserPromptSubmit": [{"hooks": [said]}]}}
        project.settings(settings, file=".claude/settings.json")
        assert fire(project.path, "BeforeAgent", claude=True, trusted=True, strict=True).blocked

    @pytest.mark.parametrize("said", ["true", "echo '{}'", "echo fine", "echo 7", "echo null"])
    def test_an_ordinary_answer_passes(self, tmp_path: Path, said: str) -> None:
        assert not in_code(tmp_path, hook(said, onFailure="allow"), strict=True).blocked

    def test_a_function_registered_before_or_after_the_settings_are_read(
        self, tmp_path: Path
    ) -> None:
        def breaks(_event: object) -> None:
            raise RuntimeError("out of order")

        config = Config(working_dir=tmp_path, strict=True)
        for _ in range(2):
            system = HookSystem(config)
            unregister = system.register_hook("BeforeTool", breaks)
            assert system.fire_blocking("BeforeTool", TOOL).blocked
            unregister()
            assert not system.fire_blocking("BeforeTool", TOOL).blocked

    @pytest.mark.parametrize(
        "broken", ["{", "[]", '{"hooks": {"BeforeTol": []}}', '{"hooks": {"BeforeTool": [7]}}']
    )
    @pytest.mark.parametrize("where", ["project", "user", "system"])
    def test_settings_that_cannot_be_read(
        self, project: Project, tmp_path: Path, where: str, broken: str
    ) -> None:
        file = {
            "project": project.path / ".hookline/settings.json",
            "user": Path.home() / ".config/hookline/settings.json",
            "system": tmp_path / "etc.json",
        }[where]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(broken)
        assert not fire(project.path, system_settings=tmp_path / "etc.json").blocked
        answer = fire(project.path, strict=True, system_settings=tmp_path / "etc.json")
        assert answer.blocked
        assert str(file) in str(answer.reason)
        assert answer.word == "blocked"

    def test_a_project_hook_that_nobody_trusts(self, project: Project) -> None:
        guard_project(project, hook("true", onFailure="allow"))
        answer = fire(project.path, strict=True)
        assert [result.failed for result in answer.results] == ["untrusted"]
        assert answer.blocked
        trust(project.path)
        assert not fire(project.path, strict=True).blocked

    def test_one_that_would_not_have_matched_does_not(self, project: Project) -> None:
        project.settings(settings_of(hook("true"), matcher="other"))
        assert not fire(project.path, strict=True).blocked

    def test_a_model_request_of_a_shape_nobody_can_show(self, tmp_path: Path) -> None:
        config = Config(
            working_dir=tmp_path,
            hooks={"BeforeModel": [{"hooks": [PASSES]}]},
            strict=True,
        )
        answer = HookSystem(config).fire_blocking("BeforeModel", {"llm_request": {"model": 7}})
        assert (answer.blocked, answer.success) == (True, False)

    def test_where_nothing_can_be_blocked_it_is_told(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        config = Config(
            working_dir=tmp_path, hooks={"SessionEnd": [{"hooks": [CRASHING]}]}, strict=True
        )
        answer = HookSystem(config).fire_blocking("SessionEnd", {"reason": "exit"})
        assert not answer.blocked
        assert "crash" in caplog.text


class TestWhoMayAskForIt:
    @pytest.mark.parametrize("value", ["1", "true", "yes"])
    def test_the_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("HOOKLINE_STRICT", value)
        assert in_code(tmp_path, CRASHING).blocked

    @pytest.mark.parametrize("value", ["", "0", "false", "no"])
    def test_the_environment_takes_nothing_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("HOOKLINE_STRICT", value)
        assert not in_code(tmp_path, CRASHING).blocked
        assert in_code(tmp_path, CRASHING, strict=True).blocked

    def test_the_user(self, project: Project) -> None:
        own = {**settings_of(CRASHING), "strict": True}
        write_user_settings(Path.home(), own)
        project.settings({"strict": False})
        assert fire(project.path, strict=False).blocked

    def test_the_system_with_other_settings_named_too(self, project: Project) -> None:
        system = project.settings({"strict": True}, file="etc.json")
        own = project.settings(settings_of(CRASHING), file="own.json")
        answer = fire(project.path, settings_files=[own], system_settings=system)
        assert answer.blocked

    def test_a_project_once_it_is_trusted(self, project: Project) -> None:
        project.settings({**settings_of(CRASHING), "strict": True})
        assert not fire(project.path).blocked
        trust(project.path)
        assert fire(project.path).blocked

    def test_a_project_says_it_of_itself_later(self, project: Project) -> None:
        project.settings(settings_of(CRASHING))
        trust(project.path)
        project.settings({**settings_of(CRASHING), "strict": True})
        assert not fire(project.path).blocked
        assert Config.load(project.path).project.review().review.strict


class TestRequired:
    def test_one_that_is_nowhere_blocks_every_event_that_can_be(self, tmp_path: Path) -> None:
        config = Config(working_dir=tmp_path, required=["secret-scan"])
        system = HookSystem(config)
        why = "required hook 'secret-scan' is not in force: no settings have it"
        for event, input in (("BeforeTool", TOOL), ("BeforeAgent", {"prompt": "hi"})):
            answer = system.fire_blocking(event, input)
            assert (answer.blocked, answer.reason) == (True, why)
        assert not system.fire_blocking("SessionStart", {"source": "startup"}).blocked

    @pytest.mark.parametrize("name", ["pass", "user:pass"])
    def test_one_that_is_in_force_lets_events_go_on(self, tmp_path: Path, name: str) -> None:
        hooks = settings_of(PASSES)["hooks"]
        config = Config(working_dir=tmp_path, user_hooks=hooks, required=[name])
        assert not HookSystem(config).fire_blocking("BeforeTool", TOOL).blocked

    @pytest.mark.parametrize(
        ("said", "failed"),
        [("exit 1", "exit"), ("""echo 'log {"decision": "allow"}'""", "malformed")],
    )
    def test_one_fails_closed_and_is_read_strictly(
        self, tmp_path: Path, said: str, failed: str
    ) -> None:
        hooks = settings_of(hook(said, onFailure="allow"))["hooks"]
        for required in ([], ["guard"]):
            config = Config(working_dir=tmp_path, user_hooks=hooks, required=required)
            answer = HookSystem(config).fire_blocking("BeforeTool", TOOL)
            assert answer.blocked is bool(required)
        assert [result.failed for result in answer.results] == [failed]

    def test_a_projects_hook_of_that_name_does_not_satisfy_the_user(self, project: Project) -> None:
        guard_project(project, PASSES)
        trust(project.path)
        write_user_settings(Path.home(), {"hooks": {"required": ["pass"]}})
        answer = fire(project.path)
        assert answer.blocked
        assert "it must be in the settings of system or user" in str(answer.reason)
        named = {"hooks": {"required": ["project:pass"]}}
        write_user_settings(Path.home(), named)
        assert not fire(project.path).blocked

    def test_disabled_it_is_not_in_force(self, tmp_path: Path) -> None:
        config = Config(
            working_dir=tmp_path,
            user_hooks=settings_of(PASSES)["hooks"],
            disabled=["pass"],
            required=["pass"],
        )
        assert "it is disabled" in str(HookSystem(config).fire_blocking("BeforeTool", TOOL).reason)

    def test_it_cannot_be_switched_off_while_the_agent_runs(self, tmp_path: Path) -> None:
        hooks = settings_of(PASSES)["hooks"]
        config = Config(working_dir=tmp_path, user_hooks=hooks, required=["pass"])
        system = HookSystem(config)
        assert not system.fire_blocking("BeforeTool", TOOL).blocked
        system.set_hook_enabled("pass", False)
        assert system.fire_blocking("BeforeTool", TOOL).blocked
        system.set_hook_enabled("pass", True)
        assert not system.fire_blocking("BeforeTool", TOOL).blocked

    def test_who_switches_all_hooks_off_gets_around_none(self, project: Project) -> None:
        write_user_settings(Path.home(), {"enableHooks": False})
        system = project.settings({**settings_of(PASSES, required=["pass"])}, file="../etc.json")
        assert fire(project.path, system_settings=system).blocked

    def test_it_fails_closed_and_is_read_strictly(self, tmp_path: Path) -> None:
        for command in ("exit 1", "kill -9 $$", """echo 'no {"decision": "allow"}'"""):
            hooks = settings_of(hook(command, onFailure="allow"))["hooks"]
            for required in ([], ["guard"]):
                config = Config(working_dir=tmp_path, user_hooks=hooks, required=required)
                answer = HookSystem(config).fire_blocking("BeforeTool", TOOL)
                assert answer.blocked is bool(required), command

    def test_of_a_project_it_is_a_guard_that_runs_as_it_was_reviewed(
        self, project: Project
    ) -> None:
        guard_project(project, hook(onFailure="allow"))
        trust(project.path)
        with running(project.path, required=["project:guard"]) as system:
            project.script("hooks/guard.sh", PASSING)
            assert not system.fire_blocking("BeforeAgent", {"prompt": "hi"}).blocked
            assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        assert fire(project.path, required=["project:guard"]).reason == "no"

    def test_a_project_that_required_it_cannot_take_it_away(self, project: Project) -> None:
        guard_project(project)
        project.settings(settings_of(hook(onFailure="allow"), required=["guard"]))
        trust(project.path)
        project.settings({"hooks": {}})
        assert fire(project.path).reason == "no"

    def test_an_open_one_that_changed_is_noticed_on_events_that_it_is_not_for(
        self, project: Project
    ) -> None:
        guard_project(project, hook("hooks/guard.sh; true", onFailure="allow"))
        trust(project.path)
        with running(project.path, required=["project:guard"]) as system:
            assert not system.fire_blocking("BeforeAgent", {"prompt": "hi"}).blocked
            project.script("hooks/guard.sh", PASSING)
            answer = system.fire_blocking("BeforeAgent", {"prompt": "hi"})
            assert answer.blocked
            assert "hooks/guard.sh has changed since it was reviewed" in str(answer.reason)

    def test_settings_that_are_not_there_at_all_are_noticed(self, project: Project) -> None:
        assert fire(project.path, required=["guard"]).blocked

    async def test_the_front_hears_of_it(self, tmp_path: Path) -> None:
        ran = []
        hooks = Hooks.of(Config(working_dir=tmp_path, required=["guard"]))
        result = await hooks.run_tool(lambda path: ran.append(path), {"path": "x"}, name="write")
        assert "required hook 'guard' is not in force" in str(result.llm_content)
        assert ran == []


class TestTheSystemsPolicy:
    def test_its_managed_hooks_stay_when_other_settings_are_named(self, project: Project) -> None:
        managed = settings_of(hook("echo no >&2; exit 2", managed=True))
        system = project.settings(managed, file="etc.json")
        own = project.settings(settings_of(PASSES), file="own.json")
        answer = fire(project.path, settings_files=[own], system_settings=system)
        assert (answer.blocked, answer.reason) == (True, "no")

    @pytest.mark.parametrize("variable", ["XDG_CONFIG_DIRS", "HOME", "XDG_CONFIG_HOME"])
    def test_no_variable_moves_it(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        managed = settings_of(hook("echo no >&2; exit 2", managed=True))
        system = project.settings(managed, file="etc.json")
        monkeypatch.setenv(variable, str(project.path / "empty"))
        assert fire(project.path, system_settings=system).reason == "no"


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd" if os.path.isdir("/proc") else "/dev/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, hard))
    held = []
    try:
        while True:
            try:
                held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class TestTheEngineFails:
    def fire_blocking(self, system: HookSystem) -> Answer:
        return system.fire_blocking("BeforeTool", TOOL)

    @pytest.mark.parametrize("closed", [True, False])
    def test_without_a_descriptor_a_guard_blocks(self, tmp_path: Path, closed: bool) -> None:
        guard = hook("exit 0", onFailure="block" if closed else "allow")
        config = Config(working_dir=tmp_path, hooks=settings_of(guard)["hooks"])
        system = HookSystem(config)
        assert not self.fire_blocking(system).blocked
        with no_descriptor_left():
            answer = self.fire_blocking(system)
        assert (answer.blocked, answer.success) == (closed, False)
        assert not self.fire_blocking(system).blocked

    def test_settings_that_no_descriptor_was_left_to_read_are_read_with_the_next_event(
        self, project: Project
    ) -> None:
        guard_project(project)
        trust(project.path)
        config = Config.load(project.path)
        hooks = Hooks.of(config).sync
        with no_descriptor_left():
            answer = hooks.before_tool("write_file", {})
        assert answer.blocked
        assert hooks.before_tool("write_file", {}).reason == "no"

    @pytest.mark.parametrize("closed", [True, False])
    def test_an_input_that_is_none_is_denied_where_a_hook_must_answer(
        self, tmp_path: Path, closed: bool
    ) -> None:
        guard = hook("exit 0", onFailure="block" if closed else "allow")
        config = Config(working_dir=tmp_path, hooks=settings_of(guard)["hooks"])
        answer = HookSystem(config).fire_blocking("BeforeTool", {"tool_name": "write_file"})
        assert (answer.blocked, answer.all_outputs) == (closed, [])

    def test_the_denial_has_its_events_form(self, tmp_path: Path) -> None:
        guard = hook("exit 0")
        events = ("BeforeModel", "BeforeToolSelection")
        config = Config(
            working_dir=tmp_path, hooks={event: [{"hooks": [guard]}] for event in events}
        )
        system = HookSystem(config)
        for event in events:
            answer = system.fire_blocking(event, {"llm_request": {"contents": object()}})
            assert answer.final_output is not None, event
            assert answer.final_output.is_blocking_decision() or answer.blocked, event


class TestAUsersHookThatLeadsIntoTheProject:
    @pytest.fixture
    def leading(self, project: Project, tmp_path: Path) -> Callable[[str, str], Project]:
        def make(command: str, on_failure: str) -> Project:
            project.script("hooks/mine.sh", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
            own = settings_of(hook(command, name="mine", onFailure=on_failure))
            write_user_settings(Path.home(), own)
            return project

        return make

    @pytest.mark.parametrize(
        "command",
        [
            "hooks/mine.sh",
            "./hooks/mine.sh",
            "$HOOKLINE_PROJECT_DIR/hooks/mine.sh",
            "sh hooks/mine.sh",
            "cd hooks && ./mine.sh",
        ],
    )
    @pytest.mark.parametrize("on_failure", ["allow", "block"])
    def test_runs_after_the_review_alone(
        self,
        leading: Callable[[str, str], Project],
        tmp_path: Path,
        command: str,
        on_failure: str,
    ) -> None:
        project = leading(command, on_failure)
        answer = fire(project.path)
        assert not (tmp_path / "ran").exists()
        assert answer.blocked is (on_failure == "block")
        trust(project.path)
        assert not fire(project.path).blocked
        assert (tmp_path / "ran").exists()

    def test_one_that_the_user_takes_away_guards_no_more(
        self, leading: Callable[[str, str], Project]
    ) -> None:
        project = leading("hooks/mine.sh", "block")
        trust(project.path)
        write_user_settings(Path.home(), {})
        assert not fire(project.path).blocked
        assert Config.load(project.path).is_trusted_folder()

    def test_one_that_names_a_file_of_the_project_as_data_runs(self, project: Project) -> None:
        project.write("rules.txt", "x")
        own = settings_of(hook('grep -q x "$HOOKLINE_PROJECT_DIR/rules.txt" && exit 2'))
        write_user_settings(Path.home(), own)
        assert fire(project.path).blocked
        assert [result.failed for result in fire(project.path).results] == [None]


class TestNothingIsSilentlyUnguarded:
    @pytest.mark.parametrize("load", [Hooks.load, Config.load])
    def test_a_folder_that_does_not_exist_raises(
        self, tmp_path: Path, load: Callable[..., object]
    ) -> None:
        gone = tmp_path / "gone"
        with pytest.raises(NoFolderError, match=f"there is no folder {gone}, so no hooks"):
            load(gone)
        with pytest.raises(NoFolderError, match=str(gone)):
            load(tmp_path, project_dir=gone)
        gone.write_text("a file")
        with pytest.raises(NoFolderError):
            load(gone)

    def test_a_folder_without_settings_is_warned_of_once(
        self, project: Project, caplog: pytest.LogCaptureFixture
    ) -> None:
        hooks = Hooks.load(project.path).sync
        assert caplog.messages == []
        for _ in range(2):
            assert not hooks.before_tool("write_file", {}).blocked
        (told,) = caplog.messages
        assert told.startswith(f"{project.path} has no hook settings, so none of its hooks run; ")

    @pytest.mark.parametrize("broken", ["{}", "{"])
    def test_settings_that_are_there_are_not_missing(
        self, project: Project, caplog: pytest.LogCaptureFixture, broken: str
    ) -> None:
        project.settings(broken)
        Hooks.load(project.path).sync.before_tool("write_file", {})
        assert "has no hook settings" not in caplog.text

    def test_hooks_of_claude_code_that_nobody_reads_are_named(
        self, project: Project, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = project.write(".claude/settings.json", json.dumps(settings_of(PASSES)))
        Hooks.load(project.path).sync.before_tool("write_file", {})
        assert f"hooks of Claude Code are in {file}: load them with claude=True" in caplog.text
        caplog.clear()
        Hooks.load(project.path, claude=True).sync.before_tool("write_file", {})
        assert "has no hook settings" not in caplog.text

    def test_a_settings_file_that_code_names_and_that_is_gone_is_warned_of(
        self, project: Project, caplog: pytest.LogCaptureFixture
    ) -> None:
        gone = project.path / "rules.json"
        Hooks.load(project.path, settings_files=[gone]).sync.before_tool("write_file", {})
        assert f"there is no settings file {gone}" in caplog.text

    def test_with_required_hooks_a_folder_without_settings_blocks(self, project: Project) -> None:
        answer = Hooks.load(project.path, required=["guard"]).sync.before_tool("write_file", {})
        assert answer.blocked
        assert answer.reason == "required hook 'guard' is not in force: no settings have it"
