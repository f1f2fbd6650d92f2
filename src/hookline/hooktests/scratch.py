"""Where one test happens: its files, its variables, and the names it has for places."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def working_dir(files: Mapping[str, str] | None, otherwise: str) -> Iterator[str]:
    """A directory with the files, gone afterwards; without files the one that is there anyway."""
    if files is None:
        yield otherwise
        return
    import tempfile

    with tempfile.TemporaryDirectory(
        prefix="hookline-test-", ignore_cleanup_errors=True
    ) as directory:
        # A shell calls a directory by its real name, and so do paths in what hooks say.
        scratch = os.path.realpath(directory)
        for name, content in files.items():
            _write(os.path.join(scratch, name), content)
        yield scratch


def _write(path: str, content: str) -> None:
    if path.endswith("/"):
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    if content.startswith("#!"):
        os.chmod(path, 0o755)


@contextmanager
def variables(env: Mapping[str, str | None]) -> Iterator[None]:
    """This process's environment, which hooks inherit, with the variables as a test has them."""
    before = {name: os.environ.get(name) for name in env}
    try:
        _set(env)
        yield
    finally:
        _set(before)


def _set(env: Mapping[str, str | None]) -> None:
    for name, value in env.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def put_places(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value in whose texts each ``${name}`` of a place is the place."""
    return _replaced(value, [(f"${{{name}}}", place) for name, place in places.items()])


def name_places(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value in whose texts each place is ``${name}``; of two that fit the longer counts."""
    pairs = [(place, f"${{{name}}}") for name, place in places.items()]
    return _replaced(value, sorted(pairs, key=lambda pair: -len(pair[0])))


def _replaced(value: Any, pairs: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for old, new in pairs:
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, pairs): _replaced(item, pairs) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, pairs) for item in value]
    return value
