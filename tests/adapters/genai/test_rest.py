"""The REST JSON of a request and the events of a stream: how hooks read it, how it is sent."""

import json
from typing import Any

import pytest

from hookline._support.eventstream import EventReader
from hookline.adapters.genai import rest

GEMINI = "/v1beta/models/gemini-x"
VERTEX = "/v1/projects/p/locations/l/publishers/google/models/gemini-x"


@pytest.mark.parametrize(
    ("method", "path", "target"),
    [
        ("POST", f"{GEMINI}:generateContent", ("gemini-x", False)),
        ("POST", f"{GEMINI}:streamGenerateContent", ("gemini-x", True)),
        ("POST", f"{VERTEX}:generateContent", ("gemini-x", False)),
        ("POST", "/v1beta/tunedModels/mine:generateContent", ("tunedModels/mine", False)),
        ("GET", f"{GEMINI}:generateContent", None),
        ("POST", f"{GEMINI}:countTokens", None),
        ("POST", f"{GEMINI}:batchGenerateContent", None),
        ("POST", f"{GEMINI}:generateContent/x", None),
    ],
)
def test_a_call_of_a_model_is_known_by_its_path(method: str, path: str, target: Any) -> None:
    found = rest.read_target(method, path)
    assert found == target


@pytest.mark.parametrize(
    ("method", "path", "around"),
    [
        ("POST", f"{GEMINI}:batchGenerateContent", "batchGenerateContent"),
        ("POST", "/v1beta/interactions", "interactions"),
        ("POST", "/v1/agents/a/executions", "executions"),
        ("POST", "/v1/projects/p/batchPredictionJobs", "batchPredictionJobs"),
        ("GET", "/v1beta/interactions", None),
        ("POST", "/v1beta/interactions/1", None),
        ("POST", f"{GEMINI}:generateContent", None),
    ],
)
def test_ways_to_a_model_without_hooks_are_known(method: str, path: str, around: Any) -> None:
    assert rest.find_way_around(method, path) == around


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("gemini-x", "gemini-y", "/v1beta/models/gemini-y:generateContent"),
        ("gemini-x", "models/gemini-y", "/v1beta/models/gemini-y:generateContent"),
        ("gemini-x", "tunedModels/mine", None),
        ("tunedModels/mine", "gemini-y", None),
    ],
)
def test_a_model_takes_the_place_of_another_of_its_kind(old: str, new: str, path: Any) -> None:
    assert rest.with_model(f"/v1beta/models/{old}:generateContent", old, new) == path


def test_a_config_is_read_from_both_places_and_written_to_them() -> None:
    body = {
        "contents": [{"parts": [{"text": "a"}]}],
        "generationConfig": {"temperature": 1},
        "tools": [{"googleSearch": {}}],
    }
    read, request = rest.read_request(json.dumps(body).encode(), "m")
    config = {"temperature": 1, "tools": [{"googleSearch": {}}]}
    assert (read, request) == (
        body,
        {"model": "m", "contents": body["contents"], "config": config},
    )
    changed = {**request, "config": {**config, "topK": 3, "systemInstruction": {"parts": []}}}
    assert json.loads(rest.write_request(changed, body)) == {
        "contents": body["contents"],
        "tools": [{"googleSearch": {}}],
        "systemInstruction": {"parts": []},
        "generationConfig": {"temperature": 1, "topK": 3},
    }


def test_a_request_without_settings_is_written_without_them() -> None:
    body, request = rest.read_request(b'{"contents": []}', "m")
    assert request == {"model": "m", "contents": [], "config": {}}
    assert json.loads(rest.write_request(request, body)) == {"contents": []}


def test_settings_are_read_under_the_pythonic_name_too() -> None:
    _, request = rest.read_request(b'{"generation_config": {"topK": 3}, "contents": []}', "m")
    assert request["config"] == {"topK": 3}


@pytest.mark.parametrize(
    ("content", "body"), [(b"[1]", [1]), (b"{", "{"), (b"\xff", "\ufffd"), (b"3", 3)]
)
def test_a_body_that_is_not_an_object_is_the_request_itself(content: bytes, body: Any) -> None:
    assert rest.read_request(content, "m") == (body, body)


@pytest.mark.parametrize("contents", [None, [], [{"role": "user", "parts": []}]])
def test_texts_are_added_as_the_users_last_content(contents: Any) -> None:
    request = {"model": "m", "contents": contents}
    added = rest.add_texts(request, ["a", "b"])
    last = {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}
    assert added == {"model": "m", "contents": [*(contents or []), last]}
    assert request["contents"] is contents


@pytest.mark.parametrize(
    ("content", "response"),
    [(b"", {}), (b'{"a": 1}', {"a": 1}), (b"so", "so"), (b"\xff", "\ufffd")],
)
def test_a_response_is_json_or_its_text(content: bytes, response: Any) -> None:
    assert rest.read_response(content) == response


@pytest.mark.parametrize(
    ("event", "chunk"),
    [
        (b'data: {"a": 1}\r\n\r\n', {"a": 1}),
        (b'data: {"a":\ndata: 1}\n\n', {"a": 1}),
        (b": a comment\n\n", None),
        (b": a comment\ndata: 1\n\n", 1),
        (b'{"error": {}}\n\n', {"error": {}}),
        (b"data: so\n\n", "so"),
        (b"\n\n", None),
    ],
)
def test_an_event_holds_a_chunk_a_text_or_nothing(event: bytes, chunk: Any) -> None:
    assert rest.read_event(event) == chunk


def test_a_chunk_that_is_written_is_read_again() -> None:
    written = rest.write_event({"a": "é\n\n"})
    assert [event.raw for event in EventReader(100).feed(written)] == [written]
    assert rest.read_event(written) == {"a": "é\n\n"}
