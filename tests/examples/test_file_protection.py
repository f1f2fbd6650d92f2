"""Protected files are out of reach for tools, by whatever path, and all others are not."""

from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    work = Workplace(tmp_path / "my project", "file-protection")
    work.write(".env", "PASSWORD=hunter2\n")
    return work


async def test_a_secret_file_is_not_read_by_whatever_path(work: Workplace) -> None:
    (work.path / "harmless.txt").symlink_to(".env")
    names = (".env", "src/../.ENV", "harmless.txt", str(work.path / ".env"))
    commands = ("cat ./.env", "cp .env.example x; base64<'.env'")
    reads = [call("read_file", file_path=name) for name in names]
    reads += [call("run_shell_command", command=command) for command in commands]
    reads.append(call("read_file", file_path="notes", include="**/.env"))  # as searches have it
    await work.run("What is the password?", reads, "I cannot know.")
    assert len(work.results) == 7
    assert all("is protected (no-access)" in result for result in work.results)
    assert "hunter2" not in str(work.provider.requests)


async def test_a_protected_file_is_not_written_and_the_model_reads_why(work: Workplace) -> None:
    names = (".git/config", "uv.lock", "sub/package-lock.json", ".hookline/settings.local.json")
    for name in names:
        work.write(name, "{ }")
    writes = [call("write_file", file_path=name, content="{}") for name in names]
    await work.run("Go on.", writes, "I see.")
    assert {work.read(name) for name in names} == {"{ }"}
    assert all("is protected (no-write)" in result for result in work.results)
    assert "Run the tool that makes it" in work.results[1]


async def test_a_lock_file_may_be_read(work: Workplace) -> None:
    work.write("uv.lock", "version = 1\n")
    await work.run("Go on.", [call("read_file", file_path="uv.lock")], "Done.")
    assert work.results == ["version = 1\n"]


async def test_other_files_may_be_read_and_written(work: Workplace) -> None:
    writes = [
        call("write_file", file_path=name, content="x")
        for name in (".env.example", "src/hooks/use.ts", "environment.py", ".gitignore")
    ]
    await work.run("Go on.", writes, [call("read_file", file_path=".env.example")], "Done.")
    assert [result[:5] for result in work.results] == ["Wrote"] * 4 + ["x"]


async def test_the_list_is_the_users_to_change(work: Workplace) -> None:
    work.write("hooks/protected-files.txt", "# ours\nno-write  /docs/*.md\n")
    writes = [call("write_file", file_path=name, content="x") for name in ("docs/a.md", "b.md")]
    await work.run("Go on.", writes, "Done.")
    assert (work.exists("docs/a.md"), work.exists("b.md")) == (False, True)


async def test_a_list_that_makes_no_sense_denies_everything(work: Workplace) -> None:
    work.write("hooks/protected-files.txt", "no-acess .env\n")
    await work.run("Go on.", [call("read_file", file_path=".env")], "I see.")
    assert "line 1 of protected-files.txt makes no sense" in work.results[0]
