"""A history that belongs to no API: it can be stored, and any model can go on with it."""

import json
import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from google.genai import types

from hookline import Config
from hookline.agent import (
    CallResult,
    Chat,
    FunctionCall,
    Media,
    Native,
    Opaque,
    ScriptedProvider,
    Text,
    Tool,
    ToolScheduler,
    Turn,
)
from hookline.agent.providers.genai import GenAIConversation
from hookline.agent.providers.scripted import call
from hookline.agent.turns import (
    as_neutral,
    describe_media,
    give_ids,
    name_call,
    result_of,
    transcribe,
)
from tests.agent.scripts import Bench, hooks, specific

PIXEL = b"\xfb\xff\xfe"
SIGNED = {"text": "hm", "thought": True, "thoughtSignature": "-__-"}


def contents_of(*turns: Turn) -> list[types.Content]:
    """What Gemini's SDK is given of these turns."""
    contents: list[types.Content] = GenAIConversation("typed").request("m", turns).contents
    return contents


async def test_a_history_is_stored_as_json_and_goes_on_where_it_was() -> None:
    bench = Bench({}, [[SIGNED, call("note", text="one")], "done"])
    await bench.run("go")
    stored = msgspec.json.encode(bench.history)
    read = msgspec.json.decode(stored, type=list[Turn])
    assert read == bench.history
    provider = ScriptedProvider(["more"])
    await Chat(Config(), provider, history=read).send("again")
    before, after = bench.provider.requests[-1]["contents"], provider.requests[0]["contents"]
    assert after[: len(before)] == before
    assert after[1]["parts"][0] == SIGNED


async def test_a_thought_and_its_signature_survive_a_change_of_the_text_beside_it() -> None:
    settings = hooks("AfterModel", specific(llm_response={"text": "a [x]"}))
    bench = Bench(settings, [[SIGNED, "a cat"], "ok"])
    await bench.run("one", "two")
    said = bench.provider.requests[1]["contents"][1]
    assert said["parts"] == [SIGNED, {"text": "a [x]"}]
    assert "cat" not in repr(bench.history)


def test_a_turn_of_another_api_is_rendered_from_its_parts() -> None:
    native = Native("another", {"role": "assistant", "content": "secret of that API"})
    asked = FunctionCall("draw", {"of": "cat"}, id="call_1")
    [said] = contents_of(Turn("model", (Text("I draw."), asked), native))
    assert said.parts is not None
    assert said.parts[0].text == "I draw."
    assert said.parts[1].function_call == types.FunctionCall(
        id="call_1", name="draw", args={"of": "cat"}
    )


def test_media_reach_the_model_from_any_apis_form() -> None:
    parts = [
        Media("image/png", PIXEL),
        {"inlineData": {"mimeType": "image/png", "data": "+//+"}},
        types.Part(inline_data=types.Blob(mime_type="image/png", data=PIXEL)),
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,+//+"}},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "+//+"},
        },
    ]
    result = result_of(FunctionCall("draw", {}), ["drawn", *parts], is_error=False)
    [content] = contents_of(Turn("user", (result,)))
    answer, *shown = content.parts or []
    assert answer.function_response is not None
    assert answer.function_response.response == {"output": "drawn"}
    assert [part.inline_data and part.inline_data.data for part in shown] == [PIXEL] * 5


@pytest.mark.parametrize("form", ["camel", "typed"])
@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "rows", "rows": [1]}, '{"type":"rows","rows":[1]}'),
        ({"price": 3}, '{"price":3}'),
        (7, "7"),
        (Path("/x"), '"/x"'),
    ],
)
def test_a_part_that_no_api_knows_is_read_as_its_json(
    form: Literal["camel", "typed"], part: object, shown: str
) -> None:
    """A tool may return a list of anything, and the model call must not break on it."""
    result = result_of(FunctionCall("find", {}), [part], is_error=False)
    conversation = GenAIConversation(form)
    request = conversation.request("m", [Turn("user", (result,))])
    [content] = request["contents"] if form == "camel" else request.contents
    said = content["parts"][1]["text"] if form == "camel" else content.parts[1].text
    assert said == shown


def test_a_turn_of_which_gemini_has_nothing_is_left_out() -> None:
    only_native = Native("another", {"role": "assistant", "content": []})
    assert contents_of(Turn("model", (), only_native)) == []


def test_a_system_turn_is_the_users_where_the_api_has_no_such_role() -> None:
    turns = [Turn("user", (Text("hello"),)), Turn("system", (Text("be kind"),))]
    [_, told] = contents_of(*turns)
    assert (told.role, told.parts and told.parts[0].text) == ("user", "[System] be kind")
    conversation = GenAIConversation("camel", system_role=True)
    kept = conversation.request("m", turns)["contents"][1]
    assert kept == {"role": "system", "parts": [{"text": "be kind"}]}


async def test_a_call_whose_arguments_cannot_be_read_is_answered_and_not_run() -> None:
    notes: list[Any] = []
    scheduler = ToolScheduler(Config(), {"note": Tool(name="note", run=notes.append)})
    broken = FunctionCall("note", {}, problem="its arguments are not a JSON object")
    done = await scheduler.run([broken])
    assert notes == []
    assert done[0].result.error is not None
    assert done[0].result.error.type == "bad_arguments"
    assert "not a JSON object" in str(done[0].result.llm_content)


async def test_a_tools_parts_stand_beside_its_answer() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    draw = Tool(name="draw", run=lambda _given: ["a cat", image])
    bench = Bench({}, [[call("draw")], "ok"], tools=[draw])
    await bench.run()
    answer, beside = bench.provider.requests[1]["contents"][2]["parts"]
    assert answer["functionResponse"]["response"] == {"output": "a cat"}
    assert beside == image
    [result] = bench.history[2].parts
    assert isinstance(result, CallResult)
    assert result.attached == (Opaque(image),)


ACCEPTED = re.compile(r"call_\w+|ok")


def named(*turns: Turn) -> list[list[str | None]]:
    """The ids that calls and results of these turns have for an API."""
    given = give_ids(turns, api="mine", accepted=ACCEPTED)
    calls = [
        [part.call if isinstance(part, CallResult) else part for part in t.parts] for t in given
    ]
    return [[c.id for c in each if isinstance(c, FunctionCall)] for each in calls]


@pytest.mark.parametrize(
    ("given", "named_as"),
    [("ok", "ok"), (None, "call_1_1"), ("toolu:1", "call_1_1"), ("", "call_1_1")],
)
def test_a_call_and_its_result_have_an_id_that_the_api_accepts(
    given: str | None, named_as: str
) -> None:
    asked = FunctionCall("draw", {}, id=given)
    turns = Turn("user", (Text("go"),)), Turn("model", (Text("so"), asked))
    assert named(*turns, Turn("user", (CallResult(asked, "drawn"),))) == [
        [],
        [named_as],
        [named_as],
    ]


def test_an_id_that_the_api_itself_gave_stays_whatever_its_form() -> None:
    asked = FunctionCall("draw", {}, id="toolu:1")
    assert named(Turn("model", (asked,), Native("mine", {}))) == [["toolu:1"]]
    assert named(Turn("model", (asked,), Native("another", {}))) == [["call_0_0"]]


def test_equal_calls_without_ids_are_answered_in_order() -> None:
    asked = FunctionCall("draw", {})
    results = (CallResult(asked, "one"), CallResult(asked, "two"))
    turns = Turn("model", (asked, asked)), Turn("user", results)
    assert named(*turns) == [["call_0_0", "call_0_1"]] * 2


def test_a_result_without_its_call_stays_as_it_is() -> None:
    result = CallResult(FunctionCall("draw", {}, id="lost:1"), "drawn")
    assert named(Turn("user", (result,))) == [["lost:1"]]


DATA = "+//+"


@pytest.mark.parametrize(
    ("part", "neutral"),
    [
        ({"inline_data": {"mime_type": "a/b", "data": DATA}}, Media("a/b", PIXEL)),
        ({"inlineData": {"mimeType": "a/b", "data": PIXEL}}, Media("a/b", PIXEL)),
        ({"inlineData": {"mimeType": "a/b", "data": "-__-"}}, Media("a/b", PIXEL)),
        ({"inlineData": {"mimeType": "a/b", "data": "eA"}}, Media("a/b", b"x")),
        ({"source": {"type": "base64", "media_type": "a/b", "data": DATA}}, Media("a/b", PIXEL)),
        ({"image_url": {"url": f"data:a/b;base64,{DATA}"}}, Media("a/b", PIXEL)),
        ({"inlineData": {"mimeType": "a/b", "data": "?"}}, Text),
        ({"inlineData": {"data": DATA}}, Text),
        ({"inlineData": DATA}, Text),
        ({"source": {"type": "url", "media_type": "a/b", "data": DATA}}, Text),
        ({"image_url": {"url": "https://example.org/a.png"}}, Text),
        ({"image_url": {"url": f"so data:a/b;base64,{DATA}"}}, Text),
    ],
)
def test_a_part_holds_media_in_the_form_of_any_api_or_is_its_json(part: Any, neutral: Any) -> None:
    expected = Text(json.dumps(part, separators=(",", ":"))) if neutral is Text else neutral
    assert as_neutral(Opaque(part)) == expected


def test_media_are_neutral_already_and_are_described_where_they_cannot_be_sent() -> None:
    media = Media("video/mp4", b"xyz")
    assert as_neutral(media) is media
    assert describe_media(media) == "[video/mp4, 3 bytes: this model cannot be shown it]"
    assert describe_media(Media("text/csv", b"a;\xff")) == "a;\ufffd"
    assert describe_media(Media("application/text", b"")).startswith("[application/text, 0 bytes")


@pytest.mark.parametrize(
    ("content", "text", "attached"),
    [
        ("a", "a", ()),
        (["a", "b"], "a\n\nb", ()),
        (("a", {"text": "b"}), "a\n\nb", ()),
        ([types.Part(text="a"), Text("b")], "a\n\nb", ()),
        ({"text": 3}, "", (Opaque({"text": 3}),)),
        ([], "", ()),
    ],
)
def test_a_result_is_the_texts_that_a_tool_gave_and_what_else_it_gave(
    content: object, text: str, attached: tuple[Any, ...]
) -> None:
    for is_error in (False, True):
        result = result_of(FunctionCall("find", {}), content, is_error=is_error)
        assert (result.text, result.attached, result.is_error) == (text, attached, is_error)


def test_calls_and_results_are_told_in_words_where_no_tools_are_declared() -> None:
    asked, image = FunctionCall("draw", {"of": "cat"}), Media("image/png", PIXEL)
    results = (
        CallResult(asked, "drawn", attached=(image,)),
        CallResult(asked, "full", is_error=True),
    )
    spoken = transcribe([Turn("model", (Text("So."), asked)), Turn("user", results)])
    assert [turn.role for turn in spoken] == ["model", "user"]
    assert spoken[0].text == 'So.[called draw with {"of":"cat"}]'
    assert spoken[1].parts == (
        *(Text("[result of draw: drawn]"), image, Text("[error of draw: full]")),
    )


def test_a_call_is_known_by_its_id_or_by_what_it_is_here() -> None:
    first, second = FunctionCall("draw", {}), FunctionCall("draw", {})
    assert name_call(FunctionCall("draw", {}, id="call_1")) == "call_1"
    assert name_call(first) == name_call(first) != name_call(second)


def test_a_turns_own_message_is_for_the_api_that_gave_it() -> None:
    turn = Turn("model", (), Native("mine", {"a": 1}))
    assert turn.message_for("mine") == {"a": 1}
    assert turn.message_for("another") is None
    assert Turn("model").message_for("mine") is None
