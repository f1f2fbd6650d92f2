"""Model events of google-genai, over every way to ask."""

import json
from functools import partial
from typing import Any

import pytest
from google.genai import types
from pydantic import BaseModel

from hookline import Hooks, add_context, deny, message, stop
from tests.adapters.genai.playing import (
    HTTPX,
    MODEL,
    PLAYS,
    Event,
    Script,
    call,
    note,
    pieces,
    play_models,
    play_models_stream,
    reply,
    sse,
    text_of,
)

SECRET = "swordfish"
every_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
streamed = pytest.mark.parametrize(
    "play",
    [PLAYS[name] for name in PLAYS if "stream" in name],
    ids=[n for n in PLAYS if "stream" in n],
)


def shell(command: str) -> str:
    """Run a command."""
    return f"output of {command}"


async def shell_async(command: str) -> str:
    """Run a command."""
    return shell(command)


shell_async.__name__ = "shell"


def tools_for(play: Any) -> dict[str, Any]:
    return {"tools": [shell_async if "async" in play.__name__ else shell]}


def redact(event: Event) -> dict[str, Any] | None:
    candidates = event["llm_response"]["candidates"]
    for candidate in candidates:
        content = candidate["content"]
        content["parts"] = [part.replace(SECRET, "[hidden]") for part in content["parts"]]
    return {"hookSpecificOutput": {"llm_response": {"candidates": candidates}}}


@every_play
async def test_what_after_model_takes_out_leaves_no_trace(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    script = Script(reply(f"It is {SECRET}, ", call("shell", command="ls")), reply(f"{SECRET}."))
    with script.client(hooks) as client:
        played = await play(client, "What is it?", tools_for(play))
    assert "[hidden]" in played.text
    assert SECRET not in played.everything
    assert SECRET not in json.dumps(script.bodies)
    assert len(script.bodies) == 2
    assert script.results() == [{"result": "output of ls"}]


@every_play
async def test_what_before_model_changes_is_what_the_model_is_sent(play: Any) -> None:
    hooks = Hooks()

    @hooks.on("BeforeModel")
    def change(event: Event) -> dict[str, Any]:
        shown = event["llm_request"]
        assert shown["model"] == MODEL
        messages = [
            {**m, "content": m["content"].replace(SECRET, "[hidden]")} for m in shown["messages"]
        ]
        more = {"temperature": 0.5}
        return {"hookSpecificOutput": {"llm_request": {"messages": messages, "config": more}}}

    image = types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")
    script = Script(reply("Fine."))
    config = {"system_instruction": "Be short.", "top_k": 3, "safety_settings": [SAFETY]}
    with script.client(hooks) as client:
        await play(client, [f"It is {SECRET}.", image], config)
    (body,) = script.bodies
    assert SECRET not in json.dumps(body)
    parts = [part for content in body["contents"] for part in content["parts"]]
    assert {"text": "It is [hidden]."} in parts
    assert [part["inlineData"]["data"] for part in parts if "inlineData" in part] == ["iVBORw=="]
    assert body["generationConfig"] == {"temperature": 0.5, "topK": 3}
    assert body["systemInstruction"]["parts"] == [{"text": "Be short."}]
    assert len(body["safetySettings"]) == 1


SAFETY = types.SafetySetting(
    category=types.HarmCategory.HARM_CATEGORY_HATE_SPEECH,
    threshold=types.HarmBlockThreshold.BLOCK_NONE,
)


async def test_a_request_that_no_hook_changes_is_sent_as_it_is() -> None:
    hooks, sent = Hooks(), []
    for answers in (False, True):
        if answers:
            hooks.on("BeforeModel")(lambda _event: None)
            hooks.on("AfterModel")(lambda _event: None)
        script = Script(reply("Fine."))
        with script.client(hooks) as client:
            await play_models(client, "Hi", {"temperature": 1, "tools": [shell]})
        sent += script.raw
    assert sent[0] == sent[1]


@every_play
async def test_a_denied_call_is_not_made_and_its_answer_is_the_reason(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("the budget is spent"))
    script = Script()
    with script.client(hooks) as client:
        played = await play(client, "Go on.", tools_for(play))
    assert played.text == "the budget is spent"
    assert script.bodies == []


async def test_a_hook_can_choose_another_model() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(
        lambda _event: {"hookSpecificOutput": {"llm_request": {"model": "gemini-small"}}}
    )
    script = Script(reply("Hi."), reply("Hi."))
    with script.client(hooks) as client:
        await play_models(client, "Hi")
        await play_models_stream(client, "Hi")
    assert [path.rpartition("/")[2] for path in script.paths] == [
        "gemini-small:generateContent",
        "gemini-small:streamGenerateContent",
    ]


async def test_a_model_that_cannot_replace_another_is_ignored_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(
        lambda _event: {"hookSpecificOutput": {"llm_request": {"model": "tunedModels/mine"}}}
    )
    script = Script(reply("Hi."))
    with script.client(hooks) as client:
        await play_models(client, "Hi")
    assert script.paths[0].endswith(f"/{MODEL}:generateContent")
    told = f"a hook set the model tunedModels/mine, which cannot replace {MODEL}; it was ignored"
    assert told in caplog.text


async def test_messages_of_hooks_reach_the_model() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: message("be brief"))
    hooks.on("AfterModel")(lambda _event: message("that was long"))
    script = Script(reply(call("shell", command="ls")), reply("Done."))
    with script.client(hooks) as client:
        await play_models(client, "Hi", {"tools": [shell]})
    first, second = (json.dumps(body) for body in script.bodies)
    assert "[System] be brief" in first
    assert "[System] that was long" not in first
    assert "[System] that was long" in second


@every_play
async def test_a_stop_after_the_model_ends_the_loop_before_its_tools(play: Any) -> None:
    hooks, ran = Hooks(), note(Hooks(), "BeforeTool")
    hooks.on("AfterModel")(lambda _event: stop("enough"))
    script = Script(reply("Let me look.", call("shell", command="ls")))
    with script.client(hooks) as client:
        played = await play(client, "Go on.", tools_for(play))
    assert (played.text, len(script.bodies), ran) == ("enough", 1, [])
    assert "Let me look." not in played.everything


@every_play
async def test_calls_of_tools_that_hooks_do_not_allow_are_left_out(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeToolSelection")
    chosen = {"mode": "AUTO", "allowedFunctionNames": ["shell"]}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": {"toolConfig": chosen}})
    ran: list[str] = []

    def mail(to: str) -> str:
        """Send a mail."""
        ran.append(to)
        return "sent"

    script = Script(
        reply("Well.", call("mail", to="me"), call("shell", command="ls")), reply("Ok.")
    )
    with script.client(hooks) as client:
        config = tools_for(play)
        played = await play(client, "Go on.", {"tools": [*config["tools"], mail]})
    assert ran == []
    assert '"mail"' not in json.dumps([part for b in script.bodies for part in b["contents"]])
    assert seen[0]["available_tools"] == ["shell", "mail"]
    calling = script.bodies[0]["toolConfig"]["functionCallingConfig"]
    # The API refuses names beside AUTO.
    assert calling == {"mode": "VALIDATED", "allowedFunctionNames": ["shell"]}
    assert "Ok." in played.text


async def test_all_candidates_are_shown_and_redacted() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    first, second = reply("one")["candidates"], reply(f"two {SECRET}")["candidates"]
    second[0]["index"] = 1
    script = Script({"candidates": [*first, *second]})
    with script.client(hooks) as client:
        played = await play_models(client, "Hi", {"candidate_count": 2})
    (response,) = played.responses
    assert response.candidates is not None
    said = [c.content.parts[0].text for c in response.candidates if c.content and c.content.parts]
    assert said == ["one", "two [hidden]"]


class Seat(BaseModel):
    row: int
    note: str


@every_play
async def test_structured_output_is_parsed_from_what_hooks_left(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    script = Script(reply(json.dumps({"row": 7, "note": SECRET})))
    config = {"response_mime_type": "application/json", "response_schema": Seat}
    with script.client(hooks) as client:
        played = await play(client, "Which seat?", config)
    assert SECRET not in played.everything
    assert played.responses[-1].parsed == Seat(row=7, note="[hidden]")
    assert script.bodies[0]["generationConfig"]["responseSchema"]["type"] == "OBJECT"


async def test_parts_that_are_no_text_survive_an_edit() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    blob = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}
    script = Script(reply(thought, f"{SECRET}!", blob))
    with script.client(hooks) as client:
        played = await play_models(client, "Draw it.")
    parts = played.responses[0].parts or []
    assert [part.text for part in parts] == ["Hm.", "[hidden]!", None]
    assert parts[0].thought_signature == b"sig"
    assert parts[2].inline_data == types.Blob(data=b"\x89PNG", mime_type="image/png")


@streamed
async def test_a_word_over_two_chunks_is_found(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    script = Script(lambda _request: HTTPX.Response(200, content=sse(pieces(reply(SECRET), 1))))
    with script.client(hooks) as client:
        played = await play(client, "Hi")
    assert played.text == "[hidden]"
    assert len(played.responses) == 1


def chunk_of(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, **more}]}


@streamed
async def test_a_redacted_stream_keeps_what_only_an_early_chunk_says(play: Any) -> None:
    """The token by which the SDK asks for the rest of an answer, and what the API says of the
    prompt."""
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    first = [
        {"promptFeedback": {"blockReasonMessage": "mind you"}},
        chunk_of({"text": f"{SECRET} and"}, continuationToken="dG9r"),
        {"candidates": [{"finishReason": "CONTINUATION"}]},
    ]
    blocked, continued = first, first[1:]
    script = Script(*(partial(answer_in, chunks) for chunks in (blocked, continued)), reply(" on."))
    with script.client(hooks) as client:
        (only,) = (await play(client, "Hi")).responses
        assert only.prompt_feedback
        assert only.prompt_feedback.block_reason_message == "mind you"
        assert (await play(client, "Hi")).text == "[hidden] and on."


def answer_in(chunks: list[Any], _request: Any) -> Any:
    return HTTPX.Response(200, content=sse(chunks))


@pytest.mark.parametrize("has_after_model", [True, False])
async def test_arguments_of_a_refused_call_are_left_out_with_it(has_after_model: bool) -> None:
    """They come one by one, and only the first says whose they are."""
    hooks = Hooks()
    chosen = {"mode": "ANY", "allowedFunctionNames": ["shell"]}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": {"toolConfig": chosen}})
    if has_after_model:
        hooks.on("AfterModel")(redact)
    calls = [
        part
        for name in ("shell", "mail")
        for part in (
            {"functionCall": {"name": name, "willContinue": True}},
            {"functionCall": {"partialArgs": [{"jsonPath": "$.x", "stringValue": f"for {name}"}]}},
        )
    ]
    script = Script(partial(answer_in, [chunk_of(part) for part in calls]))
    declared = [types.FunctionDeclaration(name=name) for name in ("shell", "mail")]
    calling = types.FunctionCallingConfig(stream_function_call_arguments=True)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        tool_config=types.ToolConfig(function_calling_config=calling),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    with script.client(hooks, vertexai=True) as client:
        played = await play_models_stream(client, "Go on.", config)
    assert "for shell" in played.everything
    assert "mail" not in played.everything


@pytest.mark.parametrize(
    "lines",
    [
        b"data: %(fine)s\n%(secret)s\n\n",
        b"%(secret)s\n%(secret)s\n",
        b"data: %(secret)s\ndata: %(secret)s\n\n",
    ],
)
async def test_what_the_sdk_would_read_of_a_stream_is_what_hooks_are_shown(lines: bytes) -> None:
    hooks = Hooks(strict=True)
    hooks.on("AfterModel")(redact)
    said = {b"fine": reply("Fine."), b"secret": reply(SECRET)}
    body = lines % {name: json.dumps(answer).encode() for name, answer in said.items()}
    script = Script(lambda _request: HTTPX.Response(200, content=body))
    with script.client(hooks) as client:
        played = await play_models_stream(client, "Hi")
    assert SECRET not in played.everything


@streamed
async def test_a_stream_that_hooks_leave_alone_comes_in_its_own_chunks(play: Any) -> None:
    hooks = Hooks()
    seen = note(hooks, "AfterModel")
    script = Script(reply("Once upon a time."))
    with script.client(hooks) as client:
        played = await play(client, "Tell me.")
    assert [text_of(chunk) for chunk in played.responses] == ["Once u", "pon a ", "time."]
    assert [event["llm_response"]["text"] for event in seen] == ["Once upon a time."]
    assert played.responses[-1].usage_metadata is not None


@every_play
async def test_a_response_of_no_known_shape_is_blocked_where_a_hook_fails_closed(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel", on_failure="block")(lambda _event: None)
    odd = {"candidates": [{"content": {"words": SECRET}}]}
    script = Script(
        lambda request: HTTPX.Response(
            200, content=sse([odd]) if "stream" in request.url.path else json.dumps(odd).encode()
        )
    )
    with script.client(hooks) as client:
        played = await play(client, "Hi")
    assert SECRET not in played.everything
    assert played.text


async def test_a_request_of_no_known_shape_is_blocked_where_a_hook_fails_closed() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel", on_failure="block")(lambda _event: None)
    script = Script(reply("It went out."))
    odd = types.HttpOptions(extra_body={"contents": 7})
    with script.client(hooks) as client:
        played = await play_models(client, "Hi", {"http_options": odd})
    assert script.bodies == []
    assert "It went out." not in played.text


async def test_an_empty_answer_is_shown_as_one() -> None:
    hooks = Hooks()
    hooks.on("AfterModel", on_failure="block")(lambda _event: None)
    script = Script(lambda _request: HTTPX.Response(200, content=b""))
    with script.client(hooks) as client:
        played = await play_models(client, "Hi")
    assert played.responses[0].candidates is None


async def test_a_changed_request_that_cannot_be_written_is_not_sent_as_it_was() -> None:
    hooks = Hooks()

    @hooks.on("BeforeModel")
    def hide(event: Event) -> dict[str, Any]:
        (asked,) = event["llm_request"]["messages"]
        hidden = {**asked, "content": asked["content"].replace(SECRET, "[hidden]")}
        return {"hookSpecificOutput": {"llm_request": {"messages": [hidden]}}}

    script = Script(reply("It went out."))
    calling = {"functionCallingConfig": {"mode": "ANY"}}
    odd = types.HttpOptions(extra_body={"tools": "none", "toolConfig": calling})
    with script.client(hooks) as client:
        played = await play_models(client, f"It is {SECRET}.", {"http_options": odd})
    assert script.bodies == []
    assert "cannot be sent" in played.text


async def test_an_answer_without_candidates_passes() -> None:
    hooks = Hooks()
    seen = note(hooks, "AfterModel")
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"totalTokenCount": 1}}
    script = Script(blocked)
    with script.client(hooks) as client:
        played = await play_models(client, "Hi")
    assert played.responses[0].prompt_feedback is not None
    assert len(seen) == 1


async def test_other_methods_pass_untouched() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel", "AfterModel")
    script = Script({"totalTokens": 3}, {"embeddings": [{"values": [0.5]}]}, {"name": "caches/x"})
    with script.client(hooks) as client:
        counted = client.models.count_tokens(model=MODEL, contents="Hi")
        embedded = client.models.embed_content(model="text-embedding-004", contents="Hi")
        cached = client.caches.create(model=MODEL, config={"contents": "Hi"})
    assert (counted.total_tokens, cached.name, seen) == (3, "caches/x", [])
    assert [each.values for each in embedded.embeddings or []] == [[0.5]]


async def test_context_of_a_session_is_read_in_every_request_of_the_first_call() -> None:
    hooks = Hooks()
    hooks.on("SessionStart")(lambda _event: add_context("you are in Berlin"))
    script = Script(reply(call("shell", command="ls")), reply("Ok."), reply("Ok."))
    with script.client(hooks) as client:
        await play_models(client, "Hi", {"tools": [shell]})
        await play_models(client, "Hi again")
    assert ["Berlin" in json.dumps(body) for body in script.bodies] == [True, True, False]


async def test_a_client_without_hooks_of_the_model_reads_no_body() -> None:
    """Bodies of no known shape pass too: nobody parses them."""
    script = Script(lambda _request: HTTPX.Response(200, content=b'{"candidates": []}'))
    with script.client(Hooks()) as client:
        odd = types.HttpOptions(extra_body={"contents": 7})
        played = await play_models(client, "Hi", {"http_options": odd})
    assert played.responses[0].candidates == []
    assert script.bodies[0]["contents"] == 7


async def test_a_caller_who_gets_a_hidden_response_is_told_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: {"suppressOutput": True})
    with Script(reply("It is here.")).client(hooks) as client:
        played = await play_models(client, "What is it?")
    assert played.text == "It is here."
    assert "a hook wants this response hidden from the user; the caller still gets it" in (
        caplog.text
    )
