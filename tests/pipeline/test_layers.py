"""Who may switch off whose hooks, whose redaction counts, and what happens without trust."""

from pathlib import Path
from typing import Any

import pytest

from hookline.pipeline.settings import GivenTrust, Layer, Settings, combine, read_layer
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


def combined(*layers: Layer, trusted: bool = True, disabled: tuple[str, ...] = ()) -> Settings:
    return combine(layers, trust=GivenTrust(trusted), disabled=disabled)


def running(settings: Settings) -> str:
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
