"""Items leave a list in a settings text, and the text around them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.settings.edit import without
from hookline.settings.jsonc import JsoncError, parse

PATH = ("hooks", "disabled")


def text_with(names: str) -> str:
    return f'{{"hooks": {{"disabled": {names}}}}}'


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ('["a", "x", "b"]', '["a", "b"]'),
        ('["x"]', "[]"),
        ('[ "x" ]', "[]"),
        ('["a","x"]', '["a"]'),
        ('["x", "a"]', '["a"]'),
        ('["a", "x",]', '["a",]'),
        ('["x", "a", "x"]', '["a"]'),
        ('["a", 7, "x" /* why */]', '["a", 7 /* why */]'),
        ('["a", ["x"], "x"]', '["a", ["x"]]'),
        ('[\n  "a", // one\n  "x", // two\n  "b"\n]', '[\n  "a", // one\n  // two\n  "b"\n]'),
        ('[\n  "a",\n  "x"\n]', '[\n  "a"\n]'),
        ('[\r\n  "a",\r\n  "x"\r\n]', '[\r\n  "a"\r\n]'),
        ('[\n  "x",\n]', "[]"),
        ('[\n  // none\n  "x"\n]', "[\n  // none\n]"),
        ('["\\u0078", "a"]', '["a"]'),
        ('["a", "b"]', '["a", "b"]'),
    ],
)
def test_an_item_goes_with_its_comma_and_its_blanks(names: str, left: str) -> None:
    assert without(text_with(names), PATH, "x") == text_with(left)


@pytest.mark.parametrize("text", ["{}", '{"hooks": 7}', '{"hooks": {"disabled": "x"}}', "[]"])
def test_where_there_is_no_list_nothing_changes(text: str) -> None:
    assert without(text, PATH, "x") == text


def test_a_text_that_is_no_json_is_an_error() -> None:
    with pytest.raises(JsoncError):
        without("{", PATH, "x")


SPACE = st.sampled_from(["", " ", "\n  ", " /* x, ] */ ", "// , ]\n", "\t"])
ITEM = st.sampled_from(['"x"', '"a"', '"x,"', '"]"', "7", '["x"]', '{"x": "x"}'])


@given(st.lists(st.tuples(SPACE, ITEM, SPACE), max_size=6), st.booleans(), SPACE)
def test_whatever_the_layout_just_the_items_go(
    items: list[tuple[str, str, str]], trailing: bool, space: str
) -> None:
    inside = ",".join("".join(item) for item in items) + ("," if trailing and items else "")
    text = text_with(f"[{inside}{space}]")
    kept = [item for item in parse(text).value["hooks"]["disabled"] if item != "x"]
    result = without(text, PATH, "x")
    assert parse(result).value == {"hooks": {"disabled": kept}}
    assert result.count("/*") == text.count("/*")
    assert result.count("//") == text.count("//")
