"""Whatever a program holds can be shown to hooks, and what cannot be shown whole is said."""

import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections import OrderedDict, UserDict, namedtuple
from types import MappingProxyType, SimpleNamespace
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.wire import codec
from hookline.wire.codec import MAX_DEPTH, MAX_REPR, show


class Shade(enum.Enum):
    DARK = "dark"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    """As LangChain's message texts are."""

    __slots__ = ()

    def __str__(self) -> str:
        return "a lie"


class Model(pydantic.BaseModel):
    name: str
    path: pathlib.PurePosixPath | None = None


@dataclasses.dataclass
class Point:
    x: int
    where: pathlib.PurePosixPath


class Struct(msgspec.Struct):
    name: str


class Scalar:
    """As numpy's scalars and arrays are."""

    def tolist(self) -> Any:
        return [1.5, 2]


class BytesPath:
    """As ``os.DirEntry`` of a directory that was named in bytes is."""

    def __fspath__(self) -> bytes:
        return b"/etc/\xff"


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Word("rm"), "rm"),
        (pathlib.PurePosixPath("/etc/passwd"), "/etc/passwd"),
        (BytesPath(), "/etc/\udcff"),
        (Shade.DARK, "dark"),
        (Level.HIGH, 3),
        (b"secret \xff", "secret \\xff"),
        (bytearray(b"x"), "x"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (datetime.timedelta(hours=1), "1:00:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        ({3, 1}, [1, 3]),
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Model(name="n", path=pathlib.PurePosixPath("/p")), {"name": "n", "path": "/p"}),
        (Point(1, pathlib.PurePosixPath("/p")), {"x": 1, "where": "/p"}),
        (Struct("s"), {"name": "s"}),
        (Scalar(), [1.5, 2]),
        ({None: 1, True: 2, 1.5: 3, Shade.DARK: 4}, {"null": 1, "true": 2, "1.5": 3, "dark": 4}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**80, 2**80),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_has_no_form_for_is_shown_by_what_it_says(value: Any, shown: Any) -> None:
    found = show({"value": value})
    assert found.value == {"value": shown}
    assert found.cuts == []
    assert json.loads(codec.encode(found.value)) == found.value


def test_the_last_resort_is_the_repr_and_it_is_said() -> None:
    found = show([SimpleNamespace(a=1), object])
    assert found.value == ["namespace(a=1)", "<class 'object'>"]
    assert (found.cuts, found.as_text) == ([], ["SimpleNamespace", "type"])


def test_an_enum_is_not_shown_as_one_of_its_members() -> None:
    assert show(Shade) == ("<enum 'Shade'>", [], ["EnumType"])


def test_a_long_repr_is_cut_and_it_is_said() -> None:
    found = show(SimpleNamespace(a="x" * MAX_REPR))
    assert len(found.value) < MAX_REPR + 50
    assert found.value.endswith("characters)")
    assert found.cuts == ["a SimpleNamespace is too long to show"]


def test_a_value_that_contains_itself_is_cut_where_it_does() -> None:
    cycle: dict[str, Any] = {"a": 1}
    cycle["again"] = [cycle]
    twice = {"same": 1}
    assert show(cycle).value == {"a": 1, "again": ["… (contains itself)"]}
    assert show(cycle).cuts == ["it contains itself"]
    assert show([twice, twice]).cuts == []


def test_an_object_that_contains_itself_is_cut_too() -> None:
    point = Point(1, pathlib.PurePosixPath("/"))
    point.where = point  # type: ignore[assignment]
    assert show(point).value == {"x": 1, "where": "… (contains itself)"}


def test_depth_is_bounded_and_the_cut_is_said() -> None:
    deep: Any = "bottom"
    for _ in range(MAX_DEPTH + 50):
        deep = [deep]
    found = show(deep)
    assert found.cuts == ["it is nested too deeply"]
    assert f"nested deeper than {MAX_DEPTH}" in codec.encode(found.value).decode()
    shallow: Any = "bottom"
    for _ in range(MAX_DEPTH):
        shallow = [shallow]
    assert show(shallow).cuts == []


def test_two_keys_that_are_written_alike_are_both_shown() -> None:
    found = show({1: "a", "1": "b"})
    assert sorted(found.value.values()) == ["a", "b"]
    assert found.cuts == ["two of its keys are both written '1'"]


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Lying:
    def tolist(self) -> Any:
        raise ValueError("not now")


class Endless:
    def tolist(self) -> Any:
        return self


@pytest.mark.parametrize("value", [Unspeakable(), Lying(), {"x": Endless()}, [Lying()]])
def test_a_value_that_cannot_explain_itself_breaks_nothing(value: Any) -> None:
    assert json.dumps(show(value).value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_is_shown_as_it_is(value: Any) -> None:
    assert show(value) == (value, [], [])


class Wordy:
    def __init__(self, length: int) -> None:
        self.length = length

    def __repr__(self) -> str:
        return "x" * self.length


def test_a_repr_exactly_at_the_limit_is_shown_whole() -> None:
    at, over = show(Wordy(MAX_REPR)), show(Wordy(MAX_REPR + 1))
    assert (at.value, at.cuts) == ("x" * MAX_REPR, [])
    assert over.value == "x" * MAX_REPR + "… (+1 characters)"
    assert over.cuts == ["a Wordy is too long to show"]
    assert at.as_text == over.as_text == ["Wordy"]


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
@pytest.mark.parametrize("bottom", ["text", pathlib.PurePosixPath("text")])
def test_a_value_exactly_as_deep_as_is_shown_is_whole(wrap: Any, bottom: Any) -> None:
    value: Any = bottom
    for _ in range(MAX_DEPTH + 1):
        value = wrap(value)
    assert codec.is_json(value) is isinstance(bottom, str)
    assert show(value).cuts == []
    assert not codec.is_json(wrap(value))
    assert show(wrap(value)).cuts == ["it is nested too deeply"]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        *((None, "null"), (True, "true"), (False, "false"), (1, "1"), (1.5, "1.5")),
        *((math.inf, "inf"), (pathlib.PurePosixPath("/a"), "/a"), ((1, "a"), "[1, 'a']")),
    ],
)
def test_a_key_is_written_as_json_would(key: Any, name: str) -> None:
    assert show({key: 5}).value == {name: 5}


@pytest.mark.parametrize("value", [math.inf, math.nan, (1,), {1: 2}, {"a": {1}}, [b"x"], 1j])
def test_what_json_has_no_form_for_is_not_json(value: Any) -> None:
    assert not codec.is_json(value)
    assert not codec.is_json({"a": [value]})
