"""When two entries of one event are the same hook."""

from typing import Any

import msgspec
import pytest

from hookline.wire.hooks import (
    CommandHook,
    HookSource,
    HttpHook,
    PromptHook,
    RuntimeHook,
    WithheldHook,
)


def command(text: str = "true", **fields: Any) -> CommandHook:
    return CommandHook(name="h", command=text, **fields)


def is_same(hook: Any, **changed: Any) -> bool:
    return bool(hook.identity() == msgspec.structs.replace(hook, **changed).identity())


@pytest.mark.parametrize(
    "changed",
    [{"name": "x"}, {"command": "x"}, {"args": ()}, {"args": ("a",)}, {"env": {"A": "1"}}],
)
def test_a_command_is_the_same_by_its_name_its_words_and_its_variables(changed: Any) -> None:
    assert is_same(command())
    assert not is_same(command(), **changed)
    assert is_same(command(), source=HookSource.USER, timeout=5.0, on_failure="block", warm=True)
    both = command(env={"A": "1", "B": "2"})
    assert is_same(both, env={"B": "2", "A": "1"})


@pytest.mark.parametrize(
    ("text", "args", "is_file"),
    [
        ("hooks/scan.sh", None, True),
        ("scan.py", None, True),
        ("echo hi", None, False),
        ("jq -e .tool", None, True),
        ("/usr/bin/scan", None, False),
        ("~/scan.sh", None, False),
        ("$HOME/scan.sh", None, False),
        ("sh scan", None, True),
        ("sh", None, False),
        ("sh -c", None, False),
        ("scan sh", None, False),
        ("/usr/bin/env scan", None, True),
        ("X=hooks/scan", None, True),
        ("cat <list.txt", None, True),
        ("${extensionPath}scan", None, True),
        ("scan", ("hooks/rules",), True),
        ("scan", ("-v",), False),
    ],
)
def test_words_that_may_name_a_file_mean_another_file_beside_other_settings(
    text: str, args: tuple[str, ...] | None, is_file: bool
) -> None:
    hook = command(text, args=args, source=HookSource.USER, directory="/a")
    assert is_same(hook, directory="/b") is not is_file
    assert is_same(msgspec.structs.replace(hook, source=HookSource.PROJECT), directory="/b")


@pytest.mark.parametrize(
    "changed",
    [{"dialect_event": "Stop"}, {"condition": "Bash(ls)"}, {"plugin_root": "/p"}],
)
def test_in_another_dialect_the_event_the_condition_and_the_plugin_count_too(changed: Any) -> None:
    assert is_same(command(), **changed)
    assert not is_same(command(), dialect="claude")
    assert not is_same(command(dialect="claude"), **changed)
    http = HttpHook(name="h", url="http://x", dialect="claude")
    prompt = PromptHook(name="h", prompt="ok?", dialect="claude")
    for hook in (http, prompt):
        assert is_same(hook, timeout=5.0)
        assert not is_same(hook, **changed)


def test_every_other_kind_is_the_same_by_all_that_it_does() -> None:
    http = HttpHook(name="h", url="http://x", headers={"A": "1", "B": "2"})
    assert is_same(http, headers={"B": "2", "A": "1"})
    others: list[dict[str, Any]] = [
        *({"name": "x"}, {"url": "http://y"}, {"headers": {}}),
        *({"allowed_env": ("A",)}, {"allowed_urls": (("*",),)}),
    ]
    assert not any(is_same(http, **changed) for changed in others)
    prompt = PromptHook(name="h", prompt="ok?")
    others = [{"name": "x"}, {"prompt": "y"}, {"model": "m"}, {"continue_on_block": True}]
    assert not any(is_same(prompt, **changed) for changed in others)
    runtime = RuntimeHook(name="h", function=print)
    assert is_same(runtime, is_async=True)
    assert not is_same(runtime, function=repr)
    assert not is_same(runtime, name="x")
    withheld = WithheldHook(name="h", why="untrusted")
    others = [{"why": "x"}, {"condition": "Bash(ls)"}, {"dialect_event": "Stop"}]
    assert not any(is_same(withheld, **changed) for changed in others)
