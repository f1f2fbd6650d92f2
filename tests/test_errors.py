"""Errors say what happened, also those that say nothing themselves."""

import pytest

from hookline.errors import UnknownEventError, describe, message_of


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "message", "described"),
    [
        (ValueError("no"), "no", "ValueError: no"),
        (ValueError(), "ValueError", "ValueError"),
        (ValueError(""), "ValueError", "ValueError"),
        (Mute("x"), "Mute", "Mute"),
    ],
)
def test_an_error_is_its_message_or_else_its_type(
    error: Exception, message: str, described: str
) -> None:
    assert (message_of(error), describe(error)) == (message, described)


def test_an_unknown_event_names_those_that_may_have_been_meant() -> None:
    error = UnknownEventError("BeforeTol", ["BeforeTool"])
    assert (error.name, error.nearest, error.code) == (
        "BeforeTol",
        ("BeforeTool",),
        "unsupported_event",
    )
    assert str(error) == "'BeforeTol' is not a hook event; did you mean BeforeTool?"
    assert str(UnknownEventError(7)) == "7 is not a hook event"
