"""Property tests keep nothing in the tree between runs, and in CI draw the same examples."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, configuration, settings

from tests.harness import writes

# "make test" draws few examples, "make test-attacks" many.
for profile, count in (("suite", 15), ("long", 100)):
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=count,
        derandomize=bool(os.environ.get("CI")),
        database=None,
        # How fast examples are drawn is the machine's business, not the test's.
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("suite")


def pytest_configure() -> None:
    # Without a database it still keeps tables of characters and of constants in the code, by
    # default in the working directory.
    tables = Path(sys.prefix, "hypothesis")
    configuration.set_hypothesis_home_dir(tables)
    writes.allow(tables)
