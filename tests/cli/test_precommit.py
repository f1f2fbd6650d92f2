"""The hooks for pre-commit that the repository offers: what they run, and on which files."""

import re
from pathlib import Path

from hookline.cli.options import COMMON, load_verb, read_quickly
from tests.cli.command import command_hook, hookline, settings
from tests.harness.scratch import Project

REPOSITORY = Path(__file__).parents[2]


def read_hooks(text: str) -> dict[str, dict[str, str]]:
    """The mappings of a YAML list that has nothing but plain words in them, by their id."""
    hooks: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        start, key, value = re.fullmatch(r"(- |  )(\w+): (.+)", line).groups()  # type: ignore[union-attr]
        assert not re.search(r"(?:^[\[{&*!|>'\"%@`])|: | #", value), "more YAML than is read here"
        if start == "- ":
            assert key == "id"
            hooks[value] = {}
        else:
            list(hooks.values())[-1][key] = value
    return hooks


HOOKS = read_hooks((REPOSITORY / ".pre-commit-hooks.yaml").read_text())


def test_there_is_one_for_check_and_one_for_the_hook_tests() -> None:
    assert set(HOOKS) == {"hookline-check", "hookline-test"}
    for hook in HOOKS.values():
        assert (hook["language"], hook["pass_filenames"]) == ("python", "false")
        program, verb, *arguments = hook["entry"].split()
        assert program == "hookline"
        assert read_quickly((*load_verb(verb).OPTIONS, *COMMON), arguments) is not None
        assert hook["name"]
        assert hook["description"]


def test_settings_and_scripts_and_tests_have_them_run() -> None:
    for verb in ("check", "test"):
        wanted = re.compile(HOOKS[f"hookline-{verb}"]["files"])
        for file in (".hookline/settings.json", "sub/.gemini/settings.json", "hooks/scan.sh"):
            assert wanted.search(file), file
        for file in ("README.md", "src/webhooks/x.py", "my.hookline/x"):
            assert not wanted.search(file), file
        assert bool(wanted.search("tests/scan.hooktest.json")) is (verb == "test")


def test_the_check_fails_for_errors_of_the_project_alone(project: Project) -> None:
    _, *entry = HOOKS["hookline-check"]["entry"].split()
    project.settings(settings("BeforeAgent", command_hook("true")))
    assert hookline(*entry, cwd=project.path).status == 0
    project.settings(settings("BeforeAgent", command_hook("true", onfailure="block")))
    done = hookline(*entry, cwd=project.path)
    assert done.status == 1
    assert "did you mean onFailure?" in done.out


def test_the_hook_tests_run_hooks_that_were_reviewed_alone(project: Project) -> None:
    _, *entry = HOOKS["hookline-test"]["entry"].split()
    assert hookline("init", cwd=project.path).status == 0
    assert hookline(*entry, cwd=project.path).status == 1
    done = hookline(*entry, "--trust", cwd=project.path)
    assert done.status == 0, done.out + done.err


def test_the_page_shows_hooks_that_there_are() -> None:
    page = (REPOSITORY / "docs/cli.md").read_text()
    shown = page.partition("file=.pre-commit-config.yaml")[2].partition("```")[0]
    assert re.findall(r"- id: (\S+)", shown) == list(HOOKS)
