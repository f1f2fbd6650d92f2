"""A project's hooks run only as they were when somebody looked at them."""

import json
import os
import stat
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hookline.config import Config
from hookline.files import signature
from hookline.pipeline.settings import read_layer
from hookline.pipeline.trust import folder, review, store
from hookline.pipeline.trust.coverage import Coverage, FileState
from hookline.pipeline.trust.folder import FolderTrust
from hookline.pipeline.trust.review import Review, TrustError
from hookline.pipeline.trust.store import TrustStore
from hookline.wire.hooks import HookSource
from tests.harness.scratch import Project


def hooks(*listed: dict[str, Any], matcher: str = "write_file") -> dict[str, Any]:
    return {"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": list(listed)}]}}


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **fields}


@pytest.fixture
def guarded(project: Project) -> Project:
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 2\n")
    project.write("hooks/rules.txt", "rule\n")
    project.settings(hooks(command("hooks/guard.sh --rules=hooks/rules.txt", env={"A": "1"})))
    return project


def is_trusted(project: Project) -> bool:
    return Config.load(project.path).is_trusted_folder()


def use_trust(project: Project, kept: TrustStore) -> FolderTrust:
    """The trust in a project whose hooks were looked at once."""
    loaded = json.loads((project.path / ".hookline/settings.json").read_text())
    trust = FolderTrust(kept, project_dir=str(project.path), cwd=str(project.path))
    trust.use([read_layer(loaded, HookSource.PROJECT, "settings")], is_on=lambda _hook: True)
    return trust


def let_it(project: Project) -> str:
    return TrustStore().write(Config.load(project.path).review_project())


def settle() -> None:
    """Wait until what was written counts as unchanged, not as changed just now."""
    time.sleep(0.03)


def test_a_hook_with_arguments_is_trusted_as_it_was_reviewed(guarded: Project) -> None:
    guarded.settings(hooks(command("hooks/guard.sh", args=["--rules=hooks/rules.txt"])))
    let_it(guarded)
    assert is_trusted(guarded)


def test_nothing_is_trusted_until_it_was_looked_at(guarded: Project) -> None:
    assert not is_trusted(guarded)
    let_it(guarded)
    assert is_trusted(guarded)
    assert TrustStore().forget(str(guarded.path)) is True
    assert not is_trusted(guarded)
    assert TrustStore().forget(str(guarded.path)) is False


@pytest.mark.parametrize(
    "changed",
    [
        hooks(command("hooks/guard.sh")),
        hooks(command("hooks/guard.sh --rules=hooks/rules.txt", env={"A": "2"})),
        hooks(command("hooks/guard.sh --rules=hooks/rules.txt", env={"A": "1"}), matcher="x"),
        hooks(command("hooks/guard.sh", args=["--rules=hooks/rules.txt"], env={"A": "1"})),
        hooks(
            command("hooks/guard.sh --rules=hooks/rules.txt", env={"A": "1"}),
            command("true", name="one more"),
        ),
    ],
    ids=["command", "env", "matcher", "args", "another hook"],
)
def test_any_change_of_a_hook_asks_again(guarded: Project, changed: dict[str, Any]) -> None:
    let_it(guarded)
    guarded.settings(changed)
    assert not is_trusted(guarded)


@pytest.mark.parametrize("file", ["hooks/guard.sh", "hooks/rules.txt"])
def test_any_change_of_a_file_that_a_word_names_asks_again(guarded: Project, file: str) -> None:
    let_it(guarded)
    before = (guarded.path / file).read_text()
    (guarded.path / file).write_text(before + "# more\n")
    assert not is_trusted(guarded)
    (guarded.path / file).write_text(before)
    assert is_trusted(guarded)


@pytest.mark.parametrize(
    "env",
    [
        {"RULES": "lists/deny.txt"},
        {"RULES": "/etc/hosts:lists/deny.txt"},
        {"OPTIONS": "--strict --rules=lists/deny.txt"},
        {"RULES": "denied"},
        {"RULES": "lists/not this.txt"},
        {"RULES": "{project}/lists/deny.txt"},
        {"PYTHONSTARTUP": "./lists/deny.txt"},
    ],
)
def test_a_file_that_only_a_hooks_env_names_is_reviewed(
    project: Project, env: dict[str, str]
) -> None:
    files = [
        project.write(name, "rule\n") for name in ("lists/deny.txt", "denied", "lists/not this.txt")
    ]
    env = {name: value.format(project=project.path) for name, value in env.items()}
    project.settings(hooks(command("/usr/bin/guard", env=env)))
    let_it(project)
    assert is_trusted(project)
    for file in files:
        file.write_text("another\n")
    assert not is_trusted(project)


@pytest.mark.parametrize("name", ["lists/denied", "denied.txt"])
def test_a_file_that_a_hooks_env_names_asks_again_when_it_appears(
    project: Project, name: str
) -> None:
    project.settings(hooks(command("/usr/bin/guard", env={"RULES": name})))
    let_it(project)
    settle()
    config = Config.load(project.path)
    assert config.is_trusted_folder()
    project.write(name, "")
    assert not config.is_trusted_folder()


@pytest.mark.parametrize(
    "text",
    [
        "$HOOKLINE_PROJECT_DIR/hooks/guard.sh",
        '"${CLAUDE_PROJECT_DIR}"/hooks/guard.sh',
        "cat x | 'hooks/guard.sh'; true",
        "python3 -c 'x' && sh<hooks/guard.sh",
        "if (hooks/guard.sh); then exit 1; fi",
        "./hooks/../hooks/guard.sh",
        "hooks\\/guard.sh",
        "sh $'hooks/\\x67uard.sh'",
        "${CLAUDE_PROJECT_DIR:-.}/hooks/guard.sh",
        "${NONE:-hooks}/guard.sh",
        "cat <<E\nit's\nE\n'hooks/guard.sh'",
    ],
)
def test_however_a_file_is_named_it_is_looked_at(guarded: Project, text: str) -> None:
    guarded.settings(hooks(command(text)))
    assert "hooks/guard.sh" in Config.load(guarded.path).review_project().files


@pytest.mark.parametrize(
    "text",
    [
        *(
            "'my hooks/guard.sh' --strict",
            "sh my\\ hooks/guard.sh",
            'x "$(sh "my hooks/guard.sh")"',
        ),
        *('A=1 "$HOOKLINE_CWD/my hooks"/guard.sh', "sh -c 'sh \"my hooks/guard.sh\"'"),
        *("# it's\nsh <'my hooks/guard.sh'", "f() { 'my hooks/guard.sh'; }; f"),
    ],
)
def test_a_name_with_blanks_is_one_word_as_a_shell_has_it(guarded: Project, text: str) -> None:
    guarded.script("my hooks/guard.sh", "#!/bin/sh\n")
    guarded.settings(hooks(command(text)))
    assert "my hooks/guard.sh" in Config.load(guarded.path).review_project().files


def test_a_file_that_is_named_by_its_event_is_looked_at(guarded: Project) -> None:
    guarded.script("hooks/BeforeTool.sh", "#!/bin/sh\nexit 0\n")
    guarded.settings(hooks(command("hooks/$HOOKLINE_EVENT.sh")))
    let_it(guarded)
    assert is_trusted(guarded)
    guarded.script("hooks/BeforeTool.sh", "#!/bin/sh\nexit 2\n")
    assert not is_trusted(guarded)


def test_a_variable_whose_name_begins_like_ours_is_another(guarded: Project) -> None:
    guarded.settings(
        hooks(command("$HOOKLINE_CWD_TOO/hooks/guard.sh", env={"HOOKLINE_CWD_TOO": "."}))
    )
    assert "hooks/guard.sh" in Config.load(guarded.path).review_project().files


def test_a_command_that_can_name_no_file_is_a_hook_like_any_other(guarded: Project) -> None:
    guarded.settings(hooks(command("hooks/guard.sh\0"), command("hooks/guard.sh", name="g")))
    files = Config.load(guarded.path).review_project().files
    assert set(files) == {"hooks/guard.sh", "hooks/rules.txt"}
    let_it(guarded)
    assert is_trusted(guarded)


def test_a_file_named_by_its_full_path_or_through_a_link_is_looked_at(guarded: Project) -> None:
    (guarded.path / "link").symlink_to("hooks/guard.sh")
    named = [command(str(guarded.path / "hooks/guard.sh")), command("./link", name="l")]
    guarded.settings(hooks(*named))
    files = Config.load(guarded.path).review_project().files
    assert set(files) == {"hooks/guard.sh", "hooks/rules.txt", "link"}
    assert files["link"].leads_to == "hooks/guard.sh"


def test_a_file_outside_the_project_is_not_the_projects(guarded: Project, tmp_path: Path) -> None:
    (tmp_path / "outside.sh").write_text("x")
    guarded.settings(hooks(command(f"{tmp_path}/outside.sh /bin/sh ../outside.sh")))
    assert Config.load(guarded.path).review_project().files == {}


def test_a_file_that_comes_after_the_look_asks_again(guarded: Project) -> None:
    guarded.settings(hooks(command("hooks/later.sh")))
    let_it(guarded)
    assert is_trusted(guarded)
    guarded.script("hooks/later.sh", "#!/bin/sh\n")
    assert not is_trusted(guarded)


def test_a_large_or_binary_file_is_compared_as_well(guarded: Project) -> None:
    for content in (b"\xff\x00", b"x" * 300_000):
        (guarded.path / "hooks/rules.txt").write_bytes(content)
        let_it(guarded)
        assert is_trusted(guarded)
        (guarded.path / "hooks/rules.txt").write_bytes(content[:-1] + b"y")
        assert not is_trusted(guarded)


async def test_a_script_that_changes_while_the_agent_runs_does_not_run(guarded: Project) -> None:
    let_it(guarded)
    system = Config.load(guarded.path).get_hook_system()
    assert system is not None
    async with system:
        handler = system.get_event_handler()
        first = await handler.fire_before_tool_event("write_file", {})
        guarded.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
        second = await handler.fire_before_tool_event("write_file", {})
    assert [r.failed for r in (*first.results, *second.results)] == [None, "untrusted"]
    assert not (guarded.path / "ran").exists()


def change_after_reading(monkeypatch: pytest.MonkeyPatch, module: ModuleType, file: Path) -> None:
    """Have a file changed as soon as its state was read, long after it was last changed."""
    monkeypatch.setattr(review, "_TICK_NS", -(10**12))
    real = review.read_states

    def read_then_change(places: Mapping[str, str], project: str) -> dict[str, FileState]:
        states = real(places, project)
        file.write_text("#!/bin/sh\nexit 0\n")
        return states

    monkeypatch.setattr(module, "read_states", read_then_change)


def test_a_file_that_changes_just_after_a_look_at_it_is_noticed(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_it(guarded)
    with monkeypatch.context() as patch:
        change_after_reading(patch, folder, guarded.path / "hooks/guard.sh")
        config = Config.load(guarded.path)
        (entry,) = config.get_settings().entries
        assert entry.trusted
    why = config.why_untrusted(entry.hook)
    assert why is not None
    assert why.startswith("hooks/guard.sh has changed since it was reviewed; ")


def test_a_file_that_appears_during_a_look_at_its_folder_is_noticed(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cover_then_add(*arguments: Any, **options: Any) -> Coverage:
        found = review.cover_entry(*arguments, **options)
        guarded.write("hooks/planted.py", "")
        settle()
        return found

    let_it(guarded)
    settle()
    with monkeypatch.context() as patch:
        patch.setattr(folder, "cover_entry", cover_then_add)
        trust = use_trust(guarded, TrustStore())
    assert not trust.is_all_trusted


def test_a_policy_is_not_current_if_a_file_changed_just_after_it_was_read(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = Config.load(guarded.path).get_settings().entries
    places = {"project_dir": str(guarded.path), "cwd": str(guarded.path)}
    with monkeypatch.context() as patch:
        patch.setattr(review, "_TICK_NS", -(10**12))
        assert review.Policy.read(entries, **places).is_current()
        change_after_reading(patch, review, guarded.path / "hooks/guard.sh")
        assert not review.Policy.read(entries, **places).is_current()


def test_a_record_that_is_removed_just_after_it_was_read_trusts_nothing(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgetful(TrustStore):
        def read(self, project_dir: str) -> Review | None:
            known = super().read(project_dir)
            self.forget(project_dir)
            return known

    let_it(guarded)
    monkeypatch.setattr(review, "_TICK_NS", -(10**12))
    assert not use_trust(guarded, Forgetful()).is_all_trusted


def test_what_was_changed_just_now_counts_as_changed_until_the_clock_has_moved_on(
    guarded: Project,
) -> None:
    file = str(guarded.path / "hooks/guard.sh")
    os.utime(file)
    fresh = review.sign([file, f"{file}.none"])
    assert fresh == {file: (), f"{file}.none": None}
    assert not review.is_unchanged(fresh)
    settle()
    settled = review.sign([file])
    assert settled == {file: signature(file)}
    assert review.is_unchanged(settled)


def test_hooks_given_in_code_need_no_trust(project: Project) -> None:
    config = Config.load(project.path, hooks=hooks(command("true"))["hooks"])
    (entry,) = config.get_settings().entries
    assert (entry.trusted, config.why_untrusted(entry.hook)) == (True, None)


def test_the_same_project_by_another_path_is_the_same(guarded: Project, tmp_path: Path) -> None:
    let_it(guarded)
    (tmp_path / "alias").symlink_to(guarded.path)
    assert Config.load(tmp_path / "alias").is_trusted_folder()


def test_from_a_directory_below_only_what_was_looked_at_runs(guarded: Project) -> None:
    let_it(guarded)
    (guarded.path / "sub/hooks").mkdir(parents=True)
    assert Config.load(guarded.path / "sub").is_trusted_folder()
    (guarded.path / "sub/hooks/guard.sh").write_text("something else")
    assert not Config.load(guarded.path / "sub").is_trusted_folder()
    assert is_trusted(guarded)


def test_only_the_user_can_read_what_is_kept(guarded: Project) -> None:
    file = let_it(guarded)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert (
        json.loads(Path(file).read_text())["files"]["hooks/rules.txt"]["content"] == "text:rule\n"
    )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"project": 1}', '{"hooks": []}'])
def test_a_damaged_record_trusts_nothing_and_says_so(
    guarded: Project, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    file = let_it(guarded)
    Path(file).write_text(content)
    assert not is_trusted(guarded)
    assert "is damaged" in caplog.text
    assert "trust the project again" in caplog.text
    let_it(guarded)
    assert is_trusted(guarded)


def test_a_full_disk_leaves_the_old_record_as_it_was(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(let_it(guarded)).read_bytes()

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_atomically", full)
        with pytest.raises(TrustError, match="No space left on device"):
            let_it(guarded)
    assert Path(let_it(guarded)).read_bytes()[:40] == before[:40]
    assert is_trusted(guarded)


def test_many_at_once_leave_one_whole_record(guarded: Project) -> None:
    threads = [threading.Thread(target=let_it, args=(guarded,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_trusted(guarded)
    directory = Path(let_it(guarded)).parent
    assert len(list(directory.iterdir())) == 1


def test_without_a_home_nothing_can_be_trusted(
    guarded: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "user_state_dir", lambda: None)
    assert not is_trusted(guarded)
    with pytest.raises(TrustError, match="set HOME or HOOKLINE_STATE_DIR"):
        let_it(guarded)
