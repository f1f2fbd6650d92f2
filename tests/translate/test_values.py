"""How values of any SDK are read and copied."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.genai_values import check_parts
from hookline.translate.values import (
    JSONCall,
    SDKCall,
    are_same,
    get,
    get_list,
    get_objects,
    get_text,
    holds_text,
    is_object,
    is_readable,
    put,
    refuse_text,
)


@dataclasses.dataclass
class Point:
    x: int = 1
    name: str = ""


class NotGiven:
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", True),
        ("", False),
        (" \n", False),
        (None, False),
        (5, False),
        (0.5, False),
        (True, False),
        ([], False),
        ([1, ["a"]], True),
        ((None, {"b": "a"}), True),
        ({"a"}, True),
        (frozenset(), False),
        ({"type": "a", "id": "b", "call_id": "c"}, False),
        ({"kind": "a"}, True),
        (Point(), False),
        (Point(name="a"), True),
        pytest.param(object(), True, id="an object of any other type"),
    ],
    ids=repr,
)
def test_a_text_is_found_wherever_it_is_but_in_types_and_ids(value: Any, expected: bool) -> None:
    assert holds_text(value) is expected


def test_only_json_models_and_dataclasses_are_read() -> None:
    assert is_readable({})
    assert is_readable(JSONCall("a", {}))
    assert is_readable(Point())
    assert not any(map(is_readable, (Point, [], "a", 5, None, SimpleNamespace())))


def test_an_argument_that_is_left_out_is_absent() -> None:
    assert get({"a": NotGiven()}, "a") is None
    assert get(SimpleNamespace(a=NotGiven()), "a") is None
    assert get({"a": 5}, "a") == 5
    assert get(Point(), "y") is None


def test_a_field_of_another_type_is_refused() -> None:
    assert (get_text({}, "a"), get_list({}, "a"), get_objects({"a": ({},)}, "a")) == ("", [], [{}])
    with pytest.raises(TranslationError, match="a must be a string, not int"):
        get_text({"a": 5}, "a")
    with pytest.raises(TranslationError, match="a must be a list, not str"):
        get_list({"a": "b"}, "a")
    with pytest.raises(TranslationError, match="a cannot hold str"):
        get_objects({"a": [{}, "b"]}, "a")


def test_text_in_an_unknown_field_is_refused_by_the_names_of_all_such_fields() -> None:
    refuse_text({"a": "x", "b": 5, "c": ""}, ("a",), "nothing was found")
    with pytest.raises(TranslationError, match=r"nothing was found, but b, d$"):
        refuse_text({"a": "x", "b": "x", "c": 5, "d": ["x"]}, ("a",), "nothing was found")


def test_a_copy_has_the_changes_and_the_original_is_as_it_was() -> None:
    value = {"a": 1, "b": None}
    assert put(value, {}) is value
    assert put(value, {"a": None, "c": 2}) == {"b": None, "c": 2}
    assert value == {"a": 1, "b": None}
    assert put(Point(), {"x": 2}) == Point(2)


def test_the_copy_of_a_call_is_a_call_of_the_same_api() -> None:
    for kind in (JSONCall, SDKCall):
        copy = put(kind("openai-chat", {"a": 1}), {"a": 2})
        assert (type(copy), copy.api, copy) == (kind, "openai-chat", {"a": 2})


def test_lists_are_the_same_only_with_the_identical_objects_in_order() -> None:
    one, other = [1], [1]
    assert are_same([one, other], [one, other])
    assert not are_same([one], [other])
    assert not are_same([one], [one, other])
    assert not are_same([one, other], [one])


def test_an_object_is_of_the_package_of_its_class_or_a_base() -> None:
    class Near(JSONCall):
        pass

    near = Near("a", {})
    assert is_object(near, "hookline")
    assert is_object(near, "hookline", "Other", "JSONCall")
    assert not is_object(near, "hookline", "SDKCall")
    assert not is_object(near, "hook")


@pytest.mark.parametrize("first", [{"text": "a"}, "a", {"text": ""}])
def test_every_part_of_a_list_is_checked(first: Any) -> None:
    check_parts([first, {"text": "b"}])
    with pytest.raises(TranslationError, match="a content part cannot be int"):
        check_parts([first, 5])
    with pytest.raises(TranslationError, match="a part's text must be a string, not int"):
        check_parts([first, {"text": 5}])
    with pytest.raises(TranslationError, match="a part has no field of Gemini's parts"):
        check_parts([first, {"words": "rm -rf /"}])
