"""Which variables of a command are quoted: tables of contexts, and laws that real bash confirms."""

import os
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.shell.tokens import quote_variables
from tests.shell.grammar import Pair, scripts

UNCHANGED = [
    "'$V'",
    r"\$V",
    '"$V and ${V}"',
    r'"a \" $V"',
    "$'it\\'s $V'",
    '$"$V"',
    "# it's $V",
    "$V_X ${V_X} $VV",
    "$$V $#V",
    "${V%/*} ${V:-x} ${#V} ${!V} ${V[0]}",
    "$((V + $V)) $[ $V + 1 ] ${a[$V]} ${x:$V:1}",
    "(( $V << 2 ))",
    "for ((i=$V; i<3; i++)); do :; done",
    "[[ $x =~ ^$V/(a|$V)$ ]]",
    '"${x:-$V}" "${x#$V}"',
    '"$(echo "$V")"',
    '"`echo "$V"`"',
    "`echo '$V'`",
    '"$(case x in x) echo "$V";; esac)"',
    "cat <<EOF\n$V 'it\nEOF",
    "cat <<'EOF'\n$V $(echo $V)\nEOF",
    "cat <<\\EOF\n$(echo $V)\nEOF",
    "cat <<-EOF\n\t$V\n\tEOF",
    "cat <<EOF\nx\\\nEOF\n$V\nEOF",
    "cat <<$V\nx\n$V",
    "echo '$V",
    'echo "$V',
    "echo `echo '$V",
    "echo $(echo '$V",
    "echo ${x:-'$V",
    "cat <<EOF\n$V",
    "echo $'$V",
    "\\",
    "$",
]

QUOTED = {
    "$V": '"$V"',
    "${V}": '"${V}"',
    "$V/hooks/x.sh $V$V": '"$V"/hooks/x.sh "$V""$V"',
    "~/$V": '~/"$V"',
    "X=$V A[$V]=1 cmd": 'X="$V" A["$V"]=1 cmd',
    "a=($V # it's\n$V)": 'a=("$V" # it\'s\n"$V")',
    "echo a#$V '#' $V": 'echo a#"$V" \'#\' "$V"',
    "# it's $V\necho $V": '# it\'s $V\necho "$V"',
    "echo hi;# it's\n$V": 'echo hi;# it\'s\n"$V"',
    '"$(echo $V)"': '"$(echo "$V")"',
    '"`echo $V`"': '"`echo "$V"`"',
    r"`echo \$V`": r'`echo "\$V"`',
    r"`echo \`echo $V\``": r'`echo \`echo "$V"\``',
    "$((1 + $(echo $V)))": '$((1 + $(echo "$V")))',
    "$((echo $V); (echo $V))": '$((echo "$V"); (echo "$V"))',
    "((echo $V); echo $V)": '((echo "$V"); echo "$V")',
    "${x:-$V} ${x:-a'}'$V} ${x#$V/}": '${x:-"$V"} ${x:-a\'}\'"$V"} ${x#"$V"/}',
    "cat <<<$V": 'cat <<<"$V"',
    "cat <$V >$V 2>>$V": 'cat <"$V" >"$V" 2>>"$V"',
    "diff <(cat $V) >(cat $V)": 'diff <(cat "$V") >(cat "$V")',
    "cat <<EOF $V\n'\nEOF\n$V": 'cat <<EOF "$V"\n\'\nEOF\n"$V"',
    "cat <<A <<B; $V\n'\nA\n\"\nB\n$V": 'cat <<A <<B; "$V"\n\'\nA\n"\nB\n"$V"',
    "cat <<EOF\n$V $(cat $V)\nEOF": 'cat <<EOF\n$V $(cat "$V")\nEOF',
    "$(cat <<EOF\n'\nEOF)$V": '$(cat <<EOF\n\'\nEOF)"$V"',
    "(cat <<EOF)\n'\nEOF\n$V": '(cat <<EOF)\n\'\nEOF\n"$V"',
    "[[ $V == $V* && $x =~ $V ]]; $V": '[[ "$V" == "$V"* && $x =~ $V ]]; "$V"',
    "[[ $x =~ a ]] && $V": '[[ $x =~ a ]] && "$V"',
    "case $V in ($V|b) $V;; esac": 'case "$V" in ("$V"|b) "$V";; esac',
    "$(case a in a) $V;; *) ;& esac)$V": '$(case a in a) "$V";; *) ;& esac)"$V"',
    "if case $V in a) ;; esac; then $V; fi": 'if case "$V" in a) ;; esac; then "$V"; fi',
    "echo case $V in a": 'echo case "$V" in a',
    "f() { $V; }; f": 'f() { "$V"; }; f',
    "for i in $V; do echo $V; done": 'for i in "$V"; do echo "$V"; done',
    "x=$(($V)) y=$V": 'x=$(($V)) y="$V"',
    "echo \\\n$V \\\n# $V": 'echo \\\n"$V" \\\n# $V',
}


@pytest.mark.parametrize("command", UNCHANGED)
def test_what_is_not_bare_stays_as_written(command: str) -> None:
    assert quote_variables(command, {"V"}) == command


@pytest.mark.parametrize(("command", "quoted"), QUOTED.items())
def test_every_bare_variable_is_quoted(command: str, quoted: str) -> None:
    assert quote_variables(command, {"V"}) == quoted
    assert quote_variables(quoted, {"V"}) == quoted
    assert quote_variables(command, {"W"}) == command


NESTINGS = ["$(", "$((", "((", "(", "`", '"$(', "${x:-", "$[(", "case ", "[[ ", "<<x ", "\\", "<("]


@pytest.mark.slow
@pytest.mark.parametrize("nesting", NESTINGS)
def test_a_text_that_only_opens_things_is_answered_soon(nesting: str) -> None:
    command = nesting * 2000 + "$V"
    # Of this process alone, as others may keep the machine busy.
    started = time.process_time()
    assert quote_variables(command, {"V"}).replace('"', "") == command.replace('"', "")
    assert time.process_time() - started < 3


@given(command=st.text("$V{}()[]'\"`\\#<> \n;&|=~-E casein"), names=st.just({"V"}))
def test_no_text_is_too_broken_to_scan(command: str, names: set[str]) -> None:
    quoted = quote_variables(command, names)
    assert quoted.replace('"', "") == command.replace('"', "")


def bash(script: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables}
    command = ["bash", "--norc", "-p", "-c", script]
    return subprocess.run(command, env=environment, capture_output=True)


SHOW = """show() { printf '%s\\0' "$#" "$@"; }\n"""
# Each line shows the value as one argument, whatever it is.
SHOWING = """show $V
show ${V}
show "$V"
show "${V}"
X=$V; show "$X"
A=($V); show "${A[@]}"
show ${unset:-$V}
show "${unset:-$V}"
show "$(printf %s. $V)"
show "`printf %s. $V`"
show "`printf %s. \\$V`"
show "$(case $V in $V) printf %s. $V;; esac)"
[[ $V == $V ]] && show $V
for i in $V; do show "$i"; done
f() { show $1; shift; show "$@"; }; f '' $V
if true; then show $V; fi # it's $V
(show $V); { show $V; }
show "$(cat <<<$V; echo .)"
show "$(cat <<E
$V.
E
)"
show $V & wait
"""
values = st.text(
    st.sampled_from(" \t\n'\"!$`\\*?[]{}()<>|&;#~=-%^ab/ü€\U0001f600")
    | st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    max_size=12,
)


def shown(value: str) -> list[list[str]]:
    done = bash(SHOW + quote_variables(SHOWING, {"V"}), V=value)
    assert (done.returncode, done.stderr) == (0, b"")
    words, calls = done.stdout.decode().split("\0"), []
    while len(words) > 1:
        count = int(words[0])
        calls.append(words[1 : count + 1])
        words = words[count + 1 :]
    return calls


@given(value=values)
@settings(max_examples=60)
def test_bash_sees_each_variable_as_one_word_whatever_it_holds(value: str) -> None:
    calls = shown(value)
    dotted = [[f"{value}."]]
    here_string = [[f"{value}\n."]]
    assert calls[:8] == [[value]] * 8
    assert calls[8:12] == dotted * 4
    assert calls[12:14] == [[value]] * 2
    assert calls[14:16] == [[], [value]]
    assert calls[16:19] == [[value]] * 3
    assert calls[19:] == here_string + dotted + [[value]]


@given(pair=scripts(depth=2))
@settings(max_examples=30)
def test_in_any_nesting_the_bare_ones_are_quoted_and_plain_values_behave_as_before(
    pair: Pair,
) -> None:
    source, expected = pair
    assert quote_variables(source, {"V"}) == expected
    # Without globbing: bash 5.2 prints stray backslashes for some words with a parenthesis in them.
    before, after = (bash(f"set -f\n{text}", V="plain", V_X="x") for text in pair)
    assert (before.returncode, before.stdout) == (after.returncode, after.stdout)
