"""Additions to a settings text: all that was there stays, to the letter."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.settings.edit import SettingsText, merge_additions, read_settings_text, with_additions
from hookline.settings.jsonc import parse
from hookline.settings.reader import SettingsFileError

HOOK = {"type": "command", "command": "./new.sh"}
ADDITIONS = {"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [HOOK]}]}}
SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // note\n", "/* note */", "\r\n"])
KEYS = st.sampled_from(["hooks", "BeforeTool", "disabled", "a", 'q"', "x // y"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "}", "/*", "[,"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def inserted(text: str, additions: Mapping[str, Any]) -> str:
    return with_additions(SettingsText("s.json", None, parse(text or "{}\n")), additions)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may have written it, with comments and commas anywhere."""
    space = draw(SPACE)
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}{draw(SPACE)}:{draw(written(v))}" for k, v in value.items()]
    elif isinstance(value, list):
        parts = [draw(written(item)) for item in value]
    else:
        return f"{space}{json.dumps(value)}{draw(SPACE)}"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    comma = draw(st.sampled_from(["", ","])) if parts else ""
    body = f"{draw(SPACE)},".join(f"{draw(SPACE)}{part}" for part in parts)
    return f"{space}{opening}{body}{comma}{draw(SPACE)}{closing}{draw(SPACE)}"


@given(st.data())
def test_whatever_the_text_it_then_holds_the_additions_and_all_it_held_before(
    data: st.DataObject,
) -> None:
    value = data.draw(st.dictionaries(KEYS, VALUES, max_size=3))
    additions = data.draw(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
    text = data.draw(written(value))
    try:
        result = inserted(text, additions)
    except SettingsFileError:
        return
    if parse(result).value != merge_additions(value, additions):
        pytest.fail(result)
    before, after = (re.sub(r"\s", "", each) for each in (text, result))
    kept = iter(after)
    if not all(character in kept for character in before):
        pytest.fail(f"{text}\nbecame\n{result}")


def test_comments_commas_and_indentation_stay_and_are_taken_up() -> None:
    text = """{
    // what the team agreed on
    "hooks": {
        "BeforeTool": [
            {"hooks": [{"type": "command", "command": "./old.sh"}]} // first
            // more to come
        ],
    },
}
"""
    assert (
        inserted(text, {**ADDITIONS, "enableHooks": True})
        == """{
    // what the team agreed on
    "hooks": {
        "BeforeTool": [
            {"hooks": [{"type": "command", "command": "./old.sh"}]}, // first
            // more to come
            {
                "matcher": "write_file",
                "hooks": [{"type": "command", "command": "./new.sh"}]
            }
        ],
    },
    "enableHooks": true,
}
"""
    )


def test_a_new_file_reads_as_one_would_write_it() -> None:
    assert (
        inserted("", ADDITIONS)
        == """{
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "write_file",
        "hooks": [{"type": "command", "command": "./new.sh"}]
      }
    ]
  }
}
"""
    )


def test_a_file_on_one_line_stays_on_one_line() -> None:
    text = '{"hooks": {"disabled": ["a"]}}'
    assert inserted(text, {"hooks": {"disabled": ["b"]}}) == '{"hooks": {"disabled": ["a", "b"]}}'


@pytest.mark.parametrize(
    ("text", "additions", "result"),
    [
        ("{}", {"b": 1}, '{"b": 1}'),
        ("{}", {"b": [1]}, '{\n  "b": [1]\n}'),
        ("{/* x */}", {"b": 1}, '{/* x */ "b": 1}'),
        ('{"a": 1,}', {"b": [[1]]}, '{"a": 1, "b": [[1]]}'),
    ],
)
def test_an_empty_object_stays_on_its_line_while_it_holds_plain_values(
    text: str, additions: dict[str, Any], result: str
) -> None:
    assert inserted(text, additions) == result


def test_lines_end_as_they_did() -> None:
    result = inserted('{\r\n\t"a": 1\r\n}\r\n', {"b": [1]})
    assert result == '{\r\n\t"a": 1,\r\n\t"b": [1]\r\n}\r\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"hooks": []}', "s.json:1:11: hooks must be an object, {…}; fix it first"),
        (
            '{"hooks": {"BeforeTool": {}}}',
            "s.json:1:26: hooks.BeforeTool must be a list, […]; fix it first",
        ),
        ('{"a": 1,\n "a": 2}', "s.json:2:7: the key 'a' is given twice; fix it first"),
        ("[]", "s.json:1:1: the file must be an object, {…}; fix it first"),
    ],
)
def test_what_has_no_room_for_them_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(SettingsFileError) as caught:
        inserted(text, ADDITIONS)
    assert str(caught.value) == problem


def test_text_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{")
    with pytest.raises(SettingsFileError, match="is not valid JSON"):
        read_settings_text(str(tmp_path / "s.json"))
