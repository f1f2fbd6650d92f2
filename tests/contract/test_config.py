"""Where a system gets what it is told, who may switch hooks off, and what that costs."""

import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus
from hookline.contract import Config, HookSystem
from hookline.trace.records import DebugLogger
from hookline.translate.choice import AnyTranslator
from hookline.translate.genai import GenAITranslator
from hookline.wire.hooks import Redaction
from tests.eleven import Json, command, on_every_event, rules_of
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}


def before_tool(*names: str, **fields: Any) -> Json:
    hooks = [command(f'printf \'{{"reason":"{name}"}}\'', name=name, **fields) for name in names]
    return {"BeforeTool": [{"hooks": hooks}]}


class Layers:
    """The places of the settings layers of one project, all below the test's own directory."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.own = Path.home().parent

    def user(self, settings: Json, *, file: str = ".config/hookline/settings.json") -> Path:
        return self._write(self.own / "home" / file, settings)

    def system(self, settings: Json) -> Path:
        return self._write(self.own / "etc" / "hookline" / "settings.json", settings)

    def _write(self, path: Path, settings: Json) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.project.settings(settings, file=str(path))
        return path


@pytest.fixture
def layers(project: Project) -> Layers:
    return Layers(project)


def system_of(config: Config) -> HookSystem:
    system = config.get_hook_system()
    assert system is not None
    return system


def reasons(config: Config) -> list[str]:
    processed = system_of(config).fire_blocking("BeforeTool", TOOL)
    return [output["reason"] for output in processed.all_outputs]


def opened_by(call: Any) -> list[str]:
    """The paths that are opened while a function runs."""
    opened: list[str] = []
    thread = threading.get_ident()

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "open" and threading.get_ident() == thread:
            opened.append(str(arguments[0]))

    listening = True
    sys.addaudithook(audit)
    call()
    listening = False
    return opened


def test_disabled_in_code_there_is_no_system_and_nothing_is_touched(project: Project) -> None:
    project.settings({"hooks": before_tool("never")})
    config = Config.load(project.path, trusted=True, enable_hooks=False)
    assert opened_by(config.get_hook_system) == []
    assert config.get_hook_system() is None
    assert config.get_enable_hooks() is False


def test_disabled_by_the_user_there_is_no_system_either(layers: Layers) -> None:
    layers.user({"enableHooks": False, "hooks": before_tool("user")})
    layers.project.settings({"enableHooks": True, "hooks": before_tool("project")})
    config = Config.load(layers.project.path, trusted=True)
    assert config.get_hook_system() is None
    assert config.get_enable_hooks() is False


def test_hooks_that_the_system_manages_survive_the_users_switch(layers: Layers) -> None:
    layers.user({"enableHooks": False, "hooks": before_tool("user")})
    layers.system({"hooks": before_tool("managed", managed=True)})
    layers.project.settings({"hooks": before_tool("project")})
    config = Config.load(layers.project.path, trusted=True, disabled=["managed"])
    system = system_of(config)
    system.register_hook("BeforeTool", lambda _document: {"reason": "early"}, name="early")
    assert reasons(config) == ["managed"]
    system.register_hook("BeforeTool", lambda _document: {"reason": "late"}, name="late")
    assert reasons(config) == ["managed"]
    assert system.set_hook_enabled("managed", False) == 0
    assert reasons(config) == ["managed"]


def test_the_system_itself_may_switch_all_hooks_off(layers: Layers) -> None:
    layers.system({"enableHooks": False, "hooks": before_tool("managed", managed=True)})
    layers.user({"enableHooks": True, "hooks": before_tool("user")})
    assert Config.load(layers.project.path).get_hook_system() is None


def test_a_project_switches_off_its_own_hooks_only(layers: Layers) -> None:
    layers.project.settings(
        {"enableHooks": False, "hooks": {**before_tool("project"), "disabled": ["user"]}}
    )
    layers.user({"hooks": before_tool("user")})
    config = Config.load(layers.project.path, trusted=True)
    assert reasons(config) == ["user"]


def test_a_config_has_one_system_whoever_asks(tmp_path: Path) -> None:
    config = Config(working_dir=tmp_path)
    found: list[HookSystem | None] = []
    gate = threading.Barrier(8)

    def ask() -> None:
        gate.wait()
        found.append(config.get_hook_system())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(system) for system in found}) == 1
    assert system_of(config).get_status().initialized is False
    assert Config(working_dir=tmp_path).get_hook_system() is not found[0]


def test_what_is_given_in_code_is_what_the_getters_say(tmp_path: Path) -> None:
    bus, logger, translator = InProcessMessageBus(), DebugLogger(), GenAITranslator()
    config = Config(
        working_dir=tmp_path / "w",
        target_dir=tmp_path / "t",
        project_dir=tmp_path / "p",
        session_id="s",
        transcript_path="/t.json",
        trusted=False,
        message_bus=bus,
        debug_logger=logger,
        translator=translator,
    )
    assert config.get_working_dir() == str(tmp_path / "w")
    assert config.get_target_dir() == str(tmp_path / "t")
    assert config.get_project_dir() == str(tmp_path / "p")
    assert (config.get_session_id(), config.get_transcript_path()) == ("s", "/t.json")
    assert (config.get_enable_hooks(), config.is_trusted_folder()) == (True, False)
    assert config.get_message_bus() is bus
    assert config.get_debug_logger() is logger
    assert config.get_translator() is translator


def test_what_is_not_given_has_a_sensible_value() -> None:
    here = str(Path.cwd())
    config = Config()
    assert config.get_working_dir() == config.get_target_dir() == config.get_project_dir() == here
    assert uuid.UUID(config.get_session_id()).version == 4
    assert config.get_session_id() == config.get_session_id() != Config().get_session_id()
    assert (config.get_transcript_path(), config.get_message_bus()) == ("", None)
    assert config.is_trusted_folder() is True
    assert config.get_debug_logger().enabled is False
    assert isinstance(config.get_translator(), AnyTranslator)


def test_trust_may_be_a_question_that_is_asked_each_time(tmp_path: Path) -> None:
    answers = [True]
    config = Config(working_dir=tmp_path, hooks=before_tool("p"), trusted=lambda: answers[-1])
    assert reasons(config) == ["p"]
    answers.append(False)
    processed = system_of(config).fire_blocking("BeforeTool", TOOL)
    assert [result.failed for result in processed.results] == ["untrusted"]


def test_the_layers_run_in_their_order_and_files_of_a_layer_in_theirs(layers: Layers) -> None:
    project = layers.project
    project.settings({"hooks": before_tool("local")}, file=".hookline/settings.local.json")
    project.settings({"hooks": before_tool("shared")})
    project.settings({"hooks": before_tool("llxprt")}, file=".llxprt/settings.json")
    project.settings({"hooks": before_tool("gemini")}, file=".gemini/settings.json")
    layers.user({"hooks": before_tool("user")})
    layers.user({"hooks": before_tool("user-gemini")}, file=".gemini/settings.json")
    layers.system({"hooks": before_tool("system")})
    extension = {"name": "e", "isActive": True, "hooks": before_tool("extension")}
    config = Config.load(project.path, trusted=True, extensions=[extension])
    assert reasons(config) == [
        *("local", "shared", "llxprt", "gemini"),
        *("user", "user-gemini", "system", "extension"),
    ]
    sources = [entry.source.value for entry in system_of(config).get_all_hooks()]
    assert sources == ["project"] * 4 + ["user"] * 2 + ["system", "extensions"]


def test_project_hooks_on_disk_are_listed_but_do_not_run_untrusted(
    layers: Layers, caplog: pytest.LogCaptureFixture
) -> None:
    path = layers.project.settings({"hooks": before_tool("project")})
    layers.user({"hooks": before_tool("user")})
    config = Config.load(layers.project.path)
    assert reasons(config) == ["user"]
    entry = system_of(config).get_all_hooks()[0]
    assert (entry.name, entry.trusted, entry.file) == ("project", False, str(path))
    assert entry.line is not None
    assert "1 project hook is not trusted and will not run" in caplog.text


def test_the_project_is_found_from_below_and_may_be_given(project: Project) -> None:
    project.settings({"hooks": before_tool("here")})
    below = project.path / "a" / "b"
    below.mkdir(parents=True)
    config = Config.load(below, trusted=True)
    assert (config.get_project_dir(), config.get_working_dir()) == (str(project.path), str(below))
    assert reasons(config) == ["here"]
    elsewhere = Config.load(below, project_dir=below, trusted=True)
    assert (elsewhere.get_project_dir(), reasons(elsewhere)) == (str(below), [])


def test_files_that_are_named_replace_the_layers_and_need_no_trust(layers: Layers) -> None:
    layers.user({"hooks": before_tool("user")})
    project = layers.project
    project.settings({"hooks": before_tool("project")})
    first = project.settings({"hooks": before_tool("first")}, file="one.json")
    second = project.settings({"hooks": before_tool("second")}, file="two.json")
    config = Config.load(project.path, settings_files=[first, str(second)])
    assert reasons(config) == ["first", "second"]
    assert reasons(Config.load(project.path, settings_files=[])) == []


def test_names_that_the_user_disabled_do_not_run_but_code_may_use_them(tmp_path: Path) -> None:
    config = Config(working_dir=tmp_path, hooks=before_tool("a", "b"), disabled=["a", "c"])
    system_of(config).register_hook("BeforeTool", lambda _document: {"reason": "c"}, name="c")
    assert reasons(config) == ["c", "b"]


@pytest.mark.parametrize("in_code", [False, True])
def test_redaction_is_the_users_or_given_in_code(layers: Layers, in_code: bool) -> None:
    section = {"enabled": True, "blocked": ["PLAIN"]}
    layers.user({"security": {"environmentVariableRedaction": section}})
    redaction = Redaction(enabled=True, allowed=("MY_TOKEN",)) if in_code else None
    show = command('printf \'{"reason":"%s,%s"}\' "$MY_TOKEN" "$PLAIN"')
    layers.project.settings({"hooks": on_every_event(show)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_TOKEN", "t")
        patch.setenv("PLAIN", "p")
        config = Config.load(layers.project.path, trusted=True, redaction=redaction)
        assert reasons(config) == ["t,p" if in_code else ","]


def test_hooks_given_in_code_that_are_wrong_are_reported_and_their_neighbours_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = {**before_tool("good"), "BeforeTol": [], "AfterTool": 5}
    config = Config(working_dir=tmp_path, hooks=hooks, user_hooks=before_tool("user"))
    assert reasons(config) == ["good", "user"]
    assert "BeforeTol: is not a hook event" in caplog.text
    assert "did you mean BeforeTool" in caplog.text
    assert "AfterTool: must be a list of definitions" in caplog.text


@pytest.mark.parametrize(
    ("said", "is_strict"),
    [
        *(("", False), ("0", False), ("false", False), ("No", False), (" off ", False)),
        *(("1", True), ("yes", True), ("nonsense", True)),
    ],
)
def test_the_environment_can_ask_for_strict_mode(
    monkeypatch: pytest.MonkeyPatch, said: str, is_strict: bool
) -> None:
    monkeypatch.setenv("HOOKLINE_STRICT", said)
    assert Config().is_strict() is is_strict
    assert Config(strict=True).is_strict()


def test_settings_can_ask_for_strict_mode_once_they_are_read(layers: Layers) -> None:
    layers.user({"strict": True})
    config = Config.load(layers.project.path)
    assert not config.is_strict()
    config.get_settings()
    assert config.is_strict()


def test_the_files_that_decide_about_hooks_are_named_whether_they_exist_or_not(
    layers: Layers,
) -> None:
    user = layers.user({})
    files = Config.load(layers.project.path, trusted=True).project.list_files()
    assert str(user) in files
    assert str(layers.project.path / ".hookline" / "settings.json") in files
    trusted = Config.load(layers.project.path).project.list_files()
    [store] = {*trusted} - {*files}
    assert store.startswith(str(layers.own))
    assert (Config().project.list_files(), Config().project.sources) == ((), ())


def test_an_extension_counts_unless_it_is_inactive() -> None:
    extensions: list[Json] = [
        {"name": "a", "hooks": before_tool("a")},
        {"name": "b", "hooks": before_tool("b"), "isActive": True},
        {"name": "c", "hooks": before_tool("c"), "isActive": False},
    ]
    assert reasons(Config(extensions=extensions)) == ["a", "b"]


def test_a_hook_has_its_options_whether_it_waits_for_the_system_or_comes_later() -> None:
    config = Config()
    options: Json = {"matcher": "read", "timeout": 50, "sequential": True, "on_failure": "block"}
    config.register_hook("BeforeTool", lambda _document: None, name="early", **options)
    system = system_of(config)
    config.register_hook("BeforeTool", lambda _document: None, name="late", **options)
    system.initialize_blocking()
    for entry, name in zip(system.get_all_hooks(), ("early", "late"), strict=True):
        assert (entry.name, entry.matcher, entry.sequential) == (name, "read", True)
        assert (entry.hook.timeout, entry.hook.on_failure) == (50, "block")


@pytest.mark.parametrize(("options", "warm"), [({}, True), ({"warm": False}, False)])
def test_interpreters_are_kept_warm_unless_told_otherwise(options: Json, warm: bool) -> None:
    assert rules_of(Config(working_dir="/", **options)).warm is warm
