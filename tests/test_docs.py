"""Every block of every document runs; tests/harness/documents.py has the rules for writing one."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.harness.documents import (
    ADAPTERS,
    DOCUMENTS,
    REPOSITORY,
    DocumentError,
    Reader,
    check_types,
    with_free_ports,
)
from tests.harness.interpreter import Interpreter, open_interpreter

Read: TypeAlias = Callable[..., int]


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Interpreter]:
    with open_interpreter(["asyncio", "hookline.hooks", "hookline.agent"]) as opened:
        yield opened


@pytest.mark.timeout(120)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_the_document_does_what_it_says(document: Path, interpreter: Interpreter) -> None:
    Reader(document, interpreter, home=Path.home()).run()


@pytest.fixture
def read(interpreter: Interpreter) -> Read:
    """Run a document of this text; gives how many blocks it has."""

    def run(text: str, *, environment: str = "") -> int:
        document = Path("guide.md")
        document.write_text(text)
        home = Path.home()
        return Reader(document.resolve(), interpreter, home=home, environment=environment).run()

    return run


@pytest.mark.slow
def test_every_python_snippet_passes_a_strict_type_check(tmp_path: Path) -> None:
    """As a file of its own, those that do not run here included."""
    assert check_types(DOCUMENTS, tmp_path, options=[]) >= 10


def test_blocks_share_files_from_top_to_bottom(read: Read) -> None:
    blocks = read(
        """
```jsonc file=.hookline/settings.json
{"hooks": {}}  // none yet
```
```sh file=hooks/hello.sh
#!/bin/sh
echo "from $PWD in 12 ms"; exit 3
```
```console
$ chmod +x hooks/hello.sh
$ hooks/hello.sh; cat .hookline/settings.json
from ~/project in 7.5 ms
{"hooks": {}}  // none yet
$ hooks/hello.sh > /dev/null; echo $?
3
$ cat <<END
> some $((1 + 1)) lines
> END
some 2 lines
```
1. indented
   ```python
   value = "of its own"
   ```
```python
import pathlib
print(pathlib.Path("hooks/hello.sh").exists(), "value" in globals(), 2026)
```
```output
True False 2026
```
"""
    )
    assert blocks == 6


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("```console\n$ echo yes\nno\n```", "guide.md:1: AssertionError: echo yes\nshould"),
        ("```console\n$ false\n```", "false ended with 1"),
        ("```console\n$ exit 0\n$ echo more\nmore\n```", "the shell gave up"),
        ("```console\necho yes\n```", "begins with a command"),
        ("```sh\nfalse\ntrue\n```", "ended with 1"),
        ("```sh\nmake demo\nmake tea\n```", "no target tea"),
        ("```console\n$ make demo\nsomething\n```", "its output is not checked"),
        ("```python\nprint(1)\n```\n```output\n2\n```", "guide.md:4: AssertionError"),
        ("text\n```python\n\n1 / 0\n```", "line 4, in <module>"),
        ("```python file=hook.py\ndef\n```", "SyntaxError"),
        ('```json\n{"a": 1,}\n```', "JSONDecodeError"),
        ('```jsonc\n{"a": }\n```', "JsoncError"),
        ("```toml\na = \n```", "TOMLDecodeError"),
        ("```python norun\n1\n```", "norun=REASON"),
        ("```python quietly\n1\n```", "'quietly' is none of"),
        ("```python env=mars\n1\n```", "no environment 'mars'"),
        ("```python env=adapters\ndef\n```", "SyntaxError"),
        ("```\nplain\n```", "no kind of block is called ''"),
    ],
)
def test_a_document_that_is_wrong_fails_with_its_line(block: str, problem: str, read: Read) -> None:
    with pytest.raises(DocumentError) as caught:
        read(block)
    assert problem in str(caught.value)


def test_a_port_stands_for_one_that_is_free() -> None:
    text = "listen: 127.0.0.1:24222, 127.0.0.1:24222, 127.0.0.1:4222, host:4222"
    one, two = with_free_ports(text), with_free_ports(text)
    ports = re.findall(r"127\.0\.0\.1:(\d+)", one)
    assert one.endswith("host:4222")
    assert ports[0] == ports[1] != ports[2]
    assert not {*ports} & {"24222", "4222"}
    assert one != two


def test_a_block_is_left_out_only_for_a_reason(read: Read) -> None:
    assert read("```python norun=needs-network\n1 / 0\n```") == 1


_TWO_ENVIRONMENTS = """
```sh file=greeting.txt
hello
```
```python
print(1)
```
```output
%s
```
```python env=adapters
print(open("greeting.txt").read(), end="")
```
```output
%s
```
"""


def test_a_block_of_another_environment_is_left_to_it_with_its_output(
    read: Read,
) -> None:
    read(_TWO_ENVIRONMENTS % ("1", "left alone"))


def test_in_that_environment_its_blocks_run_on_the_files_of_the_document(
    read: Read,
) -> None:
    read(_TWO_ENVIRONMENTS % ("left alone", "hello"), environment=ADAPTERS)


def test_a_block_may_run_in_a_copy_of_the_tree(read: Read) -> None:
    read("```console in=repository\n$ touch new; ls new Makefile\nMakefile\nnew\n```")
    assert not (REPOSITORY / "new").exists()


def test_every_promise_of_the_security_page_names_a_test_that_is_there() -> None:
    page = (REPOSITORY / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", page)
    assert len(named) >= 30
    for file, path in named:
        source = (REPOSITORY / file).read_text(encoding="utf-8")
        for name in filter(None, path.split("::")):
            assert re.search(rf"(def|class) {name}\b", source), f"{file} has no {name}"
    rows = [line for line in page.splitlines() if line.startswith("| ") and "tests/" not in line]
    # What stands in a table of promises and names no test is a heading, or a word of another table.
    promises = page.partition("## Promises")[2].partition("## What is not")[0]
    assert not [row for row in rows if row in promises and "attacked by" not in row]
