"""A secret never reaches a file or a command, and the model learns what to do instead."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace

# Put together here, so that no scanner takes this file for a leak.
AWS_KEY = "AKIA" + "Q7XW2PLM4RTZ8KDN"


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "secret-scan")


async def test_a_file_with_a_secret_is_not_written_and_the_model_reads_why(work: Workplace) -> None:
    content = f"import boto3\nKEY = '{AWS_KEY}'\n"
    result = await work.run(
        "Connect to S3.", [call("write_file", file_path="s3.py", content=content)], "I see."
    )
    assert not work.exists("s3.py")
    assert "an AWS access key in line 2 of content" in work.results[0]
    assert "environment variable" in work.results[0]
    assert AWS_KEY not in work.results[0]
    assert result.text == "I see."


async def test_a_command_and_an_edit_with_a_secret_do_not_run(work: Workplace) -> None:
    work.write("app.py", "password = None\n")
    await work.run(
        "Go on.",
        [
            call("run_shell_command", command=f"echo {AWS_KEY} > key.txt"),
            call(
                "replace", file_path="app.py", old_string="None", new_string='password = "s3cr3t99"'
            ),
        ],
        "Done.",
    )
    assert not work.exists("key.txt")
    assert work.read("app.py") == "password = None\n"
    assert [done.result.error is not None for done in work.published] == [True, True]


async def test_a_write_without_a_secret_passes(work: Workplace) -> None:
    content = 'token = os.environ["API_TOKEN"]  # set api_key: "<your-key>"\n'
    await work.run("Go on.", [call("write_file", file_path="a.py", content=content)], "Done.")
    assert work.read("a.py") == content
    assert work.results == ["Wrote a.py."]


async def test_a_secret_can_be_removed(work: Workplace) -> None:
    work.write("s3.py", f"KEY = '{AWS_KEY}'\n")
    edit = call(
        "replace",
        file_path="s3.py",
        old_string=f"'{AWS_KEY}'",
        new_string='os.environ["AWS_KEY"]',
    )
    await work.run("Clean up.", [edit], "Done.")
    assert work.read("s3.py") == 'KEY = os.environ["AWS_KEY"]\n'


async def test_without_its_script_nothing_is_written(work: Workplace) -> None:
    (work.path / "hooks" / "secret_scan.py").unlink()
    await work.run("Go on.", [call("write_file", file_path="a.txt", content="hello")], "Done.")
    assert not work.exists("a.txt")
    assert "secret-scan failed" in work.results[0]
