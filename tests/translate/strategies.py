"""Requests, responses and hook answers as they come in practice, for the laws of translation."""

from typing import Any

from hypothesis import strategies as st

from tests.translate.forms import ANSWER, CALL, IMAGE, Json

texts = st.sampled_from(["", "a", "b", "ab", " ", "Grüße\n", "[System] x"]) | st.text(max_size=5)
visible = texts.filter(bool)
words = st.text("abc_", min_size=1, max_size=3)

text_parts = st.fixed_dictionaries(
    {"text": texts}, optional={"thoughtSignature": st.sampled_from(["c2ln", "AAAA"])}
)
thoughts = st.fixed_dictionaries(
    {"text": texts, "thought": st.just(True)}, optional={"thoughtSignature": st.just("c2ln")}
)
others = st.sampled_from([IMAGE, CALL, ANSWER])
parts: st.SearchStrategy[Json] = text_parts | thoughts | others

contents = st.fixed_dictionaries(
    {"parts": st.lists(parts, max_size=4)},
    optional={"role": st.sampled_from(["user", "model", "system", "function", "tool"])},
)
content_lists: st.SearchStrategy[list[Json]] = st.lists(contents, max_size=5)
nested = st.lists(parts | texts, min_size=1, max_size=3)
any_contents: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    texts,
    contents,
    parts,
    content_lists,
    st.lists(
        contents | texts | parts | st.lists(parts | texts, min_size=1, max_size=3), max_size=6
    ),
)

numbers = st.integers(-2, 3).map(float) | st.sampled_from([0.1, 0.5])
settings: dict[str, st.SearchStrategy[Any]] = {
    "temperature": numbers,
    "maxOutputTokens": st.integers(1, 99),
    "topP": numbers,
    "topK": numbers,
    "stopSequences": st.lists(words, max_size=2),
    "candidateCount": st.integers(1, 3),
    "presencePenalty": numbers,
    "frequencyPenalty": numbers,
}
callings: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["AUTO", "ANY", "NONE"]),
        "allowedFunctionNames": st.lists(words, max_size=2),
    },
)
tool_configs: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "functionCallingConfig": callings,
        "retrievalConfig": st.just({"languageCode": "de"}),
    },
)
configs: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        **settings,
        "systemInstruction": st.just("be brief") | contents.filter(lambda c: "role" in c),
        "seed": st.integers(0, 9),
        "safetySettings": st.just([{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]),
        "tools": st.lists(
            st.sampled_from([{"functionDeclarations": [{"name": "t"}]}, {"googleSearch": {}}]),
            max_size=2,
        ),
        "toolConfig": tool_configs,
    },
)


def requests(contents: st.SearchStrategy[Any] = any_contents) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"model": words, "contents": contents}, optional={"config": configs}
    )


ratings = st.fixed_dictionaries(
    {},
    optional={
        "category": st.sampled_from(["HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_HATE_SPEECH"]),
        "probability": st.sampled_from(["LOW", "HIGH"]),
        "blocked": st.booleans(),
    },
)
candidates = st.fixed_dictionaries(
    {},
    optional={
        "content": st.fixed_dictionaries(
            {"role": st.just("model")}, optional={"parts": st.lists(parts, max_size=4)}
        ),
        "finishReason": st.sampled_from(["STOP", "MAX_TOKENS"]),
        "index": st.integers(0, 3),
        "safetyRatings": st.lists(ratings, max_size=2),
        "tokenCount": st.integers(0, 9),
    },
)
counts = st.integers(0, 99)
responses: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(candidates, max_size=3),
        "usageMetadata": st.fixed_dictionaries(
            {},
            optional={
                "promptTokenCount": counts,
                "totalTokenCount": counts,
                "thoughtsTokenCount": counts,
            },
        ),
        "responseId": words,
    },
)

messages: st.SearchStrategy[list[Json]] = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "model", "system"]), "content": visible}
    ),
    max_size=6,
)
request_changes: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "model": words,
        "messages": messages,
        "config": st.fixed_dictionaries({}, optional=settings),
        "toolConfig": callings,
    },
)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


def answers_with(*names: str) -> st.SearchStrategy[Any]:
    """Objects with these names, at several depths, over anything; or anything at all."""
    keys = st.sampled_from(names)
    nested = st.recursive(
        json_values,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )
    return st.dictionaries(keys, nested, max_size=4) | json_values
