"""``hookline trace`` as people see it: tables, one event in full, and what to do when it is off."""

import json
import os
import re
import shutil
import stat
import time
from pathlib import Path

import pytest

from hookline.trace.records import default_trace_file
from hookline.wire import codec
from tests.cli.command import ESCAPE, EVERY_VERB, command_hook, hookline, on_terminal, settings
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project
from tests.trace.logs import effects, fired, ran, session, warned, written

TABLE = """\
id      time      event         target      decision       took  hooks
start2  14:02:59  SessionStart  startup     allowed     31.0 ms  notes
model2  14:03:05  BeforeModel               no hook
block2  14:03:08  BeforeTool    write_file  blocked     12.4 ms  secret-scan +1
after2  14:03:10  AfterTool     write_file  allowed    210.0 ms  format ✗
agent2  14:03:18  BeforeAgent               allowed   1507.0 ms  budget +1

5 events
`hookline trace agent2` shows the last in full
"""
ONE_SESSION = """\
id      time      event         target      decision      took  hooks
start2  14:02:59  SessionStart  startup     allowed    31.0 ms  notes
model2  14:03:05  BeforeModel               no hook
block2  14:03:08  BeforeTool    write_file  blocked    12.4 ms  secret-scan +1
after2  14:03:10  AfterTool     write_file  allowed   210.0 ms  format ✗

4 events, session s-1
`hookline trace after2` shows the last in full
"""
PIPED = """\
id      time      session  event         target      decision       took  hooks
start2  14:02:59  s-1      SessionStart  startup     allowed     31.0 ms  notes
model2  14:03:05  s-1      BeforeModel               no hook
block2  14:03:08  s-1      BeforeTool    write_file  blocked     12.4 ms  secret-scan, path-guard
after2  14:03:10  s-1      AfterTool     write_file  allowed    210.0 ms  format (exit 3)
agent2  14:03:18  s-2      BeforeAgent               allowed   1507.0 ms  budget, rules

5 events
`hookline trace agent2` shows the last in full
"""
IN_FULL = """\
BeforeTool  write_file
  decision  blocked: that is a key
  time      2026-03-01 14:03:08.987+00:00
  took      12.4 ms, 2 hooks at the same time
  session   s-1
  id        block2
  folder    /home/ada/project

secret-scan  project, 12.4 ms, exit 2  blocked: that is a key
  stderr
    that is a key
  output
    {
      "decision": "deny",
      "reason": "that is a key"
    }

path-guard  project, 4.0 ms, exit 0  ok

input
  {
    "session_id": "s-1",
    "cwd": "/home/ada/project",
    "hook_event_name": "BeforeTool",
    "tool_name": "write_file",
    "tool_input": {
      "content": "AKIA"
    }
  }

output
  {
    "continue": true,
    "decision": "deny",
    "reason": "that is a key"
  }
"""
STATISTICS = """\
runs        p50        p95        p99  failed  blocked  hook
   1  1500.0 ms  1500.0 ms  1500.0 ms       0        0  rules
   1   210.0 ms   210.0 ms   210.0 ms       1        0  format
   1    31.0 ms    31.0 ms    31.0 ms       0        0  notes
   1    12.4 ms    12.4 ms    12.4 ms       0        1  secret-scan
   1     7.0 ms     7.0 ms     7.0 ms       0        0  budget
   1     4.0 ms     4.0 ms     4.0 ms       0        0  path-guard
"""
NARROW = """\
id      event         decision
    target, hooks
start2  SessionStart  allowed
    startup  notes
model2  BeforeModel   no hook
block2  BeforeTool    blocked
    write_file  secret-scan +1
"""
NARROW_STATISTICS = """\
runs        p95  failed  blocked
rules
   1  1500.0 ms       0        0
format
   1   210.0 ms       1        0
"""
EFFECTS_BY_ID = {
    "stopit": "stopped",
    "askhim": "asked",
    "rewrit": "rewritten",
    "redact": "redacted",
    "reject": "blocked, redacted",
    "reqchg": "rewritten",
    "synthe": "answered",
    "respon": "redacted",
    "narrow": "restricted",
    "adding": "context added",
    "goback": "blocked, sent back",
    "forget": "history cleared",
    "keepit": "history kept",
    "tailed": "tail call",
    "export": "variables set",
}
OFF = """\
no event was recorded, as tracing is off
to record what hooks do, set HOOKLINE_TRACE=1 where the agent starts, as in
  HOOKLINE_TRACE=1 hookline fire BeforeAgent --input '{"prompt": "hi"}'
or, to keep it on, write {"hookline": {"trace": true}} into ~/.config/hookline/settings.json
"""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def log() -> Path:
    return written(default_trace_file(), *session())


@pytest.fixture
def tracing(log: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    return log


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(
    ("arguments", "screen"),
    [
        ([], TABLE),
        (["--session", "s-1"], ONE_SESSION),
        (["block2"], IN_FULL),
        (["--stats"], STATISTICS),
    ],
)
def test_what_a_terminal_of_80_columns_shows(arguments: list[str], screen: str) -> None:
    assert on_terminal("trace", *arguments, NO_COLOR="1").out == screen


@pytest.mark.usefixtures("tracing")
def test_a_terminal_has_colour_and_says_the_same() -> None:
    shown = on_terminal("trace").out
    assert "\x1b[1;31mblocked\x1b[0m" in shown
    assert ESCAPE.sub("", shown) == TABLE


@pytest.mark.usefixtures("tracing")
def test_a_pipe_gets_whole_names() -> None:
    assert hookline("trace").out == PIPED


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ([], "start2 model2 block2 after2 agent2"),
        (["--limit", "2"], "after2 agent2"),
        (["--event", "BeforeTool", "--event", "AfterTool"], "block2 after2"),
        (["--hook", "guard"], "block2"),
        (["--session", "s-2"], "agent2"),
        (["--failures"], "after2"),
        (["--decision", "blocked"], "block2"),
        (["--decision", "no-hook", "--decision", "blocked"], "model2 block2"),
        (["--decision", "no hook"], "model2"),
        (["--decision", "blocked", "--event", "AfterTool"], ""),
        (["--decision", "allowed", "--session", "s-1", "--slow", "100"], "after2"),
        (["--since", "2026-03-01T14:03:06"], "block2 after2 agent2"),
        (["--since", "1m"], ""),
        (["--since", "yesterday", "--decision", "blocked"], ""),
        (["--slow"], "agent2"),
        (["--slow", "30"], "agent2 after2 start2"),
        (["--cwd", "/"], "start2 block2 after2 agent2"),
    ],
)
def test_events_are_chosen_by_what_they_were(call: Call, arguments: list[str], ids: str) -> None:
    document = call("trace", "--json", *arguments).document
    assert [event["id"] for event in document["events"]] == ids.split()
    shown = call("trace", *arguments).out
    assert all(name in shown for name in ids.split())
    assert bool(ids) or shown == "no event matches; `hookline trace` shows the newest of all\n"


def test_the_document_has_everything(call: Call, tracing: Path) -> None:
    document = call("trace", "--json").document
    assert (document["file"], document["tracing"], document["total"]) == (str(tracing), True, 5)
    event = document["events"][2]
    assert (event["decision"], event["reason"]) == ("blocked", "that is a key")
    assert event["input"]["tool_input"] == {"content": "AKIA"}
    assert event["hooks"][0]["stderr"] == "that is a key"
    assert call("trace", "block2", "--json").document == event
    rows = call("trace", "--stats", "--json").document["hooks"]
    assert rows[1] == {
        "hook": "format",
        "runs": 1,
        **dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "max_ms"), 210.0),
        "failures": 1,
        "blocks": 0,
    }


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "there is no event nope in the log; "),
        (["--event", "BeforeTol"], "'BeforeTol' is not a hook event; did you mean BeforeTool"),
        (["--since", "soon"], "--since: 'soon' is not a time; write 90s, 10m"),
        (["--decision", "blokced"], "--decision: invalid choice: 'blokced' (choose from "),
        (["--limit", "0"], "--limit: 0 is not a number of events; write 1 or more"),
        (["--slow", "often"], "--slow: invalid float value: 'often'"),
        (["--log", "none.jsonl"], "--log: there is no file none.jsonl"),
        (["--stats", "--follow"], "--follow: not allowed with argument --stats"),
        (["--html", "no/such/folder.html"], "no/such/folder.html"),
    ],
)
def test_a_wrong_question_is_answered_with_what_to_do(
    call: Call, arguments: list[str], said: str
) -> None:
    status, out, err = call("trace", *arguments)
    assert (status, out) == (1, "")
    assert err.startswith("hookline: ")
    assert said in err
    assert err.count("\n") == 1


def test_the_beginning_of_an_id_is_enough_where_only_one_has_it(call: Call) -> None:
    events = [fired(name, "10:00:00", "BeforeAgent", ran("h")) for name in ("aab222", "aac333")]
    written(default_trace_file(), *events)
    assert call("trace", "aab").out.startswith("BeforeAgent\n")
    assert "aa is the beginning of aab222, aac333; write more of it" in call("trace", "aa").err


def test_the_id_of_one_event_may_be_the_beginning_of_others(call: Call) -> None:
    names = ("aab", *(f"aab{number}" for number in range(5)))
    events = [fired(name, "10:00:00", "BeforeAgent", ran("h"), target=name) for name in names]
    written(default_trace_file(), *events)
    assert call("trace", "aab").out.startswith("BeforeAgent  aab\n")
    assert "aa is the beginning of aab, aab0, aab1, aab2, aab3, …; write" in call("trace", "aa").err
    written(default_trace_file(), *events[:5])
    assert "aa is the beginning of aab, aab0, aab1, aab2, aab3; write" in call("trace", "aa").err


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--limit", "4"], "the 4 newest of 5 events\n`hookline trace agent2` shows the last"),
        (["--limit", "5"], "5 events\n"),
        (["--limit", "1", "--session", "s-1"], "the 1 newest of 4 events, session s-1\n"),
        (["--slow", "30", "--limit", "2"], "the 2 slowest of 3 events\n`hookline trace after2` "),
    ],
)
def test_below_the_table_is_told_how_many_there_are(
    call: Call, arguments: list[str], told: str
) -> None:
    assert f"\n\n{told}" in call("trace", *arguments).out


def test_events_stand_in_the_order_in_which_they_began(call: Call) -> None:
    quick = fired("quick2", "10:00:05", "BeforeAgent", ran("h", 10.0))
    slow = fired("slow22", "10:00:10", "BeforeAgent", ran("h", 9_000.0))
    written(default_trace_file(), quick, slow)
    events = call("trace", "--json").document["events"]
    assert [event["id"] for event in events] == ["slow22", "quick2"]


@pytest.mark.usefixtures("log")
def test_statistics_are_those_of_the_hooks_that_are_asked_for(call: Call) -> None:
    rows = call("trace", "--stats", "--hook", "guard", "--json").document["hooks"]
    assert [row["hook"] for row in rows] == ["path-guard"]
    told = "no hook run matches; `hookline trace` shows the newest of all\n"
    assert call("trace", "--stats", "--hook", "nope").out == told


def test_a_log_of_others_is_only_read(call: Call, log: Path, tmp_path: Path) -> None:
    assert call("trace", "--log", str(log)) == (0, PIPED, "")
    assert call("trace", "--json").err == ""
    empty = written(tmp_path / "empty")
    assert call("trace", "--log", str(empty)) == (0, f"no event is in {empty}\n", "")


def test_it_says_how_to_turn_tracing_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("trace") == (0, OFF, "")
    assert call("trace", "--json").document["tracing"] is False
    assert call("trace", "--stats").out == OFF.replace("no event", "no hook run")
    assert call("trace", "--html", "page.html").out.endswith(OFF)
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    on = "no event was recorded yet; tracing is on, so the next one will be\n"
    assert call("trace").out == on


@pytest.mark.usefixtures("log")
def test_an_old_log_does_not_hide_that_nothing_new_is_recorded(call: Call) -> None:
    status, out, err = call("trace")
    assert (status, out) == (0, PIPED)
    assert err == (
        "warning: nothing was recorded in the last 10 minutes, and tracing is off here; "
        "set HOOKLINE_TRACE=1 where the agent starts\n"
    )


def test_nobody_is_told_that_tracing_is_off_while_agents_elsewhere_record(call: Call) -> None:
    (record,) = warned("10:00:00", "look")
    written(default_trace_file(), *session(), [{**record, "time": codec.timestamp()}])
    # What was asked for may be old; what counts is that the log is being written.
    for arguments in ([], ["--session", "s-1"], ["--event", "AfterTool"]):
        assert call("trace", *arguments).err == ""


def test_what_is_no_record_is_left_out_and_told(call: Call, tracing: Path) -> None:
    with tracing.open("ab") as file:
        file.write(b'not ours\n{"kind": "ho')
    status, out, err = call("trace")
    assert (status, out) == (0, PIPED)
    assert err == (
        f"warning: {tracing}: left out 1 line that is no record of hookline's; "
        "left out a line that was only half written\n"
    )
    assert call("trace", "--json").document["skipped"] == {"foreign": 1, "torn": 1}


def test_what_hooks_printed_cannot_steer_the_terminal(tmp_path: Path) -> None:
    evil = ran("\x1b[2Jname", stdout="\x1b]0;title\x07", stderr="a\rb")
    path = written(
        tmp_path / "log", fired("evil22", "10:00:00", "BeforeAgent", evil, target="\x9b")
    )
    for arguments in (["evil22"], [], ["--stats"]):
        shown = on_terminal("trace", "--log", str(path), *arguments, NO_COLOR="1").out
        assert "\\x1b" in shown
        assert not set("\x1b\x07\x9b\r") & set(shown)


def test_a_warning_apart_from_any_event_has_a_row(call: Call, tmp_path: Path) -> None:
    path = written(
        tmp_path / "log", warned("10:00:00", "hooks did not run: no reason", id="warn22")
    )
    assert (
        "warn22  10:00:00           –              warning         hooks did not run"
        in call("trace", "--log", str(path)).out
    )


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_page_is_its_owners_alone(call: Call, tmp_path: Path, umask: int) -> None:
    target, before = tmp_path / "page.html", os.umask(umask)
    try:
        done = call("trace", "--html", str(target), "--limit", "2")
    finally:
        os.umask(before)
    assert done.out == f"wrote 2 events of 5; --limit 5 takes all\nopen file://{target}\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    page = target.read_text(encoding="utf-8")
    assert "agent2" in page
    assert "start2" not in page
    document = call("trace", "--html", str(target), "--json").document
    assert document == {"file": str(target), "events": 5, "total": 5}
    whole = call("trace", "--html", str(target), "--limit", "5").out
    assert whole == f"wrote 5 events\nopen file://{target}\n"


def test_a_page_that_cannot_be_written_leaves_the_old_one(call: Call, tmp_path: Path) -> None:
    written(default_trace_file(), *session())
    (tmp_path / "page.html").mkdir()
    done = call("trace", "--html", str(tmp_path / "page.html"))
    assert (done.status, done.out) == (1, "")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_a_setting_of_the_user_turns_it_on_and_one_of_a_project_does_not(
    project: Project,
) -> None:
    hook = settings("BeforeAgent", command_hook("echo {}", name="h"))
    project.settings({**hook, "hookline": {"trace": True}})
    fire = ["fire", "BeforeAgent", "--input", '{"prompt": "hi"}', "--trust"]
    done = hookline(*fire, cwd=project.path)
    assert "hookline.trace: counts only in the user's or the system's settings" in done.err
    assert not default_trace_file().exists()
    user = Path.home() / ".config" / "hookline" / "settings.json"
    user.parent.mkdir(parents=True)
    user.write_text('{"hookline": {"trace": true}}')
    hookline(*fire, cwd=project.path, HOOKLINE_TRACE="0")
    assert not default_trace_file().exists()
    hookline(*fire, cwd=project.path)
    assert stat.S_IMODE(default_trace_file().stat().st_mode) == 0o600
    warning, event = hookline("trace", "--json", cwd=project.path).document["events"]
    assert "hookline.trace: counts only" in warning["reason"]
    assert (event["event"], event["hooks"][0]["hook"]) == ("BeforeAgent", "h")


@pytest.mark.usefixtures("tracing")
def test_nothing_of_a_project_is_executed(project: Project) -> None:
    mark = project.path / "ran"
    project.settings(settings("SessionStart", command_hook(f"touch {mark}", name="notes")))
    for arguments in ([], ["start2"], ["--stats"], ["--html", "page.html"], ["--json"]):
        assert hookline("trace", *arguments, cwd=project.path).status == 0
    assert not mark.exists()


@pytest.mark.usefixtures("log")
def test_it_loads_no_terminal_no_engine_and_no_regex_package(project: Project) -> None:
    modules = loaded(project, "trace")
    assert own(modules) == EVERY_VERB | {"trace", "trace.screen"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "logging", "pathlib", "tempfile", "hashlib"}
    assert "hookline.engine.engine" not in modules
    assert json.loads(hookline("trace", "--json").out)["total"] == 5


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("columns", [32, 40, 60, 80])
def test_a_narrow_terminal_does_without_what_one_event_in_full_has(columns: int) -> None:
    shown = on_terminal("trace", columns=columns, NO_COLOR="1").out
    assert max(map(len, shown.splitlines())) <= columns
    assert all(name in shown for name in ("start2", "block2", "agent2", "blocked"))


def test_at_40_columns_the_hooks_stand_below_and_names_above_their_times(tmp_path: Path) -> None:
    path = written(tmp_path / "log", *session())
    shown = on_terminal("trace", "--log", str(path), columns=40, NO_COLOR="1").out
    assert shown.startswith(NARROW)
    shown = on_terminal("trace", "--log", str(path), "--stats", columns=40, NO_COLOR="1").out
    assert shown.startswith(NARROW_STATISTICS)
    assert max(map(len, shown.splitlines())) <= 40


def test_each_thing_that_hooks_did_has_its_word(call: Call, tmp_path: Path) -> None:
    path = str(written(tmp_path / "log", *effects()))
    events = call("trace", "--log", path, "--json").document["events"]
    assert {event["id"]: event["effects"] for event in events} == {
        id: [word.strip() for word in words.split(",")] for id, words in EFFECTS_BY_ID.items()
    }
    for event in events:
        assert event["decision"] == event["effects"][0]
        assert event["hooks"][0]["effects"] == event["effects"]
        in_full = call("trace", "--log", path, event["id"]).out
        assert f"decision  {', '.join(event['effects'])}" in in_full
        for word in event["effects"]:
            found = call("trace", "--log", path, "--json", "--decision", word.replace(" ", "-"))
            assert event["id"] in [each["id"] for each in found.document["events"]]
    table = call("trace", "--log", path).out.splitlines()
    rows = {line.split()[0]: line for line in table[1:-2] if line}
    assert all(words.split(",")[0] in rows[id] for id, words in EFFECTS_BY_ID.items())


@pytest.mark.parametrize(
    ("id", "title", "lines"),
    [
        (
            "rewrit",
            "tool input, before and after",
            ['-  "command": "git push --force",', '+  "command": "git push",', "-second\\n"],
        ),
        ("redact", "tool result, before and after", ["-AKIA1", "+[key]"]),
        ("reqchg", "model request, before and after", ['+      "content": "my key is [key]"']),
        ("respon", "model response, before and after", ['+  "text": "key [key]"']),
        ("narrow", "tools, before and after", [" read_file", "-write_file", "-run_shell_command"]),
    ],
)
def test_in_full_what_hooks_changed_is_a_diff(
    call: Call, tmp_path: Path, id: str, title: str, lines: list[str]
) -> None:
    path = written(tmp_path / "log", *effects())
    shown = call("trace", "--log", str(path), id).out.splitlines()
    change = shown[shown.index(title) : shown.index("input")]
    assert all(f"  {line}" in change for line in lines)


def test_what_is_too_long_to_compare_does_not_hang(call: Call, tmp_path: Path) -> None:
    texts = [[f"{side}{n}" for n in range(2_500)] for side in "ab"]
    before, after = (
        {"lines": text[:900], "more": text[900:1800], "x": text[1800:]} for text in texts
    )
    output = {"hookSpecificOutput": {"tool_input": after}}
    event = fired("huge22", "10:00:00", "BeforeTool", ran("h"), output=output, tool_input=before)
    path = written(tmp_path / "log", event)
    assert (
        "lines after: too long to compare here" in call("trace", "--log", str(path), "huge22").out
    )


def test_in_full_it_says_where_the_hook_is_defined(project: Project) -> None:
    hook = command_hook("echo no >&2; exit 2", name="guard")
    project.settings(settings("BeforeTool", hook))
    fire = ["fire", "BeforeTool", "--tool", "w", "--tool-input", "{}", "--trust"]
    hookline(*fire, cwd=project.path, HOOKLINE_TRACE="1")
    (event,) = hookline("trace", "--json", "--decision", "blocked").document["events"]
    shown = hookline("trace", event["id"], cwd=project.path).out
    assert re.search(r"^guard  project, \d+\.\d ms, exit 2  blocked: no$", shown, re.MULTILINE)
    assert re.search(r"^  defined in \.hookline/settings\.json:\d+$", shown, re.MULTILINE)
    assert f"  folder    {project.path}\n" in shown
    # The log outlives the project.
    shutil.rmtree(project.path / ".hookline")
    assert "defined in" not in hookline("trace", event["id"]).out


def test_a_target_is_whole_where_the_hooks_leave_room_for_it(tmp_path: Path) -> None:
    hook = settings("BeforeTool", command_hook("true", name="g"))
    (tmp_path / "s.json").write_text(json.dumps(hook))
    fired = ("fire", "BeforeTool", "--tool", "run_shell_command", "--tool-input", "{}")
    hookline(*fired, "--settings", str(tmp_path / "s.json"), HOOKLINE_TRACE="1")
    assert "run_shell_command" in on_terminal("trace", NO_COLOR="1").out
