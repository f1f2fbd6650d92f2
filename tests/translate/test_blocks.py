"""Contents of blocks by themselves: which texts are read, and where new ones go."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, Blocks, drop_notes

BLOCKS = Blocks({"text": "text", "refusal": "refusal"}, ("image", "call"), leading=("thought",))
IMAGE, CALL, THOUGHT = {"type": "image"}, {"type": "call"}, {"type": "thought"}
CACHED = {"cache_control": {"type": "ephemeral"}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def put(content: Any, *texts: str) -> Any:
    return BLOCKS.put(content, texts, text)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (None, []),
        ("a", ["a"]),
        (["a", text("b"), IMAGE, {"type": "refusal", "refusal": "c"}], ["a", "b", "c"]),
        ((text(""), text("", annotations=[{"cited_text": "x"}])), ["", ""]),
        ([{"type": "novel", "id": "x"}], []),
    ],
    ids=str,
)
def test_texts_are_read_from_every_text_block(content: Any, texts: list[str]) -> None:
    assert BLOCKS.read(content) == texts


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (5, "content must be a text or a list, not int"),
        ([5], "content cannot hold int without a type"),
        ([{"type": 5}], "content cannot hold dict without a type"),
        ([text("a"), {"type": "novel", "chapter": "x"}], "the unknown type 'novel'"),
        ([text("", chapter="x")], "a block of type text has no text, but chapter"),
        ([{"type": "text", "text": 5}], "text must be a string, not int"),
    ],
    ids=str,
)
def test_a_content_of_an_unknown_shape_is_refused(content: Any, problem: str) -> None:
    with pytest.raises(TranslationError, match=problem):
        BLOCKS.read(content)


@pytest.mark.parametrize(
    ("content", "texts", "left"),
    [
        (None, ["x", "y"], "xy"),
        ("a", ["x", "y"], "xy"),
        ([text("a"), IMAGE, text("b")], ["x", "y"], [text("x"), IMAGE, text("y")]),
        ([text("a"), IMAGE, text("b")], ["x"], [text("x"), IMAGE]),
        ([IMAGE, text("a"), CALL], ["x", "y"], [IMAGE, text("x"), text("y"), CALL]),
        ([THOUGHT, CALL], ["x"], [THOUGHT, text("x"), CALL]),
        ([THOUGHT], ["x"], [THOUGHT, text("x")]),
        ([text("a"), IMAGE], [""], [IMAGE]),
        ([text("a"), IMAGE, text("b")], [], [IMAGE]),
        (["a", IMAGE, "b"], ["x"], ["x", IMAGE]),
        ([text("a")], [""], [text("")]),
    ],
    ids=str,
)
def test_new_texts_stand_at_the_places_of_the_old(content: Any, texts: Any, left: Any) -> None:
    blocks = Blocks({"text": "text"}, ("image", "call", "thought"), leading=("thought",))
    assert blocks.put(content, texts, text) == left


def test_a_text_that_stays_is_the_same_block_and_one_that_changes_loses_its_notes() -> None:
    first = text("a", citations=[1], **CACHED)
    second = text("b", citations=[1], annotations=[2], logprobs=[3], **CACHED)
    kept, changed = put([first, second], "a", "x")
    assert kept is first
    assert changed == text("x", annotations=[], **CACHED)
    assert drop_notes({"parsed": 1, "citations": None, "logprobs": []}) == {"parsed": None}


def test_the_last_mark_of_a_cache_is_at_the_end_of_the_new_texts() -> None:
    other = {"cache_control": {"type": "other"}}
    content = [text("a", **other), text("b", **CACHED), text("c"), "d"]
    assert put(content, "x", "y") == [text("x", **other), text("y", **CACHED)]
    assert put(content, "x") == [text("x", **CACHED)]
    assert put(["a", text("b", **CACHED)], "x") == ["x"]
    assert put([text("a"), text("b")], "x") == [text("x")]


FORM = BlockForm(
    BLOCKS,
    {"user": "user", "assistant": "model"},
    {"user": "user", "model": "assistant", "system": "system"},
    lambda role, said: text(said, role=role),
    hidden_roles=("tool",),
    beside=("refusal",),
    kept=("calls",),
    known=("name",),
)


def message(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def test_a_message_is_shown_with_what_stands_beside_its_content() -> None:
    assert FORM.text(message("a", refusal="b")) == "ab"
    assert FORM.text(message(None, refusal="b")) == "b"
    assert FORM.text(message(["a", text("b")], name="x")) == "ab"
    assert FORM.text({"role": "tool", "content": 5}) == ""
    assert FORM.text(message("", name="x", calls=["x"])) == ""
    assert (FORM.role(message("")), FORM.role({"role": "x"}), FORM.role({"role": 5})) == (
        "model",
        "user",
        "user",
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a", "a message cannot be str"),
        ({"role": "critic", "content": "a"}, "role 'critic' is not one of user, assistant, tool"),
        ({"role": 5, "content": "a"}, "role 5 is not one of"),
        (message("", note="a"), "a message has no text in its content, but note"),
    ],
    ids=str,
)
def test_a_message_of_an_unknown_shape_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(TranslationError, match=problem):
        FORM.text(value)


def test_a_message_with_another_text_has_nothing_that_repeats_the_old() -> None:
    old = message("a", refusal="b", logprobs=[1], name="x")
    assert FORM.with_text(old, "model", "new") == message("new", name="x")
    assert FORM.with_text(old, "user", "new") == {**message("new", name="x"), "role": "user"}
    added = FORM.with_text(message([IMAGE]), "user", "new")
    assert added["content"] == [text("new", role="user"), IMAGE]


@pytest.mark.parametrize(
    ("old", "left"),
    [
        (message("a"), None),
        (message("a", name="x"), None),
        (message("a", calls=[1], refusal="b"), message(None, calls=[1])),
        (message([text("a"), IMAGE]), message([IMAGE])),
        (message([text("a")]), None),
        (message([text("a")], calls=[1]), message(None, calls=[1])),
        (message(None, refusal="b"), None),
    ],
    ids=str,
)
def test_a_message_without_its_text_is_what_else_it_holds(old: Any, left: Any) -> None:
    assert FORM.without_text(old) == left
