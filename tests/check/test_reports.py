"""Findings for GitHub and in SARIF: their places, and text that cannot break the format."""

from pathlib import Path

import pytest

from hookline.check import Finding, Severity
from hookline.check.reports import find_below, find_root, make_sarif, write_commands

REPOSITORY = "https://github.com/hookline/hookline"


def make_finding(file: str = "/r/a.json", **fields: str) -> Finding:
    given = {"kind": "env", "severity": Severity.HINT, "message": "m", "remedy": "r", **fields}
    return Finding(file=file, line=2, column=3, **given)  # type: ignore[arg-type]


def test_the_root_is_the_nearest_folder_with_a_repository(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "deep").mkdir(parents=True)
    assert find_root(str(inner / "deep")) is None
    (tmp_path / "outer" / ".git").mkdir()
    assert find_root(str(inner / "deep")) == str(tmp_path / "outer")
    # In a worktree it is a file.
    (inner / ".git").write_text("gitdir: elsewhere")
    assert find_root(str(inner / "deep")) == str(inner)
    assert find_root(str(inner)) == str(inner)


def test_a_file_is_below_a_root_by_its_path_or_by_where_links_lead(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    assert find_below(str(root), str(root / "a" / "b")) == "a/b"
    assert find_below(str(root), str(tmp_path / "link" / "a")) == "a"
    assert find_below(str(root), str(tmp_path / "root-2" / "a")) is None


@pytest.mark.parametrize(
    ("severity", "command", "level"),
    [
        (Severity.ERROR, "error", "error"),
        (Severity.WARNING, "warning", "warning"),
        (Severity.HINT, "notice", "note"),
    ],
)
def test_a_severity_has_the_word_of_each_format(
    severity: Severity, command: str, level: str
) -> None:
    finding = make_finding(severity=severity)
    (line,) = write_commands([finding], "/r")
    assert line == f"::{command} file=a.json,line=2,col=3,title=hookline env::m; r"
    (run,) = make_sarif([finding], "/r", version="1")["runs"]
    assert run["results"][0]["level"] == level


def test_a_workflow_command_escapes_what_would_end_it() -> None:
    finding = make_finding("/r/a,b:c%\n.json", message="50%\r\nno: yes, ::error::", remedy="")
    (line,) = write_commands([finding], "/r")
    place, _, said = line.removeprefix("::notice ").partition("::")
    assert place.startswith("file=a%2Cb%3Ac%25%0A.json,line=2,")
    assert said == "50%25%0D%0Ano: yes, ::error::"


def test_sarif_has_the_rule_and_the_place_of_a_finding() -> None:
    inside, outside = make_finding("/r/a b.json"), make_finding("/else/ä.json")
    (run,) = make_sarif([inside, outside], "/r", version="1")["runs"]
    first, second = run["results"]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "env" == first["ruleId"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b.json", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 3}
    elsewhere = second["locations"][0]["physicalLocation"]["artifactLocation"]
    assert elsewhere == {"uri": "file:///else/%C3%A4.json"}


def test_a_log_of_sarif_has_just_what_its_readers_know() -> None:
    log = make_sarif([make_finding()], "/r", version="1.2")
    driver = log["runs"][0]["tool"]["driver"]
    rule = driver.pop("rules")[0]
    assert log == {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    "%SRCROOT%": {"description": {"text": "The root of the repository."}}
                },
                "results": log["runs"][0]["results"],
            }
        ],
    }
    versions = {"version": "1.2", "semanticVersion": "1.2"}
    assert driver == {"name": "hookline", "informationUri": REPOSITORY, **versions}
    assert rule.keys() == {"id", "shortDescription", "help", "helpUri"}
    assert rule["help"]["text"].endswith(f"See {rule['helpUri']}.")
    (result,) = log["runs"][0]["results"]
    assert result.keys() == {"ruleId", "ruleIndex", "level", "message", "locations"}
    assert result["message"] == {"text": "m; r"}
