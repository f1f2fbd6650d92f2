"""Runs conformance cases: ``python -m hookline.testing.conformance [--answers] CASE.json…``

A case is data: settings, files, an event, and what a conforming engine answers. Each runs in a
fresh directory with an environment of its own.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hookline.testing.conformance_answer import answer_of
from hookline.wire import codec

_MISSING = "(nothing)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases; 0 when all agree."""
    parser = argparse.ArgumentParser(prog="python -m hookline.testing.conformance")
    parser.add_argument("--answers", action="store_true", help="print the answers, compare nothing")
    parser.add_argument("cases", nargs="+", metavar="CASE.json", type=Path)
    options = parser.parse_args(argv)
    passed = failed = 0
    for path in options.cases:
        try:
            case = codec.decode(path.read_bytes())
            answer = run_case(case)
        except (OSError, codec.DecodeError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed += 1
            continue
        if options.answers:
            print(codec.encode({"name": case.get("name", path.stem), "answer": answer}).decode())
            continue
        found = list(differences(case.get("expect", {}), answer))
        passed, failed = passed + (not found), failed + bool(found)
        if found:
            print(f"{case.get('name', path.stem)}: {case.get('description', '')}")
            print("".join(f"  {line}\n" for line in found), end="")
    if not options.answers:
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case's answer in the shape of its ``expect``, with places and times as placeholders."""
    with tempfile.TemporaryDirectory(prefix="hookline-") as made:
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
        _write_files(Path(environment["HOME"]), case.get("setup_home", {}))
        _write_files(work, case.get("files", {}))
        home.mkdir(exist_ok=True)
        with _environment(environment):
            answer = asyncio.run(answer_of(case, work))
        places = {"$CWD": str(work), "$HOME": str(home), "$ROOT": str(root)}
        result: dict[str, Any] = _with_placeholders(answer, places)
        return result


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Where an answer departs from what is expected, one line each; other keys do not count at
    the top, where a case says only what it is about."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = expected.keys() if not path else expected.keys() | actual.keys()
        for name in sorted(names):
            here = f"{path}.{name}" if path else name
            yield from differences(expected.get(name, _MISSING), actual.get(name, _MISSING), here)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield f"{path}: expected {expected!r}, got {actual!r}"


def _write_files(directory: Path, files: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, given in files.items():
        content, mode = (
            (given["content"], given["mode"]) if isinstance(given, dict) else (given, "755")
        )
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(int(mode, 8))


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


def _with_placeholders(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(place, name)
        return value
    if isinstance(value, dict):
        return {
            key: "$TIMESTAMP" if key == "timestamp" else _with_placeholders(item, places)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_with_placeholders(item, places) for item in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
