"""The secrets of an environment are not kept, whoever printed them."""

import json
import re
import time
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline._support.secrets import Secrets

ENVIRONMENT = {
    "API_TOKEN": "tok-12345678",
    "API_TOKEN_LONG": "tok-12345678-and-more",
    "npm_auth": "abcdefgh",
    "PIN_KEY": "1234567",
    "PROXY": "http://ada:sesame12@proxy:3128",
    "DATABASE_URL": "postgres-ada",
    "HOME": "/home/ada/of-eight",
    "PAGE": "http://host/@ada:pinned",
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("Bearer tok-12345678!", "Bearer [API_TOKEN hidden]!"),
        ("tok-12345678-and-more", "[API_TOKEN_LONG hidden]"),
        ("abcdefgh", "[npm_auth hidden]"),
        ("1234567", "1234567"),
        ("via http://ada:sesame12@proxy:3128", "via [PROXY hidden]"),
        ("postgres-ada", "[DATABASE_URL hidden]"),
        ("/home/ada/of-eight", "/home/ada/of-eight"),
        ("http://host/@ada:pinned", "http://host/@ada:pinned"),
    ],
)
def test_the_name_of_a_secret_stands_for_its_value(text: str, kept: str) -> None:
    assert Secrets(ENVIRONMENT).hidden(text) == kept


@pytest.mark.parametrize(
    "name",
    [
        *(
            "GH_TOKEN",
            "my_secret",
            "PASSWORD",
            "DB_PASSWD",
            "ApiKey",
            "AUTHORIZATION",
            "CREDENTIALS",
        ),
        *("AWS_CREDS", "PRIVATE", "TLS_CERT", "CONNECTION_STRING", "database_url", "DB_URI"),
        "SLACK_WEBHOOK_URL",
    ],
)
def test_a_variable_is_secret_by_its_name_whatever_its_case(name: str) -> None:
    assert Secrets({name: "of-eight"}).hidden("an of-eight") == f"an [{name} hidden]"


@pytest.mark.parametrize("name", ["PATH", "USER", "MY_DATABASE_URL_2", "WEBHOOK_URL", "DB_URIS"])
def test_a_variable_of_another_name_is_no_secret(name: str) -> None:
    assert Secrets({name: "of-eight"}).hidden("an of-eight") == "an of-eight"


@pytest.mark.parametrize(
    ("url", "is_secret"),
    [
        ("x://u:p@h", True),
        ("x://u@h:80", False),
        ("x://h/u:p@h", False),
        ("u:p@h-and-more", False),
        ("x://u:p-without-host", False),
    ],
)
def test_a_url_is_secret_if_it_has_a_password(url: str, is_secret: bool) -> None:
    assert (Secrets({"PROXY": url}).hidden(url) != url) is is_secret


def test_secrets_are_found_at_any_depth_and_the_value_itself_stays_as_it_is() -> None:
    given = {"a": ["tok-12345678", {"tok-12345678": 5}], "b": None}
    hidden = Secrets(ENVIRONMENT).hidden(given)
    assert hidden == {"a": ["[API_TOKEN hidden]", {"[API_TOKEN hidden]": 5}], "b": None}
    assert given["a"] == ["tok-12345678", {"tok-12345678": 5}]


def test_secrets_are_learned_one_environment_after_the_other() -> None:
    secrets = Secrets()
    assert secrets.hidden("first-secret second-secret") == "first-secret second-secret"
    secrets.learn({"MY_KEY": "first-secret"})
    secrets.learn({"MY_SECRET": "second-secret"})
    assert secrets.hidden("first-secret second-secret") == "[MY_KEY hidden] [MY_SECRET hidden]"


NASTY = 'pa"ss/w\\ör d+%4é\nend'
FORMS: dict[str, Callable[[str], str]] = {
    "JSON": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "JSON in ASCII": lambda s: json.dumps(s)[1:-1],
    "JSON with escaped slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "JSON within JSON": lambda s: json.dumps(json.dumps({"k": s})),
    "JSON within JSON within JSON": lambda s: json.dumps(json.dumps(json.dumps([s]))),
    "all of it as \\u": lambda s: re.sub("(....)", r"\\u\1", s.encode("utf-16-be").hex().upper()),
    "some of it as \\u": lambda s: (
        s[:3] + re.sub("(....)", r"\\u\1", s[3:].encode("utf-16-be").hex())
    ),
    "Python's repr": repr,
    "bytes": lambda s: repr(s.encode()),
    "a path of a URL": quote,
    "a query": quote_plus,
    "a part of a URL": lambda s: quote(s, safe=""),
    "lower case percents": lambda s: re.sub("%..", lambda m: m[0].lower(), quote(s, safe="")),
    "all of it in percents": lambda s: "".join(f"%{byte:02X}" for byte in s.encode()),
    "percents twice": lambda s: quote(quote(s, safe=""), safe=""),
    "a URL in JSON": lambda s: json.dumps({"u": f"https://h/?k={quote_plus(s)}"}),
    "unquoted in a shell": lambda s: " ".join(s.split("\n")),
    "base64": lambda s: b64encode(s.encode()).decode(),
    "base64 one further": lambda s: b64encode(b"x" + s.encode() + b"y").decode(),
    "base64 two further": lambda s: b64encode(b"xy" + s.encode()).decode(),
    "basic authentication": lambda s: b64encode(f"ada:{s}".encode()).decode(),
    "url-safe base64": lambda s: urlsafe_b64encode(b"?>" + s.encode() + b">").decode().rstrip("="),
    "base64 in lines": lambda s: encodebytes(b"x" * 50 + s.encode() + b"z" * 50).decode(),
    "base64 in lines in JSON": lambda s: json.dumps(encodebytes(b"x" * 50 + s.encode()).decode()),
    "base64 in a URL": lambda s: quote(b64encode(s.encode()).decode(), safe=""),
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
    "hex with colons": lambda s: s.encode().hex(":"),
}
SECRETS = (
    *(NASTY, "plain-token-1", 'a"quoted"one', "with\\back\\slashes", "line one\nline two\n"),
    *("sl/ash/es//", "50%abc%25", "emoji 😀 here", "a b c d e f", "+/+/+/+/=="),
    *("tab\tand\rreturn", "ünïcödé-wörd", '"' * 9, "literal\\nnewline\\n", "%%%%%%%%"),
)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_every_form_it_comes_in(form: str) -> None:
    for secret in SECRETS:
        written = FORMS[form](secret)
        shown = Secrets({"A_TOKEN": secret}).hidden(f"before: {written} :after")
        before, hidden, behind = shown.partition("[A_TOKEN hidden]")
        assert hidden, secret
        # What is left is what the form put around it.
        assert before.startswith("before: ")
        assert behind.endswith(" :after")
        assert len(before + behind) <= len(f"before: {FORMS[form]('')} :after") + 8
        assert secret[:6] not in before + behind
        assert secret[-6:] not in before + behind


@pytest.mark.parametrize("around", ["", "x", "xy", "xyz"])
def test_base64_that_is_all_of_a_text_or_begins_it_is_hidden_and_nothing_else(around: str) -> None:
    secrets, written = Secrets({"A_TOKEN": "plain-token1"}), b64encode(b"plain-token1").decode()
    assert secrets.hidden(written) == "[A_TOKEN hidden]"
    behind = f" is all {around}end"
    assert secrets.hidden(written + "," + behind) == "[A_TOKEN hidden]," + behind
    before = f"it is {around}, "
    assert secrets.hidden(before + written) == before + "[A_TOKEN hidden]"


def test_the_password_of_a_url_is_a_secret_by_itself() -> None:
    secrets = Secrets({"PROXY": "http://ada:ses%40me12@proxy:3128"})
    assert secrets.hidden("ada, ses@me12") == "ada, [PROXY hidden]"


def test_all_of_several_secrets_are_hidden_and_the_longest_counts() -> None:
    secrets = Secrets({"A_KEY": 'one"secret', "B_KEY": 'one"secret"more', "C_KEY": "third-secret"})
    text = json.dumps(['one"secret', 'one"secret"more', "third-secret", 'one"secret'])
    names = ("A_KEY", "B_KEY", "C_KEY", "A_KEY")
    assert secrets.hidden(text) == json.dumps([f"[{name} hidden]" for name in names])


def test_ordinary_text_stays_as_it_is() -> None:
    secrets = Secrets(dict.fromkeys(("A_KEY",), "plain-token-1") | {"B_KEY": "a b c d e"})
    for text in (
        r"C:\new\table\users",
        '{"a": "\\u00e9\\n", "b": "100%25", "c": "x+y"}',
        "aGVsbG8gd29ybGQ=",
        "\ud800 lone \udfff",
        "",
    ):
        assert secrets.hidden(text) == text


@pytest.mark.parametrize("character", "\b\f\n\r\t")
def test_a_character_with_an_escape_of_its_own_does_not_show_the_secret(character: str) -> None:
    secrets = Secrets({"MY_KEY": f"first{character}second"})
    assert secrets.hidden(json.dumps(f"first{character}second")) == '"[MY_KEY hidden]"'


@given(st.text(min_size=8, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_whatever_a_secret_is_made_of_its_json_and_its_base64_do_not_show_it(
    secret: str, before: str, behind: str
) -> None:
    secret = secret.encode("utf-8", "ignore").decode()
    if len(secret) < 8 or not secret.strip(" \\+%\n\r\t\b\f"):
        return
    before, behind = (text.encode("utf-8", "ignore").decode() for text in (before, behind))
    secrets = Secrets({"MY_KEY": secret})
    text = f"{before}{secret}{behind}"
    assert "[MY_KEY hidden]" in secrets.hidden(b64encode(text.encode()).decode())
    assert "[MY_KEY hidden]" in secrets.hidden(json.dumps(f"{before} {secret} {behind}"))
    assert "[MY_KEY hidden]" in secrets.hidden(quote(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *("\\", "%25", "%2", "\\u00e9", "\\\\u", "aGVsbG8=\n", "+ ", "é secret-number-1"),
        *(b64encode(b"secret-number-1").decode(), "secret%2Dnumber-1 é", b"secret-number-1".hex()),
    ],
)
def test_secrets_takes_time_in_proportion_to_the_text(unit: str) -> None:
    secrets = Secrets({f"KEY_{number}": f"secret-number-{number}" for number in range(10)})

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        started = time.thread_time()
        secrets.hidden(text)
        return time.thread_time() - started

    seconds(50_000)
    assert seconds(800_000) < max(0.02, min(seconds(50_000) for _ in range(3))) * 64
