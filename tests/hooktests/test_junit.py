"""JUnit's XML is well formed whatever hooks print."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from hookline._support.problem import Problem
from hookline.hooktests.cases import HookTest, HookTestFile, Outcome
from hookline.hooktests.comparison import Failure
from hookline.hooktests.junit import junit_xml
from hookline.wire.events import HookEventName


def case_of(name: str, **fields: object) -> HookTest:
    return HookTest(
        name=name,
        file="a.hooktest.json",
        line=3,
        event=HookEventName.BEFORE_AGENT,
        input={},
        expect={},
        **fields,  # type: ignore[arg-type]
    )


def test_a_suite_a_file_with_what_passed_failed_was_skipped_or_is_no_test() -> None:
    failure = Failure(at="reason", expected={"contains": "<key>"}, actual="no\x1b[31m & that")
    outcomes = [
        Outcome(test=case_of("good"), status="passed", duration=1500),
        Outcome(test=case_of("bad"), status="failed", failures=(failure,)),
        Outcome(test=case_of("later", skip="needs docker"), status="skipped"),
    ]
    name = "a.hooktest.json"
    problem = Problem(kind="bad-test", message="is none", file=name, line=1, column=2)
    file = HookTestFile(name, (), (problem,))
    (suite,) = ElementTree.fromstring(junit_xml([file], outcomes))
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
        "time": "1.500",
    }
    assert [[child.tag for child in case] for case in suite] == [
        [],
        ["failure"],
        ["skipped"],
        ["error"],
    ]
    assert suite[1][0].text == '- contains "<key>"\n+ no\\x1b[31m & that'
    assert suite[2][0].get("message") == "needs docker"


def test_each_case_says_what_it_is_and_where() -> None:
    name, failure = "a.hooktest.json", Failure(message="it is not trusted")
    outcome = Outcome(test=case_of("bad"), status="failed", failures=(failure,), duration=250)
    problem = Problem(kind="bad-test", message="is none", file=name, line=7, column=2)
    (suite,) = ElementTree.fromstring(junit_xml([HookTestFile(name, (), (problem,))], [outcome]))
    failed, unread = suite
    line = str(outcome.test.line)
    own = {"classname": name, "name": "bad", "file": name, "line": line, "time": "0.250"}
    assert (suite.get("name"), failed.attrib) == (name, own)
    assert failed[0].attrib == {"message": "it is not trusted"}
    assert unread.attrib == {"classname": name, "name": f"{name}:7:2", "time": "0"}
    assert unread[0].attrib == {"message": "is none"}


def test_the_file_says_what_it_is_and_has_a_line_for_each_element() -> None:
    text = junit_xml([HookTestFile("a"), HookTestFile("b")], []).decode()
    first, *lines = text.splitlines()
    assert first == "<?xml version='1.0' encoding='utf-8'?>"
    assert [line.split(" name")[0] for line in lines] == [
        *("<testsuites>", "  <testsuite", "  <testsuite", "</testsuites>")
    ]


@given(st.text(), st.text())
def test_any_text_is_well_formed_xml(name: str, said: str) -> None:
    failure = Failure(at=name, expected=said, actual=name)
    outcome = Outcome(test=case_of(name), status="failed", failures=(failure,))
    file = HookTestFile("a.hooktest.json")
    case = ElementTree.fromstring(junit_xml([file], [outcome]))[0][0]
    if name.isprintable():
        assert case.get("name") == name
