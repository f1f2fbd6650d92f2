"""Finds the names of all that a command runs and reads, and reports what cannot be known.

It follows a shell through words, assignments, directories, wrappers such as ``env`` and texts
that are commands themselves. Where a shell would choose, it follows every choice: too many names
are harmless, a missed name is not. What only a running shell could know is reported.
"""

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from hookline.pipeline.trust import kinds
from hookline.pipeline.trust.kinds import Use
from hookline.pipeline.trust.wording import HARMLESS, MOST_CHOICES, Field, TooMuchError, Words
from hookline.shell.programs import interpreter_in
from hookline.shell.tokens import REDIRECTIONS, Token, Word, is_readable, read_tokens

# Characters of a command: half of what Linux hands a shell.
_MOST_TEXT = 64 * 1024
_MOST_DEPTH = 8
_MOST_NAMES = 1_000
_MOST_BASES = 16

_FORM = 'write the path itself: "$HOOKLINE_PROJECT_DIR/…"'
# Why a word's value cannot be known, and what to write instead.
_UNKNOWN = {
    "output": ("the output of a command", _FORM),
    "value": ("a value that only a shell knows", _FORM),
    "number": ("a number that only a shell knows", _FORM),
    "event": ("a value of the event", _FORM),
    "unset": ("a variable without a known value", _FORM),
    "loop": ("a variable with too many values", _FORM),
    "many": ("too many words", "name fewer files"),
    "found": ("names that are found when it runs", "name the files in the command"),
}


class Name(msgspec.Struct, frozen=True):
    """A text that may name a file, and the directories in which a command may look for it."""

    text: str
    use: Use
    bases: tuple[str, ...]


class Uncovered(msgspec.Struct, frozen=True):
    """What no review can cover: the words, the reason, and what to write instead."""

    what: str
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class _Simple:
    """One command: its words and its redirections."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.reads: list[Word] = []
        self.writes: list[Word] = []
        self.texts: list[Word] = []
        self.has_body = False


def _split_commands(tokens: Sequence[Token]) -> tuple[list[_Simple], list[Word]]:
    """Split a text into its commands, those inside a word first, and its here-documents."""
    found: list[_Simple] = []
    bodies: list[Word] = []
    around: list[tuple[_Simple, str]] = []
    now, target = _Simple(), ""
    for at, token in enumerate(tokens):
        if isinstance(token, Word):
            if token.is_body:
                bodies.append(token)
            elif not target:
                now.words.append(token)
            elif target in ("<", "<>"):
                now.reads.append(token)
            elif target == "<<<":
                now.texts.append(token)
            elif target == "<<":
                now.has_body = True
            elif not token.written.rstrip("-").isdigit():
                now.writes.append(token)
            target = "" if not token.is_body else target
        elif token in REDIRECTIONS:
            target = token
        elif token == "(":
            around.append((now, target))
            now, target = _Simple(), ""
        elif token == ")":
            found.append(now)
            now, target = around.pop() if around else (_Simple(), "")
            after = tokens[at + 1] if at + 1 < len(tokens) else ""
            begins = not isinstance(after, Word) or after.written in kinds.OPENING | kinds.REPEATING
            if begins and tokens[at - 1] == "(" and now.words and not now.words[-1].assigned:
                # The name of a function; the commands behind it are its body.
                now.words.insert(-1, Word(("function",), is_exact=True, written="function"))
                found.append(now)
                now = _Simple()
        elif token in ("[[", "case"):
            now.words.append(Word((token,), is_exact=True, written=token))
        else:
            found.append(now)
            now, target = _Simple(), ""
    return [*found, now, *(simple for simple, _ in around)], bodies


class Commands(Words):
    """Follows commands one after the other, with the variables and directories known so far."""

    def __init__(
        self,
        *,
        values: Mapping[str, str],
        inert: Collection[str],
        of_the_event: Collection[str],
        bases: Iterable[str],
        find: Callable[[str, Sequence[str]], list[str] | None],
    ) -> None:
        super().__init__(
            values=values, inert=inert, of_the_event=of_the_event, bases=bases, find=find
        )
        self.names: dict[Name, None] = {}
        self.uncovered: dict[Uncovered, None] = {}
        self.remarks: dict[str, None] = {}
        self.interpreters: dict[str, None] = {}
        self.is_single = True
        self._depth = self._text = 0

    def read(self, text: str) -> None:
        """Follow the commands of a text; raises TooMuchError."""
        self._text += len(text)
        if self._text > _MOST_TEXT or self._depth >= _MOST_DEPTH:
            raise TooMuchError
        if not is_readable(text):
            self._report(text, "not complete, or nested too deep", "write it as a script")
        tokens = read_tokens(text)
        simples, bodies = _split_commands(tokens)
        commands = [simple for simple in simples if simple.words]
        self.is_single &= len(commands) == 1 and not commands[0].words[0].assigned
        self.repeats |= any(word.written in kinds.REPEATING for s in simples for word in s.words)
        self._depth += 1
        for simple in simples:
            self._follow_command(simple, bodies)
        self._depth -= 1

    def read_command(self, command: str) -> None:
        """Follow a hook's whole command; raises TooMuchError."""
        self.interpreters["sh"] = None
        uncovered, known = self.uncovered, -1
        for _ in range(3):
            self._text = 0
            # What was unknown in the last turn may be known in this one.
            self.uncovered = dict(uncovered)
            self.read(command)
            # In a loop, a later assignment may apply to an earlier command.
            before, known = known, sum(map(len, self.values.values())) + len(self.bases)
            if not self.repeats or known == before:
                return
        # Their values grow with every turn.
        self.unknown |= {name: "loop" for name, v in self.values.items() if len(v) > 2}
        self._text = 0
        self.read(command)

    def start(self, fields: Sequence[Field], *, by_shell: bool = False) -> None:
        """Follow one program with its arguments; raises TooMuchError."""
        self._text += sum(len(field.text) for field in fields)
        if self._text > _MOST_TEXT:
            raise TooMuchError
        self._follow_program(list(fields), _Simple(), [], by_shell=by_shell)

    def assign(self, name: str, value: str) -> None:
        """Give a variable this value; a program may load or read what it names."""
        if len(value) > _MOST_TEXT:
            raise TooMuchError
        super().assign(name, value)
        if name == "IFS":
            self._report(name, "it changes how words are split", "write it as a script")
        if name in ("PATH", "CDPATH", "PWD", "HOME", "IFS"):
            return
        if name in kinds.OTHER_WAYS:
            self._report_matching(f"{name}={value}")
        elif name.startswith("BASH_FUNC_"):
            self.read(value)
        _, use = kinds.LOADERS.get(
            name, ("", Use.SEEN if "/" in value or "." in value else Use.MAYBE)
        )
        self._add_name(value, use)
        for part in value.replace(":", " ").split():
            self._add_name(part, use)
            self._add_parts(part)

    def _report(self, what: str, why: str, remedy: str) -> None:
        self.uncovered[Uncovered(shorten(what), why, remedy)] = None

    def _report_unknown(self, field: Field, *, by: str = "") -> None:
        why, remedy = _UNKNOWN[field.unknown]
        # As written, so that a review does not depend on the variables of the moment.
        what = field.written or field.text
        if field.tail.startswith("/") and what.endswith(field.tail) and remedy is _FORM:
            remedy = shorten(f'write "$HOOKLINE_PROJECT_DIR{field.tail}"')
        self._report(what if field.unknown == "found" else f"{by} {what}".strip(), why, remedy)

    def _report_matching(self, what: str) -> None:
        self._report(what, "it changes how names are matched", "name the files themselves")

    def _follow_command(self, simple: _Simple, bodies: Sequence[Word]) -> None:
        words = simple.words
        while words and words[0].written in kinds.OPENING:
            has_option = words[0].written == "time" and words[1:2] and words[1].written == "-p"
            words = words[2:] if has_option else words[1:]
        for word in simple.writes:
            for fields in self.make_fields(word):
                self._add_operands(fields, Use.WRITTEN)
        if words and words[0].written in ("for", "select"):
            choices = [fields for word in words[3:] for fields in self.make_fields(word)]
            for field in itertools.chain.from_iterable(choices):
                if field.unknown:
                    self.unknown[words[1].written] = field.unknown
                else:
                    self.assign(words[1].written, field.text)
            return
        if words and words[0].written == "function":
            words = words[3:] if len(words) > 2 and words[2].written == "{" else []
        if words and words[0].written in ("case", "[["):
            # Texts that are compared, and files whose existence is tested.
            for word in words[1:]:
                for fields in self.make_fields(word):
                    use = Use.SEEN if words[0].written == "[[" else Use.MAYBE
                    self._add_operands(fields, use, is_text=True)
            words = []
        while words and words[0].assigned:
            self._follow_assignment(words[0], is_lasting=all(word.assigned for word in words))
            words = words[1:]
        slots = [self.make_fields(word) for word in words]
        size = 1
        for slot in slots:
            size = min(size * len(slot), MOST_CHOICES + 1)
        if size > MOST_CHOICES:
            first = [slot[0] for slot in slots]
            argvs = [
                [*first[:at], choice, *first[at + 1 :]]
                for at, slot in enumerate(slots)
                for choice in slot
            ]
        else:
            argvs = [list(argv) for argv in itertools.product(*slots)]
        for argv in argvs:
            fields = [field for made in argv for field in made]
            self.spend(len(fields))
            if fields:
                self._follow_program(fields, simple, bodies, by_shell=True)
            else:
                self._follow_input(simple, Use.DATA)

    def _follow_assignment(self, word: Word, *, is_lasting: bool) -> None:
        name = word.assigned
        if name == "IFS" and not is_lasting:
            return
        olds = tuple(self.values.get(name, ())) if word.written.startswith(f"{name}+=") else ("",)
        for made in self.make_texts(word.pieces, word.written):
            value = made.text.partition("=")[2]
            if made.unknown:
                self._forget(name, made)
            for old in (*olds, *([] if olds else [""])):
                if not made.unknown:
                    self.assign(name, old + value)

    def _forget(self, name: str, field: Field) -> None:
        """Give a variable a value that cannot be known."""
        self.unknown[name] = field.unknown
        if name in kinds.LOADERS or name in ("PATH", "CDPATH", "IFS"):
            self._report_unknown(field)

    def _follow_input(self, simple: _Simple, use: Use) -> None:
        """Add the files that a command reads by redirection."""
        for word in simple.reads:
            for fields in self.make_fields(word):
                self._add_operands(fields, use)

    def _follow_program(
        self, fields: list[Field], simple: _Simple, bodies: Sequence[Word], *, by_shell: bool
    ) -> None:
        """Follow the program that the first word names, with the other words as arguments."""
        self.spend(1)
        program, rest = fields[0], fields[1:]
        name = os.path.basename(program.text)
        if program.unknown:
            self._add_code(program)
            self._add_operands(rest, Use.DATA)
            self._follow_input(simple, Use.DATA)
            return
        self._add_program(program, by_shell=by_shell)
        # A project's own file called cat may do anything.
        is_known = "/" not in program.text or program.text.startswith(("/bin/", "/usr/"))
        if program.text in kinds.OF_THE_SHELL and by_shell and self._run_built_in(name, rest):
            self._follow_input(simple, Use.DATA)
            return
        if name in kinds.WRAPPERS and is_known:
            self._unwrap(name, rest, simple, bodies)
            return
        words = frozenset(field.text for field in rest)
        if name in kinds.RUNNERS and (not kinds.RUNNERS[name] or words & kinds.RUNNERS[name]):
            what = " ".join([name, *(field.text for field in rest[:2])])
            why = "what it runs is in other files"
            self._report(what, why, "name the script itself")
        # An unknown word counts as a script, not as an option.
        texts = ["?" if field.unknown else field.text for field in rest]
        found = interpreter_in([name if name not in kinds.SHELLS else "sh", *texts])
        if found is not None:
            self._interpret(found.kind, found.options, found.script_at, fields, simple, bodies)
            return
        self._follow_input(simple, Use.DATA)
        if name in kinds.INTERPRETERS and rest:
            self._interpret_any(name, rest)
        elif not is_known:
            self._add_operands(rest, Use.DATA)
        elif name == "find":
            self._follow_find(rest)
        elif name in kinds.TEXT_ONLY:
            use = Use.WRITTEN if name in kinds.WRITING else Use.MAYBE
            named = [f for f in rest if use is Use.WRITTEN or "/" in f.text]
            self._add_operands(named, use, is_text=True)
        elif name in kinds.READING:
            use = Use.SEEN if name in kinds.LOOKING else Use.DATA
            first = _find_pattern(name, rest)
            for field in rest:
                is_text = field is first or field.text.isdecimal() or field.text == "]"
                self._add_operand(field, Use.MAYBE if is_text else use, is_text=True)
        else:
            self._add_operands(rest, Use.DATA)
            if name in kinds.CONFIGURED:
                self.remarks[f"{name}: what its configuration starts"] = None
            for before, field in itertools.pairwise(rest if name in kinds.EVALUATING else ()):
                if before.text in ("-c", "--command"):
                    self._evaluate(name, [field])

    def _run_built_in(self, name: str, rest: list[Field]) -> bool:
        """Follow what a shell does itself; False for what it treats like any other program."""
        end = next((at for at, field in enumerate(rest) if field.text == "--"), len(rest))
        options = [field.text for field in rest[:end] if field.text.startswith("-")]
        operands = [f for f in rest[:end] if not f.text.startswith("-")] + rest[end + 1 :]
        if name in (".", "source"):
            if not operands:
                self._report(name, "it reads commands from another place", "name the file")
            for field in operands[:1]:
                self._add_code(field)
                self._add_program(field, by_shell=False)
            self._add_operands(operands[1:], Use.DATA)
        elif name == "eval":
            self._evaluate(name, rest)
        elif name == "trap":
            self._evaluate(name, operands[:1])
        elif name in ("cd", "pushd"):
            self._change_directory(operands)
        elif name in kinds.DECLARING:
            for field in operands:
                variable, equals, value = field.text.partition("=")
                if field.unknown:
                    self._forget(variable.removesuffix("+"), field)
                elif set("".join(options)) & set("nuli"):
                    # It refers to another variable, or the shell changes its value.
                    self._forget(variable, Field(f"{name} {field.text}", "value"))
                elif equals:
                    self.assign(variable.removesuffix("+"), value)
        elif name in kinds.SETTING:
            for field in operands:
                self._forget(field.text, Field(f"{name} {field.text}", "value"))
        elif name == "shopt" and (ways := kinds.OTHER_MATCHING & {field.text for field in rest}):
            self._report_matching(f"{name} {min(ways)}")
        elif name == "printf" and len(rest) > 1 and rest[0].text == "-v":
            self._forget(rest[1].text, Field(f"{name} -v {rest[1].text}", "value"))
        else:
            return False
        return True

    def _evaluate(self, by: str, fields: Sequence[Field]) -> None:
        """Follow words that a program runs as a command."""
        for field in fields:
            if field.unknown:
                self._report_unknown(field, by=by)
        texts = [field.text if field.code is None else field.code for field in fields]
        if any(texts) and not any(field.unknown and field.code is None for field in fields):
            self.is_single = False
            self.read(" ".join(texts))

    def _change_directory(self, operands: Sequence[Field]) -> None:
        places = list(operands) or [Field(home) for home in self.values.get("HOME", ())]
        for field in places[:1]:
            if field.unknown:
                self._report_unknown(field)
                continue
            if _is_of_a_process(field.text):
                self._report(field.text, "it is a different place in every process", _FORM)
            if field.text.startswith(("~+", "~-")):
                field = Field(field.text[2:].lstrip("/"))
            entries = [e for value in self.values.get("CDPATH", ()) for e in value.split(":")]
            new = [
                os.path.join(base, entry, expand_home(field.text))
                for base in self.bases
                for entry in ("", *(entry for entry in entries if entry))
            ]
            new = [place if ".." in place else os.path.normpath(place) for place in new]
            self.bases = tuple(dict.fromkeys([*self.bases, *new]))
            if len(self.bases) > _MOST_BASES:
                raise TooMuchError
        self.is_single = False

    def _unwrap(
        self, name: str, rest: list[Field], simple: _Simple, bodies: Sequence[Word]
    ) -> None:
        """Follow the command that a wrapper starts."""
        with_value, before = kinds.WRAPPERS[name]
        with_code = kinds.CODE_OPTIONS_OF_WRAPPERS.get(name, ())
        replaced = "{}"
        at = 0
        while at < len(rest):
            text = rest[at].text
            is_assigning = name in ("env", "sudo", "doas") and "=" in text[1:]
            if is_assigning and not text.startswith("-"):
                variable, _, value = text.partition("=")
                if rest[at].unknown:
                    self._forget(variable, rest[at])
                else:
                    self.assign(variable, value)
                at += 1
                continue
            if not text.startswith("-") or text == "-":
                if not before:
                    break
                self._add_operand(rest[at], Use.MAYBE, is_text=True)
                before, at = before - 1, at + 1
                # Behind its operands a word with a dash is the command, or holds it.
                if not before and at < len(rest) and rest[at].text not in with_code:
                    break
                continue
            at += 1
            if text == "--":
                continue
            if name == "command" and text in ("-v", "-V"):
                return
            option, _, value = text.partition("=")
            field = Field(value)
            if text.startswith("--"):
                # GNU programs take the beginning of a long option for the whole.
                longer = (known for known in with_value if known.startswith(option))
                option = min(longer, key=len, default=option)
            else:
                # Letters may be joined, and the value may follow the last one directly.
                letters = (i for i, letter in enumerate(text[1:], 2) if f"-{letter}" in with_value)
                split = next(letters, len(text))
                option, value = f"-{text[split - 1]}", text[split:]
                field = Field(value)
            if option in with_value and not value and at < len(rest):
                field, at = rest[at], at + 1
            if option in ("-C", "--chdir", "-D") and name in ("env", "sudo"):
                self._change_directory([field])
            elif option in with_code and field.text:
                self._evaluate(name, [field, *rest[at:]])
                self._follow_input(simple, Use.DATA)
                return
            elif option in ("-I", "-J", "--replace") and name in kinds.FROM_INPUT:
                replaced = field.text or replaced
            elif option in with_value:
                self._add_operand(field, Use.DATA)
        fields = rest[at:]
        if name in kinds.FROM_INPUT:
            unknown = Field(f"{name} {fields[0].text if fields else ''}".strip(), "found")
            fields = [_mark_unknown(field, replaced, unknown) for field in fields]
            fields = [*(fields or [Field("echo")]), unknown]
        if fields and name != "watch":
            is_shells = name in ("command", "builtin", "time", "noglob", "exec")
            self._follow_program(fields, simple, bodies, by_shell=is_shells)
        else:
            self._evaluate(name, fields)
            self._follow_input(simple, Use.DATA)

    def _interpret(
        self,
        kind: str,
        options: Sequence[tuple[str, str]],
        script_at: int | None,
        fields: list[Field],
        simple: _Simple,
        bodies: Sequence[Word],
    ) -> None:
        """Follow an interpreter into its script, or into the code in its arguments."""
        self.interpreters[kind] = None
        name = os.path.basename(fields[0].text)
        told = {option for option, _ in options}
        for option, value in options:
            if value in kinds.OTHER_MATCHING:
                self._report_matching(f"{name} {option} {value}")
            if value == "?":
                for field in (field for field in fields if field.unknown):
                    self._report_unknown(field)
            elif option in kinds.LOADING_OPTIONS and value:
                self._add_code(Field(value))
            elif value:
                self._add_operand(Field(value), Use.DATA)
        if kind == "sh" and "-c" in told:
            at = _find_shell_text(fields)
            self._evaluate(f"{name} -c", fields[at : at + 1])
            self._add_operands(fields[at + 1 :], Use.DATA)
            self._follow_input(simple, Use.DATA)
        elif script_at is not None:
            script = fields[script_at]
            self._add_code(script, suffixes=kind == "node")
            self._add_operands(fields[script_at + 1 :], Use.DATA)
            self._follow_input(simple, Use.DATA)
            has_prefix = any(o == "-X" and v.startswith("pycache_prefix=") for o, v in options)
            if kind == "python" and told & {"-I", "-E"} and not has_prefix:
                what = f"{name} {' '.join(sorted(told & {'-I', '-E'}))} {script.text}"
                why = "it reads compiled copies in __pycache__"
                self._report(what, why, f"leave out {'-I' if '-I' in told else '-E'}")
        elif kind == "python" and "-m" in told:
            at = next(i for i, f in enumerate(fields) if f.text.startswith("-") and "m" in f.text)
            joined = fields[at].text.partition("m")[2]
            module = joined or "".join(field.text for field in fields[at + 1 : at + 2])
            self._report(
                f"{name} -m {module}", "it searches for what it runs", "name the script itself"
            )
            inside = module.replace(".", "/")
            for place in (f"{inside}.py", f"{inside}/__main__.py", f"{inside}/__init__.py"):
                self._add_name(place, Use.CODE)
            self._add_operands(fields[at + 2 :], Use.DATA)
        elif inline := told & kinds.CODE_OPTIONS_OF[kind]:
            self.remarks[f"{name} {min(inline)}: what its code loads"] = None
            self._add_operands(fields[1:], Use.MAYBE)
            self._follow_input(simple, Use.DATA)
        elif simple.reads:
            self._follow_input(simple, Use.CODE)
        elif simple.texts or simple.has_body:
            if kind != "sh":
                self.remarks[f"{name}: what its code loads"] = None
            fields = [
                f for word in simple.texts for f in self.make_texts(word.pieces, word.written)
            ]
            fields += [Field(word.fill({})) for word in bodies if simple.has_body]
            for field in fields:
                if kind == "sh":
                    self._evaluate(name, [field])
                else:
                    self._add_operand(field, Use.MAYBE)
        elif not told & {"--version", "-V", "--help", "-h", "-v"}:
            what, why = name, "it runs its standard input"
            self._report(what, why, "name the script itself")

    def _interpret_any(self, name: str, rest: Sequence[Field]) -> None:
        """Follow an interpreter without a table of options: any word may be its script."""
        self.interpreters[name] = None
        options = {field.text for field in rest if field.text.startswith("-")} | {rest[0].text}
        is_filter = name.endswith(("awk", "sed"))
        for before, field in itertools.pairwise(rest):
            if before.text in ("-f", "--file"):
                self._add_code(field)
        if is_filter or options & kinds.CODE_OPTIONS:
            first = _find_pattern(name, rest) if is_filter else None
            for field in rest:
                is_text = field is first or not is_filter
                self._add_operand(field, Use.MAYBE if is_text else Use.DATA)
            if name.endswith("sed"):
                import re

                for field in rest:
                    if re.search(kinds.RUN_BY_SED, re.sub(kinds.BEFORE_SED, "", field.text)):
                        self._report(
                            f"{name} {field.text}",
                            "it runs the text that it produces",
                            "use a script",
                        )
            if not is_filter or any(sign in f.text for f in rest for sign in kinds.STARTING):
                self.remarks[f"{name}: what its code loads"] = None
            return
        scripts = [field for field in rest if not field.text.startswith("-")][:2]
        for field in scripts:
            self._add_code(field)
        self._add_operands([field for field in rest if field not in scripts], Use.DATA)

    def _follow_find(self, rest: Sequence[Field]) -> None:
        starts = ("-exec", "-execdir", "-ok", "-okdir")
        at = next((i for i, field in enumerate(rest) if field.text in starts), len(rest))
        for field in rest[:at]:
            self._add_operand(field, Use.MAYBE, is_text=True)
        while at < len(rest):
            end = at + 1
            while end < len(rest) and rest[end].text not in (";", "+"):
                end += 1
            found = Field(" ".join(["find", *(f.text for f in rest[at:end])]), "found")
            fields = [_mark_unknown(field, "{}", found) for field in rest[at + 1 : end]]
            if fields:
                self.start(fields)
            at = next((i for i in range(end, len(rest)) if rest[i].text in starts), len(rest))

    def _add_name(self, text: str, use: Use) -> None:
        if text and "\0" not in text:
            self.names.setdefault(Name(text, use, self.bases))
            if len(self.names) > _MOST_NAMES:
                raise TooMuchError

    def _add_program(self, field: Field, *, by_shell: bool) -> None:
        if "/" in field.text:
            self._add_code(field)
        elif not (by_shell and field.text in kinds.OF_THE_SHELL):
            self._add_name(field.text, Use.PROGRAM)

    def _add_code(self, field: Field, *, suffixes: bool = False) -> None:
        """Add a word that names a file that is executed or loaded."""
        if field.unknown:
            self._report_unknown(field)
            # The known part of it is covered nevertheless.
            self._add_name(field.tail.lstrip("/"), Use.CODE)
            return
        text = field.text
        if text == "-" or _is_of_a_process(text):
            self._report(text, "it is a different file in every process", "name the script itself")
            return
        self._add_name(text, Use.CODE)
        for suffix in (".js", ".cjs", ".mjs", ".json") if suffixes else ():
            self._add_name(text.rstrip("/") + suffix, Use.CODE)

    def _add_operands(self, fields: Iterable[Field], use: Use, *, is_text: bool = False) -> None:
        for field in fields:
            self._add_operand(field, use, is_text=is_text)

    def _add_operand(self, field: Field, use: Use, *, is_text: bool = False) -> None:
        """Add an argument of a program. An unknown one is reported unless it is only text."""
        text = field.text
        if field.unknown:
            is_minded = use not in (Use.SEEN, Use.WRITTEN) and field.unknown not in HARMLESS
            if use is Use.CODE or (is_minded and not is_text):
                self._report_unknown(field)
            self._add_name(field.tail.lstrip("/"), Use.MAYBE)
            return
        if use is Use.CODE:
            self._add_code(field)
            return
        if text.startswith("-"):
            option, _, value = text.partition("=")
            self._add_name(value if not option.startswith("--") or value else "", use)
            if not text.startswith("--"):
                self._add_name(text[2:], Use.MAYBE)
        else:
            self._add_name(text, use)
        if use is not Use.WRITTEN:
            self._add_parts(text)

    def _add_parts(self, text: str) -> None:
        """Add possible names inside a word: in a list, an option's value, or code."""
        parts = text.translate(kinds.WITHOUT_SYNTAX).split()
        for part in parts if parts != [text] else ():
            if "/" in part or "." in part:
                self._add_name(part, Use.MAYBE)
        for part in text.partition("=")[2].split(","):
            self._add_name(part, Use.MAYBE)


def expand_home(text: str) -> str:
    """Replace a leading ``~`` or ``~name`` by the home directory, if there is one."""
    try:
        return os.path.expanduser(text) if text.startswith("~") else text
    except ValueError:  # not a valid user name
        return text


def shorten(text: str) -> str:
    """Make a text fit to be shown: printable, on one line, and not too long."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:200])
    return text if len(text) <= 120 else f"{text[:119]}…"


def _is_of_a_process(path: str) -> bool:
    """Whether a path means a different file in every process."""
    plain = "/" + os.path.normpath(path).lstrip("/") if path.startswith("/") else ""
    return plain == "/dev/stdin" or plain.startswith(("/dev/fd/", "/proc/"))


def _find_pattern(name: str, fields: Sequence[Field]) -> Field | None:
    """The word that is a pattern or a filter and not a file; None if an option holds it."""
    options = ("-e", "-f", "--file", "--from-file", "--regexp", "--expression")
    if name not in kinds.PATTERN_FIRST and not name.endswith("awk"):
        return None
    if any(field.text.startswith(options) for field in fields):
        return None
    return next((field for field in fields if not field.text.startswith("-")), None)


def _mark_unknown(field: Field, mark: str, unknown: Field) -> Field:
    """The unknown word for a word that contains the mark to be replaced; its text may be code."""
    is_marked = mark in field.text
    return msgspec.structs.replace(unknown, code=field.text) if is_marked else field


def _find_shell_text(fields: Sequence[Field]) -> int:
    """Which word is the command of a shell with ``-c``: the first that is not an option."""
    at = 1
    while at < len(fields) and fields[at].text.startswith(("-", "+")):
        at += 2 if fields[at].text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
        if fields[at - 1].text in ("-", "--"):
            break
    return at
