"""A project's hooks of Claude Code's run only as somebody has reviewed them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.contract import Config
from hookline.settings.reader import HookRegistryEntry
from hookline.trust.policy import Policy
from hookline.trust.review import ReviewDraft
from hookline.trust.store import TrustStore
from tests.dialects.claude.claude import (
    PROJECT_FILE,
    hooks,
    http,
    own_user_file,
    plugin,
    user_file,
    write,
)
from tests.eleven import rules_of
from tests.harness.scratch import Project

SCRIPT = {"run.sh": "#!/bin/sh\n"}
BLOCKING = {"onFailure": "block"}


def load(project: Project, **options: Any) -> Config:
    return Config.load(project.path, **{"claude": True, **options})


def let_it(project: Project, **options: Any) -> None:
    TrustStore().write(load(project, **options).project.review())


def faults(project: Project, **options: Any) -> list[str | None]:
    config = load(project, **options)
    return [config.project.why_untrusted(entry.hook) for entry in config.get_settings().entries]


def find_guards(config: Config) -> list[HookRegistryEntry]:
    """The project's hooks that are in force."""
    entries = config.get_settings().entries
    return [entry for entry in entries if entry.enabled and entry.trusted]


def digest(config: Config) -> str:
    return Policy.read(
        config.get_settings().entries,
        project_dir=config.get_project_dir(),
        cwd=config.get_working_dir(),
        get_files=config.project.get_reviewed_files,
    ).digest


def command(**more: Any) -> dict[str, Any]:
    return {"type": "command", "command": "hooks/guard.sh", **more}


PROMPT = {"type": "prompt", "prompt": "Is this safe?"}
SENT = http(headers={"X": "$TOKEN"}, allowedEnvVars=["TOKEN"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (command(), command(**{"if": "Bash(git push:*)"})),
        (command(), command(**{"async": True})),
        (command(), command(timeout=5)),
        (command(args=["a"]), command(args=["b"])),
        (command(), command(onFailure="block")),
        (SENT, {**SENT, "url": "https://example.org/other"}),
        (SENT, {**SENT, "headers": {"X": "$OTHER"}}),
        (SENT, {**SENT, "allowedEnvVars": ["TOKEN", "OTHER"]}),
        (SENT, {**SENT, "onFailure": "block"}),
        (PROMPT, {**PROMPT, "prompt": "Is this fast?", "name": "Is this safe?"}),
        (PROMPT, {**PROMPT, "model": "m"}),
        (PROMPT, {**PROMPT, "continueOnBlock": True}),
    ],
)
def test_every_field_is_reviewed_and_is_in_the_policy(
    project: Project, before: dict[str, Any], after: dict[str, Any]
) -> None:
    project.script("hooks/guard.sh", "#!/bin/sh\n")
    digests = set()
    for hook in (before, after):
        project.settings(hooks(hook), file=PROJECT_FILE)
        assert [bool(fault) for fault in faults(project)] == [True]
        let_it(project)
        assert faults(project) == [None]
        digests.add(digest(load(project)))
    assert len(digests) == 2


def test_the_urls_that_others_allow_are_in_the_policy(project: Project) -> None:
    project.settings(hooks(SENT), file=PROJECT_FILE)
    digests = set()
    for urls in (None, ["https://example.org/*"], ["*"]):
        write(user_file(), {} if urls is None else {"allowedHttpHookUrls": urls})
        digests.add(digest(load(project)))
    assert len(digests) == 3


def test_the_event_and_the_dialect_are_reviewed(project: Project) -> None:
    project.settings(hooks("true", event="PostToolUse"), file=PROJECT_FILE)
    let_it(project)
    project.settings(hooks("true", event="PostToolUseFailure"), file=PROJECT_FILE)
    (fault,) = faults(project)
    assert fault is not None
    project.settings(hooks("true", event="Stop"), file=PROJECT_FILE)
    let_it(project)
    native = {"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    project.settings(native)
    assert [bool(fault) for fault in faults(project)] == [True, False]


def test_a_native_entry_is_described_as_before(project: Project) -> None:
    hook = {"type": "command", "command": "true"}
    project.settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    (reviewed,) = Config.load(project.path).project.review().review.hooks
    assert reviewed.entry == {"event": "BeforeTool", "name": "true", "command": "true"}


def test_the_projects_variables_are_reviewed_and_the_users_are_not(project: Project) -> None:
    project.settings(hooks("true", env={"A": "1"}), file=PROJECT_FILE)
    let_it(project)
    write(user_file(), {"env": {"B": "1"}})
    assert faults(project) == [None]
    project.settings(hooks("true", env={"A": "2"}), file=PROJECT_FILE)
    assert faults(project) != [None]


def test_a_script_of_the_project_that_changes_is_found(project: Project) -> None:
    script = project.script(".claude/hooks/guard.sh", "#!/bin/sh\n")
    named = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'
    project.settings(hooks(named), file=PROJECT_FILE)
    let_it(project)
    config = load(project)
    (entry,) = config.get_settings().entries
    assert config.project.why_untrusted(entry.hook) is None
    script.write_text("#!/bin/sh\nexit 0\n")
    assert "has changed" in (config.project.why_untrusted(entry.hook) or "")


@pytest.mark.parametrize("where", ["in the project", "elsewhere"])
@pytest.mark.parametrize(
    "changed", ["run.py", "lib/deep/helper.py", "new.py", "state/x.json", "hooks/hooks.json"]
)
def test_a_plugin_that_a_project_names_is_reviewed_with_all_that_it_holds(
    project: Project, tmp_path: Path, where: str, changed: str
) -> None:
    folder = (project.path if where == "in the project" else tmp_path) / "plugged"
    plugin(folder, hooks("python3 ${CLAUDE_PLUGIN_ROOT}/run.py"), files={"run.py": "import lib\n"})
    write(folder / "lib/deep/helper.py", "")
    write(folder / "state/x.json", "{}")
    project.settings({"plugins": [str(folder)]})
    assert faults(project) == ["nobody has reviewed it; review it with `hookline trust`"]
    let_it(project)
    config = load(project)
    (entry,) = config.get_settings().entries
    assert config.project.why_untrusted(entry.hook) is None
    assert config.project.get_open(entry.hook) == ""
    file = folder / changed
    file.write_text(file.read_text() + "\n" if file.exists() else "evil")
    assert config.project.why_untrusted(entry.hook) is not None
    assert faults(project) != [None]


def test_two_plugins_with_the_same_words_are_reviewed_each_by_itself(
    project: Project, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        plugin(folder, hooks("${CLAUDE_PLUGIN_ROOT}/run.sh"), files=SCRIPT)
    project.settings({"plugins": [str(folder) for folder in folders]})
    let_it(project)
    assert faults(project) == [None, None]
    write(folders[1] / "run.sh", "evil")
    assert [bool(fault) for fault in faults(project)] == [False, True]


def test_a_plugin_that_is_led_elsewhere_is_another(project: Project, tmp_path: Path) -> None:
    for name in ("one", "two"):
        plugin(
            tmp_path / name, hooks("${CLAUDE_PLUGIN_ROOT}/run.sh"), files={"run.sh": "#!/bin/sh\n"}
        )
    link = project.path / "plugged"
    link.symlink_to(tmp_path / "one")
    project.settings({"plugins": ["plugged"]})
    let_it(project)
    assert faults(project) == [None]
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert faults(project) != [None]


@pytest.mark.parametrize("hook", ["${CLAUDE_PLUGIN_ROOT}/run.sh", SENT, PROMPT])
def test_a_plugin_of_the_users_in_the_project_is_code_of_the_project(
    project: Project, hook: str | dict[str, Any]
) -> None:
    folder = plugin(project.path / "p", hooks(hook), files={"run.sh": "x"})
    write(own_user_file(), {"plugins": [str(folder)]})
    assert faults(project) != [None]
    let_it(project)
    assert faults(project) == [None]
    if isinstance(hook, str):
        write(folder / "other.sh", "evil")
    else:
        plugin(folder, hooks({**hook, "timeout": 1}))
    assert faults(project) != [None]


GUARD = {"type": "command", "command": "true", **BLOCKING}


def test_a_reviewed_guard_that_is_gone_goes_on(project: Project) -> None:
    listed = {**GUARD, "if": "Bash(git push:*)"}, {**GUARD, "if": "Bash(rm:*)"}
    data = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": list(listed)}]}}
    project.settings(data, file=PROJECT_FILE)
    let_it(project)
    for settings in (data, {}):
        project.settings(settings, file=PROJECT_FILE)
        config = load(project)
        guards = find_guards(config)
        found = [(e.hook.dialect, e.hook.dialect_event, e.hook.condition) for e in guards]
        assert found == [
            ("claude", "PreToolUse", "Bash(git push:*)"),
            ("claude", "PreToolUse", "Bash(rm:*)"),
        ]
        assert len({entry.hook.identity() for entry in guards}) == 2
        assert guards[0].matches("run_shell_command")
        assert not guards[0].matches("read_file")
        assert rules_of(config).tools is not None


def test_a_guard_on_an_event_of_claude_codes_alone_goes_on_there(project: Project) -> None:
    project.settings(hooks(GUARD, event="PermissionRequest"), file=PROJECT_FILE)
    let_it(project)
    project.settings({}, file=PROJECT_FILE)
    (entry,) = find_guards(load(project))
    assert (entry.event.value, entry.name) == ("PermissionRequest", "true")


@pytest.mark.parametrize("kind", [http(**BLOCKING), {**PROMPT, **BLOCKING}])
def test_guards_of_every_kind_go_on(project: Project, kind: dict[str, Any]) -> None:
    project.settings(hooks(kind), file=PROJECT_FILE)
    let_it(project)
    project.settings(hooks({**kind, "timeout": 1}), file=PROJECT_FILE)
    config = load(project)
    (guard,) = find_guards(config)
    assert guard.hook.timeout > 1000
    assert config.project.why_untrusted(guard.hook) is None
    assert any("has changed since it was reviewed" in text for text in notices(config))


def notices(config: Config) -> list[str]:
    return [problem.text for problem in config.get_settings().problems]


def test_a_project_cannot_disable_a_reviewed_guard_and_its_user_can(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    let_it(project)
    project.settings(hooks(GUARD, disableAllHooks=True), file=PROJECT_FILE)
    config = load(project)
    assert len(find_guards(config)) == 1
    assert any("the project's settings disable it" in text for text in notices(config))
    write(user_file(), {"disableAllHooks": True})
    assert find_guards(load(project)) == []


def test_a_project_that_asks_no_more_for_its_reviewed_guards_keeps_them(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    project.settings({"claude": True})
    let_it(project, claude=None)
    assert len(find_guards(load(project, claude=None))) == 1
    project.settings({})
    config = load(project, claude=None)
    assert len(find_guards(config)) == 1
    assert any("pass --claude" in text for text in notices(config))
    # The user's word ends it.
    assert find_guards(load(project, claude=False)) == []
    write(own_user_file(), {"claude": False})
    assert find_guards(load(project, claude=None)) == []


@pytest.mark.parametrize("guard", [GUARD, http(**BLOCKING)])
def test_no_word_on_claude_takes_a_reviewed_guard_of_a_plugin_away(
    project: Project, guard: dict[str, Any]
) -> None:
    plugin(project.path / "p", hooks(guard))
    project.settings({"plugins": ["p"]})
    let_it(project)
    project.settings({})
    assert len(find_guards(load(project, claude=False))) == 1


def test_what_a_project_says_of_tools_counts_as_it_was_reviewed(project: Project) -> None:
    guard = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}
    write(user_file(), {"hooks": {"PreToolUse": [guard]}})

    def is_matched() -> bool:
        (entry,) = load(project).get_settings().entries
        return entry.matches("my_shell")

    project.settings({"hooks": {"tools": {"my_shell": "Bash"}}})
    assert not is_matched()
    let_it(project)
    assert is_matched()
    project.settings({"hooks": {"tools": {"my_shell": "Read"}}})
    assert is_matched()
    kept = TrustStore().read(str(project.path))
    assert kept is not None
    changes = kept.review.changes_of(load(project).project.review().review)
    assert changes == ["hooks.tools: the project declares other tools now"]


def test_what_others_let_a_hook_call_asks_for_no_new_review(project: Project) -> None:
    project.settings(hooks(http()), file=PROJECT_FILE)
    let_it(project)
    write(user_file(), {"allowedHttpHookUrls": ["https://example.org/*"]})
    assert faults(project) == [None]


def test_a_record_of_an_event_that_nobody_can_fire_is_passed_over(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    let_it(project)
    made = load(project).project.review()
    (hook,) = made.review.hooks
    odd = msgspec.structs.replace(hook, entry={**hook.entry, "event": "Nope"})
    TrustStore().write(
        ReviewDraft(msgspec.structs.replace(made.review, hooks=(odd,)), made.contents)
    )
    project.settings({}, file=PROJECT_FILE)
    assert find_guards(load(project)) == []
