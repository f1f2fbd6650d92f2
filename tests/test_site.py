"""What the site is made from: fences, links and addresses; tests/browser has the built one."""

import logging
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.harness.documents import DOCUMENTS, REPOSITORY, read_blocks
from tools.site.hook import link_to_repository, name_pages, separate_lists, write_fence

URLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["urls"]
SITE, REPO = URLS["Documentation"], URLS["Repository"]
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)


def read(path: str) -> str:
    return (REPOSITORY / path).read_text(encoding="utf-8")


def anchors_of(markdown: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    for block in read_blocks(markdown):
        markdown = markdown.replace(block.text, "")
    titles = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(markdown)
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def find_mistake(url: str) -> str | None:
    """What is wrong with an address of ours; None if what it points to is in the tree."""
    path, _, anchor = url.partition("#")
    if path.startswith(SITE):
        name = path.removeprefix(SITE) or "index.html"
        if not name.endswith(".html"):
            return "a page of the site ends with .html"
        page = REPOSITORY / "docs" / f"{name.removesuffix('.html')}.md"
    elif path == REPO or path == f"{REPO}/issues":
        return None
    elif named := re.fullmatch(rf"{re.escape(REPO)}/(tree|blob)/main/(.+)", path):
        page = REPOSITORY / named[2]
        if page.is_dir() != (named[1] == "tree"):
            return "a folder is at tree/main, a file at blob/main"
    else:
        return "it is neither a page of the site nor a file of the repository"
    if not page.is_file():
        return None if page.is_dir() and not anchor else "it is not in the tree"
    if anchor and anchor not in anchors_of(page.read_text(encoding="utf-8")):
        return "the page has no such heading"
    return None


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ("```sh file=hooks/x.sh\necho\n```\n", '```bash title="hooks/x.sh"\necho\n```\n'),
        ("```python env=adapters norun=needs-a-key\n1\n```\n", "```python\n1\n```\n"),
        ("```console in=repository\n$ ls\n```\n", "```console\n$ ls\n```\n"),
        ("```jsonc\n{} // none\n```\n", "```json\n{} // none\n```\n"),
        ("    ```output\n    1\n    ```\n", '    ```text title="prints"\n    1\n    ```\n'),
        ("````text\n```sh\n````\n", "````text\n```sh\n````\n"),
    ],
)
def test_words_for_the_suite_become_what_a_reader_sees(block: str, shown: str) -> None:
    assert write_fence(block) == shown


def test_a_list_needs_no_empty_line_before_it() -> None:
    text = "Three:\n- one\n  more\n- two\n\nlast\n1. a\n2. b\n"
    assert separate_lists(text) == "Three:\n\n- one\n  more\n- two\n\nlast\n\n1. a\n2. b\n"


def test_a_page_is_called_by_its_title(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "warm.md").write_text("# Warm hooks\n")
    text = "see [docs/warm.md](../warm.md#how), [this](../warm.md) and [gone.md](gone.md)"
    assert name_pages(text, where="guides/a.md", docs=tmp_path) == (
        "see [Warm hooks](../warm.md#how), [this](../warm.md) and [gone.md](gone.md)"
    )


@pytest.mark.parametrize(
    ("where", "written", "shown"),
    [
        ("a.md", "[x](../examples)", f"[x]({REPO}/tree/main/examples)"),
        ("a.md", "[x](../README.md#install)", f"[x]({REPO}/blob/main/README.md#install)"),
        ("tutorials/a.md", "[x](../../Makefile)", f"[x]({REPO}/blob/main/Makefile)"),
        ("tutorials/a.md", "[x](../cli.md#trace)", "[x](../cli.md#trace)"),
        ("a.md", "[x]: ../LICENSE", f"[x]: {REPO}/blob/main/LICENSE"),
        ("a.md", "`[x](../gone)`, [y](#here), [z](https://a.b/../c)", None),
    ],
)
def test_a_link_that_leaves_docs_leads_to_the_repository(
    where: str, written: str, shown: str | None
) -> None:
    given = link_to_repository(written, where=where, root=REPOSITORY, url=REPO)
    assert given == (written if shown is None else shown)


@pytest.mark.parametrize("target", ["../gone.md", "../../outside"])
def test_a_link_to_a_file_that_is_not_there_is_warned_of(
    target: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        link_to_repository(f"[x]({target})", where="a.md", root=REPOSITORY, url=REPO)
    assert caplog.messages == [f"a.md links to {target}, which is not in the repository"]


def test_the_addresses_of_the_project_are_the_same_everywhere() -> None:
    config = read("mkdocs.yml")
    assert f"\nsite_url: {SITE}\n" in config
    assert f"\nrepo_url: {REPO}\n" in config
    assert URLS["Homepage"] == SITE
    assert URLS["Changelog"] == f"{REPO}/blob/main/CHANGELOG.md"
    assert URLS["Issues"] == f"{REPO}/issues"


def test_every_link_of_the_readme_is_absolute_and_leads_somewhere() -> None:
    text = read("README.md")
    links = re.findall(r"\]\(([^)]+)\)|<(https?://[^>]+)>", text)
    found = [inline or bare for inline, bare in links]
    assert len(found) > 20
    assert {url: find_mistake(url) for url in found if find_mistake(url)} == {}


def test_every_address_of_the_site_in_the_tree_is_a_page() -> None:
    """Whatever names a page of the site: messages, schemas, reports of check."""
    files = [*REPOSITORY.glob("src/**/*.py"), *DOCUMENTS, REPOSITORY / "CHANGELOG.md"]
    address = re.compile(re.escape(SITE) + r"[\w./#-]*[\w/]")
    named = {url for file in files for url in address.findall(file.read_text(encoding="utf-8"))}
    assert {url: find_mistake(url) for url in named if find_mistake(url)} == {}


def test_the_readme_shows_a_complete_example_in_its_first_forty_lines() -> None:
    lines = read("README.md").splitlines()
    assert len(lines) <= 200
    first = "\n".join(lines[:40])
    kinds = [block.kind for block in read_blocks(first)]
    assert kinds == ["sh", "jsonc", "console"]
    assert "blocked: " in first


def test_the_source_distribution_has_every_file_that_git_has(tmp_path: Path) -> None:
    if not (REPOSITORY / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout: there is nothing to compare with")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    tracked = {name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).exists()}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPOSITORY, capture_output=True, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    assert tracked - held == set()


@pytest.mark.parametrize("name", ["constraints", "constraints-adapters", "constraints-docs"])
def test_constraints_have_names_and_versions_alone(name: str) -> None:
    lines = read(f"{name}.txt").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
