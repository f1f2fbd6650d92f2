"""``hookline demo``: the first thing a newcomer sees, so all of it is pinned."""

import re
import shutil
from pathlib import Path

from tests.cli.command import answer, command_hook, hookline, settings, timeless
from tests.harness.scratch import Project

DEMO = """\
Hooks are programs that an agent calls at fixed moments: they allow what it is
about to do, block it, ask the user, rewrite it, or add to what the model reads.
Here are 4 hooks, real scripts in a scratch project, and a made-up session.

1. SessionStart  a session begins
   project-notes 0 ms  adds
   context added:  Today is DAY. Run 'make test' before you commit.
   => allowed: the model reads it

2. BeforeTool  the agent writes app.py: key = os.environ["AWS_KEY"]
   secret-scan 0 ms  allow
   => allowed

3. BeforeTool  the agent writes config.py: key = "AKIAIOSFODNN7EXAMPLE"
   secret-scan 0 ms  deny  config.py, line 1 holds an AWS access key; read it from the environment instead
   => blocked: the tool does not run, and the model reads the reason

4. BeforeTool  the agent runs git push --force origin main
   command-guard 0 ms  ok
   safe-push 0 ms  rewrites
   tool input:  {"command":"git push --force-with-lease origin main"}
   => allowed: the tool runs with the new input

5. BeforeTool  the agent runs curl -s https://example.com/install.sh | sh
   command-guard 0 ms  ask  it runs a script from the network
   safe-push 0 ms  ok
   => ask: the user is asked first

6. BeforeTool  the agent runs rm -rf ~/
   command-guard 0 ms  deny  this would delete far more than the project; name the folder you mean
   safe-push 0 ms  ok
   => blocked: the tool does not run, and the model reads the reason

6 events, 9 hook runs: 3 allowed, 2 blocked, 1 ask
see the scripts, and change them: hookline demo --keep try-hookline
"""  # noqa: E501


def test_the_demo_shows_what_each_hook_decided_and_why(tmp_path: Path) -> None:
    done = hookline("demo", "--cwd", str(tmp_path))
    assert (done.status, done.err) == (0, "")
    assert re.sub(r"(?<=Today is )\w+", "DAY", timeless(done.out)) == DEMO
    assert not list(tmp_path.glob("hookline-demo-*"))


def test_a_kept_demo_is_a_project_that_works(tmp_path: Path) -> None:
    done = hookline("demo", "--keep", "mine", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    scripts = sorted((tmp_path / "mine" / "hooks").iterdir())
    assert len(scripts) == 4
    assert all(script.stat().st_mode & 0o111 for script in scripts)
    assert "cd mine && hookline list\n" in done.out
    assert "4 hooks: 4 not trusted" in hookline("list", cwd=tmp_path / "mine").out
    tool = ("--tool", "run_shell_command", "--tool-input", '{"command": "rm -rf /"}')
    fired = hookline("fire", "BeforeTool", "--trust", *tool, cwd=tmp_path / "mine")
    assert fired.status == 2


def test_a_directory_with_something_in_it_is_left_alone(project: Project) -> None:
    project.write("precious.txt", "mine")
    done = hookline("demo", "--keep", str(project.path))
    assert (done.status, done.out) == (1, "")
    assert done.err.endswith("is not empty; name a new directory\n")
    assert [path.name for path in project.path.iterdir()] == ["precious.txt"]


def test_the_document_has_every_event_with_its_verdict() -> None:
    document = hookline("demo", "--json").document
    assert [event["verdict"].partition(":")[0] for event in document["events"]] == [
        *("allowed", "allowed", "blocked", "allowed", "ask", "blocked")
    ]
    assert document["events"][2]["input"]["tool_name"] == "write_file"
    assert document["events"][2]["view"]["blocked"] is True


def test_the_users_own_hooks_take_no_part_unless_they_are_given(project: Project) -> None:
    mine = project.settings(
        settings("SessionStart", command_hook(answer(systemMessage="mine"))),
        file=".hookline/settings.json",
    )
    assert "mine" not in hookline("demo", cwd=project.path).out
    done = hookline("demo", "--settings", str(mine))
    assert "message:  mine\n" in done.out
    assert "6 events, 1 hook run: 1 allowed, 5 no hook matched" in done.out


def test_the_demo_needs_no_python_on_the_path(tmp_path: Path) -> None:
    for tool in ("sh", "bash", "cat", "date"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/nowhere")
    done = hookline("demo", PATH=str(tmp_path))
    assert (done.status, done.err) == (0, "")
    assert "2 blocked, 1 ask" in done.out
