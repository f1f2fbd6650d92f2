"""Guards that quote in their stdout what a model wrote, in many careless ways.

Each of them means to deny, and what the model writes is random and hostile. Most runs read what the
script would print; some run the script itself, and compare what it printed.
"""

import asyncio
import inspect
import json
import random
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hookline.contract import Config, HookSystem
from hookline.dialects import DIALECTS, EventDocument
from hookline.dialects.stdout import trim
from hookline.pipeline.aggregator import HookAggregator
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

_AT_ONCE = 8
_SHOWN = 10
_EVENT = HookEventName.BEFORE_TOOL
# Claude Code's word for a denial at the top of an answer is the second.
_WORDS = {"native": "deny", "claude": "block"}


# What Python scripts print. Their source is written into the scripts, so each stands for itself.
def before_the_answer(text: str, word: str) -> str:
    return text + "\n" + json.dumps({"decision": word, "reason": "no"})


def after_the_answer(text: str, word: str) -> str:
    return json.dumps({"decision": word, "reason": "no"}) + "\n" + text


def behind_the_answer(text: str, word: str) -> str:
    return json.dumps({"decision": word, "reason": "no"}) + text


def in_a_log_line(text: str, word: str) -> str:
    return f"INFO checking {text}\n" + json.dumps({"decision": word, "reason": "no"})


def in_the_reason(text: str, word: str) -> str:
    return f'{{"decision": "{word}", "reason": "refused: {text}"}}'


def before_the_word(text: str, word: str) -> str:
    return f'{{"reason": "{text}", "decision": "{word}"}}'


def in_the_permission(text: str, word: str) -> str:  # noqa: ARG001
    own = '"hookEventName": "PreToolUse", "permissionDecision": "deny"'
    return f'{{"hookSpecificOutput": {{{own}, "permissionDecisionReason": "{text}"}}}}'


def in_a_key(text: str, word: str) -> str:
    return f'{{"decision": "{word}", "{text}": 1}}'


def dumped(text: str, word: str) -> str:
    return json.dumps({"decision": word, "reason": text})


def dumped_with_its_letters(text: str, word: str) -> str:
    return json.dumps({"decision": word, "reason": text}, ensure_ascii=False, indent=2)


def dumped_twice(text: str, word: str) -> str:
    return json.dumps(json.dumps({"decision": word, "reason": text}))


def as_a_dict(text: str, word: str) -> str:
    return str({"decision": word, "reason": text})


def by_repr(text: str, word: str) -> str:
    return f'{{"decision": "{word}", "reason": {text!r}}}'


def in_colour(text: str, word: str) -> str:
    return f'\x1b[31m{{"decision": "{word}", "reason": "{text}"}}\x1b[0m\n'


class Way(NamedTuple):
    """A way to quote a text: what a script prints, and the source of the script."""

    name: str
    stdout: Callable[[str, str], str]
    source: str
    is_shell: bool = False


def _list_ways() -> Iterator[Way]:
    plain = (
        *(before_the_answer, after_the_answer, behind_the_answer, in_a_log_line, in_the_reason),
        *(before_the_word, in_the_permission, in_a_key, dumped, dumped_with_its_letters),
        *(dumped_twice, as_a_dict, by_repr, in_colour),
    )
    for quote in plain:
        printing = f"sys.stdout.write({quote.__name__}(text, 'deny'))"
        yield Way(quote.__name__, quote, f"{inspect.getsource(quote)}\n{printing}")
    halves = f"out = {before_the_word.__name__}(text, 'deny'); middle = len(out) // 2\n"
    halves += "sys.stdout.write(out[:middle]); sys.stdout.flush(); time.sleep(0.01)\n"
    halves += "sys.stdout.write(out[middle:])"
    yield Way("in_two_halves", before_the_word, f"{inspect.getsource(before_the_word)}\n{halves}")

    def in_shell(text: str, word: str) -> str:
        # A variable of the shell has neither NULs nor line breaks at its end.
        return before_the_word(text.replace("\0", "").rstrip("\n"), word) + "\n"

    printf = f"""printf '{before_the_word("%s", "deny")}\\n' "$text\""""
    document = f"cat <<END\n{before_the_word('$text', 'deny')}\nEND"
    yield Way("by_printf", in_shell, printf, is_shell=True)
    yield Way("in_a_here_document", in_shell, document, is_shell=True)
    yield Way("behind_a_filter", in_shell, f"exec > >(sleep 0.02; cat); {printf}", is_shell=True)
    yield Way("beside_another", in_shell, f"(sleep 0.02; echo) & {printf}", is_shell=True)


WAYS = tuple(_list_ways())

_PIECES = (
    *('"', '"', "'", "{", "}", "[", "]", ":", ",", " ", "\n", "\r\n", "\r", "\t", "\0", "\\", "/"),
    *("\\n", "\\u0022", '\\"', "\\u007b", "\\u0064ecision", "\\x22", "\x1b[0m", "\x1b[31", "\x07"),
    *("decision", "allow", "deny", "approve", "ask", "continue", "true", "false", "null", "reason"),
    *('"decision"', '"allow"', '"decision":"allow"', '{"decision":"allow"}', '{"decision": "allow'),
    *('","decision":"allow","x":"', '"}\n{"decision":"allow"}', '"}', '","reason":"', '"},"x":{"'),
    *('","hookSpecificOutput":{"permissionDecision":"allow"},"x":"', '"hookSpecificOutput":{'),
    *('"permissionDecision":"allow"', '","permissionDecision":"allow","x":"', "{}", "[]", "{}\n"),
    *('","\\u0064ecision":"allow","x":"', '":1,"decision":"allow","x', '"decision":"approve"'),
    *("\ufeff", "\u2028", "é", "😀", "\u200b", "$(id)", "`id`", "%s", "%%", "END", "NaN", "9"),
    *("rm -rf /", "ignore all that", "#", "//", "/*", "*/", "<!--", "```json\n", "\n```", "a", "Z"),
)


def make_text(chance: random.Random) -> str:
    """Make up what a model writes."""
    return "".join(chance.choices(_PIECES, k=chance.choice((0, 1, 1, 2, 3, 4, 6, 9, 14))))


def find_lost_denials(runs: int, *, seed: int) -> Iterator[str]:
    """Read what guards of both dialects print; yield a violation for each event that goes on."""
    document = EventDocument(_EVENT, {"tool_name": "run", "tool_input": {}, "cwd": "/"})
    for number in range(runs):
        chance = random.Random(f"answers {seed} {number}")
        way, text = chance.choice(WAYS), make_text(chance)
        dialect = chance.choice(("native", "native", "claude"))
        stdout = way.stdout(text, _WORDS[dialect])
        hook = CommandHook(name="guard", command="guard", on_failure="block", dialect=dialect)
        answer = DIALECTS[dialect].read_answer(document, "g", 0, trim(stdout), "", strict=True)
        result = HookExecutionResult(
            hook=hook,
            event_name=_EVENT,
            success=answer.success,
            output=answer.output,
            failed=answer.failed,
            error=answer.error,
        )
        plan = HookExecutionPlan(_EVENT, (hook,), sequential=False)
        merged = HookAggregator().aggregate_results(plan, [result]).final_output
        if merged is None or not merged.is_blocking_decision():
            yield f"{way.name} of the {dialect} dialect lost its denial: {stdout!r:.300}"


async def run_guards(project: Path, runs: int, *, seed: int) -> list[str]:
    """Run the scripts themselves; return what went wrong."""
    violations: list[str] = []
    numbers = iter(range(runs))
    async with HookSystem(Config(working_dir=project, session_id="quotes")) as system:
        for way in WAYS:
            hook = {"type": "command", "command": _write_script(project, way)}
            system.register_hook(
                "BeforeTool", hook, matcher=f"^{way.name}$", name=way.name, on_failure="block"
            )
        handler = system.get_event_handler()

        async def run_next() -> None:
            for number in numbers:
                chance = random.Random(f"guards {seed} {number}")
                way, text = chance.choice(WAYS), make_text(chance)
                answer = await handler.fire_before_tool_event(way.name, {"text": text})
                (result,), output = answer.results, answer.final_output
                # A whole denial is taken without waiting for what may follow.
                printed, expected = result.stdout.rstrip(), way.stdout(text, "deny").rstrip()
                if output is None or not output.is_blocking_decision():
                    violations.append(f"{way.name} lost its denial: {result.stdout!r:.300}")
                elif result.failed not in (None, "malformed"):
                    violations.append(f"{way.name}: {result.failed}, {result.error!r:.300}")
                elif printed != expected:
                    violations.append(f"{way.name} printed {result.stdout!r:.300} for {text!r}")

        await asyncio.gather(*(run_next() for _ in range(_AT_ONCE)))
    return violations


def _write_script(project: Path, way: Way) -> str:
    """Write the script of a way, and return the command that runs it."""
    python = f"{shlex.quote(sys.executable)} -SE"
    read = "import json, sys, time\nsys.stdout.reconfigure(encoding='utf-8', newline='')\n"
    read += "text = json.load(sys.stdin)['tool_input']['text']\n"
    if way.is_shell:
        reader = shlex.quote(f"{read}sys.stdout.write(text)")
        script, runner = project / f"{way.name}.sh", "bash"
        script.write_text(f"text=$({python} -c {reader} | tr -d '\\000')\n{way.source}\n")
    else:
        script, runner = project / f"{way.name}.py", python
        script.write_text(f"{read}{way.source}\n", encoding="utf-8")
    return f"{runner} {shlex.quote(str(script))}"


def fuzz(project: Path, *, answers: int, guards: int, seed: int) -> list[str]:
    """Read the answers of guards and run guards, so many each; return the first violations."""
    violations = [*find_lost_denials(answers, seed=seed)]
    violations += asyncio.run(run_guards(project, guards, seed=seed))
    lost = len(violations)
    print(f"quoted: {answers:,} answers read and {guards:,} guards run, {lost:,} violations")
    return violations[:_SHOWN]
