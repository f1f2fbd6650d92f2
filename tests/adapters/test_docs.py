"""The blocks of the documents that need a framework run here, with the frameworks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.documents import (
    ADAPTERS,
    DOCUMENTS,
    REPOSITORY,
    Reader,
    check_types,
    read_blocks,
)
from tests.harness.interpreter import Interpreter, open_interpreter

NEEDING = [
    document
    for document in DOCUMENTS
    if any(b.environment == ADAPTERS for b in read_blocks(document.read_text(encoding="utf-8")))
]


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    with open_interpreter(["asyncio", "hookline.hooks"]) as opened:
        yield opened


@pytest.mark.timeout(120)
@pytest.mark.parametrize("document", NEEDING, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_document_does_what_it_says(document: Path, interpreter: Interpreter) -> None:
    Reader(document, interpreter, home=Path.home(), environment=ADAPTERS).run()


@pytest.mark.timeout(300)
def test_every_python_snippet_passes_a_strict_type_check(tmp_path: Path) -> None:
    # As in "make check-adapters", which has read the frameworks already.
    options = ["--config-file=mypy-adapters.ini"]
    check_types(NEEDING, tmp_path, environment=ADAPTERS, options=options)
