"""The secrets of an environment are not kept, whoever printed them."""

import pytest

from hookline.debuglog import Secrets

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
