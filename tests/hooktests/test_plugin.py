"""The plugin for pytest: hook tests are collected, and the ``hooks`` fixture fails what a hook
would get away with. Pytest runs within itself here."""

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from hookline._support.places import system_settings_file, user_config_dir
from hookline.testing import plugin
from tests.cli.command import command_hook, settings
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # a fixture
from tests.cli.hooktesting import with_keys
from tests.harness.scratch import Project

KEYS = ".hookline/tests/keys.hooktest.json"
_TIME = re.compile(r"\d+(\.\d+)? m?s\b")


class Inner:
    """Pytest with the plugin, in a project of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.project = Project(pytester.path / "inner")
        os.chdir(self.project.path)
        loop_scope = "asyncio_default_fixture_loop_scope = function"
        self.project.write("pytest.ini", f"[pytest]\nasyncio_mode = auto\n{loop_scope}\n")

    def run(self, *arguments: str, **counted: int) -> list[str]:
        """What it shows of a run in which so many tests passed, failed, …"""
        done = self._pytester.runpytest_inprocess("-p", "hookline.testing.plugin", *arguments)
        assert done.parseoutcomes() == counted
        return done.outlines


@pytest.fixture
def inner(pytester: pytest.Pytester) -> Inner:
    return Inner(pytester)


@pytest.fixture
def keys(inner: Inner) -> Inner:
    with_keys(inner.project)
    return inner


def test_each_hook_test_is_one_of_pytests_and_fails_in_the_words_of_hookline_test(
    keys: Inner, call: Call
) -> None:
    told = call("test", "--trust").out.splitlines()
    lines = keys.run("--hookline-trust", "-v", "-rsf", passed=1, failed=1, skipped=1)
    assert any(line.startswith(f"{KEYS}::a key is refused PASSED") for line in lines)
    assert any(line.startswith(f"FAILED {KEYS}::a key in a test is written") for line in lines)
    assert f"SKIPPED [1] {KEYS}: needs git" in lines
    title = next(line for line in lines if " a key in a test is written " in line)
    start = lines.index(title) + 1
    end = lines.index(f"{KEYS}:10")
    begin = next(number for number, line in enumerate(told) if "FAIL" in line) + 1
    expected = [line.removeprefix("      ") for line in told[begin : told.index("", begin) - 1]]
    assert [_TIME.sub("T", line) for line in lines[start : end - 1]] == [
        _TIME.sub("T", line) for line in expected
    ]


def test_tests_are_chosen_by_a_word_by_their_place_and_by_the_last_failure(keys: Inner) -> None:
    trust = "--hookline-trust"
    keys.run(trust, "-k", "refused", passed=1, deselected=2)
    keys.run(trust, f"{KEYS}::a key in a test is written", failed=1)
    lines = keys.run(trust, "--lf", failed=1)
    assert any("rerun previous 1 failure" in line for line in lines)


def test_a_report_in_junits_form_has_their_names_and_reasons(keys: Inner) -> None:
    junit = ("--junit-xml=r.xml", "-o", "junit_family=xunit1")
    keys.run("--hookline-trust", *junit, passed=1, failed=1, skipped=1)
    cases = {case.get("name"): case for case in ElementTree.parse("r.xml").iter("testcase")}
    assert [*cases] == ["a key is refused", "a key in a test is written", "later"]
    # Lines are counted from 0 there.
    assert [case.get("line") for case in cases.values()] == ["4", "9", "14"]
    failure = cases["a key in a test is written"].find("failure")
    assert failure is not None
    assert "- allow\n  + deny" in (failure.get("message") or "")


def test_hooks_that_nobody_reviewed_fail_their_tests_until_they_are_trusted(
    keys: Inner, call: Call
) -> None:
    lines = keys.run(failed=2, skipped=1)
    assert "no-keys is not trusted and did not run" in lines
    assert (
        "review the project's hooks with `hookline trust`, or pass --hookline-trust, or set "
        "hookline_trust = true in pytest's settings" in lines
    )
    keys.run("-o", "hookline_trust=true", passed=1, failed=1, skipped=1)
    assert call("trust", "--yes").status == 0
    keys.run(passed=1, failed=1, skipped=1)


def test_a_test_that_brings_files_needs_a_review_too(keys: Inner) -> None:
    test = {"event": "BeforeAgent", "input": {"prompt": ""}, "files": {"a": "b"}, "expect": {}}
    keys.project.write("own.hooktest.json", json.dumps(test))
    lines = keys.run("own.hooktest.json", failed=1)
    assert any(
        line.startswith("it brings files that nobody has reviewed, so it did not run; ")
        and line.endswith("--hookline-trust runs it")
        for line in lines
    )


def test_a_file_that_is_broken_is_an_error_of_the_collection_with_its_place(inner: Inner) -> None:
    inner.project.write("a.hooktest.json", '{"event": "BeforeAgent",\n "expect": ')
    inner.project.write("b.hooktest.json", '[{"event": "BeforeTol",\n "expect": {}}, 7]')
    lines = inner.run(errors=2)
    assert any(line.startswith("a.hooktest.json:2:12: is not valid JSON") for line in lines)
    place = "b.hooktest.json:1:12: "
    assert any(line.startswith(f"{place}'BeforeTol' is not a hook event; ") for line in lines)
    assert "b.hooktest.json:2:17: a test must be an object, {…}" in lines


def test_what_stands_in_a_file_steers_no_terminal(inner: Inner) -> None:
    inner.project.settings(settings("BeforeAgent", command_hook("printf '\\033[2J' >&2; exit 2")))
    test = {"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {"decision": "allow"}}
    inner.project.write("a.hooktest.json", json.dumps([{**test, "name": "\x1b[2J\nPASSED"}]))
    inner.project.write("b.hooktest.json", json.dumps([{**test, "\x1b[2J": 1}]))
    trust = ("--hookline-trust", "--continue-on-collection-errors", "-v", "-rfE")
    lines = inner.run(*trust, failed=1, errors=1)
    assert "\x1b" not in "".join(lines)
    assert any(line.startswith(r"FAILED a.hooktest.json::\x1b[2J\nPASSED") for line in lines)


def test_settings_that_cannot_be_used_are_warned_of_once(keys: Inner) -> None:
    keys.project.write(".hookline/settings.local.json", "{")
    told = "settings.local.json:1:2: is not valid JSON"
    warned = ("--hookline-trust", "-W", "default")
    lines = keys.run(*warned, passed=1, failed=1, skipped=1, warnings=1)
    assert any(told in line for line in lines)
    lines = keys.run("--hookline-trust", "-W", "error", failed=2, skipped=1)
    assert any(told in line for line in lines)


def test_nothing_else_is_a_test_in_the_folder_of_hooks_unless_it_is_named(keys: Inner) -> None:
    keys.project.write(".hookline/hooks/test_edits.py", "def test_it(): pass\n")
    keys.run("--hookline-trust", passed=1, failed=1, skipped=1)
    keys.run(".hookline/hooks", passed=1)


def test_hook_tests_are_left_alone_where_pytest_is_told_to(keys: Inner) -> None:
    keys.run("--ignore=.hookline")
    keys.run("-o", "norecursedirs=.hookline")


def test_the_settings_of_the_user_and_of_the_system_are_read_only_if_asked_for(
    inner: Inner,
) -> None:
    denies = settings("BeforeAgent", command_hook("exit 2", name="mine"))
    theirs = user_config_dir()
    assert theirs is not None
    for file in (Path(theirs, "settings.json"), Path(system_settings_file())):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(denies))
    inner.project.settings(settings("BeforeAgent", command_hook("true", name="ours")))
    test = {"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {"decision": "allow"}}
    inner.project.write("a.hooktest.json", json.dumps(test))
    inner.project.write(
        "test_a.py",
        dedent("""
            def test_own(load_hooks):
                assert not load_hooks(trusted=True).sync.before_agent("Hi").blocked

            def test_none(hooks):
                assert hooks.sync.before_agent("Hi").word == "no hook matched"
        """),
    )
    inner.run("--hookline-trust", passed=3)
    inner.run("--hookline-trust", "-o", "hookline_user_settings=true", passed=1, failed=2)


PASSING = """
    import logging

    import pytest

    import policy
    from hookline import deny

    def no_force(event):
        if "--force" in event["tool_input"]["command"]:
            return deny("use --force-with-lease")

    def test_it_is_asked_without_waiting(hooks):
        hooks.on("BeforeTool", matcher="shell")(no_force)
        answer = hooks.sync.before_tool("shell", {"command": "git push --force"})
        assert answer.blocked
        assert answer.reason == "use --force-with-lease"
        assert not hooks.sync.before_tool("shell", {"command": "git push"}).blocked

    @pytest.mark.asyncio
    async def test_it_is_asked_with_await(hooks):
        hooks.on("BeforeTool", matcher="shell")(no_force)
        assert (await hooks.before_tool("shell", {"command": "git push --force"})).blocked

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_it_is_asked_in_a_test_of_anyio(hooks):
        hooks.on("BeforeTool", matcher="shell")(no_force)
        assert (await hooks.before_tool("shell", {"command": "git push --force"})).blocked

    def test_a_module_registers_its_hooks(hooks):
        policy.register(hooks)
        assert hooks.sync.before_agent("Hi").context == "Be brief"

    def test_hooks_are_fresh_each_time(hooks):
        assert hooks.sync.before_agent("Hi").word == "no hook matched"

    def test_a_failure_that_is_expected(hooks, caplog):
        hooks.on("BeforeAgent")(lambda event: event["promt"])
        with hooks.expect_failure("KeyError") as failures:
            assert hooks.session("s").sync.before_agent("Hi").failures
        assert "promt" in failures[0]
        assert "KeyError" in caplog.text

    def test_what_a_hook_tells_the_user_is_no_failure(hooks):
        said = {"hookSpecificOutput": {"userMessage": "Done"}}
        hooks.on("BeforeTool")(lambda event: said)
        assert hooks.sync.run_tool(lambda: "ok", {}, name="x")

    def test_the_users_strictness_is_not_the_tests(hooks):
        assert not hooks.is_strict()

    def test_warnings_of_other_tests_are_not_collected(hooks):
        handlers = logging.getLogger("hookline").handlers
        assert [type(each).__name__ for each in handlers].count("_Warnings") == 1
"""
FAILING = """
    import logging

    import pytest

    from hookline import deny

    def crashes(event):
        return event["promt"]

    def test_exception(hooks):
        hooks.on("BeforeAgent")(crashes)
        assert not hooks.sync.before_agent("Hi").blocked

    async def test_ignored(hooks):
        hooks.on("BeforeAgent")(lambda event: {"desicion": "deny"})
        await hooks.before_agent("Hi")

    def test_silenced(hooks, monkeypatch):
        monkeypatch.setattr(logging.getLogger("hookline"), "disabled", True)
        hooks.on("BeforeAgent")(crashes)
        hooks.sync.before_agent("Hi")

    def test_another(hooks):
        hooks.on("BeforeAgent")(crashes)
        with hooks.expect_failure("ZeroDivisionError"):
            hooks.sync.before_agent("Hi")

    def test_none(hooks):
        with hooks.expect_failure():
            pass

    def test_others(hooks):
        hooks.on("BeforeAgent")(crashes)
        hooks.on("BeforeAgent")(lambda event: 1 / 0)
        with hooks.expect_failure("promt"):
            hooks.sync.before_agent("Hi")

    def test_earlier(hooks):
        hooks.on("BeforeAgent")(crashes)
        hooks.sync.before_agent("Hi")
        with hooks.expect_failure("promt"):
            hooks.sync.before_agent("Hi")

    def test_elsewhere(hooks):
        logging.getLogger("hookline").info("fine")
        logging.getLogger("hookline").warning("look %s", "there")

    def test_shown(hooks):
        hooks.on("BeforeAgent", name="crashing")(crashes)
        answer = hooks.sync.before_agent("Hi")
        assert answer.blocked

    def test_reason(hooks):
        hooks.on("BeforeTool", name="guard")(lambda event: deny("no"))
        assert not hooks.sync.before_tool("shell", {}).blocked

    @pytest.fixture
    def late(hooks):
        yield
        logging.getLogger("hookline").warning("too late")

    def test_late(late):
        pass
"""


def test_a_test_asks_the_functions_that_it_registers(
    inner: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STRICT", "1")
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    inner.project.write(
        "policy.py",
        dedent("""
            from hookline import add_context

            def register(hooks):
                hooks.on("BeforeAgent")(lambda event: add_context("Be brief"))
        """),
    )
    inner.project.write("test_a.py", dedent(PASSING))
    inner.run("-W", "error", "-o", "asyncio_mode=strict", passed=9)
    assert not Path(os.environ["XDG_STATE_HOME"]).exists()


def test_what_people_would_be_warned_of_fails_a_test_that_does_not_expect_it(
    inner: Inner,
) -> None:
    inner.project.write("test_a.py", dedent(FAILING))
    text = "\n".join(inner.run(failed=10, passed=1, errors=1))
    reasons = {
        name: text.partition(f" {name} _")[2].partition("\n____")[0]
        for name in re.findall(r"^_+ (?:ERROR at \w+ of )?(test_\w+) _+$", text, re.MULTILINE)
    }
    assert "hook 'crashes' on BeforeAgent failed: KeyError: 'promt'" in reasons["test_exception"]
    assert "with hooks.expect_failure():" in reasons["test_exception"]
    assert "none of its fields (desicion) is one of continue, " in reasons["test_ignored"]
    assert "failed: KeyError: 'promt'" in reasons["test_silenced"]
    assert "expected a failure that matches 'ZeroDivisionError'" in reasons["test_another"]
    assert "KeyError: 'promt'" in reasons["test_another"]
    assert "expected a hook to fail, and there was none" in reasons["test_none"]
    assert "<Answer to BeforeAgent: allowed (crashing: failed" in reasons["test_shown"]
    assert "hook 'crashing' on BeforeAgent failed" in reasons["test_shown"]
    told_alone = {
        "test_others": "ZeroDivisionError: division by zero",
        "test_earlier": "KeyError: 'promt'",
        "test_elsewhere": "look there",
        "test_late": "too late",
    }
    for name, said in told_alone.items():
        _, first, remedy, *_ = reasons[name].split("\n")
        assert (first.endswith(said), remedy.startswith("if the test expects this")) == (True, True)
    told = "<Answer to BeforeTool of shell: blocked, 'no' (guard: deny)>"
    assert told in reasons["test_reason"]


def test_a_project_is_loaded_as_far_as_it_is_trusted(inner: Inner) -> None:
    hook = command_hook("echo no >&2; exit 2", name="never")
    inner.project.settings(settings("BeforeAgent", hook))
    inner.project.write(
        "tests/test_a.py",
        dedent("""
            def test_trusted(load_hooks):
                assert load_hooks(trusted=True).sync.before_agent("Hi").reason == "no"

            async def test_as_pytest_is_told(load_hooks):
                assert (await load_hooks("..").before_agent("Hi")).reason == "no"

            def test_with_another(load_hooks):
                both = load_hooks(hooks={})
                both.on("BeforeAgent")(lambda event: {"systemMessage": "m"})
                assert both.sync.before_agent("Hi").system_message == "m"
        """),
    )
    os.chdir("tests")
    inner.run("--hookline-trust", passed=3)
    lines = inner.run("-k", "told", failed=1, deselected=2)
    assert any("not trusted" in line for line in lines)


def test_async_hooks_that_still_run_are_stopped_at_the_end_of_a_test_and_told(
    inner: Inner,
) -> None:
    later = command_hook("exec sleep 60", **{"async": True})
    inner.project.settings(settings("BeforeAgent", later))
    inner.project.write(
        "test_a.py",
        dedent(f"""
            def test_own(hooks):
                hooks.config.register_hook("BeforeAgent", {later})
                hooks.sync.before_agent("Hi")

            def test_loaded(load_hooks):
                load_hooks(trusted=True).sync.before_agent("Hi")
        """),
    )
    told = "was stopped because the hooks were closed"
    assert (
        sum(line.endswith(told) for line in inner.run("--show-capture=no", passed=2, errors=2)) == 2
    )


def test_without_pytest_there_is_a_clear_error_here_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytest", None)
    spec = importlib.util.spec_from_file_location("without_pytest", plugin.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r"is not installed: pip install pytest$"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_workers_of_xdist_share_the_hook_tests(
    keys: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Workers take a second less to start without the plugins that they do not need.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    keys.project.write("pytest.ini", "[pytest]\n")
    keys.run("-p", "xdist", "--hookline-trust", "-n", "2", passed=1, failed=1, skipped=1)
