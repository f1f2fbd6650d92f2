"""What a test is set up with: its scratch directory, its places and its variables."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from hookline.hooktests.cases import HookTest
from hookline.hooktests.runs import HookTestRunner, name_places, put_places, working_dir
from tests.cli.command import command_hook, settings
from tests.harness.scratch import Project
from tests.hooktests.test_junit import case_of


def refuse(*_: object) -> None:
    raise AssertionError("nothing may be fired")


def test_a_scratch_directory_has_the_files_until_it_is_left() -> None:
    files = {"a/run.sh": "#!/bin/sh\r\n", "a/text": "x #!", "empty/": "ignored"}
    with working_dir(files, "/elsewhere") as place:
        scratch = Path(place)
        assert (scratch / "a/run.sh").read_bytes() == b"#!/bin/sh\r\n"
        assert os.access(scratch / "a/run.sh", os.X_OK)
        assert not os.access(scratch / "a/text", os.X_OK)
        assert [*(scratch / "empty").iterdir()] == []
        assert os.path.realpath(place) == place
    assert not scratch.exists()


def test_without_files_the_place_that_is_there_is_used_and_with_none_an_empty_one() -> None:
    with working_dir(None, "/elsewhere") as place:
        assert place == "/elsewhere"
    with working_dir({}, "/elsewhere") as place:
        assert os.listdir(place) == []


def test_places_are_put_into_texts_and_keys_and_named_again() -> None:
    places = {"cwd": "/p/sub", "project": "/p"}
    value = {"${project}/k": ["${cwd}/a", 1, None, {"x": "in ${project} and ${cwd}"}]}
    put = {"/p/k": ["/p/sub/a", 1, None, {"x": "in /p and /p/sub"}]}
    assert put_places(value, places) == put
    assert name_places(put, places) == value
    # Of two that fit, the longer counts, in whatever order they are given.
    assert name_places("/p/sub", {"project": "/p", "cwd": "/p/sub"}) == "${cwd}"


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        ({"": "x"}, "'' cannot be the name of a variable"),
        ({"A=B": "x"}, "'A=B' cannot be the name of a variable"),
        ({"A\0": None}, "embedded null byte in the variable 'A\\x00'"),
        ({"A": "x\0"}, "embedded null byte in the variable 'A'"),
    ],
)
def test_a_variable_that_no_process_can_have_fails_the_test_before_anything_is_fired(
    env: dict[str, str | None], problem: str, tmp_path: Path
) -> None:
    runner = HookTestRunner(refuse, cwd=str(tmp_path), trusted=True)  # type: ignore[arg-type]
    outcome = runner.run(case_of("t", env=env))
    assert outcome.status == "failed"
    assert [each.message for each in outcome.failures] == [f"the test cannot be set up: {problem}"]


def test_a_test_that_is_skipped_fires_nothing() -> None:
    test: HookTest = case_of("t", skip="later")
    outcome = HookTestRunner(refuse).run(test)  # type: ignore[arg-type]
    assert (outcome.status, outcome.failures, outcome.document) == ("skipped", (), None)


def test_what_keeps_a_test_from_being_set_up_is_told_with_its_place(tmp_path: Path) -> None:
    runner = HookTestRunner(refuse, cwd=str(tmp_path), trusted=True)  # type: ignore[arg-type]
    outcome = runner.run(case_of("t", files={"a": "", "a/b": ""}))
    (failure,) = outcome.failures
    assert re.fullmatch(r"the test cannot be set up: /.+/a: File exists", str(failure.message))
    assert (outcome.untrusted, outcome.document) == (False, None)


def test_hooks_that_the_event_would_run_are_named_if_nobody_trusts_them(project: Project) -> None:
    hooks = [command_hook("true", name=name) for name in ("one", "two")]
    project.settings(settings("BeforeAgent", *hooks))
    runner = HookTestRunner(refuse, cwd=str(project.path))  # type: ignore[arg-type]
    test = msgspec.structs.replace(case_of("t"), input={"prompt": ""})
    chosen = msgspec.structs.replace(test, hooks=("two",))
    outcomes = [runner.run(each) for each in (test, chosen)]
    assert [each.failures[0].message for each in outcomes] == [
        "one, two are not trusted and did not run",
        "two is not trusted and did not run",
    ]
    assert [each.untrusted for each in outcomes] == [True, True]
