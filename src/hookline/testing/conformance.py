"""Runs conformance cases: ``python -m hookline.testing.conformance [--answers] CASE.json…``

A case is data: settings, files, an event, and what a conforming engine answers. Each runs in a
fresh directory with an environment of its own.
"""

import argparse
import asyncio
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hookline.testing.conformance_answer import answer_of
from hookline.wire import codec
from hookline.wire.clock import timestamp

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases; 0 when all agree."""
    parser = argparse.ArgumentParser(prog="python -m hookline.testing.conformance")
    parser.add_argument("--answers", action="store_true", help="print the answers, compare nothing")
    parser.add_argument("cases", nargs="+", metavar="CASE.json", type=Path)
    options = parser.parse_args(argv)
    # Cases misbehave on purpose, and a warning is a right answer to that, not news.
    logging.getLogger("hookline").addHandler(logging.NullHandler())
    agreed = [_run_file(path, comparing=not options.answers) for path in options.cases]
    if not options.answers:
        print(f"{agreed.count(True)} passed, {agreed.count(False)} failed")
    return 0 if all(agreed) else 1


def _run_file(path: Path, *, comparing: bool) -> bool:
    try:
        case = codec.decode(path.read_bytes())
        if not isinstance(case, dict):
            raise TypeError("a case is an object")
        answer = run_case(case)
    except Exception as error:
        # A file that is no case must not keep the others from running.
        print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    name = case.get("name", path.stem)
    if not comparing:
        print(codec.encode({"name": name, "answer": answer}).decode())
        return True
    found = list(differences(case.get("expect", {}), answer))
    if found:
        print(f"{name}: {case.get('description', '')}")
        print("".join(f"  {line}\n" for line in found), end="")
    return not found


def run_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case's answer in the shape of its ``expect``, with places and times as placeholders."""
    with tempfile.TemporaryDirectory(prefix="hookline-", ignore_cleanup_errors=True) as made:
        root = Path(os.path.realpath(made))
        work = root / case.get("cwd_name", "work")
        home = root / "home"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "USER": "tester",
            "SHLVL": "1",
            **{k: v.replace("$ROOT", str(root)) for k, v in case.get("env", {}).items()},
        }
        home.mkdir()
        _write_files(Path(environment["HOME"]), case.get("setup_home", {}))
        _write_files(work, case.get("files", {}))
        began = timestamp()
        with _environment(environment):
            answer = asyncio.run(answer_of(case, work))
        places = {str(work): "$CWD", str(home): "$HOME", str(root): "$ROOT"}
        placeholders = _Placeholders(places, began=began, ended=timestamp())
        result: dict[str, Any] = placeholders.put_into(answer)
        return result


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Where an answer departs from what is expected, one line each; other keys do not count at
    the top, where a case says only what it is about."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = expected.keys() if not path else expected.keys() | actual.keys()
        for name in sorted(names):
            here = f"{path}.{name}" if path else name
            yield from differences(expected.get(name, _NOTHING), actual.get(name, _NOTHING), here)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield f"{path}: expected {expected!r}, got {actual!r}"


def _write_files(directory: Path, files: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, given in files.items():
        file = given if isinstance(given, dict) else {"content": given}
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8", errors="surrogatepass")
        path.chmod(int(str(file.get("mode", "755")), 8))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Placeholders:
    """Stand for what is different in every run: its places, and the times it was at work."""

    def __init__(self, places: Mapping[str, str], *, began: str, ended: str) -> None:
        self._places = places
        self._began = began
        self._ended = ended

    def put_into(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._put_into_text(value)
        if isinstance(value, dict):
            return {key: self.put_into(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.put_into(item) for item in value]
        return value

    def _put_into_text(self, text: str) -> str:
        for place, name in self._places.items():
            text = text.replace(place, name)
        return _TIMESTAMP.sub(self._time, text)

    def _time(self, found: re.Match[str]) -> str:
        # A time that the case itself brought along is part of what is compared.
        return "$TIMESTAMP" if self._began <= found[0] <= self._ended else found[0]


if __name__ == "__main__":
    sys.exit(main())
