"""Which hooks the trust in one folder lets run, registers and withholds."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.config import Config
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.pipeline.settings import Layer, read_layer
from hookline.pipeline.trust import folder
from hookline.pipeline.trust.coverage import Coverage
from hookline.pipeline.trust.folder import FolderTrust
from hookline.pipeline.trust.review import cover_entry, review
from hookline.pipeline.trust.store import TrustStore
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, WithheldHook
from tests.harness.scratch import Project

UNREVIEWED = "nobody has reviewed it; review it with `hookline trust`"
GUARD = {"type": "command", "command": "hooks/guard.sh", "name": "guard", "onFailure": "block"}


def settings(*hooks: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [{"matcher": "write", "hooks": list(hooks)}]}, **rest}


@pytest.fixture
def reviewed(project: Project) -> Project:
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 2\n")
    project.settings(settings(GUARD))
    TrustStore().write(Config.load(project.path).review_project())
    return project


class Trust(FolderTrust):
    """The trust in a project, with what it warned of."""

    def __init__(self, project: Project, *, cwd: Path | None = None) -> None:
        self.warnings: list[str] = []
        path = str(project.path)
        cwd_ = str(cwd or path)
        super().__init__(TrustStore(), project_dir=path, cwd=cwd_, warn=self.warnings.append)

    def read(self, value: dict[str, Any], **options: Any) -> HookConfig:
        """Use the hooks of settings, and give the first of them."""
        layer = layer_of(value)
        self.use([layer], **{"is_on": lambda _hook: True, **options})
        return layer.entries[0].hook

    def withheld(self) -> list[str]:
        hooks = [entry.hook for entry in self.get_guards()]
        return [hook.why for hook in hooks if isinstance(hook, WithheldHook)]


def layer_of(value: dict[str, Any], source: HookSource = HookSource.PROJECT) -> Layer:
    return read_layer(value, source, "settings.json")


def stranger(command: str = "true", source: HookSource = HookSource.PROJECT) -> CommandHook:
    return CommandHook(name="stranger", command=command, source=source)


def test_a_reviewed_hook_may_run_and_nothing_is_withheld(reviewed: Project) -> None:
    trust = Trust(reviewed)
    hook = trust.read(settings(GUARD))
    assert (trust.why_untrusted(hook), trust.admits(hook), trust.withheld()) == (None, True, [])
    assert trust.is_all_trusted
    assert trust.get_uncovered(hook) == ()


def test_a_hook_of_the_project_that_nobody_knows_may_not_run(reviewed: Project) -> None:
    trust = Trust(reviewed)
    trust.read(settings(GUARD))
    assert trust.why_untrusted(stranger()) == UNREVIEWED
    assert not trust.admits(stranger())
    assert trust.get_uncovered(stranger()) == ()
    users = stranger(source=HookSource.USER)
    assert (trust.why_untrusted(users), trust.admits(users)) == (None, True)


def test_code_registers_hooks_for_the_project_only_while_all_of_it_is_trusted(
    reviewed: Project,
) -> None:
    trust = Trust(reviewed)
    trust.read(settings(GUARD))
    assert trust.adopt(stranger())
    assert trust.why_untrusted(stranger()) is None
    reviewed.script("hooks/guard.sh", "#!/bin/sh\n")
    assert not trust.adopt(stranger("false"))
    assert trust.why_untrusted(stranger("false")) == UNREVIEWED
    assert trust.adopt(stranger())


def test_hooks_given_in_code_are_the_callers_own_whatever_their_layer(project: Project) -> None:
    trust = Trust(project)
    given = layer_of(settings(GUARD))
    trust.use([], is_on=lambda _hook: True, in_code=[given])
    (entry,) = given.entries
    assert (trust.why_untrusted(entry.hook), trust.admits(entry.hook)) == (None, True)


def test_events_under_way_go_by_the_hooks_before_and_a_failed_load_returns_to_them(
    reviewed: Project,
) -> None:
    trust = Trust(reviewed)
    before = trust.read(settings(GUARD))
    after = trust.read(settings({**GUARD, "command": "true"}))
    assert trust.why_untrusted(before) is None
    assert trust.why_untrusted(after) is not None
    assert len(trust.withheld()) == 1
    trust.restore()
    assert (trust.admits(before), trust.withheld()) == (True, [])


@pytest.mark.parametrize(
    ("value", "is_on", "why"),
    [
        (settings({**GUARD, "timeout": 5}), True, "its entry in the settings has changed since"),
        (settings({**GUARD, "name": "x"}), True, "it was reviewed, and is no longer in the proj"),
        (settings(GUARD), False, "the project's settings disable it; review it with"),
    ],
)
def test_a_reviewed_guard_that_is_not_in_use_is_withheld_and_says_why(
    reviewed: Project, value: dict[str, Any], is_on: bool, why: str
) -> None:
    trust = Trust(reviewed)
    trust.read(value, is_on=lambda _hook: is_on)
    (said,) = trust.withheld()
    assert said.startswith(why)
    assert said.endswith("; review it with `hookline trust`, or `hookline untrust`")
    (entry,) = trust.get_guards()
    assert (entry.name, entry.matcher, entry.hook.on_failure) == ("guard", "write", "block")
    assert (entry.matches("write_file"), entry.matches("read_file")) == (True, False)
    assert trust.why_untrusted(entry.hook) == said
    assert not trust.is_all_trusted


def test_settings_that_cannot_be_read_are_named_for_a_guard_that_is_missing(
    reviewed: Project,
) -> None:
    reviewed.settings("{")
    assert Config.load(reviewed.path).get_settings().entries[0].hook.name == "guard"
    (entry,) = Config.load(reviewed.path).get_settings().entries
    assert isinstance(entry.hook, WithheldHook)
    file = reviewed.path / ".hookline/settings.json"
    assert entry.hook.why.startswith(f"it was reviewed, and {file}")
    assert " cannot be read; review it" in entry.hook.why


@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_a_users_guard_that_would_run_unreviewed_code_of_the_project_blocks(
    project: Project, on_failure: str
) -> None:
    project.script("hooks/guard.sh", "#!/bin/sh\n")
    trust = Trust(project)
    layer = layer_of(settings({**GUARD, "onFailure": on_failure}), HookSource.USER)
    trust.use([layer], is_on=lambda _hook: True)
    why = f"it runs code of the project, and {UNREVIEWED}"
    assert trust.withheld() == ([why] if on_failure == "block" else [])
    assert trust.why_untrusted(layer.entries[0].hook) == UNREVIEWED


def test_a_reviewed_project_above_that_lost_its_settings_still_guards(reviewed: Project) -> None:
    below = reviewed.path / "below"
    below.mkdir()
    trust = FolderTrust(TrustStore(), project_dir=str(below), cwd=str(below))
    trust.use([], is_on=lambda _hook: True)
    (entry,) = trust.get_guards()
    assert isinstance(entry.hook, WithheldHook)
    undo = f"`hookline untrust --cwd {reviewed.path}` takes the review back"
    hides = f"{below} hides the settings of {reviewed.path}, which were reviewed; {undo}"
    assert entry.hook.why == hides
    trust = FolderTrust(TrustStore(), project_dir=str(reviewed.path.parent), cwd=str(below))
    trust.use([], is_on=lambda _hook: True)
    (entry,) = trust.get_guards()
    assert isinstance(entry.hook, WithheldHook)
    gone = f"the settings of {reviewed.path}, which were reviewed, are gone; {undo}"
    assert entry.hook.why == gone


def test_a_broken_record_of_a_hidden_project_hides_none_of_the_others(reviewed: Project) -> None:
    here = reviewed.path / "nearer/here"
    here.mkdir(parents=True)
    near, said = TrustStore().file_of(str(here.parent)), list[str]()
    assert near is not None
    Path(near).write_text("{")
    trust = FolderTrust(TrustStore(), project_dir=str(here), cwd=str(here), warn=said.append)
    trust.use([], is_on=lambda _hook: True)
    assert [entry.name for entry in trust.get_guards()] == ["guard"]
    assert [near in warning and "is damaged" in warning for warning in said] == [True]


def test_a_reviewed_hook_of_an_event_that_is_no_more_blocks_nothing(reviewed: Project) -> None:
    trust = Trust(reviewed)
    assert trust.file is not None
    file = Path(trust.file)
    file.write_text(file.read_text().replace('"BeforeTool"', '"BeforeDawn"'))
    trust.use([], is_on=lambda _hook: True)
    assert (trust.withheld(), trust.is_all_trusted) == ([], True)


def test_a_broken_record_is_warned_of_once_and_trusts_nothing(reviewed: Project) -> None:
    trust = Trust(reviewed)
    assert trust.file is not None
    Path(trust.file).write_text("{")
    os.utime(trust.file, ns=(1, 1))
    hook = trust.read(settings(GUARD))
    assert (trust.admits(hook), trust.get_words([]), trust.get_tools([])) == (
        False,
        (False, ()),
        {},
    )
    assert len(set(trust.warnings)) == 1
    assert " is damaged (" in trust.warnings[0]


def test_what_the_project_asks_for_counts_as_it_was_reviewed(project: Project) -> None:
    tools = {"tools": {"put": "Write"}, "required": ["guard"]}
    value = {"hooks": {"BeforeTool": [{"hooks": [GUARD]}], **tools}, "strict": True}
    project.settings(value)
    TrustStore().write(Config.load(project.path).review_project())
    trust = Trust(project)
    assert trust.get_words([]) == (True, ("guard",))
    assert trust.get_tools([]) == {"put": {"name": "Write"}}


def test_a_hook_test_with_code_is_trusted_while_it_is_as_it_was_reviewed(project: Project) -> None:
    project.settings(settings(GUARD))
    file = project.write("tests/a.hooktest.json", '{"event": "BeforeTool", "command": "x"}')
    other = project.write("tests/b.hooktest.json", "{}")
    here = str(project.path)
    TrustStore().write(review([], project_dir=here, cwd=here, tests=[str(file)]))
    trust = Trust(project)
    assert trust.trusts_test(str(file))
    assert not trust.trusts_test(str(other))
    file.write_text("{}")
    assert not trust.trusts_test(str(file))
    file.unlink()
    assert not trust.trusts_test(str(file))


def test_each_guard_is_withheld_by_itself(project: Project) -> None:
    def guards(*names: str) -> dict[str, Any]:
        return settings(*({**GUARD, "name": name, "command": f"true {name}"} for name in names))

    project.settings(guards("a", "b", "c"))
    TrustStore().write(Config.load(project.path).review_project())
    trust = Trust(project)
    trust.read(guards("a", "c"))
    assert [entry.name for entry in trust.get_guards()] == ["b"]
    trust.read(guards("b", "x"))
    assert [entry.name for entry in trust.get_guards()] == ["a", "c"]


def test_a_hook_is_looked_at_again_only_after_a_change(
    reviewed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def cover_and_count(entry: HookRegistryEntry, **options: Any) -> Coverage:
        looks.append(entry.name)
        return cover_entry(entry, **options)

    monkeypatch.setattr(folder, "cover_entry", cover_and_count)
    time.sleep(0.03)  # until what was written counts as unchanged
    trust = Trust(reviewed)
    hook = trust.read(settings(GUARD))
    assert [trust.why_untrusted(hook) for _ in range(3)] == [None] * 3
    assert looks == ["guard"]
    reviewed.write("hooks/new.txt", "")
    assert trust.why_untrusted(hook) is not None
    assert looks == ["guard"] * 2


@pytest.mark.parametrize(("claude", "is_withheld"), [(None, True), (True, True), (False, False)])
def test_a_guard_of_claude_codes_settings_that_are_not_read_is_withheld_unless_refused(
    project: Project, claude: bool | None, is_withheld: bool
) -> None:
    guard = {"type": "command", "command": "true", "name": "guard", "onFailure": "block"}
    project.settings({"hooks": {"PreToolUse": [{"hooks": [guard]}]}}, file=".claude/settings.json")
    TrustStore().write(Config.load(project.path, claude=True).review_project())
    trust = Trust(project)
    trust.use([], is_on=lambda _hook: True, claude=claude)
    why = trust.withheld()
    assert len(why) == is_withheld
    if claude is None:
        assert "nothing asks for Claude Code's settings any more: pass --claude, or set" in why[0]
    elif why:
        assert "is no longer in the project's settings" in why[0]
