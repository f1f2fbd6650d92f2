"""Records of what hooks did: complete for who listens, free for who does not, and local."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

import hookline
from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.contract import Config
from hookline.pipeline.answer import ProcessedHookResult
from hookline.trace import records as debuglog
from hookline.trace.records import (
    CLIP_CHARACTERS,
    CLIP_ITEMS,
    DebugLogger,
    JsonLinesSink,
    clip,
    default_trace_file,
    is_trace_wanted,
)
from hookline.wire.results import make_empty_success_result
from tests.eleven import ONE_EACH, Firing, Json, answering, command, label, on_every_event, started
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {"path": "a"}}


class Records(list[Json]):
    def of(self, kind: str) -> list[Json]:
        return [record for record in self if record["kind"] == kind]


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.mark.requirement("DELTA-HTEL-001", "DELTA-HSYS-001")
async def test_each_hook_leaves_a_record_of_everything_about_it(
    project: Project, records: Records
) -> None:
    hook = command('cat >/dev/null; echo note >&2; echo \'{"reason":"r"}\'', name="h")
    logger = DebugLogger(records.append)
    system = await started(project.path, on_every_event(hook), debug_logger=logger)
    await system.get_event_handler().fire("BeforeTool", TOOL)
    [record] = records.of("hook")
    assert record.pop("time") > "2024-01-01T00:00:00.000Z"
    assert len(record.pop("id")) == 6
    assert 0 < record.pop("duration_ms") < 20_000
    assert record.pop("input").items() >= {**TOOL, "session_id": "s-1"}.items()
    assert record == {
        "kind": "hook",
        "session_id": "s-1",
        "event": "BeforeTool",
        "target": "read",
        "hook": "h",
        "type": "command",
        "source": "project",
        "success": True,
        "exit_code": 0,
        "signal": None,
        "failed": None,
        "output": {"reason": "r"},
        "stdout": '{"reason":"r"}\n',
        "stderr": "note\n",
        "error": None,
    }


@pytest.mark.requirement("DELTA-HTEL-002")
@pytest.mark.parametrize("firing", ONE_EACH, ids=label)
async def test_each_event_leaves_one_summary_also_when_nothing_matched(
    tmp_path: Path, records: Records, firing: Firing
) -> None:
    system = await started(tmp_path / "w", debug_logger=DebugLogger(records.append))
    handler = system.get_event_handler()
    await firing.direct(handler)
    [empty] = records
    assert empty.items() >= {"kind": "batch", "session_id": "s-1", "hook_count": 0}.items()
    assert (empty["event"], empty["total_duration_ms"]) == (firing.event.value, 0)
    records.clear()
    system.register_hook(firing.event, lambda _document: None, name="a")
    system.register_hook(firing.event, lambda _document: ["no mapping"], name="b")
    processed = await firing.direct(handler)
    [summary] = records.of("batch")
    counts = [summary[name] for name in ("hook_count", "success_count", "failure_count")]
    assert (counts, summary["success"]) == ([2, 1, 1], False)
    assert summary["total_duration_ms"] == pytest.approx(processed.total_duration, abs=0.001)


@pytest.mark.requirement("DELTA-HTEL-003")
async def test_each_failure_leaves_a_diagnostic_and_the_result_still_comes(
    tmp_path: Path, records: Records, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = on_every_event(
        command("echo bad >&2; exit 3", name="exit"),
        command("kill -9 $$", name="signal"),
        command("sleep 9", name="timeout", timeout=50),
        command("echo no >&2; exit 2", name="policy"),
        answering('{"systemMessage":"fine"}', name="good"),
    )
    system = await started(tmp_path / "w", hooks, debug_logger=DebugLogger(records.append))
    processed = await system.get_event_handler().fire("BeforeTool", TOOL)
    told = {record["hook"]: record for record in records.of("diagnostic")}
    assert list(told) == ["exit", "signal", "timeout"]
    assert (told["exit"]["exit_code"], told["exit"]["stderr"]) == (3, "bad\n")
    assert told["signal"]["signal"] == "SIGKILL"
    assert "timeout of 50 ms" in told["timeout"]["error"]
    assert [record["hook"] for record in records.of("hook")] == [
        *("exit", "signal", "timeout", "policy", "good"),
    ]
    assert "hook 'exit' on BeforeTool failed: exited with code 3: bad" in caplog.text
    assert processed.system_message == "fine"
    assert len(processed.errors) == 3


async def test_requests_of_a_bus_are_recorded_with_the_session_they_name(
    tmp_path: Path, records: Records
) -> None:
    bus = InProcessMessageBus()
    logger = DebugLogger(records.append)
    system = await started(tmp_path / "w", message_bus=bus, debug_logger=logger)
    system.register_hook("BeforeTool", lambda _document: None, name="see")
    await request_hook_execution(bus, "BeforeTool", {**TOOL, "session_id": "theirs"})
    await request_hook_execution(bus, "BeforeTol", TOOL)
    assert [record["session_id"] for record in records[:2]] == ["theirs", "theirs"]
    assert records[2].items() >= {"kind": "warning", "code": "unsupported_event"}.items()


async def test_what_people_must_see_reaches_logging_though_nobody_keeps_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    system = await started(tmp_path / "w")
    system.register_hook("BeforeTool", lambda _document: {"decision": "nope"}, name="odd")
    await system.get_event_handler().fire("BeforeTool", TOOL)
    await system.get_event_handler().fire("BeforeTol", TOOL)
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("hookline", "WARNING"),
        ("hookline", "WARNING"),
    ]
    assert "hook 'odd' on BeforeTool: decision 'nope' is not one of" in caplog.text


async def test_warnings_may_go_elsewhere_and_failing_there_fails_no_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    logger = DebugLogger(warn=said.append)
    logger.warning("look")
    assert (said, caplog.records) == (["look"], [])

    def fail(_message: str) -> None:
        raise OSError("nowhere to write")

    logger = DebugLogger(warn=fail)
    system = await started(tmp_path / "w", on_every_event(command("exit 1")), debug_logger=logger)
    processed = await system.get_event_handler().fire("BeforeTool", TOOL)
    assert processed.results[0].failed == "exit"
    assert "cannot write the hook log" in caplog.text
    # What was logged holds on to it.
    system.dispose()


async def test_a_sink_that_raises_fails_no_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_record: Json) -> None:
        raise OSError("disk full")

    system = await started(tmp_path / "w", debug_logger=DebugLogger(fail))
    handler = system.get_event_handler()
    assert (await handler.fire("BeforeTool", TOOL)).success is True
    system.register_hook("BeforeTool", lambda _document: {"decision": "deny"}, name="no")
    processed = await handler.fire("BeforeTool", TOOL)
    assert processed.final_output is not None
    assert processed.final_output.is_blocking_decision()
    assert "disk full" in caplog.text


class Unread:
    """A value that must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")


def test_nothing_is_built_when_nobody_listens() -> None:
    logger = DebugLogger()
    assert logger.enabled is False
    nothing: Any = Unread()
    empty = ProcessedHookResult(make_empty_success_result())
    logger.event(empty, nothing, session_id=nothing, event=nothing, target=nothing)
    logger.record("hook", input=nothing)


def lines_of(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_the_trace_is_off_unless_the_environment_asks_for_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = default_trace_file()
    assert trace.is_relative_to(os.environ["HOME"])
    for value, wanted in (("", False), ("0", False), ("off", False), ("1", True), ("yes", True)):
        monkeypatch.setenv("HOOKLINE_TRACE", value)
        system = await started(project.path, on_every_event(answering("{}")))
        await system.get_event_handler().fire("BeforeTool", TOOL)
        assert trace.exists() is wanted, value
    assert [line["kind"] for line in lines_of(trace)] == ["hook", "batch"] * 2


@pytest.mark.parametrize(
    ("said", "default", "wanted"),
    [
        *(("", True, True), (" ", True, True), ("0", True, False), (" No ", True, False)),
        *(("FALSE", True, False), ("off", True, False), ("", False, False), ("1", False, True)),
    ],
)
def test_the_environment_decides_whether_a_trace_is_kept_or_else_the_default(
    monkeypatch: pytest.MonkeyPatch, said: str, default: bool, wanted: bool
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE", said)
    assert is_trace_wanted(default=default) is wanted
    assert DebugLogger.from_environment(default=default).enabled is wanted


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_file_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "deep" / "er" / "trace.jsonl"
    before = os.umask(umask)
    try:
        JsonLinesSink(path)({"kind": "x", "é": "ü"})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8") == '{"kind":"x","é":"ü"}\n'


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_could_read_or_write_is_its_owners_alone_from_now_on(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("{}\n")
    path.chmod(mode)
    JsonLinesSink(path)({"kind": "y"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert lines_of(path) == [{}, {"kind": "y"}]


def test_a_pipe_may_be_the_file_and_is_neither_rotated_nor_changed(tmp_path: Path) -> None:
    # As a device would be, but one whose name and mode may be lost if the code is wrong.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    path.chmod(0o640)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        JsonLinesSink(path, max_bytes=1)({"kind": "x"})
        assert os.read(reader, 100) == b'{"kind":"x"}\n'
    finally:
        os.close(reader)
    assert stat.filemode(path.stat().st_mode) == "prw-r-----"
    assert [*tmp_path.glob("pipe*")] == [path]


def test_a_full_file_makes_room_and_three_older_ones_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sink = JsonLinesSink(path, max_bytes=40)
    for number in range(12):
        sink({"number": number, "pad": "0123"})
    files = sorted(tmp_path.glob("trace.jsonl*"))
    assert [file.name for file in files] == [
        *("trace.jsonl", "trace.jsonl.1", "trace.jsonl.2", "trace.jsonl.3"),
    ]
    numbers = [[line["number"] for line in lines_of(file)] for file in files]
    assert numbers == [[11], [10], [9], [8]]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


@pytest.mark.parametrize("older", [0, 1, 5])
def test_as_many_older_files_are_kept_as_asked_for(tmp_path: Path, older: int) -> None:
    sink = JsonLinesSink(tmp_path / "log", max_bytes=1, older_files=older)
    for number in range(8):
        sink({"number": number})
    files = [tmp_path / "log", *(tmp_path / f"log.{n}" for n in range(1, older + 1))]
    assert sorted(tmp_path.glob("log*")) == files
    assert [lines_of(file)[0]["number"] for file in files] == [*range(7, 6 - older, -1)]


def test_the_environment_sets_the_size_and_number_of_the_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    monkeypatch.setenv("HOOKLINE_TRACE_MB", "1")
    monkeypatch.setenv("HOOKLINE_TRACE_FILES", "1")
    logger = DebugLogger.from_environment()
    for _ in range(400):
        logger.record("x", **dict.fromkeys("abc", "y" * CLIP_CHARACTERS))
    files = sorted(default_trace_file().parent.glob("trace.jsonl*"))
    assert [file.name for file in files] == ["trace.jsonl", "trace.jsonl.1"]
    assert all(file.stat().st_size <= 1024 * 1024 for file in files)


@pytest.mark.parametrize("number", ["0", "-1", "ten", "1.5", "9" * 30])
def test_a_size_that_is_no_number_is_reported_and_left(
    monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE_MB", number)
    warnings: list[str] = []
    logger = DebugLogger.from_environment(default=True, warn=warnings.append)
    assert logger.enabled
    assert warnings == [f"HOOKLINE_TRACE_MB is {number!r}; set it to a whole number from 1 on"]


def test_a_record_larger_than_the_file_may_be_is_still_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sink = JsonLinesSink(path, max_bytes=10)
    sink({"text": "longer than ten bytes"})
    sink({"text": "and so is this"})
    assert len(lines_of(path)) == len(lines_of(tmp_path / "trace.jsonl.1")) == 1


def test_long_values_are_clipped_and_say_by_how_much() -> None:
    record = {
        "text": "x" * (CLIP_CHARACTERS + 5),
        "fits": "y" * CLIP_CHARACTERS,
        "list": list(range(CLIP_ITEMS + 2)),
        "object": {str(n): (n,) for n in range(CLIP_ITEMS + 3)},
        "number": 5,
    }
    short = clip(record)
    assert short["text"] == "x" * CLIP_CHARACTERS + "… (+5 characters)"
    assert short["fits"] == record["fits"]
    assert short["list"][-2:] == [CLIP_ITEMS - 1, "… (+2 items)"]
    assert len(short["object"]) == CLIP_ITEMS + 1
    assert short["object"]["…"] == "(+3 items)"
    assert (short["object"]["0"], short["number"]) == ([0], 5)


def long_values(over: int) -> Json:
    numbers = list(range(CLIP_ITEMS + over))
    named = {str(number): number for number in numbers}
    return {"text": "x" * (CLIP_CHARACTERS + over), "list": numbers, "object": named}


def test_what_is_exactly_as_long_as_its_clip_is_whole() -> None:
    assert clip(long_values(0)) == long_values(0)


def test_one_more_than_the_clip_is_left_out() -> None:
    fits = long_values(0)
    assert clip(long_values(1)) == {
        "text": f"{fits['text']}… (+1 characters)",
        "list": [*fits["list"], "… (+1 items)"],
        "object": {**fits["object"], "…": "(+1 items)"},
    }


async def test_a_hook_that_prints_megabytes_leaves_a_short_record(project: Project) -> None:
    path = project.path.parent / "trace.jsonl"
    hooks = on_every_event(command("head -c 3000000 /dev/zero | tr '\\0' x"))
    logger = DebugLogger(JsonLinesSink(path))
    system = await started(project.path, hooks, debug_logger=logger)
    processed = await system.get_event_handler().fire("BeforeTool", TOOL)
    assert len(processed.results[0].stdout) == 3_000_000
    assert path.stat().st_size < 5 * CLIP_CHARACTERS


def test_threads_write_whole_lines_and_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sink = JsonLinesSink(path)

    def write(name: str) -> None:
        for number in range(100):
            sink({"who": name, "number": number, "pad": "x" * 200})

    threads = [threading.Thread(target=write, args=(str(n),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines_of(path)) == 600


WRITER = """
import sys
from hookline.trace.records import JsonLinesSink
sink = JsonLinesSink(sys.argv[1], max_bytes=int(sys.argv[3]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(300):
    sink({"who": sys.argv[2], "number": number, "pad": "x" * 100})
"""


def test_processes_write_whole_lines_and_lose_none_even_while_the_file_rotates(
    tmp_path: Path,
) -> None:
    path, most = tmp_path / "trace.jsonl", 60_000
    environment = os.environ | {"PYTHONPATH": str(Path(hookline.__file__).parents[1])}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(n), str(most)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        for n in range(4)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    assert [writer.communicate() and writer.returncode for writer in writers] == [0] * 4
    files = list(tmp_path.glob("trace.jsonl*"))
    written = [(line["who"], line["number"]) for file in files for line in lines_of(file)]
    assert len(files) > 1
    assert sorted(written) == sorted((str(n), k) for n in range(4) for k in range(300))


@pytest.mark.requirement("DELTA-HTEL-001")
async def test_nothing_of_the_environment_is_in_the_trace(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARENT_SECRET", "sesame-1")
    path = project.path.parent / "trace.jsonl"
    logger = DebugLogger(JsonLinesSink(path))
    said = command("echo $PARENT_SECRET; echo $OWN_KEY >&2; exit 2", env={"OWN_KEY": "sesame-2"})
    hooks = on_every_event(command("test $OWN", name="quiet", env={"OWN": "sesame-3"}), said)
    system = await started(project.path, hooks, debug_logger=logger)
    for firing in ONE_EACH:
        await firing.direct(system.get_event_handler())
    text = path.read_text(encoding="utf-8")
    assert text.count('"kind":"hook"') == 22
    assert text.count('"stdout":"[PARENT_SECRET hidden]') == 11
    assert text.count('"stderr":"[OWN_KEY hidden]') == 11
    assert "sesame" not in text


@pytest.mark.requirement("DELTA-HSYS-001")
def test_there_is_no_remote_telemetry_anywhere() -> None:
    package = Path(hookline.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) .*(opentelemetry|otlp)", text, re.MULTILINE), path
    project = tomllib.loads((package.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert "opentelemetry" not in str(project["project"]).lower()


def test_a_trace_without_a_place_to_be_is_said_and_the_events_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    monkeypatch.setattr(debuglog, "user_state_dir", lambda: None)
    said: list[str] = []
    logger = DebugLogger.from_environment(warn=said.append)
    assert logger.enabled is False
    assert said == ["no home directory for the trace; set HOME or XDG_STATE_HOME"]


def test_a_secret_that_a_hook_prints_as_json_is_neither_in_the_trace_nor_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", 'se"cret\\of/mine')
    said = "import json, os, sys; print(json.dumps(dict(os.environ)), file=sys.stderr); sys.exit(1)"
    own = {"HOOK_TOKEN": 'an"other\\one'}
    hook = {"type": "command", "command": sys.executable, "args": ["-c", said], "env": own}
    log = DebugLogger(JsonLinesSink(tmp_path / "trace.jsonl"))
    config = Config(hooks={"BeforeAgent": [{"hooks": [hook]}]}, debug_logger=log)
    system = config.get_hook_system()
    assert system is not None
    system.fire_blocking("BeforeAgent", {"prompt": json.dumps('of se"cret\\of/mine')})
    written = (tmp_path / "trace.jsonl").read_text()
    for kept in (written, caplog.text):
        assert "[MY_API_TOKEN hidden]" in kept
        assert "[HOOK_TOKEN hidden]" in kept
        assert "se\\" not in kept
        assert "of/mine" not in kept
        assert "other" not in kept.replace("another", "").replace("one after the other", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_program_may_fork_while_another_thread_writes(tmp_path: Path) -> None:
    sink, is_over = JsonLinesSink(tmp_path / "log"), threading.Event()

    def write() -> None:
        while not is_over.is_set():
            sink({"from": "the parent"})

    writing = threading.Thread(target=write)
    writing.start()
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(5)
                sink({"from": "the child"})
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    is_over.set()
    writing.join()
    assert sink.path.read_text().count("the child") == 20
