"""``hookline mcp``: its command line; what it does in between is in tests/service/mcp."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import command_hook, hookline, settings
from tests.cli.test_imports import loaded
from tests.harness.scratch import Project
from tests.service.mcp.processes import SERVER, proxy


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            [],
            "name the server by its command after --, or by its --url; as in: hookline mcp",
        ),
        (["--url", "https://x", "--", "cat"], "or by its --url; not both"),
        (["--json", "--", "cat"], "--json: standard output carries the protocol; leave --json out"),
        (["--header", "A: b", "--", "cat"], "--header works only with --url"),
        (["--allow-http", "--", "cat"], "--allow-http works only with --url; leave it out"),
        (
            ["--url", "https://x", "--header", "A"],
            "--header: a value is not a header; write 'Name: value'",
        ),
        (["--url", "https://x", "--header", " : b"], "--header: a value is not a header"),
        (["--url", "https://x", "--header", "A: $NO_SUCH"], "the variable NO_SUCH is not set"),
        (["--tools", "(", "--", "cat"], "--tools: '(' is not a regular expression"),
        (["--name", "", "--", "cat"], "--name: give the server a name, or leave it out"),
        (["--tools", " ", "--", "cat"], "--tools: name at least one tool, or leave it out"),
        (["--label", "ada", "--", "cat"], "--label: 'ada' is not a label; write NAME=TEXT"),
        (["--label", "=ada", "--", "cat"], "--label: '=ada' is not a label; write NAME=TEXT"),
        (["--label", "a=1", "--label", "a=2", "--", "cat"], "--label: a is given twice"),
        (["--", "no-such-server"], "cannot start 'no-such-server': "),
        (["--", ""], "cannot start '': "),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_the_protocol_alone(
    project: Project, arguments: list[str], sentence: str
) -> None:
    done = hookline("mcp", *arguments, cwd=project.path)
    assert (done.status, done.out) == (1, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_a_url_needs_a_library_that_may_not_be_there(project: Project) -> None:
    without = "import sys; sys.modules['httpx'] = None; from hookline.cli import main; "
    without += "sys.exit(main(['mcp', '--url', 'https://example.org/mcp']))"
    argv = [sys.executable, "-c", without]
    done = subprocess.run(argv, cwd=project.path, capture_output=True, text=True, input="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hookline: --url needs httpx; run pip install 'hookline[http]'\n"


def test_labels_are_in_every_event(project: Project) -> None:
    keep = command_hook("cat >> events; echo >> events", name="keep")
    events = ("SessionStart", "BeforeTool", "AfterTool", "SessionEnd")
    all_hooks = [settings(event, keep)["hooks"] for event in events]
    project.settings({"hooks": {name: value for each in all_hooks for name, value in each.items()}})
    with proxy(project.path, "--label", "user=ada", "--label", "note=a=b ") as client:
        client.initialize()
        client.call(1, "echo")
        assert client.leave() == 0
    lines = (project.path / "events").read_text().splitlines()
    documents = [json.loads(line) for line in lines if line]
    assert [document["hook_event_name"] for document in documents] == list(events)
    for document in documents:
        assert document["labels"] == {"user": "ada", "note": "a=b "}
        assert not {"turn_id", "agent"} & document.keys()


def test_the_examples_of_its_help_work_beside_a_server(project: Project) -> None:
    """As they stand, with a server of that name; that of an address needs a network."""
    project.write("server.py", SERVER.read_text())
    npx = project.script("bin/npx", f"#!/bin/sh\nexec {sys.executable} {SERVER}\n")
    lines = hookline("mcp", "--help").out.partition("examples:\n")[2].split("\n")
    commands = [line for line in lines if " -- " in line]
    assert len(commands) == 2
    for command in commands:
        words = command.replace("'", "").split()[2:]
        at = words.index("--")
        path = f"{npx.parent}:{sys.exec_prefix}/bin:/usr/bin:/bin"
        with proxy(project.path, *words[:at], server=tuple(words[at + 1 :]), PATH=path) as client:
            assert client.initialize()["id"] == 0
            assert client.leave() == 0


def test_arguments_of_the_server_are_its_own(project: Project) -> None:
    """Options behind the first -- are not ours, a second -- is not either."""
    script = "import json, sys; print(json.dumps({'method': 'x', 'params': sys.argv[1:]}))"
    for arguments in (("--name", "a", "--", "--json"), ("--", "-x"), ("--help",), ("",)):
        with proxy(project.path, server=(sys.executable, "-c", script, *arguments)) as client:
            assert client.receive()["params"] == list(arguments)
            assert client.wait() == 0


def test_cwd_is_where_the_hooks_are(project: Project) -> None:
    """The server keeps the directory that the client gave it."""
    guard = command_hook("pwd > where; exit 2", name="guard")
    project.settings(settings("BeforeTool", guard))
    elsewhere = project.path / "elsewhere"
    elsewhere.mkdir()
    with proxy(elsewhere, "--cwd", str(project.path), "--name", "files") as client:
        assert client.call(1, "echo")["result"]["isError"] is True
        assert client.leave() == 0
    assert (project.path / "where").read_text().strip() == str(project.path)


def test_settings_that_are_broken_are_told_before_the_session(project: Project) -> None:
    project.settings("{")
    with proxy(project.path) as client:
        client.wait_until_said("settings.json")
        assert client.call(1, "echo")["id"] == 1
        assert client.leave() == 0


def test_a_required_hook_that_is_not_there_blocks(project: Project) -> None:
    with proxy(project.path, "--require", "guard") as client:
        reply = client.call(1, "echo")
        assert "required hook 'guard' is not in force" in str(reply["result"])
        assert client.leave() == 0


def test_it_loads_neither_a_broker_nor_the_bus(project: Project) -> None:
    modules = loaded(project, "mcp", "--", "true")
    assert modules.isdisjoint({"nats", "httpx", "mcp", "hookline.bus", "hookline.service.worker"})
    assert "hookline.service.mcp.proxy" in modules
