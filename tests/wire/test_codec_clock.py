"""The form of time on the wire."""

import re
import time
from datetime import UTC, datetime, timedelta

from hookline.wire.codec import timestamp


def test_a_timestamp_is_iso_8601_in_utc_with_milliseconds_and_z() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp())


def test_a_timestamp_is_now() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    said = datetime.fromisoformat(timestamp())
    assert before <= said <= datetime.now(UTC)


def test_timestamps_go_on_across_the_turn_of_a_second() -> None:
    stamps = [timestamp()]
    while stamps[-1][:19] == stamps[0][:19]:
        time.sleep(0.005)
        stamps.append(timestamp())
    assert stamps == sorted(stamps)
    assert datetime.now(UTC) - datetime.fromisoformat(stamps[-1]) < timedelta(seconds=2)
