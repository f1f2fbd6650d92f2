"""Client methods, and the caller's own functions, that call a model: which API they speak, what
they take and what they return."""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from inspect import Parameter, signature, unwrap
from typing import Any, cast, get_args, get_type_hints

import msgspec

from hookline.translate.streams import to_json
from hookline.translate.values import JSONCall, SDKCall, get, is_object

Warn = Callable[[str], None]

# Module that defines a client class -> the API of its calls.
_CLIENTS = {
    "openai.resources.chat": "openai-chat",
    "openai.resources.responses": "openai-responses",
    "anthropic.resources.messages": "anthropic",
    "anthropic.resources.beta.messages": "anthropic",
    "google.genai.models": "genai",
}
_SDKS = ("openai", "anthropic")
_PLAIN = frozenset({str, int, float, bool, list, dict, tuple})
# Modules that define methods which return the HTTP response instead of the model's.
_RAW = frozenset(f"{sdk}.{module}" for sdk in _SDKS for module in ("_legacy_response", "_response"))


class ModelClient(msgspec.Struct, frozen=True):
    """A client's method, or a function of the caller's, that calls a model; ``api`` is None if
    only the request shows which API it is."""

    create: Callable[..., Any]
    api: str | None
    # The arguments of a functools.partial.
    given: Mapping[str, Any] = {}

    @classmethod
    def of(cls, create: Callable[..., Any]) -> "ModelClient":
        """Find out what a callable is; raises TypeError for a method that does not return a
        model's responses."""
        given: dict[str, Any] = {}
        while isinstance(create, partial) and not create.args:
            given = {**create.keywords, **given}
            create = create.func
        inner: Any = create
        while inner is not None:
            if getattr(inner, "__globals__", {}).get("__name__") in _RAW:
                raise TypeError(
                    "model_call cannot read raw responses; pass the client's create itself,"
                    " without with_raw_response or with_streaming_response"
                )
            owner = getattr(inner, "__self__", None)
            api = None if owner is None else _find_api(cast(Any, type(owner)))
            if api is not None:
                name = getattr(inner, "__name__", "")
                if name in ("stream", "generate_content_stream"):
                    instead = "create(…, stream=True)" if name == "stream" else "generate_content"
                    raise TypeError(f"model_call cannot guard {name}; pass {instead}")
                return cls(create, api, given)
            inner = (
                inner.func if isinstance(inner, partial) else getattr(inner, "__wrapped__", None)
            )
        return cls(create, None, given)

    def read(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call without an SDK's markers for "not given". Iterators are
        read into lists, as both the hooks and the client read them."""
        read: dict[str, Any] = {}
        for name, value in ({**self.given, **request} if self.given else request).items():
            if type(value) in _PLAIN:
                read[name] = value
            elif not any(is_object(value, sdk, "Omit", "NotGiven") for sdk in _SDKS):
                read[name] = list(value) if hasattr(value, "__next__") else value
        return read

    def show(self, request: dict[str, Any]) -> Any:
        """Return the request that hooks get."""
        if self.api == "genai":
            from hookline.translate.genai_values import GenerateContentParameters

            named = {name: request.get(name) for name in ("contents", "config")}
            return GenerateContentParameters(request.get("model") or "", **named)
        if self.api is not None:
            return SDKCall(self.api, request)
        return JSONCall("openai-chat", request) if _is_plain_chat(request) else request

    def arguments(self, request: Any, given: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
        """Return the client's arguments for a request that hooks changed. Settings that the client
        does not take are left out with a warning."""
        if self.api == "genai":
            from hookline.translate.genai import accept_config

            named = {name: get(request, name) for name in ("model", "contents", "config")}
            named["config"] = accept_config(named["config"])
            return {**given, **{name: value for name, value in named.items() if value is not None}}
        return keep_accepted(self.create, request, given=given, warn=warn)

    def as_own(self, response: Any) -> Any:
        """Convert a response that hooks made to the exact type that this client method returns:
        methods of one API return different types."""
        if self.api is None or isinstance(response, Mapping):
            return response
        method = unwrap(getattr(self.create, "__func__", self.create))
        try:
            given = get_type_hints(method).get("return")
        except Exception:
            # Evaluating the annotations can raise anything.
            return response
        for kind in get_args(given) or (given,):
            kind = getattr(kind, "__pydantic_generic_metadata__", {}).get("origin") or kind
            if isinstance(kind, type) and hasattr(kind, "model_construct"):
                if isinstance(response, kind):
                    return response
                return cast(Any, kind).model_construct(**to_json(response))
        return response


def keep_accepted(
    create: Callable[..., Any],
    request: Mapping[str, Any],
    *,
    given: Collection[str] = (),
    warn: Warn,
) -> dict[str, Any]:
    """Return the arguments that a client's method takes, or that its caller gave. Others are left
    out with a warning: hooks can set what not every API has, and that must not break the call."""
    try:
        parameters = signature(create).parameters
    except (TypeError, ValueError):
        return dict(request)
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values()):
        return dict(request)
    unknown = [name for name in request if name not in parameters and name not in given]
    if unknown:
        warn(
            f"{', '.join(unknown)} was left out of the request: "
            f"{getattr(create, '__qualname__', create)} does not take it"
        )
    return {name: value for name, value in request.items() if name not in unknown}


@lru_cache(maxsize=256)
def _find_api(kind: type) -> str | None:
    for base in kind.__mro__:
        for module, api in _CLIENTS.items():
            if base.__module__ == module or base.__module__.startswith(f"{module}."):
                return api
    return None


def _is_plain_chat(request: Mapping[str, Any]) -> bool:
    """True if the request of a caller's own function is a plain chat completion, without fields
    that the hooks' own form lacks."""
    messages = request.get("messages")
    return (
        request.keys() <= {"model", "messages", "stream"}
        and isinstance(messages, list | tuple)
        and not any(get(message, "role") == "model" for message in messages)
    )
