"""The transcript that hooks of Claude Code's read, as a writer makes it and as an agent does."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hookline.agent.providers.scripted import call
from hookline.dialects.transcript import TranscriptWriter
from tests.agent.scripts import Bench, hooks


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def blocks(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The type of each line, and its one block."""
    lines = read(path)
    assert all(line["message"]["role"] == line["type"] for line in lines)
    assert all(len(line["message"]["content"]) == 1 for line in lines)
    return [(line["type"], line["message"]["content"][0]) for line in lines]


def test_a_conversation_is_one_block_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "t.jsonl"
    writer = TranscriptWriter(path, session_id="s", cwd="/project")
    writer.add_text("user", "Grüße\nvon mir")
    writer.add_text("assistant", "Let me look.")
    writer.add_call("toolu_1", "run_shell_command", {"command": "ls"})
    writer.add_result("toolu_1", "a.txt")
    writer.add_call("toolu_2", "write_file", {"path": "b.txt", "content": "b"})
    writer.add_result("toolu_2", "the disk is full", is_error=True)
    assert blocks(path) == [
        ("user", {"type": "text", "text": "Grüße\nvon mir"}),
        ("assistant", {"type": "text", "text": "Let me look."}),
        (
            "assistant",
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        ),
        ("user", {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}),
        (
            "assistant",
            {
                "type": "tool_use",
                "id": "toolu_2",
                "name": "Write",
                "input": {"file_path": "/project/b.txt", "content": "b"},
            },
        ),
        (
            "user",
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": "the disk is full",
                "is_error": True,
            },
        ),
    ]
    lines = read(path)
    assert {(line["sessionId"], line["cwd"]) for line in lines} == {("s", "/project")}
    uuids = [line["uuid"] for line in lines]
    assert [line["parentUuid"] for line in lines] == [None, *uuids[:-1]]
    assert len({*uuids}) == len(lines)
    assert all(line["timestamp"].endswith("Z") for line in lines)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    # Compact, as scripts look for it with grep.
    assert '"type":"tool_use"' in path.read_text()


def test_a_transcript_that_exists_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for text in ("first", "second"):
        TranscriptWriter(path, session_id="s", cwd="/").add_text("user", text)
    assert [block["text"] for _, block in blocks(path)] == ["first", "second"]


def test_what_has_no_json_and_what_is_ambiguous_is_written_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter(path, session_id="s", cwd="/")
    writer.add_call("1", "own", {"path": Path("/x")})
    writer.add_call("2", "read_file", {"path": "a", "absolute_path": "/b"})
    (_, own), (_, both) = blocks(path)
    assert own["input"] == {"path": "/x"}
    assert (both["name"], both["input"]) == ("read_file", {"path": "a", "absolute_path": "/b"})


def test_what_cannot_be_written_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = TranscriptWriter(tmp_path, session_id="s", cwd="/")
    writer.add_text("user", "one")
    writer.add_text("user", "two")
    assert caplog.text.count("cannot write the transcript") == 1


def test_what_can_be_written_again_is_and_another_failure_is_told_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter(path, session_id="s", cwd="/")
    writer.add_text("user", "one")
    path.rename(tmp_path / "kept")
    path.mkdir()
    writer.add_text("user", "two")
    path.rmdir()
    (tmp_path / "kept").rename(path)
    writer.add_text("user", "three")
    path.unlink()
    path.mkdir()
    writer.add_text("user", "four")
    assert caplog.text.count("cannot write the transcript") == 2


def test_a_line_that_was_not_written_is_nobodys_parent(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TranscriptWriter(path, session_id="s", cwd="/")
    path.mkdir()
    writer.add_text("user", "lost")
    path.rmdir()
    writer.add_text("user", "one")
    writer.add_text("user", "two")
    first, second = read(path)
    assert (first["parentUuid"], second["parentUuid"]) == (None, first["uuid"])


async def test_an_agent_writes_what_was_said_before_hooks_hear_of_the_next_event(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "t.jsonl", tmp_path / "copy"
    at_tool = f'cp "$(sed -E \'s/.*"transcript_path":"([^"]*)".*/\\1/\')" {copy}'
    bench = Bench(
        hooks("BeforeTool", at_tool), [[call("note", text="hi")], "Done."], transcript=path
    )
    await bench.run("hello")
    kinds = [(kind, block["type"]) for kind, block in blocks(path)]
    assert kinds == [
        ("user", "text"),
        ("assistant", "tool_use"),
        ("user", "tool_result"),
        ("assistant", "text"),
    ]
    assert [(kind, block["type"]) for kind, block in blocks(copy)] == kinds[:2]
    (_, asked), (_, called), (_, answered), (_, said) = blocks(path)
    assert asked["text"] == "hello"
    assert called["id"] == answered["tool_use_id"]
    assert said["text"] == "Done."


async def test_what_after_model_hooks_take_out_is_not_in_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    answer = {"hookSpecificOutput": {"llm_response": {"text": "Ask [address]."}}}
    settings = hooks("AfterModel", f"echo '{json.dumps(answer)}'")
    await Bench(settings, ["Ask ann@example.org."], transcript=path).run("who?")
    assert "ann@" not in path.read_text()
    assert "Ask [address]." in path.read_text()
