"""A tool call in a LangChain agent passes the files that CONTRIBUTING names."""

import subprocess

from tests.test_walk import WALK, read_section


def test_contributing_names_the_files_of_a_tool_call_in_their_order() -> None:
    done = subprocess.run([*WALK, "langchain"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    files = [line.split()[-1] for line in done.stdout.splitlines()[:-1]]
    assert read_section("### The same call in a LangChain agent") == files
