"""``hookline bench``: how long a hook takes, and what of it is start-up."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.bench import baseline_of
from hookline.wire.hooks import CommandHook
from tests.cli.command import ESCAPE, EVERY_VERB, command_hook, hookline, on_terminal, settings
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

_TIME = re.compile(r" *[\d.]+ ms")


@pytest.fixture
def scan(project: Project) -> Project:
    project.script("hooks/scan.sh", "#!/bin/sh\ncat > /dev/null\n")
    hook = command_hook("hooks/scan.sh", name="scan")
    project.settings(settings("BeforeTool", hook, matcher="write_file|replace"))
    os.chdir(project.path)
    return project


def timeless(text: str) -> str:
    return re.sub(r"\d+%", "0%", _TIME.sub(" 0 ms", text))


@pytest.mark.parametrize("no_color", ["", "1"])
def test_percentiles_and_the_share_of_start_up_at_80_columns(scan: Project, no_color: str) -> None:
    arguments = ("bench", "scan", "--trust", "--runs", "3")
    done = on_terminal(*arguments, cwd=scan.path, NO_COLOR=no_color)
    assert done.status == 0
    assert ("\x1b" in done.out) is not bool(no_color)
    *progress, shown = ESCAPE.sub("", done.out).split("\r")
    assert [text.strip() for text in progress if text.strip()] == [
        "scan: 0 of 3 runs",
        "scan: 0 of 3 runs",
        "scan: 0 of 3 runs",
        "scan: 1 of 3 runs",
        "scan: 2 of 3 runs",
    ]
    piped = hookline(*arguments, cwd=scan.path)
    assert piped.err == ""
    for text in (shown, piped.out):
        heading, names, *rows, last = timeless(text).splitlines()
        assert heading == "scan  BeforeTool write_file  3 runs"
        assert names.split() == ["min", "mean", "p50", "p95", "p99"]
        assert rows == [f"  {name} 0 ms 0 ms 0 ms 0 ms 0 ms" for name in ("hook", "start-up")]
        assert last == "0% of its time (p50) is start-up, which is how long sh -c : takes"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (40, ["hook start-up", *(f"{f} 0 ms 0 ms" for f in ("min", "mean", "p50", "p95", "p99"))]),
        (19, ["hook", *(f"{field} 0 ms" for field in ("min", "mean", "p50", "p95", "p99"))]),
    ],
)
def test_a_narrow_terminal_gets_its_rows_as_columns_or_one_by_one(
    scan: Project, columns: int, rows: list[str]
) -> None:
    done = on_terminal(
        *("bench", "scan", "--trust", "--runs", "1"), cwd=scan.path, columns=columns, NO_COLOR="1"
    )
    lines = done.out.rpartition("\r")[2].splitlines()
    assert [line for line in lines if len(line) > columns] == []
    table = [" ".join(timeless(line).split()) for line in lines]
    at = table.index(rows[0])
    assert table[at : at + len(rows)] == rows


@pytest.mark.usefixtures("scan")
def test_the_document_has_all_of_it(call: Call) -> None:
    done = call("bench", "scan", "--trust", "--runs", "4", "--json")
    document = done.document
    assert (done.status, done.err) == (0, "")
    assert (document["hook"], document["event"], document["runs"]) == ("scan", "BeforeTool", 4)
    called = {"file_path": "README.md", "content": "Hello\n", "command": "ls"}
    assert document["input"] == {"tool_name": "write_file", "tool_input": called}
    fields = {"min", "mean", "p50", "p95", "p99", "failed_runs"}
    assert document["times"]["hook"].keys() == fields
    assert document["startup"].keys() == fields | {"measured_as", "share"}
    assert document["startup"]["measured_as"] == "sh -c :"
    assert 0 < document["startup"]["share"] <= 1


@pytest.mark.usefixtures("scan")
def test_start_up_is_measured_for_a_hook_that_was_reviewed(call: Call) -> None:
    """The bare start of its interpreter runs, though no review of the project covers that."""
    assert call("trust", "--yes").status == 0
    startup = call("bench", "scan", "--runs", "1", "--json").document["startup"]
    assert startup["failed_runs"] == 0
    assert startup["p50"] > 0


def test_a_python_script_is_measured_cold_and_warm(call: Call, scan: Project) -> None:
    scan.script("hooks/scan.py", "import os\nprint(os.getppid(), file=open('parents', 'a'))\n")
    hook = command_hook(f"{sys.executable} hooks/scan.py", name="scan")
    scan.settings(settings("BeforeTool", hook))
    document = call("bench", "scan", "--trust", "--runs", "1", "--json").document
    assert document["times"].keys() == {"cold", "warm"}
    assert document["startup"]["measured_as"].endswith(" -c pass")
    done = call("bench", "scan", "--trust", "--runs", "1")
    *rows, _share, ratio = done.out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["cold", "warm", "start-up"]
    assert re.match(r"warm it takes \d+% of what it takes cold", ratio)
    parents = {*map(int, (scan.path / "parents").read_text().split())}
    assert parents > {os.getpid()}


def test_a_hook_that_fails_is_told(call: Call, scan: Project) -> None:
    scan.script("hooks/scan.sh", "#!/bin/sh\necho oh >&2; exit 3\n")
    done = call("bench", "scan", "--trust", "--runs", "3")
    assert done.status == 0
    assert done.err == (
        "warning: scan failed in 3 of 3 runs, so its times say little: exited with code 3: oh\n"
    )


def test_the_document_counts_how_runs_failed(call: Call, scan: Project) -> None:
    scan.script("hooks/scan.sh", "#!/bin/sh\necho oh >&2; exit 3\n")
    document = call("bench", "scan", "--trust", "--runs", "1", "--json").document
    assert document["unit"] == "ms"
    times = document["times"]["hook"]
    assert (times["failed_runs"], times["errors"]) == (1, {"exited with code 3: oh": 1})
    assert "errors" not in document["startup"]


def test_a_made_up_event_is_of_the_session_that_is_given(call: Call, scan: Project) -> None:
    scan.script("hooks/scan.sh", "#!/bin/sh\ncat > read.json\n")
    assert call("bench", "scan", "--trust", "--runs", "1", "--session-id", "s-7").status == 0
    assert '"session_id":"s-7"' in (scan.path / "read.json").read_text()


def test_a_hook_that_nobody_waits_for_is_measured_whole(call: Call, scan: Project) -> None:
    hook = command_hook("sleep 0.05", name="scan") | {"async": True}
    scan.settings(settings("BeforeTool", hook))
    document = call("bench", "scan", "--trust", "--runs", "1", "--json").document
    assert document["times"]["hook"]["min"] >= 50


def test_a_hook_that_is_disabled_is_measured_all_the_same(call: Call, scan: Project) -> None:
    off = {"hooks": {"disabled": ["scan"]}}
    scan.settings(off, file=".hookline/settings.local.json")
    done = call("bench", "scan", "--trust", "--runs", "1")
    assert (done.status, done.err) == (0, "")


def test_what_is_warned_of_is_told_once(call: Call, scan: Project) -> None:
    scan.script("hooks/scan.sh", "#!/bin/sh\necho '{\"decision\": 5}'\n")
    done = call("bench", "scan", "--trust", "--runs", "2")
    assert done.status == 0
    assert done.err.startswith("warning: scan: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "given",
    [
        ("--tool", "write_file", "--tool-input", '{"content": "mine"}'),
        ("--input", '{"tool_name": "write_file", "tool_input": {"content": "mine"}}'),
    ],
)
def test_the_event_is_made_up_unless_it_is_given(
    call: Call, scan: Project, given: tuple[str, ...]
) -> None:
    scan.script("hooks/scan.sh", "#!/bin/sh\ncat > read.json\n")
    assert call("bench", "scan", "--trust", "--runs", "1", *given).status == 0
    assert '"content":"mine"' in (scan.path / "read.json").read_text()


@pytest.mark.parametrize(
    ("event", "matcher", "field", "on"),
    [
        ("AfterTool", "", '"tool_response":"hi"', "AfterTool read_file"),
        ("SessionStart", "resume|startup", '"source":"resume"', "SessionStart resume"),
        ("SessionEnd", "*", '"reason":"exit"', "SessionEnd exit"),
        ("PreCompress", "", '"trigger":"manual"', "PreCompress manual"),
        ("Notification", "", '"message":"Build finished"', "Notification"),
        ("AfterAgent", "", '"prompt_response":"Done","stop_hook_active":false', "AfterAgent"),
        ("BeforeAgent", "", '"prompt":"Fix the tests"', "BeforeAgent"),
        ("BeforeModel", "", '"model":"gemini-2.5-flash"', "BeforeModel"),
        ("AfterModel", "", '"text":"Hi"', "AfterModel"),
        ("BeforeToolSelection", "", '"content":"Hello"', "BeforeToolSelection"),
    ],
)
def test_every_kind_of_event_can_be_made_up(
    call: Call, project: Project, event: str, matcher: str, field: str, on: str
) -> None:
    project.settings(settings(event, command_hook("cat > read.json", name="h"), matcher=matcher))
    os.chdir(project.path)
    done = call("bench", "h", "--trust", "--runs", "1")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"h  {on}  1 run"
    assert field in (project.path / "read.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["scna"], "no hook is named 'scna'; did you mean scan?"),
        (["zzz"], "no hook is named 'zzz'; `hookline list` shows the names"),
        (["scan"], "scan is not trusted, so it does not run; review it with"),
        (
            ["both", "--trust"],
            "both is for BeforeAgent and AfterAgent; name one of them by --event",
        ),
        (["scan", "--event", "BeforeAgent"], "scan is not for BeforeAgent but for BeforeTool"),
        (["scan", "--event", "BeforTool"], "'BeforTool' is not a hook event; did you mean"),
        (["odd", "--trust"], "cannot make up a name that '^[0-9]+$' matches; give the event's"),
        (["scan", "--runs", "0"], "--runs: must be a number from 1 on, not '0'"),
    ],
)
def test_bad_usage_says_what_to_do(
    call: Call, scan: Project, arguments: list[str], problem: str
) -> None:
    both = {"hooks": [command_hook("true", name="both")]}
    odd = {"hooks": [command_hook("true", name="odd")], "matcher": "^[0-9]+$"}
    more: dict[str, Any] = {"BeforeAgent": [both], "AfterAgent": [both], "AfterTool": [odd]}
    scan.settings({"hooks": more}, file=".hookline/settings.local.json")
    done = call("bench", *arguments)
    assert (done.status, done.out) == (1, "")
    assert problem in done.err


@pytest.mark.parametrize(
    ("command", "args", "words"),
    [
        ("python3 -I -u x.py --fast", None, "python3 -I -u -c pass"),
        ("/usr/bin/env python3.12 x.py", None, "python3.12 -c pass"),
        ("$HERE/script", None, "python3 -c pass"),
        ("./script", (), "python3 -c pass"),
        ("node", ("x.js",), "node -e 0"),
        ("ruby x.rb", None, "ruby -e 0"),
        ("perl x.pl", None, "perl -e 0"),
        ("python3 -u -W error -I x.py", None, "python3 -u -c pass"),
        ("cat | python3 x.py", None, "the shell's bare start"),
        ("/bin/true", None, "true"),
        ("./missing", None, "true"),
    ],
)
def test_start_up_is_that_of_the_hooks_own_interpreter(
    tmp_path: Path, command: str, args: tuple[str, ...] | None, words: str
) -> None:
    (tmp_path / "script").write_text("#!/usr/bin/env -S python3\n")
    hook = CommandHook(name="h", command=command, args=args)
    here = str(tmp_path)
    baseline = baseline_of(hook, {"HERE": here}, cwd=here, project_dir=here)
    assert baseline.words == words
    assert baseline.is_python is words.startswith("python")


def test_a_hook_s_own_interpreter_is_found_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Project(tmp_path / "bin").script("some-guard", "#!/usr/bin/env python3\n")
    monkeypatch.setenv("PATH", str(tool.parent))
    hook = CommandHook(name="h", command="some-guard", args=())
    found = baseline_of(hook, {}, cwd=str(tmp_path), project_dir=str(tmp_path))
    assert found.words == "python3 -c pass"


def test_it_loads_no_terminal_and_no_loop(scan: Project) -> None:
    modules = loaded(scan, "bench", "scan", "--trust", "--runs", "1")
    assert own(modules) == EVERY_VERB | {"bench", "events", "progress", "samples"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "pathlib", "tempfile", "logging", "json"}
