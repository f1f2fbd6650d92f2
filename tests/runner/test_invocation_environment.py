"""Which of the caller's variables reach a hook, rule by rule, and what is added to them."""

import os
import subprocess
import sys
import time

import pytest

from hookline.runner import invocation
from hookline.runner.invocation import (
    Environment,
    encode_entries,
    make_environment,
    redact,
)
from hookline.wire.hooks import Redaction

ON = Redaction(enabled=True)
PRIVATE_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END"


def kept(parent: dict[str, str], redaction: Redaction = ON) -> set[str]:
    return set(redact(parent, redaction))


def test_a_hooks_own_variables_override_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = {"SHADE": "grey", "OUTER": "sea", "GEMINI_CWD": "/stale"}
    monkeypatch.setattr(os, "environ", parent)
    variables = {"GEMINI_CWD": "/here", "HOOKLINE_EVENT": "E"}
    env = make_environment(Redaction(), variables, {"SHADE": "blue"})
    assert {name: env[name] for name in env if name != "PYTHONPYCACHEPREFIX"} == {
        "SHADE": "blue",
        "OUTER": "sea",
        "GEMINI_CWD": "/here",
        "HOOKLINE_EVENT": "E",
    }
    assert parent == {"SHADE": "grey", "OUTER": "sea", "GEMINI_CWD": "/stale"}


def test_what_is_added_to_the_environment_is_never_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {"API_KEY": "x", "OTHER_KEY": "y"})
    own = {"MY_TOKEN": "t", "API_KEY": "own"}
    env = make_environment(ON, {"HOOKLINE_CWD": PRIVATE_KEY}, own)
    assert {name: env[name] for name in env if name != "PYTHONPYCACHEPREFIX"} == {
        "HOOKLINE_CWD": PRIVATE_KEY,
        "MY_TOKEN": "t",
        "API_KEY": "own",
    }


def test_without_redaction_everything_is_inherited() -> None:
    parent = {"GITHUB_TOKEN": "t", "DATABASE_URL": "db", "KEY": PRIVATE_KEY, "path": "p"}
    assert redact(parent, Redaction()) == parent
    assert redact(parent, Redaction(blocked=("path",))) == parent
    assert redact(os.environ, Redaction()) == dict(os.environ)


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_API_KEY", "DB_PASSWORD", "PASSWD_FILE"),
        *("AUTHOR", "GOOGLE_CREDENTIALS", "DB_CREDS", "PRIVATE_THING", "SSL_CERT_FILE"),
        *("my_token", "monkeypatch"),
    ],
)
def test_names_that_look_secret_go(name: str) -> None:
    assert kept({name: "v", "EDITOR": "ed"}) == {"EDITOR"}


@pytest.mark.parametrize(
    "value",
    [
        PRIVATE_KEY,
        "-----BEGIN PRIVATE KEY-----",
        "text before -----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "-----begin ec private key-----",
        "https://user:secret@example.org/x",
        "postgres://u:p%40ss@db:5432/app",
        "redis://:secret@cache",
        "see HTTP://a:b@c",
        "xoxb-1234-abc",
        "token=XOXP-9",
    ],
)
def test_values_that_look_secret_go_whatever_their_name(value: str) -> None:
    assert kept({"PATH": value, "GIT_CONFIG_VALUE_0": value, "MINE": value}) == set()
    assert kept({"MINE": value}, Redaction(enabled=True, allowed=("MINE",))) == set()


@pytest.mark.parametrize(
    "value",
    [
        "https://example.org:8443/users/@me",
        "https://user@example.org/",
        "git@example.org:team/project.git",
        "-----BEGIN PUBLIC KEY-----",
        "/usr/bin:/bin",
        "foxxoxb-1",
        "xoxb",
        "",
    ],
)
def test_values_that_only_resemble_them_stay(value: str) -> None:
    assert kept({"PLAIN": value}) == {"PLAIN"}


def test_the_first_rule_that_applies_decides() -> None:
    everything = {"GEMINI_CLI_TOKEN", "GIT_CONFIG_KEY_0", "MY_KEY", "HOME", "CLIENT_ID", "EDITOR"}
    parent = dict.fromkeys(everything, "v")
    assert kept(parent | {"GEMINI_CLI_TOKEN": PRIVATE_KEY}) == everything - {"MY_KEY", "CLIENT_ID"}
    blocked = Redaction(enabled=True, blocked=tuple(everything))
    assert kept(parent, blocked) == {"GEMINI_CLI_TOKEN", "GIT_CONFIG_KEY_0"}
    both = Redaction(enabled=True, allowed=("my_key", "Client_Id"), blocked=("MY_KEY", "home"))
    assert kept(parent, both) == everything - {"HOME"}


def test_names_are_compared_without_case() -> None:
    parent = {"Path": "p", "database_url": "d", "gemini_cli_x": "x", "git_config_y": "y"}
    assert kept(parent) == {"Path", "gemini_cli_x", "git_config_y"}
    assert kept({"Editor": "e"}, Redaction(enabled=True, blocked=("eDITOR",))) == set()


@pytest.mark.parametrize("marker", [{"GITHUB_SHA": "0"}, {"SURFACE": "Github"}])
@pytest.mark.parametrize("enabled", [True, False])
def test_on_a_ci_runner_only_what_is_named_stays(marker: dict[str, str], enabled: bool) -> None:
    names = ["PATH", "BRANCH_NAME", "ISSUE_TITLE", "GEMINI_CLI_X", "GIT_CONFIG_COUNT", "TERM"]
    parent = dict.fromkeys([*names, "EDITOR", "MINE", "CLIENT_ID"], "v") | marker
    redaction = Redaction(enabled=enabled, allowed=("mine",), blocked=("TERM",))
    assert kept(parent, redaction) == {*names, "MINE"} - {"TERM"}


@pytest.mark.parametrize("parent", [{"SURFACE": "github"}, {"SURFACE": ""}, {"CI": "true"}])
def test_other_surroundings_are_no_ci_runner(parent: dict[str, str]) -> None:
    assert redact(parent | {"MY_KEY": "v"}, Redaction()) == parent | {"MY_KEY": "v"}


@pytest.mark.parametrize(
    "unit", ["a://", "a://b:", "-----BEGIN A ", "xoxb", "a://b:c", "-----BEGIN " + "A" * 16 + " "]
)
def test_a_long_value_is_looked_at_in_a_moment(unit: str) -> None:
    # Of this process alone, as others may keep the machine busy.
    started = time.process_time()
    assert kept({"LONG": unit * (200_000 // len(unit))}) == {"LONG"}
    assert time.process_time() - started < 2


def test_an_inherited_variable_may_be_changed_or_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {"A": "1", "B": "2", "C": "3"})
    changed = (("A", "one"), ("B", None), ("NEW", "4"), ("NONE", None))
    env = make_environment(Redaction(), {}, {}, changed, {"C": "shared"})
    assert [(name, env[name]) for name in env if name != "PYTHONPYCACHEPREFIX"] == [
        ("C", "shared"),
        ("A", "one"),
        ("NEW", "4"),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound only the sum")
def test_a_value_of_exactly_the_systems_limit_is_kept_and_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {})
    longest = 32 * os.sysconf("SC_PAGE_SIZE") - len("NAME") * 4 - 2
    fits = make_environment(Redaction(), {"NAME": "x" * longest}, {})
    assert (fits.left_out, len(fits["NAME"])) == ({}, longest)
    assert subprocess.run(["/usr/bin/env"], env=fits, stdout=subprocess.DEVNULL).returncode == 0
    over = make_environment(Redaction(), {"NAME": "x" * (longest + 1)}, {})
    assert over.left_out == {"NAME": f"is too long for the system ({longest + 1} bytes)"}
    assert "NAME" not in over


def test_of_too_many_variables_the_longest_are_left_out_until_the_rest_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(invocation, "find_most_bytes", lambda: 200_000)
    monkeypatch.setattr(os, "environ", {"PATH": "/bin:" * 20_000, "SMALL": "s"})
    given = {f"V{n}": "x" * (20_000 + n) for n in range(9)}
    env = make_environment(Redaction(), given, {"OWN": "o" * 50_000})
    assert [*env.left_out] == ["V8", "V7", "V6", "V5", "V4", "V3", "V2"]
    assert {"PATH", "SMALL", "OWN", "V0", "V1"} <= set(env)
    assert set(env.left_out.values()) == {"makes all variables together too long for the system"}


def test_the_entries_of_an_environment_are_encoded_once() -> None:
    env = Environment({"A": "ü"})
    assert encode_entries(env) == ["A=ü".encode()]
    assert encode_entries(env) is encode_entries(env)
    assert encode_entries({"A": "b"}) == [b"A=b"]
    with pytest.raises(ValueError, match="illegal environment variable name"):
        encode_entries({"A=B": "c"})


KIB = 1024


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say themselves how much it is")
@pytest.mark.parametrize(
    ("stack", "most"),
    [
        (8192 * KIB, 2048 * KIB - 128 * KIB),
        (1024 * KIB, 128 * KIB),
        (256 * KIB, 64 * KIB),
        (65536 * KIB, 6144 * KIB - 128 * KIB),
        (-1, 6144 * KIB - 128 * KIB),
    ],
)
def test_variables_may_take_what_the_stack_allows_less_room_for_the_arguments(
    stack: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (stack, stack))
    assert invocation.find_most_bytes() == most
