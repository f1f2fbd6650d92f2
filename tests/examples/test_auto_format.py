"""What a tool writes is formatted at once, and the model knows that its text was changed."""

import json
from pathlib import Path

import pytest

from hookline.agent.providers.scripted import call
from tests.examples.toolbox import Workplace


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path / "my project", "auto-format")


async def write(work: Workplace, name: str, content: str) -> str:
    await work.run("Go on.", [call("write_file", file_path=name, content=content)], "Done.")
    return work.read(name)


async def test_a_written_file_is_formatted_and_the_model_is_told(work: Workplace) -> None:
    assert await write(work, "src/a.py", "x = 1  \n\ty = 2\t\n\n\n") == "x = 1\n\ty = 2\n"
    assert work.results[0].startswith("Wrote src/a.py.\n\nsrc/a.py was formatted")
    assert "Read it before you edit it again" in work.results[0]


async def test_json_is_laid_out(work: Workplace) -> None:
    written = await write(work, "a.json", '{"b": [1, 0.5], "a": {"é": null}}')
    assert written == '{\n  "b": [\n    1,\n    0.5\n  ],\n  "a": {\n    "é": null\n  }\n}\n'


async def test_json_that_would_lose_something_keeps_its_words(work: Workplace) -> None:
    contents = ('{"a": 1.50}', '{"a": 1, "a": 2}', '{"a": 1, // why\n}')
    calls = [
        call("write_file", file_path=f"{number}.json", content=content)
        for number, content in enumerate(contents)
    ]
    await work.run("Go on.", calls, "Done.")
    assert [work.read(f"{number}.json") for number in (0, 1, 2)] == [f"{c}\n" for c in contents]


async def test_a_file_in_good_form_is_left_alone_and_nothing_is_said(work: Workplace) -> None:
    assert await write(work, "a.txt", "good\r\nform\r\n") == "good\r\nform\r\n"
    assert work.results == ["Wrote a.txt."]
    assert await write(work, "a.md", "two spaces  \nbreak\n") == "two spaces  \nbreak\n"
    assert work.results == ["Wrote a.md."]


async def test_a_real_formatter_is_called_for_its_suffix(work: Workplace) -> None:
    shouting = work.write("shout.sh", '#!/bin/sh\necho noise; tr a-z A-Z < "$1" > t && mv t "$1"\n')
    shouting.chmod(0o755)
    settings = json.loads(work.read(".hookline/settings.json"))
    settings["hooks"]["AfterTool"][0]["hooks"][0]["env"] = {"FORMAT_TXT": "./shout.sh"}
    work.write(".hookline/settings.json", json.dumps(settings))
    assert await write(work, "a.txt", "quiet") == "QUIET"
    assert "a.txt was formatted" in work.results[0]


async def test_a_formatter_that_fails_leaves_the_file_and_the_agent_goes_on(
    work: Workplace,
) -> None:
    settings = json.loads(work.read(".hookline/settings.json"))
    settings["hooks"]["AfterTool"][0]["hooks"][0]["env"] = {"FORMAT_TXT": "false"}
    work.write(".hookline/settings.json", json.dumps(settings))
    assert await write(work, "a.txt", "as it was  ") == "as it was  "
    assert work.results == ["Wrote a.txt."]
