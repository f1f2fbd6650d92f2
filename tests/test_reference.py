"""docs/reference is what the code says; `python tools/reference/run.py` writes it anew."""

import importlib
import json
import re
from pathlib import Path

import pytest

import hookline
from hookline import Config, Hooks
from hookline.cli import VERBS, main
from hookline.cli.failures import ASKS, BLOCKED, FAILED
from hookline.settings import jsonc
from hookline.settings.schema import (
    describe_input,
    describe_output,
    describe_settings,
    settings_schema,
)
from hookline.wire.events import EVENTS, HookEventName
from tests.harness.documents import REPOSITORY, read_blocks
from tests.harness.scratch import Project
from tools.reference import api, exit_codes, finding, settings
from tools.reference.command import REFERENCE, find_differences
from tools.reference.events import file_of
from tools.reference.examples import fire_example, read_document
from tools.reference.markdown import escape, format_json, table, tell
from tools.reference.pages import PAGES, render_pages


def read_page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def test_every_page_says_what_the_code_says() -> None:
    problems = find_differences(render_pages(), REFERENCE)
    assert not problems, "\n".join(problems)


def test_a_page_that_differs_is_named_with_the_line_and_the_command(tmp_path: Path) -> None:
    (tmp_path / "same.md").write_text("# Same\n")
    (tmp_path / "other.md").write_text("# Other\nold\n")
    (tmp_path / "short.md").write_text("# Short\n")
    (tmp_path / "stranger.md").write_text("# Stranger\n")
    pages = {
        "same.md": "# Same\n",
        "other.md": "# Other\nnew\n",
        "short.md": "# Short\nmore\n",
        "lost.md": "# Lost\n",
    }
    stranger, other, short, lost = find_differences(pages, tmp_path)
    assert stranger.startswith("docs/reference/stranger.md is not a page of the reference")
    assert "in line 2:\n  page: old\n  code: new" in other
    assert "in its length (1 lines, 2 from the code)" in short
    assert lost == "docs/reference/lost.md is missing; run python tools/reference/run.py"


def test_what_the_code_has_and_nobody_tells_of_is_an_error() -> None:
    assert tell(["b", "a"], {"a": "1", "b": "2"}, of="letter") == [("a", "1"), ("b", "2")]
    with pytest.raises(LookupError, match="does not describe letter c: add a line"):
        tell(["a", "c"], {"a": "1"}, of="letter")
    with pytest.raises(LookupError, match="has no letter a: remove the line"):
        tell([], {"a": "1"}, of="letter")


def test_links_lead_to_pages_and_headings_that_are_there() -> None:
    for name in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", read_page(name)):
            page = (REFERENCE / name).parent / target if target else REFERENCE / name
            assert page.exists(), f"{name}: {target}"
            headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings]
            assert not anchor or anchor in slugs, f"{name}: {target}#{anchor}"


@pytest.mark.parametrize("event", HookEventName)
def test_the_page_of_an_event_has_every_field(event: HookEventName) -> None:
    page = read_page(f"events/{file_of(event)}")
    index = read_page("events/index.md")
    for field in describe_input(event):
        shown = f"| `{field.name.rpartition('.')[2]}` |"
        assert shown in page or shown in index, field.name
    for field in describe_output(event):
        assert f"| `{field.name.rpartition('.')[2]}` |" in page, field.name
        assert escape(field.meaning) in page


@pytest.mark.parametrize("event", HookEventName)
def test_the_document_that_a_page_shows_is_what_a_hook_reads(event: HookEventName) -> None:
    page = read_page(f"events/{file_of(event)}")
    shown = json.loads(next(block.text for block in read_blocks(page) if block.kind == "json"))
    assert shown == read_document(event)
    assert {*EVENTS[event].required} <= {*shown}
    known = {field.name for field in describe_input(event)}
    assert {*shown} <= known


@pytest.mark.parametrize(
    "event", [event for event in HookEventName if EVENTS[event].model], ids=lambda event: event
)
def test_the_events_of_a_model_show_its_format_in_full(event: HookEventName) -> None:
    """Every object of it is in the example, with every field that is always there."""
    text = json.dumps(read_document(event))
    for field in describe_input(event):
        is_of_model = field.name.startswith("llm_")
        if is_of_model and (field.required or field.type == "object"):
            assert f'"{field.name.rpartition(".")[2]}"' in text, field.name


def test_every_settings_key_is_on_the_page_with_its_type_default_layers_and_meaning() -> None:
    page = read_page("settings.md")
    for key in describe_settings():
        last = key.path.rpartition(".")[2]
        rows = [line for line in page.splitlines() if f"`{last}`" in line]
        told = escape(key.meaning), key.layers[1:]
        assert any(all(text in row for text in told) for row in rows), key.path
    for words in ("fail closed", "fails closed", "strict", "required", "Which layer wins"):
        assert words in page


def test_the_settings_at_the_top_are_valid_and_have_nothing_wrong(project: Project) -> None:
    value = jsonc.parse(settings.EXAMPLE).value
    # It has no types of its own.
    importlib.import_module("jsonschema").validate(value, settings_schema())
    project.settings(settings.EXAMPLE)
    read = Config.load(project.path, trusted=True, judge=str).get_settings()
    assert not read.problems
    assert len(read.entries) == 4


def test_every_variable_in_the_source_is_on_the_page() -> None:
    page = read_page("environment.md")
    missing = [name for name in sorted(finding.find_variables()) if f"`{name}`" not in page]
    assert not missing, f"environment.md says nothing of {', '.join(missing)}"


def test_the_search_for_names_in_the_source_finds_them() -> None:
    """Where it found nothing, nothing would be missing from a page."""
    assert {"HOOKLINE_STRICT", "XDG_STATE_HOME", "NO_COLOR", "GITHUB_SHA"} <= (
        finding.find_variables()
    )
    assert {"unsupported_event", "timeout", "policy_mismatch"} <= finding.find_codes()
    assert {"not-json", "too-deep", "overreach", "untrusted"} <= finding.find_problem_kinds()
    rules = finding.find_rules()
    assert len(rules) >= 46
    assert rules["matcher-file"] == rules["matcher-glob"] == {"error", "warning"}
    assert rules["disabled-unknown"] == {"hint", "warning"}
    assert all(rules.values())


def test_files_are_those_of_each_platform() -> None:
    page = read_page("files.md")
    for path in (
        "/etc/hookline/settings.json",
        "/Library/Application Support/hookline/settings.json",
        "~/.config/hookline/settings.json",
        "~/Library/Application Support/hookline/settings.json",
        "~/.local/state/hookline/trace.jsonl",
        "/etc/claude-code/managed-settings.json",
        ".hookline/settings.local.json",
    ):
        assert f"`{path}`" in page, path


def exit_code(*arguments: str) -> int:
    return main(arguments)


_ASKING = '{"decision": "ask", "reason": "really?"}'


def test_fire_exits_as_the_page_says(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    hooks = [
        {"matcher": name, "hooks": [{"type": "command", "command": command}]}
        for name, command in (
            ("denied", "exit 2"),
            ("asked", f"echo '{_ASKING}'"),
            ("broken", "exit 1"),
        )
    ]
    project.settings({"hooks": {"BeforeTool": hooks}})

    def fire(tool: str, *options: str) -> int:
        given = ("--tool", tool, "--tool-input", "{}", "--trust")
        return exit_code("fire", "BeforeTool", *given, *options)

    codes = [
        (fire("free"), 0),
        (fire("broken"), 0),
        (fire("broken", "--strict"), BLOCKED),
        (fire("denied"), BLOCKED),
        (fire("asked"), ASKS),
        (fire("asked", "--on-ask", "block"), BLOCKED),
        (fire("asked", "--on-ask", "allow"), 0),
        (exit_code("fire", "BeforTool"), FAILED),
        (exit_code("fire", "BeforeTool", "--no-such-option"), FAILED),
    ]
    capsys.readouterr()
    assert [given for given, _ in codes] == [wanted for _, wanted in codes]
    page = read_page("exit-codes.md")
    for code in (0, FAILED, BLOCKED, ASKS, 130, 143, 129):
        assert re.search(rf"^\| {code} \|", page, re.MULTILINE), code


def test_other_commands_exit_as_the_page_says(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    project.settings({"hooks": {"BeforTool": []}})
    codes = {verb: exit_code(verb) for verb in ("check", "test", "list", "trace", "enable")}
    codes |= {"disable": exit_code("disable", "nothing"), "completion": exit_code("completion")}
    hook = {"type": "command", "command": "true"}
    project.settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    codes |= {"trust --check": exit_code("trust", "--check"), "check again": exit_code("check")}
    capsys.readouterr()
    assert {verb for verb, code in codes.items() if code == 0} == {"list", "trace", "check again"}
    assert {*codes.values()} == {0, FAILED}
    assert {*exit_codes.COMMANDS} == {*VERBS}


def test_the_document_of_fire_has_no_field_that_the_page_lacks() -> None:
    page = read_page("fire-json.md")
    shown = json.loads(next(block.text for block in read_blocks(page) if block.kind == "json"))
    assert shown["view"]["blocked"] is True
    for event in (HookEventName.BEFORE_MODEL, HookEventName.PRE_COMPRESS):
        document = fire_example(event)
        # An example in which nothing happens would show nothing.
        assert document["final_output"]["hookSpecificOutput"]
        assert [*document] == [*shown]
        for name in (*document, *document["view"], *document["results"][0]):
            assert f"| `{name}` |" in page, name


def test_every_public_name_is_on_the_page_of_the_api_and_can_be_imported() -> None:
    listed = [*api.list_names()]
    assert {f"hookline.{name}" for name in hookline.__all__} <= {*listed}
    page = read_page("api.md")
    for name in listed:
        assert api.find(name) is not None
        assert f"`{name.removeprefix('hookline.')}`" in page or f"`{name}`" in page
    methods = [name for name in dir(Hooks) if not name.startswith("_")]
    assert {f"hookline.Hooks.{name}" for name in methods} <= {*listed}


def test_every_public_name_of_an_adapter_is_on_the_page_of_the_api() -> None:
    adapters = api.find_adapters()
    folders = (REPOSITORY / "src/hookline/adapters").glob("*/__init__.py")
    assert {*adapters} == {folder.parent.name for folder in folders}
    page = read_page("api.md")
    for name, names in adapters.items():
        assert names
        assert f"`hookline.adapters.{name}`" in page
        for public, path in names.items():
            assert f"`{public}`" in page
            assert f"::: {path}\n" in page


def test_a_bar_in_code_does_not_end_a_cell_of_a_table() -> None:
    text = table(("a", "b"), [("`x|y`", "one\ntwo"), ("`` `a|b` ``", "z")])
    assert text.splitlines()[2] == "| <code>x&#124;y</code> | one two |"
    assert all(line.count("|") == 3 for line in text.splitlines())


def test_a_star_in_a_text_is_a_star_and_code_stays_as_it_is() -> None:
    assert escape("empty or *: all of `*.json`, <x>") == "empty or \\*: all of `*.json`, &lt;x>"


def test_json_is_written_as_people_write_it() -> None:
    value = {"a": [1, 2], "b": {"c": "é" * 60, "d": {}}, "e": []}
    assert json.loads(format_json(value)) == value
    assert '"a": [1, 2]' in format_json(value)
    assert max(map(len, format_json(value).splitlines())) < 88
