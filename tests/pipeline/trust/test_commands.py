"""The names that a command runs, reads and writes, and what of it no review can cover."""

from collections.abc import Callable

import pytest

from hookline.pipeline.trust.commands import Commands, shorten
from hookline.pipeline.trust.wording import Field, TooMuchError


def follow(command: str) -> Commands:
    """Follow a command in ``/p``, where one file matches ``*.sh`` and too many match ``**``."""
    commands = Commands(
        values={"PATH": "/bin", "HOME": "/h"},
        inert=(),
        of_the_event=["EVENT"],
        bases=["/p"],
        find=lambda pattern, _bases: {"*.sh": ["found"], "**": None}.get(pattern, []),
    )
    commands.read_command(command)
    return commands


def names_in(commands: Commands) -> str:
    """Each use with its names; a name that is looked for elsewhere too has those directories."""
    found = {
        f"{name.use.value}:{'@'.join([name.text, *name.bases[1:]])}" for name in commands.names
    }
    return " ".join(sorted(found))


@pytest.mark.parametrize(
    ("command", "names", "uncovered"),
    [
        ("time -p a/x", "code:a/x", ""),
        ("time", "", ""),
        ("! a/x", "code:a/x", ""),
        ("coproc a/x", "code:a/x", ""),
        (
            "a/x 2>&1 >&- <in >out 3<>both >>more",
            "code:a/x data:both data:in written:more written:out",
            "",
        ),
        ("a/x 2>$F", "code:a/x", ""),
        ("cat <in", "data:in program:cat", ""),
        ("for f in a b; do sh $f; done", "code:a code:b maybe:a maybe:b program:sh", ""),
        ("for f; do sh $f; done", "program:sh", "$f: a variable without a known value"),
        ("case $(x) in a/b) true;; esac", "program:x", ""),
        ("[[ -f a/b && $(x) ]]", "program:x seen:]] seen:a/b", ""),
        ("f() { a/x; }; f", "code:a/x program:f", ""),
        ("function f { a/x; }", "code:a/x", ""),
        ("sh $A; A=x", "maybe:x program:sh", "$A: a variable without a known value"),
        ("f() { sh $A; }; A=x; f", "code:x maybe:x program:f program:sh", ""),
        ("function f { sh $A; }; A=x; f", "code:x maybe:x program:f program:sh", ""),
        ("trap 'sh $A' EXIT; A=x", "code:x maybe:x program:sh", ""),
        ("until y; do ./$A; A=x; done", "code:./ code:./x maybe:x program:y", ""),
        ("select i in 1 2; do ./a$i; done", "code:./a code:./a1 code:./a2 maybe:1 maybe:2", ""),
        ("A=1 B=a/b c", "maybe:1 program:c seen:a/b", ""),
        ("A=x; A+=y; ./$A", "code:./x code:./xy maybe:x maybe:xy", ""),
        ("A=$(x) ./y", "code:./y program:x", ""),
        ("PATH=$(x) y", "program:x program:y", "PATH=$(x): the output of a command"),
        ("IFS=, x", "program:x", ""),
        ("IFS=,; x", "program:x", "IFS: it changes how words are split"),
        ("export A=a B=b/c; ./$A", "code:./a maybe:a seen:b/c", ""),
        ("declare -n A=b", "", ""),
        ("declare -x A=b", "maybe:b", ""),
        ("local A=$(x)", "program:x", ""),
        ("read A; ./$A", "", "./$A: a value that only a shell knows"),
        ("printf -v A %s x; ./$A", "", "./$A: a value that only a shell knows"),
        ("printf %s a/b c", "maybe:a/b", ""),
        ("env -u A -C d x", "data:A program:env program:x@/p/d", ""),
        ("env -i A=a/b ./x", "code:./x program:env seen:a/b", ""),
        ("env A=$(x) ./y", "code:./y program:env program:x", ""),
        ("env -S 'sh x' y", "code:x data:y program:env program:sh", ""),
        ("env -- ./x", "code:./x program:env", ""),
        ("env -- A=a/b ./x", "code:./x program:env seen:a/b", ""),
        ("timeout -- 5 ./x", "code:./x maybe:5 program:timeout", ""),
        (
            "for f in $(x) b; do sh $f; done",
            "code:b maybe:b program:sh program:x",
            "$f: the output of a command",
        ),
        ("LD_PRELOAD=a:b x", "code:a code:a:b code:b program:x", ""),
        ("GLOBIGNORE=x y", "maybe:x program:y", "GLOBIGNORE=x: it changes how names are matched"),
        ("export A=$(x); ./$A", "program:x", "./$A: the output of a command"),
        ("export PATH=$(x)", "program:x", "PATH=$(x): the output of a command"),
        ("A=x; readonly A; ./$A", "code:./x maybe:x", ""),
        ("typeset -i A=5; ./$A", "", "./$A: a value that only a shell knows"),
        ("export A+=b; ./$A", "code:./b maybe:b", ""),
        ("mapfile A; ./$A", "", "./$A: a value that only a shell knows"),
        ("printf -v", "", ""),
        ("trap -- a/x", "code:a/x", ""),
        ("trap a/x b/y", "code:a/x", ""),
        ("cd a b; ./x", "code:./x@/p/a", ""),
        ("cd ~-/d; ./x", "code:./x@/p/d", ""),
        ("sh //dev/stdin", "program:sh", "//dev/stdin: it is a different file in every process"),
        ("sh dev/stdin", "code:dev/stdin program:sh", ""),
        ("sudo -u me -D d ./x", "code:./x@/p/d data:me program:sudo", ""),
        ("timeout -k 1 5 ./x", "code:./x data:1 maybe:5 program:timeout", ""),
        ("timeout 5 a/b", "code:a/b maybe:5 program:timeout", ""),
        ("nice -n 5 ./x", "code:./x data:5 program:nice", ""),
        ("command -v x", "", ""),
        ("command -p ./x", "code:./x", ""),
        ("flock lock -c './x'", "code:./x maybe:lock program:flock", ""),
        ("flock lock ./x", "code:./x maybe:lock program:flock", ""),
        ("flock lock --command './x y'", "code:./x data:y maybe:lock program:flock", ""),
        ("flock -n lock sh x", "code:x maybe:lock program:flock program:sh", ""),
        ("flock lock -n x", "data:x maybe:lock program:-n program:flock", ""),
        ("flock lock", "maybe:lock program:flock", ""),
        ("ionice -c 2 ./x", "code:./x data:2 program:ionice", ""),
        ("ionice -c2 ./x", "code:./x data:2 program:ionice", ""),
        ("taskset -c 0 ./x", "code:./x maybe:0 program:taskset", ""),
        (
            "parallel -S host ./x",
            "code:./x data:host program:parallel",
            "parallel ./x: names that are found when it runs",
        ),
        (
            "xargs -I% sh %",
            "program:sh program:xargs",
            "xargs sh: names that are found when it runs",
        ),
        (
            "xargs -n 1 ./x",
            "code:./x data:1 program:xargs",
            "xargs ./x: names that are found when it runs",
        ),
        ("xargs", "program:echo program:xargs", ""),
        ("watch ./x y", "code:./x data:y program:watch", ""),
        (
            "python3 -m a.b c",
            "code:a/b.py code:a/b/__init__.py code:a/b/__main__.py data:c program:python3",
            "python3 -m a.b: it searches for what it runs",
        ),
        (
            "python3 -m",
            "code:.py code:/__init__.py code:/__main__.py program:python3",
            "python3 -m : it searches for what it runs",
        ),
        (
            "python3 -ma",
            "code:a.py code:a/__init__.py code:a/__main__.py program:python3",
            "python3 -m a: it searches for what it runs",
        ),
        ("python3 -c 'open(\"a/b\")' c", 'maybe:a/b maybe:c maybe:open("a/b") program:python3', ""),
        (
            "python3 -I x.py",
            "code:x.py program:python3",
            "python3 -I x.py: it reads compiled copies in __pycache__",
        ),
        (
            "python3 -E x.py",
            "code:x.py program:python3",
            "python3 -E x.py: it reads compiled copies in __pycache__",
        ),
        (
            "python3 -X pycache_prefix=/x -I x.py",
            "code:x.py data:pycache_prefix=/x maybe:/x program:python3",
            "",
        ),
        ("python3 < x.py", "code:x.py program:python3", ""),
        ("python3 <<E", "program:python3", ""),
        ("python3 --version", "program:python3", ""),
        ("python3", "program:python3", "python3: it runs its standard input"),
        ("python3 -", "program:python3", "python3: it runs its standard input"),
        ("python3 $(x)", "program:python3 program:x", "$(x): the output of a command"),
        (
            "node -r ./pre.js x",
            "code:./pre.js code:x code:x.cjs code:x.js code:x.json code:x.mjs program:node",
            "",
        ),
        (
            "node --require=./p.js x/ y",
            "code:./p.js code:x.cjs code:x.js code:x.json code:x.mjs code:x/ data:y program:node",
            "",
        ),
        (
            "bash -O extglob x",
            "code:x data:extglob program:bash",
            "bash -O extglob: it changes how names are matched",
        ),
        (
            "bash -c 'a/x \"$0\"' b/y c",
            "code:a/x data:b/y data:c program:bash",
            "$0: a value that only a shell knows",
        ),
        (
            "bash +O extglob -o pipefail -c a/x",
            "code:a/x data:extglob data:pipefail program:bash",
            "bash -O extglob: it changes how names are matched",
        ),
        ("bash --rcfile rc x", "code:rc code:x program:bash", ""),
        ("sh <<< a/x", "code:a/x program:sh", ""),
        ("sh <<E\na/x\nE", "code:a/x program:E program:sh", ""),
        (
            "find d -name x -exec a/x {} + -exec b/y ';'",
            "code:a/x code:b/y maybe:ame maybe:d maybe:x program:find",
            "find -exec a/x {}: names that are found when it runs",
        ),
        ("find . -name '*.sh'", "maybe:*.sh maybe:. maybe:.sh maybe:ame program:find", ""),
        ("awk -f p.awk data", "code:p.awk data:data data:p.awk program:awk", ""),
        ("awk '{print}' data", "data:data maybe:{print} program:awk", ""),
        ("awk 'BEGIN{system(\"x\")}'", 'maybe:BEGIN{system("x")} program:awk', ""),
        (
            "sed s/a/b/e x",
            "data:x maybe:s/a/b/e program:sed",
            "sed s/a/b/e: it runs the text that it produces",
        ),
        ("sed -n s/a/b/p x", "data:x maybe:s/a/b/p program:sed", ""),
        ("sed -f s.sed", "code:s.sed data:s.sed program:sed", ""),
        ("php x.php y z", "code:x.php code:y data:z program:php", ""),
        ("php -r 'x' y", "maybe:x maybe:y program:php", ""),
        ("java -jar x.jar", "code:x.jar maybe:ar program:java", ""),
        ("grep -f pat file", "data:file data:pat program:grep", ""),
        ("grep pat file", "data:file maybe:pat program:grep", ""),
        ("grep -e pat file", "data:file data:pat program:grep", ""),
        ("jq . file", "data:file maybe:. program:jq", ""),
        ("test -f a", "seen:a", ""),
        ("[ -f a ]", "maybe:] seen:a", ""),
        ("ls d", "program:ls seen:d", ""),
        ("cat a 5 ]", "data:a maybe:5 maybe:] program:cat", ""),
        ("echo a/b c $(x)", "maybe:a/b program:x", ""),
        (
            "mkdir d; touch e; tee f",
            "program:mkdir program:tee program:touch written:d written:e written:f",
            "",
        ),
        ("git status", "data:status program:git", ""),
        ("su me -c 'a/x'", "code:a/x data:a/x data:me program:su", ""),
        ("make x", "data:x program:make", "make x: what it runs is in other files"),
        ("npm run y", "data:run data:y program:npm", "npm run y: what it runs is in other files"),
        ("cargo fmt", "data:fmt program:cargo", ""),
        (
            "cargo run x",
            "data:run data:x program:cargo",
            "cargo run x: what it runs is in other files",
        ),
        (
            "uv run x.py",
            "data:run data:x.py program:uv",
            "uv run x.py: what it runs is in other files",
        ),
        (". x", "code:x program:x", ""),
        (".", "", ".: it reads commands from another place"),
        ("source a b", "code:a data:b program:a", ""),
        ("eval a/x b", "code:a/x data:b", ""),
        ("eval $X", "", "eval $X: a variable without a known value"),
        ("trap a/x EXIT", "code:a/x", ""),
        ("cd d; ./x", "code:./x@/p/d", ""),
        ("cd d/../e; ./x", "code:./x@/p/d/../e", ""),
        ("cd ./d/; ./x", "code:./x@/p/d", ""),
        ("CDPATH=/c; cd d; ./x", "code:./x@/p/d@/c/d", ""),
        ("A=a:b/c; x", "program:x seen:a seen:a:b/c seen:b/c", ""),
        (
            "python3 -um a b",
            "code:a.py code:a/__init__.py code:a/__main__.py data:b program:python3",
            "python3 -m a: it searches for what it runs",
        ),
        ("tool $EVENT$(x)", "program:tool program:x", "$EVENT$(x): the output of a command"),
        ("tool $EVENT$?", "program:tool", ""),
        (
            "tool $(x)/a$?/b",
            "maybe:b program:tool program:x",
            "$(x)/a$?/b: the output of a command",
        ),
        ("sh $EVENT/a.sh", "code:a.sh program:sh", "$EVENT/a.sh: a value of the event"),
        ("A=' x'; tool y$A", "data:x data:y maybe: x maybe:x program:tool", ""),
        ("A='x '; tool ${A}y", "data:x data:y maybe:x maybe:x  program:tool", ""),
        ("cd; ./x", "code:./x@/h", ""),
        ("cd -- d; ./x", "code:./x@/p/d", ""),
        ("cd ~+/d; ./x", "code:./x@/p/d", ""),
        ("cd $(x); ./x", "code:./x program:x", "$(x): the output of a command"),
        ("cd /dev/fd/3", "", "/dev/fd/3: it is a different place in every process"),
        ("pushd d; ./x", "code:./x@/p/d", ""),
        ("shopt -s extglob", "", "shopt extglob: it changes how names are matched"),
        ("set -e", "", ""),
        ("exec -a n ./x", "code:./x data:n", ""),
        ("exec > out", "written:out", ""),
        ("./cat a", "code:./cat data:a", ""),
        ("/usr/bin/cat a", "code:/usr/bin/cat data:a", ""),
        ("cat *.sh", "data:found program:cat", ""),
        ("cat **", "program:cat", ""),
        ("cat {a,b}/c", "data:a/c data:b/c program:cat", ""),
        ("cat a{1..3}", "program:cat", ""),
        ("cat {x}", "data:{x} program:cat", ""),
        ("tool --x=a/b -Ia/c -x", "data:a/b maybe:a/b maybe:a/c program:tool", ""),
        (
            "tool d,e f=g,h $EVENT $(x)/t",
            "data:d,e data:f=g,h maybe:g maybe:h maybe:t program:tool program:x",
            "$(x)/t: the output of a command",
        ),
        ("$EVENT", "", "$EVENT: a value of the event"),
        ("$(x)/y", "code:y program:x", "$(x)/y: the output of a command"),
        ("- x", "data:x program:-", ""),
        ("/dev/stdin", "", "/dev/stdin: it is a different file in every process"),
        ("sh -", "program:sh", "sh: it runs its standard input"),
        ("echo $UNSET", "", ""),
        ("./$UNSET", "", "./$UNSET: a variable without a known value"),
        ("strace -o out ./x", "code:./x data:out program:strace", ""),
        ("bun run x", "code:run code:x program:bun", "bun run x: what it runs is in other files"),
        ("deno x.ts", "code:x.ts program:deno", ""),
        ("unset A", "", ""),
        ("exit 2", "", ""),
    ],
)
def test_a_command_has_these_names_and_this_is_not_covered(
    command: str, names: str, uncovered: str
) -> None:
    commands = follow(command)
    assert names_in(commands) == names
    assert "; ".join(map(str, commands.uncovered)) == uncovered


GIVEN_INPUT = [
    *("<in", "A=1 <in", "$EVENT <in", "tool <in", "a/x <in", "cd / <in", "[ a ] <in"),
    *("echo a <in", "cat <in", "find . <in", "env <in", "env ./x <in", "env -S ./x <in"),
    *("flock lock -c ./x <in", "watch ./x <in", "xargs ./x <in", "sh -c a/x <in", "make <in"),
    *("sh x <in", "python3 -c x <in", "python3 x.py <in", "node -e x <in", "awk 1 <in"),
]


def test_what_a_command_gets_as_its_input_is_looked_at() -> None:
    for command in GIVEN_INPUT:
        names = names_in(follow(command)).split()
        found = [name for name in names if name.startswith(("code:in", "data:in"))]
        assert found in (["data:in"], ["data:in@/"]), command


@pytest.mark.parametrize(
    "wrapper",
    [
        *("env -a v", "env -P v", "gtimeout -k v 5", "ionice -n v", "chrt 5", "taskset 1"),
        *("stdbuf -o v", "command time -f v", "sudo -g v", "doas -u v", "flock -w v lock"),
        *("chroot d", "caffeinate -t v", "strace -e v", "parallel -j v", "watch -n v"),
        *("setsid", "unbuffer", "busybox", "toybox", "noglob", "fakeroot", "valgrind", "nohup"),
        *(
            "builtin",
            "builtin command",
            "unshare",
            "systemd-run",
            "exec -a v",
            "nice -n v",
        ),
    ],
)
def test_a_program_that_starts_another_is_followed_past_its_own_words(wrapper: str) -> None:
    names = names_in(follow(f"{wrapper} ./x")).split()
    assert "code:./x" in names
    assert ("data:v" in names) is (" v" in wrapper)


@pytest.mark.parametrize(
    "command",
    [
        *("bundle exec", "deno task", "docker compose", "dotnet run", "go test", "hatch run"),
        *("nix run", "node --test", "pdm run", "pipenv run", "pipx run", "rye run", "swift run"),
        *("uv tool", "mvn test", "direnv exec", "pytest x"),
    ],
)
def test_a_program_that_runs_what_other_files_say_is_not_covered(command: str) -> None:
    (uncovered,) = follow(f"{command} y").uncovered
    assert str(uncovered) == f"{command} y: what it runs is in other files"


@pytest.mark.parametrize("command", ["bundle list", "docker ps", "pipx list", "uv pip", "nix log"])
def test_a_runner_that_is_asked_for_something_else_leaves_nothing_uncovered(command: str) -> None:
    assert not follow(command).uncovered


@pytest.mark.parametrize(
    ("use", "variables"),
    [
        ("code", "BASH_ENV ENV LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES"),
        ("code", "NODE_OPTIONS PERL5OPT RUBYOPT"),
        ("data", "LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME"),
        ("data", "NODE_PATH PERL5LIB RUBYLIB CLASSPATH"),
    ],
)
def test_what_a_variable_makes_programs_load_is_looked_at(use: str, variables: str) -> None:
    for name in variables.split():
        assert f"{use}:a" in names_in(follow(f"{name}=a x")).split(), name
        (uncovered,) = follow(f"{name}=$(y) x").uncovered
        assert uncovered.what == f"{name}=$(y)"


@pytest.mark.parametrize(
    ("command", "remarks"),
    [
        ("git status; hg log; cat a", ["git", "hg"]),
        ("python3 -c x", ["python3 -c"]),
        ("node --eval x; node -p y", ["node --eval", "node -p"]),
        ("ruby -e x; perl -e x; perl -E y", ["ruby -e", "perl -e", "perl -E"]),
        ("python3 <<< x", ["python3"]),
        ("sh <<< x", []),
        ("awk 'BEGIN{system(1)}'", ["awk"]),
        ("awk '{print}'", []),
        ("php -r x", ["php"]),
        ("php x.php", []),
    ],
)
def test_what_may_load_more_is_remarked(command: str, remarks: list[str]) -> None:
    assert [remark.partition(":")[0] for remark in follow(command).remarks] == remarks


@pytest.mark.parametrize(
    ("command", "single"),
    [("./x a", True), ("A=1 ./x", False), ("./x; ./y", False), ("cd d", False), ("eval x", False)],
)
def test_a_command_of_one_program_is_known_as_such(command: str, single: bool) -> None:
    assert follow(command).is_single is single


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda n: "eval " * n + "x", 7),
        (lambda n: "".join(f"cd d{each}; " for each in range(n)) + "x", 4),
        (lambda n: "".join(f"cd /d{each}; " for each in range(n)) + "x", 15),
        (lambda n: "x " + " ".join(f"n{each}" for each in range(n)), 999),
        (lambda n: "x " + "{a,b}" * n, 8),
        (lambda n: "x " + "{a}" * n, 32),
        (lambda n: "x " + "a" * n, 64 * 1024 - 2),
    ],
    ids=[
        "depth",
        "directories",
        "absolute directories",
        "names",
        "words of braces",
        "braces",
        "text",
    ],
)
def test_a_command_is_followed_up_to_a_limit(make: Callable[[int], str], most: int) -> None:
    follow(make(most))
    with pytest.raises(TooMuchError):
        follow(make(most + 1))


def test_a_variable_has_up_to_so_many_values_and_is_unknown_with_one_more() -> None:
    commands = follow("")
    values = [f"n{each}" for each in range(256)]
    for value in values:
        commands.assign("F", value)
    commands.assign("F", values[-1])
    assert (commands.values["F"], "F" in commands.unknown) == (values, False)
    commands.assign("F", "one more")
    assert (commands.values["F"], commands.unknown["F"]) == (["n0"], "loop")


def test_a_variable_that_grows_in_a_loop_has_too_many_values() -> None:
    commands = follow("A=x; while y; do A=a$A; done; sh b$A; sh $B; B=z")
    assert {"code:b", "code:bax", "code:z"} < set(names_in(commands).split())
    said = [str(uncovered) for uncovered in commands.uncovered]
    assert said == ["b$A: a variable with too many values"]


def test_the_words_of_a_program_may_have_as_many_characters_as_a_command() -> None:
    follow("").start([Field("x"), Field("a" * (64 * 1024 - 1))])
    with pytest.raises(TooMuchError):
        follow("").start([Field("x"), Field("a" * (64 * 1024))])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ü" * 120, "ü" * 120),
        ("ü" * 121, "ü" * 119 + "…"),
        ("a\nb\x1bc ü", "a\\nb\\x1bc ü"),
        ("\n" * 60, "\\n" * 60),
        ("\n" * 61, "\\n" * 59 + "\\…"),
    ],
)
def test_a_text_is_shown_on_one_line_and_not_too_long(text: str, shown: str) -> None:
    assert shorten(text) == shown


def test_as_many_steps_as_may_be_spent_are_not_too_many() -> None:
    commands = follow("")
    commands.spend(40_000)
    with pytest.raises(TooMuchError):
        commands.spend(1)


@pytest.mark.parametrize("name", ["PATH", "CDPATH"])
def test_a_search_path_names_each_place_once(name: str) -> None:
    commands = follow(f"{name}=a:b:a:; {name}=$NONE")
    assert commands.values[name][-1] == "a:b:"
    other = follow("A=a:b:a")
    assert other.values["A"] == ["a:b:a"]


WORDS = [
    ("echo ${A:=x}; ./$A", "code:./x maybe:x", ""),
    ("echo ${A=x}; ./$A", "code:./x maybe:x", ""),
    ("echo ${A:-x}; ./$A", "", "./$A: a variable without a known value"),
    ("A=y; ./${A:-x}", "code:./x code:./y maybe:y", ""),
    ("./${EVENT:-x}", "code:./x", "./${EVENT:-x}: a value of the event"),
    ("./$RANDOM", "", "./$RANDOM: a value that only a shell knows"),
    ("cat $OLDPWD/x $PWD/y", "data:/p/x data:/p/y program:cat", ""),
    ("./${A:-$(y)}", "program:y", "./${A:-$(y)}: the output of a command"),
    ("A='a b'; ./$A", "code:./a data:b maybe:a maybe:a b maybe:b", ""),
    ("A='a b'; ./\"$A\"", "code:./a b maybe:a maybe:a b maybe:b", ""),
    ("A='*.sh'; cat $A", "data:found maybe:.sh program:cat seen:*.sh", ""),
    ("A='*.sh'; cat \"$A\"", "data:*.sh maybe:.sh program:cat seen:*.sh", ""),
    ("sh [[:x:]]", "program:sh", "[[:x:]]: a value that only a shell knows"),
    ("sh **", "program:sh", "**: too many words"),
    ("cat [a", "data:[a program:cat", ""),
    ("cat '*'*.sh", "data:**.sh maybe:.sh program:cat", ""),
    ("cat {a,b}{c,d}", "data:ac data:ad data:bc data:bd program:cat", ""),
    ("cat {a,{b,c}}", "data:a data:b data:c program:cat", ""),
    ("cat {a,b}x{c", "data:ax{c data:bx{c program:cat", ""),
    ("cat {a,b", "data:{a,b program:cat", ""),
    ("cat {1..3}a{b,c}", "maybe:ab maybe:ac program:cat", ""),
    ("cat ~/x '~/y'", "data:/h/x data:~/y program:cat", ""),
]


def test_a_word_is_all_the_words_that_a_shell_may_make_of_it() -> None:
    for command, names, uncovered in WORDS:
        commands = follow(command)
        assert names_in(commands) == names, command
        assert "; ".join(map(str, commands.uncovered)) == uncovered, command


OPTIONS = [
    ("python3 <<< 'open(\"a/b\")'", 'maybe:a/b maybe:open("a/b") program:python3', ""),
    ("sh -c -- -x b", "data:b program:-x program:sh", ""),
    ("bash --rcfile r -c a/x b", "code:a/x code:r data:b program:bash", ""),
    (
        "make x y z",
        "data:x data:y data:z program:make",
        "make x y: what it runs is in other files",
    ),
    ("<in ./y b", "code:./y data:b data:in", ""),
    (">out sh x", "code:x program:sh written:out", ""),
    ("2>&1 ./y >>out b", "code:./y data:b written:out", ""),
    ("<<< text ./y", "code:./y", ""),
    ("(./x) >out", "code:./x written:out", ""),
    ("{ ./x; } <in", "code:./x data:in", ""),
    ("(a/x", "code:a/x", "(a/x: not complete, or nested too deep"),
    ("x > >(a/x)", "code:a/x program:x", ""),
    ("f() ( a/x )", "code:a/x", ""),
    ("f ()\n{ a/x; }", "code:a/x", ""),
    ("arr=(a b); x", "data:b program:a program:x", ""),
    ("case a/b in c/d) x;; esac", "maybe:a/b program:x", ""),
    ("for f in; do ./$f; done", "", "./$f: a variable without a known value"),
    ("function f", "", ""),
    ("A+=y; ./$A", "code:./y maybe:y", ""),
    ("A=$(x); A+=y; ./$A", "code:./y maybe:y program:x", "./$A: the output of a command"),
    ("/usr/bin/env ./x", "code:./x code:/usr/bin/env", ""),
    ("./env ./x", "code:./env data:./x", ""),
    ("fish x", "code:x program:fish", ""),
    ("php", "program:php", ""),
    ("env -iu A ./x", "code:./x data:A program:env", ""),
    ("env -uA ./x", "code:./x data:A program:env", ""),
    ("nice -n5 ./x", "code:./x data:5 program:nice", ""),
    ("timeout --kill-after=1 5 ./x", "code:./x data:1 maybe:5 program:timeout", ""),
    (
        "xargs --replace=% sh %",
        "program:sh program:xargs",
        "xargs sh: names that are found when it runs",
    ),
    (
        "xargs --replace sh {}",
        "program:sh program:xargs",
        "xargs sh: names that are found when it runs",
    ),
    (
        "parallel -I% sh %",
        "program:parallel program:sh",
        "parallel sh: names that are found when it runs",
    ),
    ("env --chdir=d ./x", "code:./x@/p/d program:env", ""),
    ("env -Cd ./x", "code:./x@/p/d program:env", ""),
    ("doas -C conf ./x", "code:./x data:conf program:doas", ""),
    ("sudo A=a/b ./x", "code:./x program:sudo seen:a/b", ""),
    ("sudo A=$(x) ./y", "code:./y program:sudo program:x", ""),
    ("find . -execdir a/x ';'", "code:a/x maybe:. program:find", ""),
    ("find . -ok a/x ';' -okdir b/y ';'", "code:a/x code:b/y maybe:. program:find", ""),
    ("find . -exec ';'", "maybe:. program:find", ""),
    ("find . -exec", "maybe:. program:find", ""),
    ("sh -- x", "code:x program:sh", ""),
    ("sh -o pipefail x", "code:x data:pipefail program:sh", ""),
    ("bash -c", "program:bash", ""),
    ("sh -c -- a/x", "code:a/x program:sh", ""),
    ("sh -ec a/x b", "code:a/x data:b program:sh", ""),
    ("eval", "", ""),
    ("eval ''", "", ""),
    ("trap '' TERM", "", ""),
    ("eval $EVENT", "", "eval $EVENT: a value of the event"),
    ("su -c a/x", "code:a/x data:a/x program:su", ""),
    ("su --command a/x", "code:a/x data:a/x program:su", ""),
    ("script -c a/x", "code:a/x data:a/x program:script", ""),
    ("runuser -c", "program:runuser", ""),
    ("tool -c a/x", "data:a/x program:tool", ""),
    ("python3 -X a=b x.py", "code:x.py data:a=b maybe:b program:python3", ""),
    (
        "node x.js/",
        "code:x.js.cjs code:x.js.js code:x.js.json code:x.js.mjs code:x.js/ program:node",
        "",
    ),
    ("perl -I lib x.pl", "code:x.pl data:lib program:perl", ""),
    ("gawk -f p data", "code:p data:data data:p program:gawk", ""),
    ("gawk --file p data", "code:p data:data data:p program:gawk", ""),
    ("awk -v a=b '{print}' data", "data:data data:{print} maybe:a=b maybe:b program:awk", ""),
    ("sed -i s/a/b/ x", "data:x maybe:s/a/b/ program:sed", ""),
    (
        "sed -e s/a/b/e x",
        "data:s/a/b/e data:x program:sed",
        "sed s/a/b/e: it runs the text that it produces",
    ),
    ("sed --expression=p x", "data:p data:x maybe:p program:sed", ""),
    ("jq -f f x", "data:f data:x program:jq", ""),
    ("grep --regexp=x file", "data:file data:x maybe:x program:grep", ""),
    ("tr a b", "data:b maybe:a program:tr", ""),
    ("lua -e x y", "maybe:x maybe:y program:lua", ""),
    ("Rscript -e x", "maybe:x program:Rscript", ""),
    ("deno eval x", "maybe:eval maybe:x program:deno", ""),
    ("x --a=b,c/d", "data:b,c/d maybe:b maybe:c/d program:x", ""),
    ("x -ab.c", "maybe:b.c program:x", ""),
    ("x a=b", "data:a=b maybe:b program:x", ""),
    ("x --", "program:x", ""),
    ("x -", "program:x", ""),
    ("mktemp a/b", "program:mktemp written:a/b", ""),
    ("[ -f $(x) ]", "maybe:] program:x", ""),
    ("ls $(x)", "program:ls program:x", ""),
    ("rm $(x)", "program:rm program:x", ""),
    ("cat $?", "program:cat", ""),
    ("tool $?", "program:tool", ""),
    ("./$?", "", "./$?: a number that only a shell knows"),
    (
        "xargs --replace ./x {}",
        "code:./x program:xargs",
        "xargs ./x: names that are found when it runs",
    ),
    (
        "xargs --max-lines=2 ./x",
        "code:./x program:xargs",
        "xargs ./x: names that are found when it runs",
    ),
    (
        "xargs --max-chars 9 ./x",
        "code:./x data:9 program:xargs",
        "xargs ./x: names that are found when it runs",
    ),
    ("sed -e s/a/b/ x", "data:s/a/b/ data:x program:sed", ""),
    (
        "sed -e e x",
        "data:e data:x program:sed",
        "sed e: it runs the text that it produces",
    ),
    ("sed 1e x", "data:x maybe:1e program:sed", "sed 1e: it runs the text that it produces"),
    (
        "sed 'p; e' x",
        "data:x maybe:p; e program:sed",
        "sed p; e: it runs the text that it produces",
    ),
    ("sed -ne p x", "data:x maybe:e maybe:p program:sed", ""),
    ("sed s/a/else/ x", "data:x maybe:s/a/else/ program:sed", ""),
    ("env --split='./x a'", "code:./x data:a program:env", ""),
    ("env --chd d ./x", "code:./x@/p/d program:env", ""),
    ("timeout --kill 1 5 ./x", "code:./x data:1 maybe:5 program:timeout", ""),
    (
        "sed -es/a/b/e x",
        "data:x maybe:s/a/b/e program:sed",
        "sed -es/a/b/e: it runs the text that it produces",
    ),
]


def test_options_and_operands_of_known_programs_are_told_apart() -> None:
    for command, names, uncovered in OPTIONS:
        commands = follow(command)
        assert names_in(commands) == names, command
        assert "; ".join(map(str, commands.uncovered)) == uncovered, command


def test_of_too_many_combinations_every_word_is_followed() -> None:
    numbers = [str(number) for number in range(17)]
    values = " ".join(numbers)
    command = f"for a in {values}; do for b in {values}; do ./$a one last$b; done; done"
    names = set(names_in(follow(command)).split())
    made = {f"code:./{n}" for n in numbers} | {f"data:last{n}" for n in numbers}
    assert made | {"data:one"} < names
