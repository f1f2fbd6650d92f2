"""The one JSON encoder and decoder: msgspec's speed, and nothing lost on text it refuses.

msgspec is stricter than JSON's grammar: lone surrogates, which models and scripts do produce
(``"\\ud800"``), and numbers beyond a double. Refusing them would let a payload slip past every
hook, or a denial be lost, so what msgspec turns down gets a second reading by the standard library.
"""

from typing import Any

import msgspec

from hookline.errors import PayloadEncodingError

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

DecodeError = msgspec.DecodeError


def encode(value: object) -> bytes:
    """Write a value as JSON; raises PayloadEncodingError for what has no JSON form."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encode_with_surrogates(value)
    except RecursionError:
        raise PayloadEncodingError("it contains itself, or is nested too deeply") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise PayloadEncodingError(str(error)) from None


def decode(text: bytes | str) -> Any:
    """Read one JSON document; raises DecodeError for anything else, NaN and Infinity included."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise DecodeError("the JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return _decode_leniently(text, str(error))


def copy(value: Any) -> Any:
    """An independent copy of a JSON value, which proves on the way that it is one."""
    return decode(encode(value))


def _encode_with_surrogates(value: object) -> bytes:
    import json

    try:
        builtins = msgspec.to_builtins(value, str_keys=True)
        return json.dumps(builtins, separators=(",", ":")).encode("ascii")
    except RecursionError:
        raise PayloadEncodingError("it contains itself, or is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise PayloadEncodingError(str(error)) from None


def _decode_leniently(text: bytes | str, problem: str) -> Any:
    import json

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise DecodeError(problem) from None
