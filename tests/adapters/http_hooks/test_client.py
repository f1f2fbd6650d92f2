"""How the end of a request is told: by what the system says, or in words of our own."""

from ipaddress import ip_address

import httpcore
import pytest

from hookline.runner.addresses import Reach
from hookline.runner.http_client import Response, _describe_refusal, _explain

REFUSED = OSError(111, "Connection refused")


def caused_by(*causes: BaseException) -> BaseException:
    """An error of httpcore, raised because of each of these in turn."""
    error: BaseException = httpcore.ConnectError("All attempts failed")
    top = error
    for cause in causes:
        error.__cause__ = cause
        error = cause
    return top


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (caused_by(REFUSED), "Connection refused"),
        (caused_by(ValueError("odd"), OSError(2, "x" * 400)), "x" * 300),
        (caused_by(ExceptionGroup("two", [OSError(1, "first"), REFUSED])), "Connection refused"),
        (caused_by(OSError("without a number")), "All attempts failed"),
        (httpcore.ConnectError("y" * 301), "y" * 300),
        (httpcore.ConnectError(""), "no response"),
    ],
    ids=str,
)
def test_a_failed_connection_is_explained_as_the_system_does(
    error: BaseException, said: str
) -> None:
    assert _explain(error) == said


def test_what_an_error_was_raised_amid_explains_it_too() -> None:
    error = httpcore.ConnectError("All attempts failed")
    error.__context__ = OSError(111, "Connection refused")
    assert _explain(error) == "Connection refused"


@pytest.mark.parametrize(
    ("reach", "host", "said"),
    [
        (Reach.THIS_MACHINE, "10.0.0.1", "10.0.0.1, which is not this machine"),
        (Reach.THIS_MACHINE, "a.example", "a.example resolves to 10.0.0.1, which is not this"),
        (Reach.PUBLIC, "a.example", "a.example resolves to 10.0.0.1, which is not a public"),
    ],
)
def test_an_address_out_of_reach_is_named_with_its_host(reach: Reach, host: str, said: str) -> None:
    assert _describe_refusal(reach, host, ip_address("10.0.0.1")).startswith(said)


@pytest.mark.parametrize(("status", "is_success"), [(199, 0), (200, 1), (299, 1), (300, 0)])
def test_only_a_status_of_the_two_hundreds_is_a_success(status: int, is_success: int) -> None:
    assert Response(status, "", b"").is_success == is_success
