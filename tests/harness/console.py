"""Shell sessions in documents: commands run for real, and their output is compared by shape.

Durations, times and places differ from run to run; both sides are put into one normal form.
"""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_MAKE = re.compile(r"(?:\w+=\S+ +)*make(?P<words>(?: +[\w=./-]+)*) *(?:#.*)?")
_TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)
_NORMAL_FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r'("\w*[dD]uration\w*": ?)[\d.]+'), r"\1<duration>"),
    (re.compile(r"\b\d+(\.\d+)? ?(µs|ms|s)\b"), "<duration>"),
    # Columns and rules are as wide as the longest of the values above.
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"([─━═-])\1{2,}"), r"\1\1\1"),
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Exchange(NamedTuple):
    command: str
    expected: str


def read_exchanges(transcript: str) -> list[Exchange]:
    """Split a console block: `$ ` begins a command, `> ` continues it, the rest is its output."""
    exchanges: list[Exchange] = []
    for line in transcript.splitlines(keepends=True):
        if line.startswith("$ "):
            exchanges.append(Exchange(line[2:], ""))
        elif not exchanges:
            raise ValueError(f"a console block begins with a command, not with {line!r}")
        else:
            command, expected = exchanges[-1]
            continues = line.startswith("> ") and not expected
            if continues:
                exchanges[-1] = Exchange(command + line[2:], "")
            else:
                exchanges[-1] = Exchange(command, expected + line)
    return exchanges


def run_transcript(transcript: str, *, cwd: Path, home: Path) -> None:
    exchanges = [each for each in read_exchanges(transcript) if not _is_make(each)]
    for exchange, (printed, status) in zip(exchanges, _answers(exchanges, cwd), strict=True):
        compare(exchange.expected, printed, home=home, of=exchange.command.strip())
        if status and not exchange.expected:
            raise AssertionError(f"{exchange.command.strip()} ended with {status}")


def run_script(script: str, *, cwd: Path) -> None:
    lines = [line for line in script.splitlines() if not _looks_up_target(line)]
    done = _bash("set -eu\n" + "\n".join(lines), cwd)
    if done.returncode:
        raise AssertionError(f"ended with {done.returncode}:\n{done.stdout}")


def compare(expected: str, printed: str, *, home: Path, of: str) -> None:
    wanted, given = normalise(expected, home=home), normalise(printed, home=home)
    if wanted != given:
        raise AssertionError(f"{of}\nshould print\n{wanted}\nand prints\n{given}")


def normalise(text: str, *, home: Path) -> str:
    text = text.replace(str(home.resolve()), "~").replace(str(home), "~")
    for pattern, form in _NORMAL_FORMS:
        text = pattern.sub(form, text)
    return text.strip()


def _answers(exchanges: Sequence[Exchange], cwd: Path) -> Iterator[tuple[str, int]]:
    """What each command printed, and how it ended; all of them in one shell."""
    end = f"end-{uuid.uuid4().hex}"
    # The subshell hands the status on, so that the next command may ask for `$?`.
    report = f"{{ status=$?; printf '\\n{end} %s\\n' $status; (exit $status); }}\n"
    done = _bash("".join(exchange.command + report for exchange in exchanges), cwd)
    parts = re.split(rf"\n{end} (\d+)\n", done.stdout)
    if len(parts) != 2 * len(exchanges) + 1:
        raise AssertionError(f"the shell gave up:\n{done.stdout}")
    yield from zip(parts[::2], map(int, parts[1::2]), strict=False)


def _bash(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A reader's pytest has none of the plugins of this environment, or others.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script],
        cwd=cwd,
        env=os.environ | {"PATH": path, "COLUMNS": "100"} | alone,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=100,
    )


def _is_make(exchange: Exchange) -> bool:
    if not _looks_up_target(exchange.command.strip()):
        return False
    if exchange.expected.strip():
        raise AssertionError(f"{exchange.command.strip()} is not run, so its output is not checked")
    return True


def _looks_up_target(line: str) -> bool:
    """Whether the line calls make; a target that the Makefile lacks is an error."""
    call = _MAKE.fullmatch(line.strip())
    if call is None:
        return False
    known = _TARGET.findall((Path(__file__).parents[2] / "Makefile").read_text())
    for word in call["words"].split():
        if "=" not in word and word not in known:
            raise AssertionError(f"the Makefile has no target {word}")
    return True
