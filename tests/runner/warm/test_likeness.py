"""A script can tell by nothing that it sees whether it was started or forked."""

import os
import sys
from pathlib import Path

import pytest

from tests.runner.warm.probes import NEIGHBOURS, PROBES
from tests.runner.warm.warmed import cold, seen, warm, warm_pool

pytestmark = pytest.mark.slow

PYTHON = os.environ.get("HOOKLINE_TEST_PYTHON", sys.executable)


def write(path: str, text: str) -> None:
    Path(path).write_text(text.lstrip("\n"))


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PROBES)
async def test_a_script_does_the_same_warm_as_cold(name: str) -> None:
    write("probe.py", PROBES[name])
    for neighbour, text in NEIGHBOURS.items():
        write(neighbour, text)
    if name == "own module in place of another":
        write("queue.py", "OWN = True\n")
    argv, stdin = [PYTHON, "probe.py", "an argument", "ü"], b"one\ntwo\nthree\n"
    stdin = b"11" if name == "codes" else stdin
    async with warm_pool() as pool:
        first = await warm(pool, argv, stdin=stdin)
        first_files = files()
        again = await warm(pool, argv, stdin=stdin)
    expected = await cold(argv, stdin=stdin)
    assert seen(first) == seen(expected)
    assert seen(again) == seen(expected)
    assert first_files.keys() == files().keys()


@pytest.mark.parametrize("objects", [1, 10_000, 200_000])
async def test_what_is_left_in_the_buffer_of_a_file_is_written(objects: int) -> None:
    """However many objects the script made meanwhile: they move the file among the older ones."""
    made = f"[[] for _ in range({objects})]"
    write("probe.py", f"out = open('out.txt', 'w')\nout.write('written')\nkept = {made}")
    async with warm_pool() as pool:
        assert (await warm(pool, [PYTHON, "probe.py"])).exit_code == 0
    assert Path("out.txt").read_text() == "written"


WAYS = {
    "unbuffered": ["-u", "probe.py"],
    "optimized": ["-O", "probe.py"],
    "twice optimized": ["-OO", "-B", "probe.py"],
    "without the user's packages": ["-s", "probe.py"],
    "with warnings as errors": ["-W", "error", "probe.py"],
    "with all warnings": ["-Walways", "-bb", "probe.py"],
    "in UTF-8 mode": ["-X", "utf8", "probe.py"],
    "without its first line": ["-x", "probe.py"],
    "by a path": ["./folder/../probe.py"],
    "by a link": ["folder/link.py"],
    "as a folder": ["folder"],
    "without there being one": ["missing.py"],
}
LOOK = """
import sys, os, json, warnings
print(sys.argv, sys.path, __file__, __name__, sys.flags, __debug__, sys.stdout.write_through)
print(sorted(sys.path_importer_cache), sorted(sys.modules), sys.warnoptions, warnings.filters)
warnings.warn("look", DeprecationWarning)
"""


@pytest.mark.parametrize("way", WAYS)
async def test_a_script_is_the_same_warm_however_it_is_started(way: str) -> None:
    write("probe.py", LOOK)
    Path("folder").mkdir()
    write("folder/__main__.py", "import sys; print(sys.argv, sys.path, __file__, __spec__)")
    Path("folder/link.py").symlink_to("../probe.py")
    argv = [PYTHON, *WAYS[way], "a"]
    async with warm_pool() as pool:
        outcomes = [await warm(pool, argv) for _ in range(2)]
    expected = seen(await cold(argv))
    assert [seen(outcome) for outcome in outcomes] == [expected, expected]
