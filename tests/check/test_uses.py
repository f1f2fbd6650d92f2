"""The programs that a shell text starts, from its text alone."""

import pytest

from hookline.check.uses import Uses, find_uses


@pytest.mark.parametrize(
    "text",
    [
        *("A=1; jqq", "A= jqq", "a=(x $(:) y); jqq", "(true); jqq", "true; (true) || jqq"),
        *("command -v foo2; jqq", "[ -x foo2 ]; jqq", "[ $x = jqq ]; jqq", "[[ a = b ]]; jqq"),
        *("jqq & true || exit 2", "jqq; true || exit 2", "jqq | jqq", "nohup jqq x", "env jqq"),
        *(": <<E\nfoo2\nE\njqq", ": <<A <<B\nfoo2\nA\nfoo3\nB\njqq", "true > out; jqq"),
        *("time jqq", "until jqq; do :; done", "function f { jqq; }", "alias f=g; jqq"),
    ],
)
def test_a_program_is_found_after_whatever_comes_before_it(text: str) -> None:
    assert find_uses(text, {"PATH": "/bin"}) == Uses(("jqq",), "/bin")


@pytest.mark.parametrize(
    "text",
    [
        *("true; jqq() { :; }; jqq", "true; function jqq { :; }; jqq", "[[ -x jqq ]] && jqq"),
        *("jqq . && true || exit 2", "jqq | jqq || exit 2", "(true; jqq) || exit 2", "exec -a x y"),
        *("env -i jqq", "command -V jqq; jqq", "hash $x; jqq", "test -e jqq; jqq"),
    ],
)
def test_a_program_that_is_defined_or_seen_to_is_left_out(text: str) -> None:
    assert find_uses(text, {"PATH": "/bin"}).names == ()


def test_a_variable_that_is_assigned_is_no_longer_known() -> None:
    assert find_uses("$D/gone", {"D": "/x"}).names == ("/x/gone",)
    assert find_uses("D=$(pwd); $D/gone", {"D": "/x"}).names == ()


def test_the_path_is_the_one_that_the_text_sets() -> None:
    assert find_uses("PATH=/a:$PATH; jqq", {"PATH": "/bin"}) == Uses(("jqq",), "/a:/bin")
    assert find_uses("PATH=$X; jqq", {"PATH": "/bin"}) == Uses()
    assert find_uses("jqq", {}) == Uses(("jqq",), "")


def test_what_a_text_loads_may_define_any_name_but_those_of_known_programs() -> None:
    for loading in (". ./lib.sh", "source lib.sh", "eval x"):
        assert find_uses(f"{loading}; log_it; curl x", {}).names == ("curl",)


@pytest.mark.parametrize("text", ["uname -s; jqq", "[ $OSTYPE = x ] && jqq"])
def test_a_text_that_asks_for_the_system_may_start_what_others_have(text: str) -> None:
    assert find_uses(text, {}) == Uses()
