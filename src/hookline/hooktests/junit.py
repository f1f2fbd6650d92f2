"""Writes JUnit's XML for CI, with characters escaped that XML cannot hold."""

from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from hookline._support.escapes import escape_unseen, spell
from hookline.hooktests.cases import HookTestFile, Outcome
from hookline.hooktests.comparison import describe_failure, failure_lines


def junit_xml(files: Sequence[HookTestFile], outcomes: Sequence[Outcome]) -> bytes:
    """Write one suite for each file; a problem in a file is an error."""
    root = Element("testsuites")
    for file in files:
        own = [outcome for outcome in outcomes if outcome.test.file == file.path]
        statuses = [outcome.status for outcome in own]
        suite = SubElement(
            root,
            "testsuite",
            name=_escape_forbidden(file.path),
            tests=str(len(own) + len(file.problems)),
            failures=str(statuses.count("failed")),
            errors=str(len(file.problems)),
            skipped=str(statuses.count("skipped")),
            time=f"{sum(outcome.duration for outcome in own) / 1000:.3f}",
        )
        for outcome in own:
            case = SubElement(
                suite,
                "testcase",
                classname=_escape_forbidden(file.path),
                name=_escape_forbidden(outcome.test.name),
                file=_escape_forbidden(file.path),
                line=str(outcome.test.line),
                time=f"{outcome.duration / 1000:.3f}",
            )
            if outcome.status == "skipped":
                SubElement(case, "skipped", message=_escape_forbidden(outcome.test.skip or ""))
            for failure in outcome.failures:
                failed = SubElement(
                    case, "failure", message=_escape_forbidden(describe_failure(failure))
                )
                lines = (f"{mark} {line}" for mark, line in failure_lines(failure))
                failed.text = _escape_forbidden("\n".join(lines))
        for problem in file.problems:
            place, path = _escape_forbidden(problem.place), _escape_forbidden(file.path)
            case = SubElement(suite, "testcase", classname=path, name=place, time="0")
            SubElement(case, "error", message=_escape_forbidden(problem.text))
    ElementTree.indent(root)
    report: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return report + b"\n"


def _escape_forbidden(text: str) -> str:
    """Escape what XML 1.0 cannot hold, and what people would not see."""
    return escape_unseen(text, spell, exceptions="\t\n\r")
