"""The three APIs as their servers speak them and as people write loops around their clients.

The SDKs are imported for their clients alone, so that tests without them have the same JSON.
"""

from collections.abc import Iterable
from typing import Any, ClassVar


class Api:
    """One API: JSON of its server, its clients, and what typical code does with its answers."""

    name: ClassVar[str]

    def client(self, url: str) -> Any:
        raise NotImplementedError

    def async_client(self, url: str) -> Any:
        raise NotImplementedError

    def create(self, client: Any) -> Any:
        raise NotImplementedError

    def request(self, prompt: str) -> dict[str, Any]:
        raise NotImplementedError

    def tools(self, *names: str) -> list[Any]:
        raise NotImplementedError

    def response(self, text: str, *calls: str) -> dict[str, Any]:
        """What the server answers: a text, then calls of tools."""
        raise NotImplementedError

    def events(self, text: str, *calls: str) -> list[dict[str, Any]]:
        """The same as its server streams it, the text in pieces of three letters."""
        raise NotImplementedError

    def text(self, response: Any) -> str:
        raise NotImplementedError

    def calls(self, response: Any) -> list[str]:
        raise NotImplementedError

    def streamed_text(self, chunks: Iterable[Any]) -> str:
        """What code that shows a stream would show."""
        raise NotImplementedError

    def collect(self, chunks: Iterable[Any]) -> Any:
        """The response that the SDK's own accumulator makes of chunks."""
        raise NotImplementedError

    def go_on(self, request: dict[str, Any], response: Any, prompt: str) -> dict[str, Any]:
        """The next request of a conversation."""
        raise NotImplementedError


def pieces(text: str) -> list[str]:
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def token(text: str) -> dict[str, Any]:
    """What a server says of a piece of text, where it is asked how likely it was."""
    return {"token": text, "logprob": 0, "bytes": [], "top_logprobs": []}


class Chat(Api):
    name = "openai-chat"

    def client(self, url: str) -> Any:
        from openai import OpenAI

        return OpenAI(base_url=url, api_key="k", max_retries=0)

    def async_client(self, url: str) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=url, api_key="k", max_retries=0)

    def create(self, client: Any) -> Any:
        return client.chat.completions.create

    def request(self, prompt: str) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": prompt}]}

    def tools(self, *names: str) -> list[Any]:
        return [{"type": "function", "function": {"name": name}} for name in names]

    def response(self, text: str, *calls: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        if calls:
            message["tool_calls"] = [self._call(n, name) for n, name in enumerate(calls)]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if calls else "stop",
            "logprobs": {"content": [token(piece) for piece in pieces(text)], "refusal": None},
        }
        return {**self._base("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self, text: str, *calls: str) -> list[dict[str, Any]]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in pieces(text)]
        for number, name in enumerate(calls):
            call = {"index": number, **self._call(number, name)}
            start = {**call, "function": {"name": name, "arguments": ""}}
            more = [{"index": number, "function": {"arguments": part}} for part in ('{"x":', "1}")]
            deltas += [{"tool_calls": [each]} for each in (start, *more)]
        ends: list[tuple[dict[str, Any], str | None]] = [(delta, None) for delta in deltas]
        ends.append(({}, "tool_calls" if calls else "stop"))
        made = []
        for delta, finish in ends:
            said = delta.get("content")
            logprobs = {"content": [token(said)], "refusal": None} if said else None
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
            made.append({**self._base("chat.completion.chunk"), "choices": [choice]})
        last = {**self._base("chat.completion.chunk"), "choices": [], "usage": self._usage()}
        return [*made, last]

    def text(self, response: Any) -> str:
        return response.choices[0].message.content or ""

    def calls(self, response: Any) -> list[str]:
        return [call.function.name for call in response.choices[0].message.tool_calls or ()]

    def streamed_text(self, chunks: Iterable[Any]) -> str:
        return "".join(
            chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices
        )  # fmt: skip

    def collect(self, chunks: Iterable[Any]) -> Any:
        from openai.lib.streaming.chat import ChatCompletionStreamState

        state: Any = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
        return state.get_final_completion()

    def go_on(self, request: dict[str, Any], response: Any, prompt: str) -> dict[str, Any]:
        said = [response.choices[0].message, {"role": "user", "content": prompt}]
        return {**request, "messages": [*request["messages"], *said]}

    def _base(self, kind: str) -> dict[str, Any]:
        return {"id": "c1", "object": kind, "created": 1, "model": "m"}

    def _usage(self) -> dict[str, Any]:
        return {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}

    def _call(self, number: int, name: str) -> dict[str, Any]:
        function = {"name": name, "arguments": '{"x":1}'}
        return {"id": f"call_{number}", "type": "function", "function": function}


class Responses(Api):
    name = "openai-responses"

    def client(self, url: str) -> Any:
        from openai import OpenAI

        return OpenAI(base_url=url, api_key="k", max_retries=0)

    def async_client(self, url: str) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=url, api_key="k", max_retries=0)

    def create(self, client: Any) -> Any:
        return client.responses.create

    def request(self, prompt: str) -> dict[str, Any]:
        return {"model": "m", "input": [{"role": "user", "content": prompt}]}

    def tools(self, *names: str) -> list[Any]:
        return [
            {"type": "function", "name": name, "parameters": {}, "strict": False} for name in names
        ]

    def response(self, text: str, *calls: str) -> dict[str, Any]:
        output: list[dict[str, Any]] = [{"id": "rs1", "type": "reasoning", "summary": []}]
        if text:
            output.append(self._message(text))
        output += [self._call(number, name) for number, name in enumerate(calls)]
        return self._response("completed", output)

    def events(self, text: str, *calls: str) -> list[dict[str, Any]]:
        whole = self.response(text, *calls)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": self._response("in_progress", [])},
            {"type": "response.in_progress", "response": self._response("in_progress", [])},
        ]
        for index, item in enumerate(whole["output"]):
            at = {"item_id": item["id"], "output_index": index}
            begun = {**item, "status": "in_progress"}
            inner: list[dict[str, Any]] = []
            if item["type"] == "message":
                begun["content"], at = [], {**at, "content_index": 0}
                empty = {"type": "output_text", "text": "", "annotations": []}
                inner = [{"type": "response.content_part.added", **at, "part": empty}]
                inner += [
                    {"type": "response.output_text.delta", **at, "delta": piece,
                     "logprobs": [{"token": piece, "logprob": 0}]}
                    for piece in pieces(text)
                ]  # fmt: skip
                part = item["content"][0]
                inner += [
                    {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
                    {"type": "response.content_part.done", **at, "part": part},
                ]
            elif item["type"] == "function_call":
                begun["arguments"] = ""
                start = "response.function_call_arguments"
                inner = [{"type": f"{start}.delta", **at, "delta": p} for p in ('{"x":', "1}")]
                done = {"name": item["name"], "arguments": item["arguments"]}
                inner.append({"type": f"{start}.done", **at, **done})
            place = {"output_index": index}
            events += [
                {"type": "response.output_item.added", **place, "item": begun},
                *inner,
                {"type": "response.output_item.done", **place, "item": item},
            ]
        events.append({"type": "response.completed", "response": whole})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def text(self, response: Any) -> str:
        text: str = response.output_text
        return text

    def calls(self, response: Any) -> list[str]:
        return [item.name for item in response.output if item.type == "function_call"]

    def streamed_text(self, chunks: Iterable[Any]) -> str:
        return "".join(
            event.delta for event in chunks if event.type == "response.output_text.delta"
        )

    def collect(self, chunks: Iterable[Any]) -> Any:
        from openai import omit
        from openai.lib.streaming.responses._responses import ResponseStreamState

        state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
        for chunk in chunks:
            state.handle_event(chunk)
        return state._completed_response

    def go_on(self, request: dict[str, Any], response: Any, prompt: str) -> dict[str, Any]:
        said = [*response.output, {"role": "user", "content": prompt}]
        return {**request, "input": [*request["input"], *said]}

    def _message(self, text: str) -> dict[str, Any]:
        tokens = [token(piece) for piece in pieces(text)]
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": tokens}
        base = {"id": "msg1", "type": "message", "role": "assistant", "status": "completed"}
        return {**base, "content": [part]}

    def _call(self, number: int, name: str) -> dict[str, Any]:
        base = {"id": f"fc_{number}", "type": "function_call", "status": "completed"}
        return {**base, "call_id": f"call_{number}", "name": name, "arguments": '{"x":1}'}

    def _response(self, status: str, output: list[Any]) -> dict[str, Any]:
        return {
            "id": "resp1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": output, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True,
            "text": {"format": {"type": "text"}}, "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {},
        }  # fmt: skip


class Messages(Api):
    name = "anthropic"

    def client(self, url: str) -> Any:
        from anthropic import Anthropic

        return Anthropic(base_url=url, api_key="k", max_retries=0)

    def async_client(self, url: str) -> Any:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(base_url=url, api_key="k", max_retries=0)

    def create(self, client: Any) -> Any:
        return client.messages.create

    def request(self, prompt: str) -> dict[str, Any]:
        return {
            "model": "m",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": prompt}],
        }

    def tools(self, *names: str) -> list[Any]:
        return [{"name": name, "input_schema": {"type": "object"}} for name in names]

    def response(self, text: str, *calls: str) -> dict[str, Any]:
        content: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            *([{"type": "text", "text": text, "citations": self._citations(text)}] if text else []),
            *(
                {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {"x": 1}}
                for number, name in enumerate(calls)
            ),
        ]
        return {**self._message(), "content": content, "stop_reason": self._stop(calls)}

    def events(self, text: str, *calls: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": self._message()},
            {"type": "ping"},
        ]
        for index, block in enumerate(self.response(text, *calls)["content"]):
            deltas: list[dict[str, Any]]
            if block["type"] == "thinking":
                begun: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": "hm"},
                    {"type": "signature_delta", "signature": "sig"},
                ]
            elif block["type"] == "text":
                begun = {"type": "text", "text": ""}
                deltas = [
                    {"type": "citations_delta", "citation": each} for each in block["citations"]
                ]
                deltas += [{"type": "text_delta", "text": piece} for piece in pieces(text)]
            else:
                begun = block | {"input": {}}
                parts = ("", '{"x":', " 1}")
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            at = {"index": index}
            events += [
                {"type": "content_block_start", **at, "content_block": begun},
                *({"type": "content_block_delta", **at, "delta": delta} for delta in deltas),
                {"type": "content_block_stop", **at},
            ]
        delta = {"stop_reason": self._stop(calls), "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}})
        return [*events, {"type": "message_stop"}]

    def text(self, response: Any) -> str:
        return "".join(block.text for block in response.content if block.type == "text")

    def calls(self, response: Any) -> list[str]:
        return [block.name for block in response.content if block.type == "tool_use"]

    def streamed_text(self, chunks: Iterable[Any]) -> str:
        return "".join(
            event.delta.text
            for event in chunks
            if event.type == "content_block_delta" and event.delta.type == "text_delta"
        )

    def collect(self, chunks: Iterable[Any]) -> Any:
        from anthropic.lib.streaming._messages import accumulate_event

        snapshot: Any = None
        buffers: dict[int, bytes] = {}
        for event in chunks:
            snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
        return snapshot

    def go_on(self, request: dict[str, Any], response: Any, prompt: str) -> dict[str, Any]:
        said = [
            {"role": "assistant", "content": response.content},
            {"role": "user", "content": prompt},
        ]
        return {**request, "messages": [*request["messages"], *said]}

    def _message(self) -> dict[str, Any]:
        return {
            "id": "msg1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        }  # fmt: skip

    def _stop(self, calls: tuple[str, ...]) -> str:
        return "tool_use" if calls else "end_turn"

    def _citations(self, text: str) -> list[dict[str, Any]]:
        place = {"type": "char_location", "document_index": 0, "document_title": None}
        return [{**place, "cited_text": text, "start_char_index": 0, "end_char_index": 1}]


APIS: list[Api] = [Chat(), Responses(), Messages()]
