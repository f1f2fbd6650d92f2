"""The help of the command and of every verb fits whatever it is read on."""

import sys
from collections.abc import Mapping

import pytest

from hookline.cli import VERBS
from hookline.cli.help import format_overview, format_verb
from hookline.cli.options import Option, flag, load_verb
from tests.cli.command import on_terminal
from tests.cli.conftest import Call

# The verbs, and "" for the command itself.
_ALL = ("", *VERBS)
_MARK = "=== "
_SHOW_ALL = f"""
import sys
from hookline.cli import main
for verb in {_ALL!r}:
    print({_MARK!r} + verb, flush=True)
    main([verb, "--help"] if verb else ["--help"])
"""


def on_a_terminal(columns: int) -> Mapping[str, str]:
    program = (sys.executable, "-c", _SHOW_ALL)
    done = on_terminal(program=program, columns=columns)
    assert done.status == 0
    texts = done.out.split(_MARK)[1:]
    return {verb: text.partition("\n")[2] for verb, text in zip(_ALL, texts, strict=True)}


def split_examples(text: str) -> tuple[str, list[str]]:
    """The help without its examples, and these."""
    told, _, rest = text.partition("\nexamples:\n")
    examples, _, more = rest.partition("\n\n")
    return f"{told}\n{more}", examples.rstrip("\n").split("\n")


def too_wide(text: str, columns: int) -> list[str]:
    """Lines that do not fit and could have been wrapped."""
    lines = text.split("\n")
    return [line for line in lines if len(line) > columns and len(line.rstrip(" \\").split()) > 1]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_on_a_terminal_nothing_wraps_badly(columns: int) -> None:
    wide = on_a_terminal(1000)
    for verb, text in on_a_terminal(columns).items():
        told, examples = split_examples(text)
        assert too_wide(told, columns) == []
        # No word is broken, and none is lost.
        assert told.split() == split_examples(wide[verb])[0].split()
        # A long example goes on behind a backslash, so that a shell reads it as it is.
        assert too_wide("\n".join(examples), columns) == []
        whole = "\n".join(examples).replace(" \\\n   ", "").split("\n")
        assert whole == split_examples(wide[verb])[1]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("verb", _ALL)
def test_piped_it_has_the_width_that_is_asked_for_and_whole_examples(
    verb: str, columns: int, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = call(*filter(None, (verb, "--help"))).out
    told, examples = split_examples(text)
    assert too_wide(told, columns) == []
    assert [line for line in text.split("\n") if line != line.rstrip()] == []
    if verb:
        assert examples == [f"  {line}" for line in load_verb(verb).EXAMPLES]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_explained(verb: str, call: Call) -> None:
    text = call(verb, "--help").out
    assert text.startswith(f"usage: hookline {verb} ")
    for option in load_verb(verb).OPTIONS:
        assert (f"\n  {option.name}" in text) is (
            option.help is not None and not option.is_argument
        ), option.name


def test_what_must_be_given_is_in_the_usage(call: Call) -> None:
    usages = {verb: call(verb, "--help").out.partition("\n")[0] for verb in VERBS}
    assert usages["fire"] == "usage: hookline fire [options] EVENT"
    assert usages["serve"] == "usage: hookline serve --bus URL|@FILE [options]"
    assert usages["mcp"] == "usage: hookline mcp [options] [SERVER ...]"
    assert usages["init"] == "usage: hookline init [options] [{sh,python}]"


OPTIONS = (
    Option("name", "NAME", "the name of the hook"),
    Option("files", "FILE", "files to read", count="*"),
    Option("--bus", "URL|@FILE", "where the workers are, and nothing but them", required=True),
    flag("--json", "one document", group="options of every verb"),
    Option("--live", "PROMPT", "ask a model", count="?"),
    Option("--only", "", "only these", choices=("project", "user")),
    Option("--hidden", "X", None),
    Option("--as", "WORDS OF SEVEN", "a name that fits"),
)
BESIDE = """\
usage: hookline fire --bus URL|@FILE [options] NAME [FILE
    ...]

Fire one event.

arguments:
  NAME                  the name of the hook
  FILE                  files to read

options:
  -h, --help            show this help and exit
  --bus URL|@FILE       where the workers are, and nothing
                        but them
  --live [PROMPT]       ask a model
  --only {project,user}
                        only these
  --as WORDS OF SEVEN   a name that fits

options of every verb:
  --json                one document

examples:
  hookline fire x --bus nats://localhost:4222 --only project
"""
BELOW = """\
arguments:
  NAME
      the name of the hook
  FILE
      files to read

options:
  -h, --help
      show this help and exit
"""
OVERVIEW = """\
usage: hookline VERB [options]

Run hooks on the events of an AI agent.

  fire     fire one event and say what to do
  untrust  stop

examples:
  hookline demo

`hookline VERB --help` explains a verb; `hookline
--version` prints the version."""


def test_a_name_stands_beside_its_text_and_on_a_narrow_line_above_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examples = ["hookline fire x --bus nats://localhost:4222 --only project"]
    monkeypatch.setenv("COLUMNS", "60")
    assert format_verb("fire", "fire one event", OPTIONS, examples) == BESIDE
    monkeypatch.setenv("COLUMNS", "59")
    assert BELOW in format_verb("fire", "fire one event", OPTIONS, examples)
    short = format_verb("x", "do", [flag("--all", "all of it")], [])
    assert "\n  --all\n      all of it\n" in short
    monkeypatch.setenv("COLUMNS", "80")
    short = format_verb("x", "do", [flag("--all", "all of it")], [])
    assert "\n  -h, --help  show this help and exit\n  --all       all of it\n" in short
    assert "arguments:" not in short


def test_the_verbs_stand_below_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    verbs = {"fire": "fire one event and say what to do", "untrust": "stop"}
    assert format_overview(verbs, ["hookline demo"]) == OVERVIEW
