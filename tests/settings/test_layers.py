"""Who may switch off whose hooks, whose redaction counts, and what happens without trust."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hookline.settings.reader import (
    EffectiveSettings,
    GivenTrust,
    Layer,
    Required,
    SettingsFile,
    combine,
    keep_one_of_each,
    read_layer,
)
from hookline.wire.hooks import HookSource, Redaction
from tests.eleven import Json, command, started

RUNTIME, PROJECT, USER, SYSTEM, EXTENSIONS = HookSource


def layer(source: HookSource, *hooks: Json, **settings: Any) -> Layer:
    defined = {"BeforeTool": [{"hooks": list(hooks)}]} if hooks else {}
    return read_layer({**settings, "hooks": defined}, source, source.value)


def hook(name: str, **fields: Any) -> Json:
    return command("true", name=name, **fields)


EVERYONE = (
    layer(PROJECT, hook("p")),
    layer(USER, hook("u")),
    layer(SYSTEM, hook("s"), hook("m", managed=True)),
    layer(EXTENSIONS, hook("e")),
)


def combined(
    *layers: Layer, trusted: bool = True, disabled: tuple[str, ...] = ()
) -> EffectiveSettings:
    return combine(layers, trust=GivenTrust(trusted), disabled=disabled)


def running(settings: EffectiveSettings) -> str:
    return "".join(e.name for e in settings.entries if e.enabled and e.trusted)


def switched_off(source: HookSource) -> Layer:
    return layer(source, enableHooks=False)


def disabling(source: HookSource, *names: str) -> Layer:
    return layer(source, hooksConfig={"disabled": list(names)})


def test_all_hooks_run_unless_something_is_said() -> None:
    settings = combined(*EVERYONE)
    assert running(settings) == "pusme"
    assert settings.enabled
    assert not settings.only_managed
    assert settings.problems == ()


def test_a_project_switches_off_its_own_hooks_only() -> None:
    settings = combined(switched_off(PROJECT), *EVERYONE)
    assert running(settings) == "usme"
    assert settings.enabled


def test_a_project_disables_its_own_hooks_only() -> None:
    assert running(combined(disabling(PROJECT, *"pusme"), *EVERYONE)) == "usme"


def test_a_user_switches_off_everything_but_managed_hooks() -> None:
    settings = combined(switched_off(USER), *EVERYONE)
    assert running(settings) == "m"
    assert settings.enabled
    assert settings.only_managed


def test_a_user_disables_any_hook_but_a_managed_one() -> None:
    assert running(combined(disabling(USER, *"pusme"), *EVERYONE)) == "m"
    assert running(combined(*EVERYONE, disabled=tuple("pusme"))) == "m"
    assert running(combined(*EVERYONE, disabled=("p", "e"))) == "usm"


def test_without_managed_hooks_a_user_switches_off_hooks_altogether() -> None:
    settings = combined(switched_off(USER), *EVERYONE[:2])
    assert not settings.enabled


def test_the_system_switches_off_everything() -> None:
    settings = combined(*EVERYONE, switched_off(SYSTEM))
    assert running(settings) == ""
    assert not settings.enabled


def test_the_system_disables_any_hook_even_a_managed_one() -> None:
    assert running(combined(*EVERYONE, disabling(SYSTEM, "p", "m"))) == "use"


def test_a_managed_hook_is_managed_in_the_system_layer_only() -> None:
    settings = combined(layer(PROJECT, hook("p", managed=True)), switched_off(USER))
    assert running(settings) == ""
    assert "counts only in the system's settings" in str(settings.problems[0])


def test_of_two_files_of_a_layer_the_first_that_speaks_decides_whether_hooks_are_on() -> None:
    on, off = layer(USER, enableHooks=True), switched_off(USER)
    assert combined(on, off, *EVERYONE).enabled
    assert not combined(layer(USER), off, on, EVERYONE[0]).enabled


def test_disabled_names_of_all_files_of_a_layer_count_together() -> None:
    assert running(combined(disabling(USER, "p"), disabling(USER, "u"), *EVERYONE)) == "sme"


def test_a_disabled_hook_stays_listed() -> None:
    settings = combined(*EVERYONE, disabled=("p",))
    (entry,) = (entry for entry in settings.entries if entry.name == "p")
    assert not entry.enabled


def test_a_hook_without_a_name_is_disabled_by_its_command() -> None:
    nameless = {"type": "command", "command": "scan it"}
    named = hook("other") | {"command": "scan it"}
    settings = combined(layer(PROJECT, nameless, named), disabled=("scan it",))
    assert [entry.enabled for entry in settings.entries] == [False, True]


async def test_disabled_names_do_not_reach_hooks_registered_in_code(tmp_path: Path) -> None:
    hooks = {"BeforeTool": [{"hooks": [hook("n")]}]}
    system = await started(tmp_path / "work", hooks, disabled=["n"])
    system.register_hook("BeforeTool", lambda _: None, name="n")
    assert {e.source: e.enabled for e in system.get_all_hooks()} == {PROJECT: False, RUNTIME: True}
    assert system.set_hook_enabled("n", False) == 2
    assert not any(e.enabled for e in system.get_all_hooks())


def test_untrusted_project_hooks_are_registered_but_held_back_and_counted() -> None:
    settings = combined(layer(PROJECT, hook("p"), hook("q")), *EVERYONE[1:], trusted=False)
    assert [entry.name for entry in settings.entries if not entry.trusted] == ["p", "q"]
    assert running(settings) == "usme"
    [problem] = settings.problems
    told = "trust: 2 project hooks are not trusted and will not run"
    assert str(problem) == f"{told}; review them with `hookline trust`"


def test_hooks_that_would_not_run_anyway_are_not_counted_as_held_back() -> None:
    settings = combined(EVERYONE[0], switched_off(PROJECT), trusted=False)
    assert settings.problems == ()
    one = combined(EVERYONE[0], trusted=False)
    assert "1 project hook is not trusted" in str(one.problems[0])


def redacting(source: HookSource, **section: Any) -> Layer:
    return layer(source, security={"environmentVariableRedaction": section})


@pytest.mark.parametrize("source", [USER, SYSTEM])
def test_redaction_is_set_by_the_user_or_the_system(source: HookSource) -> None:
    settings = combined(redacting(source, enabled=True, allowed=["A"], blocked=["B"]))
    assert settings.redaction == Redaction(True, ("A",), ("B",))


def test_redaction_is_off_when_nobody_or_only_the_project_asks_for_it() -> None:
    assert combined(*EVERYONE).redaction == Redaction()
    settings = combined(redacting(PROJECT, enabled=True, allowed=["SECRET"]))
    assert settings.redaction == Redaction()
    assert "it was ignored" in str(settings.problems[0])


def test_the_user_cannot_weaken_the_redaction_of_the_system_but_block_more() -> None:
    user = redacting(USER, enabled=False, allowed=["SECRET"], blocked=["U"])
    system = redacting(SYSTEM, enabled=True, allowed=["A"], blocked=["S"])
    assert combined(user, system).redaction == Redaction(True, ("A",), ("S", "U"))


def test_where_the_system_redacts_nothing_the_user_may() -> None:
    user = redacting(USER, enabled=True, blocked=["U"])
    system = redacting(SYSTEM, enabled=False, allowed=["A"])
    assert combined(user, system).redaction == Redaction(True, (), ("U",))


def test_problems_of_all_layers_come_together() -> None:
    settings = combined(
        layer(PROJECT, {"type": "http"}), layer(USER, {"type": "nope"}), trusted=False
    )
    assert [problem.place for problem in settings.problems] == ["project", "user"]


@pytest.mark.parametrize(
    ("text", "name", "sources"),
    [
        ("guard", "guard", {USER, SYSTEM}),
        ("system:guard", "guard", {SYSTEM}),
        ("project:a:b", "a:b", {PROJECT}),
        ("hooks:guard", "hooks:guard", {USER, SYSTEM}),
        (":guard", ":guard", {USER, SYSTEM}),
    ],
)
def test_a_required_hook_is_named_with_its_layer_or_without(
    text: str, name: str, sources: set[HookSource]
) -> None:
    demand = Required.read(text, [USER, SYSTEM], by_code=True)
    assert (demand.text, demand.name, set(demand.sources)) == (text, name, sources)
    assert demand.by_code is (name == text)


def test_what_code_requires_may_be_given_in_code_in_any_layer_but_an_extensions() -> None:
    def met(source: HookSource, *, by_code: bool, file: str | None) -> bool:
        (entry,) = layer(source, hook("guard")).entries
        entry = msgspec.structs.replace(entry, file=file)
        return Required.read("guard", [SYSTEM], by_code=by_code).is_met_by(entry)

    assert met(PROJECT, by_code=True, file=None)
    assert not met(PROJECT, by_code=True, file="f")
    assert not met(PROJECT, by_code=False, file=None)
    assert not met(EXTENSIONS, by_code=True, file=None)
    assert met(SYSTEM, by_code=False, file="f")


@pytest.mark.parametrize(
    ("source", "fulfilled_by"),
    [
        (PROJECT, [PROJECT, USER, SYSTEM]),
        (USER, [USER, SYSTEM]),
        (SYSTEM, [SYSTEM]),
        (EXTENSIONS, [EXTENSIONS, SYSTEM]),
    ],
)
def test_a_layer_requires_a_hook_of_its_own_or_of_one_trusted_more(
    source: HookSource, fulfilled_by: list[HookSource]
) -> None:
    asking = read_layer({"hooks": {"required": ["guard"]}}, source, "x")
    (demand,) = combined(asking).required
    assert demand.sources == set(fulfilled_by)
    assert bool(combined(asking, trusted=False).required) is (source is not PROJECT)


def test_a_required_hook_keeps_hooks_on_whoever_switches_them_off() -> None:
    asking = read_layer({"hooks": {"required": ["guard"]}}, USER, "x")
    assert not combined(switched_off(SYSTEM)).enabled
    settings = combined(switched_off(SYSTEM), asking)
    assert settings.enabled
    assert not settings.only_managed
    assert combined(switched_off(USER)).only_managed


@pytest.mark.parametrize("source", HookSource)
def test_any_layer_makes_events_strict_and_a_project_only_if_it_is_trusted(
    source: HookSource,
) -> None:
    asking = layer(source, strict=True)
    assert combined(asking).strict
    assert combined(asking, trusted=False).strict is (source is not PROJECT)
    assert not combined(layer(source)).strict
    assert combine([], trust=GivenTrust(trusted=True), strict=True).strict


def test_the_first_layer_that_speaks_decides_about_the_trace() -> None:
    def traced(*said: bool | None) -> bool:
        asked = [layer(USER, hookline={} if word is None else {"trace": word}) for word in said]
        return combined(*asked).trace

    assert [traced(), traced(None), traced(True), traced(None, True)] == [False, False, True, True]
    assert [traced(False, True), traced(True, False)] == [False, True]
    project = layer(PROJECT, hookline={"trace": True})
    assert not combined(project).trace
    assert [problem.kind for problem in project.problems] == ["overreach"]


def test_private_hosts_of_the_user_and_the_system_are_joined_without_doubles() -> None:
    def hosts(source: HookSource, *names: str) -> Layer:
        return layer(source, security={"privateHookHosts": list(names)})

    project = hosts(PROJECT, "p")
    assert combined(project, hosts(USER, "b", "a"), hosts(SYSTEM, "a", "c")).private_hosts == (
        *("b", "a", "c"),
    )
    assert [problem.kind for problem in project.problems] == ["overreach"]


def test_trust_that_is_asked_for_each_time_may_change() -> None:
    said = [False]
    trust = GivenTrust(lambda: said[0])
    (entry,) = layer(PROJECT, hook("p")).entries
    (users,) = layer(USER, hook("u")).entries
    assert (trust.admit(entry)[0].trusted, trust.adopt(entry.hook)) == (False, False)
    assert trust.why_untrusted(entry.hook) == "the project is not trusted, so its hooks do not run"
    assert trust.why_untrusted(users.hook) is None
    said[0] = True
    assert (trust.admit(entry)[0].trusted, trust.adopt(entry.hook)) == (True, True)
    assert trust.get_guards() == ()


def test_one_hook_that_is_held_back_is_said_in_the_singular() -> None:
    def message(*names: str) -> str:
        settings = combined(layer(PROJECT, *map(hook, names)), trusted=False)
        (problem,) = settings.problems
        return f"{problem.message}; {problem.remedy}"

    one = "1 project hook is not trusted and will not run; review it with `hookline trust`"
    two = "2 project hooks are not trusted and will not run; review them with `hookline trust`"
    assert (message("a"), message("a", "b")) == (one, two)


def test_of_two_files_that_are_one_the_first_of_the_most_trusted_layer_counts(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_text("{}")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("a")
    one, two, three = (str(tmp_path / name) for name in "abc")
    files = [SettingsFile(one, USER), SettingsFile(two, USER), SettingsFile(three, PROJECT)]
    assert keep_one_of_each(files) == files[:1]
    files = [SettingsFile(one, PROJECT), SettingsFile(two, USER), SettingsFile(three, SYSTEM)]
    assert keep_one_of_each(files) == files[2:]
