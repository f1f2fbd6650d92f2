"""What a recorded test expects, where it is written, and what it may not replace."""

import os
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks
from hookline.hooktests.cases import HookTestError
from hookline.hooktests.recording import recorded_test, recording_place, write_test
from hookline.pipeline.jsonc import MAX_BYTES


@pytest.mark.parametrize(
    ("given", "name", "file"),
    [
        ("A key: refused!", "A key: refused!", "/p/.hookline/tests/a-key-refused.hooktest.json"),
        ("x" * 101, "x" * 101, f"/p/.hookline/tests/{'x' * 100}.hooktest.json"),
        ("/t/keys", "keys", "/t/keys.hooktest.json"),
        ("/t/keys.hooktest.json", "keys", "/t/keys.hooktest.json"),
    ],
)
def test_a_name_becomes_a_file_of_the_project_and_a_path_stays_one(
    given: str, name: str, file: str
) -> None:
    assert recording_place(given, "/p") == (name, file)


def test_a_name_with_the_ending_of_a_test_is_a_file_of_this_folder() -> None:
    file = os.path.abspath("keys.hooktest.json")
    assert recording_place("keys.hooktest.json", "/p") == ("keys", file)


def test_a_name_without_a_letter_or_a_digit_is_refused() -> None:
    with pytest.raises(HookTestError, match="use letters or digits"):
        recording_place("!?", "/p")


def test_a_file_that_is_there_is_replaced_only_if_asked_even_a_dangling_link(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tests" / "a.hooktest.json"
    write_test(str(file), {"name": "a"}, replace=False)
    with pytest.raises(HookTestError, match="pass --force to replace it"):
        write_test(str(file), {"name": "b"}, replace=False)
    assert file.read_text() == '{\n  "name": "a"\n}\n'
    write_test(str(file), {"name": "b"}, replace=True)
    assert '"b"' in file.read_text()
    link = tmp_path / "link.hooktest.json"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(HookTestError, match="exists"):
        write_test(str(link), {}, replace=False)


def test_a_test_of_the_largest_size_that_is_read_is_written_and_no_larger_one(
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "a.hooktest.json")
    frame = len('{\n  "name": ""\n}\n')
    write_test(file, {"name": "x" * (MAX_BYTES - frame)}, replace=False)
    assert os.path.getsize(file) == MAX_BYTES
    with pytest.raises(HookTestError, match="record a smaller event"):
        write_test(file, {"name": "x" * (MAX_BYTES - frame + 1)}, replace=True)
    assert os.path.getsize(file) == MAX_BYTES


@pytest.mark.parametrize(
    ("said", "changed"),
    [({}, None), ({"llm_response": {"text": "[removed]"}}, {"text": "[removed]"})],
    ids=["nothing", "another text"],
)
def test_a_test_expects_of_a_models_answer_what_hooks_changed(said: Any, changed: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel", name="redact")(lambda _: {"hookSpecificOutput": said})
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    answer = hooks.sync.after_model(request, {"text": "Hello."})
    test = recorded_test("t", "AfterModel", {}, answer, {"redact": {"decision": "none"}}, {})
    assert test["expect"].get("llm_response") == changed
