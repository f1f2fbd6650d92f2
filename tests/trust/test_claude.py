"""A project's hooks of Claude Code's run only as somebody has reviewed them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.config import Config
from hookline.trust.review import Policy, accept
from hookline.trust.store import TrustStore
from hookline.wire.hooks import WithheldHook
from tests.harness.scratch import Project
from tests.pipeline.claude import (
    PROJECT_FILE,
    hooks,
    http,
    own_user_file,
    plugin,
    user_file,
    write,
)

SCRIPT = {"run.sh": "#!/bin/sh\n"}
BLOCKING = {"onFailure": "block"}


def load(project: Project, **options: Any) -> Config:
    return Config.load(project.path, **{"claude": True, **options})


def let_it(project: Project, **options: Any) -> None:
    TrustStore().write(accept(load(project, **options).review_project(), None, uncovered=True))


def faults(project: Project, **options: Any) -> list[str | None]:
    config = load(project, **options)
    entries = config.get_settings().entries
    return [config.why_untrusted(e.hook) for e in entries if e.hook.type != "withheld"]


def guards(config: Config) -> list[WithheldHook]:
    hooks = [entry.hook for entry in config.get_settings().entries]
    return [hook for hook in hooks if isinstance(hook, WithheldHook)]


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
        entries = load(project).get_settings().entries
        place = {"project_dir": str(project.path), "cwd": str(project.path)}
        digests.add(Policy.read(entries, **place).digest)
    assert len(digests) == 2


def test_the_urls_that_others_allow_are_in_the_policy(project: Project) -> None:
    project.settings(hooks(SENT), file=PROJECT_FILE)
    (entry,) = load(project).get_settings().entries
    replace = msgspec.structs.replace
    digests = {
        Policy.read(
            [replace(entry, hook=replace(entry.hook, allowed_urls=urls))],
            project_dir=str(project.path),
            cwd=str(project.path),
        ).digest
        for urls in ((), (("https://example.org/*",),), (("*",),))
    }
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
    (reviewed,) = Config.load(project.path).review_project().hooks
    assert reviewed.entry == {"event": "BeforeTool", "name": "true", "command": "true"}


def test_the_projects_variables_are_reviewed_and_the_users_are_not(project: Project) -> None:
    project.settings(hooks("true", env={"A": "1"}), file=PROJECT_FILE)
    let_it(project)
    write(user_file(), {"env": {"B": "1"}})
    assert faults(project) == [None]
    project.settings(hooks("true", env={"A": "2"}), file=PROJECT_FILE)
    assert faults(project) != [None]


def test_a_program_that_the_users_variables_lead_to_is_covered(project: Project) -> None:
    tool = project.script("bin/tool", "#!/bin/sh\n")
    project.settings(hooks("tool"), file=PROJECT_FILE)
    write(user_file(), {"env": {"PATH": f"{project.path}/bin:/usr/bin:/bin"}})
    let_it(project)
    assert faults(project) == [None]
    tool.write_text("#!/bin/sh\nexit 0\n")
    assert faults(project) != [None]


def test_a_script_of_the_project_that_changes_is_found(project: Project) -> None:
    script = project.script(".claude/hooks/guard.sh", "#!/bin/sh\n")
    named = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'
    project.settings(hooks(named), file=PROJECT_FILE)
    let_it(project)
    config = load(project)
    (entry,) = config.get_settings().entries
    assert config.why_untrusted(entry.hook) is None
    script.write_text("#!/bin/sh\nexit 0\n")
    assert "has changed" in (config.why_untrusted(entry.hook) or "")


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
    assert config.why_untrusted(entry.hook) is None
    assert config.get_uncovered(entry.hook) == ()
    file = folder / changed
    file.write_text(file.read_text() + "\n" if file.exists() else "evil")
    assert config.why_untrusted(entry.hook) is not None
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
    write(folder / "other.sh", "evil")
    assert faults(project) != [None]


GUARD = {"type": "command", "command": "true", **BLOCKING}


def test_a_reviewed_guard_that_is_gone_blocks_what_it_was_for(project: Project) -> None:
    listed = {**GUARD, "if": "Bash(git push:*)"}, {**GUARD, "if": "Bash(rm:*)"}
    data = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": list(listed)}]}}
    project.settings(data, file=PROJECT_FILE)
    let_it(project)
    assert guards(load(project)) == []
    project.settings({}, file=PROJECT_FILE)
    config = load(project)
    found = guards(config)
    assert [(h.dialect, h.dialect_event, h.condition) for h in found] == [
        ("claude", "PreToolUse", "Bash(git push:*)"),
        ("claude", "PreToolUse", "Bash(rm:*)"),
    ]
    assert len({hook.identity() for hook in found}) == 2
    (first, _) = config.get_settings().entries
    assert first.matches("run_shell_command")
    assert not first.matches("read_file")
    assert config.run_context("s").tools is not None


def test_a_guard_on_an_event_of_claude_codes_alone_is_withheld_there(project: Project) -> None:
    project.settings(hooks(GUARD, event="PermissionRequest"), file=PROJECT_FILE)
    let_it(project)
    project.settings({}, file=PROJECT_FILE)
    (entry,) = load(project).get_settings().entries
    assert (entry.event.value, entry.hook.type) == ("PermissionRequest", "withheld")


@pytest.mark.parametrize("kind", [http(**BLOCKING), {**PROMPT, **BLOCKING}])
def test_guards_of_every_kind_are_withheld(project: Project, kind: dict[str, Any]) -> None:
    project.settings(hooks(kind), file=PROJECT_FILE)
    let_it(project)
    project.settings(hooks({**kind, "timeout": 1}), file=PROJECT_FILE)
    (guard,) = guards(load(project))
    assert "has changed since it was reviewed" in guard.why


def test_a_project_that_disables_a_reviewed_guard_is_blocked(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    let_it(project)
    project.settings(hooks(GUARD, disableAllHooks=True), file=PROJECT_FILE)
    (guard,) = guards(load(project))
    assert "the project's settings disable it" in guard.why
    write(user_file(), {"disableAllHooks": True})
    assert guards(load(project)) == []


def test_a_project_that_asks_no_more_for_its_reviewed_guards_is_blocked(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    project.settings({"claude": True})
    let_it(project, claude=None)
    assert guards(load(project, claude=None)) == []
    project.settings({})
    (guard,) = guards(load(project, claude=None))
    assert "pass --claude" in guard.why
    assert guards(load(project, claude=False)) == []
    write(own_user_file(), {"claude": False})
    assert guards(load(project, claude=None)) == []


@pytest.mark.parametrize("guard", [GUARD, http(**BLOCKING)])
def test_no_word_on_claude_takes_a_reviewed_guard_of_a_plugin_away(
    project: Project, guard: dict[str, Any]
) -> None:
    plugin(project.path / "p", hooks(guard))
    project.settings({"plugins": ["p"]})
    let_it(project)
    project.settings({})
    assert len(guards(load(project, claude=False))) == 1


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
    known = TrustStore().read(str(project.path))
    assert known is not None
    changes = known.changes_of(load(project).review_project())
    assert changes == ["hooks.tools: the project declares other tools now"]


def test_what_others_let_a_hook_call_asks_for_no_new_review(project: Project) -> None:
    project.settings(hooks(http()), file=PROJECT_FILE)
    let_it(project)
    write(user_file(), {"allowedHttpHookUrls": ["https://example.org/*"]})
    assert faults(project) == [None]


def test_a_record_of_an_event_that_nobody_can_fire_is_passed_over(project: Project) -> None:
    project.settings(hooks(GUARD), file=PROJECT_FILE)
    let_it(project)
    known = TrustStore().read(str(project.path))
    assert known is not None
    (hook,) = known.hooks
    odd = msgspec.structs.replace(hook, entry={**hook.entry, "event": "Nope"})
    TrustStore().write(msgspec.structs.replace(known, hooks=(odd,)))
    assert guards(load(project)) == []
