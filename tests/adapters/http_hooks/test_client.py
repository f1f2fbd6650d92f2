"""How the end of a request is told: by what the system says, or in words of our own."""

import pytest

from hookline.runner.http_client import Response


@pytest.mark.parametrize(("status", "is_success"), [(199, 0), (200, 1), (299, 1), (300, 0)])
def test_only_a_status_of_the_two_hundreds_is_a_success(status: int, is_success: int) -> None:
    assert Response(status, "", b"").is_success == is_success
