"""The one JSON encoder and decoder: msgspec's speed, and nothing lost on text it refuses.

msgspec is stricter than JSON's grammar: lone surrogates, which models and scripts do produce
(``"\\ud800"``), and numbers beyond a double. Refusing them would let a payload slip past every
hook, or a denial be lost, so what msgspec turns down gets a second reading by the standard library.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import PayloadEncodingError

if TYPE_CHECKING:
    from json import JSONDecoder

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

DecodeError = msgspec.DecodeError


def encode(value: object) -> bytes:
    """Write a value as JSON; raises PayloadEncodingError for what has no JSON form."""
    try:
        try:
            return _encoder.encode(value)
        except UnicodeEncodeError:
            import json

            text = json.dumps(msgspec.to_builtins(value, str_keys=True))
            # msgspec writes null for the numbers JSON does not have.
            numbers = json.loads(text, parse_constant=lambda _: None)
            return json.dumps(numbers, separators=(",", ":")).encode("ascii")
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
    except (msgspec.DecodeError, UnicodeError) as error:
        try:
            return lenient_decoder().decode(text if isinstance(text, str) else text.decode())
        except (ValueError, RecursionError):
            raise DecodeError(str(error)) from None


def copy(value: Any) -> Any:
    """An independent copy of a JSON value, which proves on the way that it is one."""
    try:
        return _decoder.decode(_encoder.encode(value))
    except Exception:
        return decode(encode(value))


def lenient_decoder(**options: Any) -> "JSONDecoder":
    """A decoder for all that JSON's grammar allows, and that can read on from within a text;
    it raises ValueError or RecursionError. The options are those of ``json.JSONDecoder``."""
    import json

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    return json.JSONDecoder(parse_constant=refuse, **options)
