"""The suite is hostile by these plugins; the order is that of their imports of each other."""

pytest_plugins = (
    "tests.harness.writes",
    "tests.harness.scratch",
    "tests.harness.leaks",
    "tests.harness.properties",
    "tests.natsserver",
    "pytester",
)
