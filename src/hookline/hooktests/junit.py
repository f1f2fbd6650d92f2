"""JUnit's XML, for CI: a hook may print anything, and XML may not hold everything."""

import re
from collections.abc import Iterator, Sequence

from hookline.hooktests.cases import HookTestFile, Outcome
from hookline.hooktests.comparing import describe_failure, failure_lines

# What XML 1.0 cannot hold, however it is written.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
# In an attribute these would be read as blanks.
_ENTITIES_OF_ATTRIBUTES = {**_ENTITIES, "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def junit_xml(files: Sequence[HookTestFile], outcomes: Sequence[Outcome]) -> bytes:
    """One suite a file; what is no test in it is an error."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for file in files:
        lines += _suite(file, [outcome for outcome in outcomes if outcome.test.file == file.path])
    return "\n".join([*lines, "</testsuites>", ""]).encode("utf-8")


def _suite(file: HookTestFile, outcomes: Sequence[Outcome]) -> Iterator[str]:
    statuses = [outcome.status for outcome in outcomes]
    yield _opening(
        "testsuite",
        name=file.path,
        tests=str(len(outcomes) + len(file.problems)),
        failures=str(statuses.count("failed")),
        errors=str(len(file.problems)),
        skipped=str(statuses.count("skipped")),
        time=f"{sum(outcome.duration for outcome in outcomes) / 1000:.3f}",
    )
    for outcome in outcomes:
        yield _opening(
            "testcase",
            classname=file.path,
            name=outcome.test.name,
            file=file.path,
            line=str(outcome.test.line),
            time=f"{outcome.duration / 1000:.3f}",
        )
        if outcome.status == "skipped":
            yield _opening("skipped", message=outcome.test.skip or "") + "</skipped>"
        for failure in outcome.failures:
            text = "\n".join(f"{mark} {line}" for mark, line in failure_lines(failure))
            opening = _opening("failure", message=describe_failure(failure))
            yield f"{opening}{_escaped(text, _ENTITIES)}</failure>"
        yield "</testcase>"
    for problem in file.problems:
        yield _opening("testcase", classname=file.path, name=problem.place, time="0")
        yield _opening("error", message=problem.text) + "</error></testcase>"
    yield "</testsuite>"


def _opening(tag: str, **attributes: str) -> str:
    written = (
        f' {name}="{_escaped(value, _ENTITIES_OF_ATTRIBUTES)}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{''.join(written)}>"


def _escaped(text: str, entities: dict[str, str]) -> str:
    shown = _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return "".join(entities.get(character, character) for character in shown)
