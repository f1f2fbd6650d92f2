"""What can go wrong, by the words in which programs and screens report it."""

from typing import get_args

from hookline import errors
from hookline.bus.nats.protocol import BUSY, OVERLOADED
from hookline.check import RULE_MEANINGS
from hookline.wire.results import STAGE_CODES, FailedKind
from tools.reference.finding import find_codes, find_problem_kinds, find_rules
from tools.reference.markdown import code, page, table, tell

# Kind -> what it means, and what to do.
_KINDS: dict[str, tuple[str, str]] = {
    "exit": (
        "The hook exited with a status other than 0 and 2.",
        "Read its stderr, which is in the warning; run the script by hand.",
    ),
    "signal": (
        "A signal ended the hook; `signal` has its name.",
        "Look for what kills it: a lack of memory, or a supervisor.",
    ),
    "timeout": (
        "The hook took longer than its `timeout`, or a process that it left running holds stdout.",
        "Make it faster, raise `timeout` (milliseconds), or redirect what it leaves running.",
    ),
    "spawn": (
        "The hook could not be started.",
        "`hookline check` says why: no such file, no exec bit, no interpreter.",
    ),
    "output_limit": (
        "The hook printed more than 10 MiB to stdout and was stopped.",
        "Print the answer alone; write logs to stderr or a file.",
    ),
    "untrusted": (
        "A hook that must answer may not run: nobody has reviewed it, or it has changed since.",
        "Review it: `hookline trust`.",
    ),
    "error": (
        "A function hook raised, a server did not answer, or a model gave no verdict.",
        "The message has the cause.",
    ),
    "malformed": (
        "The hook's output looks like an answer, but cannot be read as one.",
        "Print one JSON object; one that fails closed is [read strictly](../running.md#answered).",
    ),
}
_CODES: dict[str, str] = {
    "unsupported_event": "No event has this name.",
    "invalid_payload": "The event's input lacks a field, has one of a wrong type, or has no JSON "
    "form.",
    "invalid_request": "A message on the bus is no request.",
    "planning_failed": "The hooks of the event could not be chosen.",
    "translation_failed": "A model's request or response is of no known form.",
    "execution_failed": "Running the hooks failed in the engine itself.",
    "aggregation_failed": "Merging the answers failed in the engine itself.",
    "response_failed": "The response could not be made or sent.",
    "internal_error": "Anything else in the engine; please report it.",
    "policy_changed": "The settings changed while a worker was about to answer.",
    "policy_mismatch": "The worker's policy is not the one that the caller accepts.",
    "required_hook_missing": "The worker does not have a required hook in force.",
    "timeout": "No worker answered in time.",
    "unavailable": "No worker is there.",
    "disconnected": "The connection to the bus is lost, or was closed.",
    "deadline_exceeded": "The request came to a worker after its time was over.",
    "duplicate_request": "A worker has a request of this id already.",
    "request_too_large": "The request is larger than the bus, or a worker, takes.",
    "invalid_response": "What came back is no response.",
    "response_shortened": "The response was larger than the bus takes, and was cut.",
    BUSY: "The worker has no free place; the caller asks another one.",
    OVERLOADED: "The worker's queue is full; the caller asks another one.",
}
_PROBLEMS: dict[str, str] = {
    "unreadable": "A file is there and cannot be read. None of its hooks run.",
    "not-json": "A file is no JSON. None of its hooks run.",
    "too-large": "A settings file is too large to be read.",
    "too-deep": "A settings file nests too deep to be read.",
    "not-an-object": "A settings file holds something else than an object.",
    "bad-plugin": "A folder is not a plugin of Claude Code, or cannot be read.",
    "not-run": "Hooks of Claude Code are there that hookline does not run.",
    "skipped": "An entry, with the hooks in it, was left out.",
    "unknown-event": "A key of `hooks` is no event; its hooks never run.",
    "bad-field": "A value has the wrong type or is out of range; the default is used.",
    "bad-matcher": "A matcher is no regular expression.",
    "misread-key": "A key that decides policy is misspelt or misplaced, so nothing reads it.",
    "duplicate-key": "An object has a key twice; only the last counts.",
    "overreach": "A file says what is not for its layer to decide; it is ignored.",
    "untrusted": "The project's hooks are not reviewed, or have changed since.",
    "guard-kept": "A reviewed guard goes on as it was reviewed, as the project has another by now.",
    "no-judge": "A prompt hook has no model to ask.",
    "unwritable": "A file to change cannot be written.",
    "leads-out": "A file to change is a link that leads out of the project.",
    "bad-test": "A hook test is not written as one.",
}
_SEVERITIES = ("error", "warning", "hint")


def render() -> str:
    codes = {*STAGE_CODES.values(), *find_codes(), BUSY, OVERLOADED}
    rules = find_rules()
    return page(
        "Failures",
        "A hook that fails is never silent: it is warned of, it is in `errors`, and the event goes "
        'on without it, unless the hook fails closed (`"onFailure": "block"`) or hooks are '
        "[strict](settings.md#fail-closed). Programs go by the words below; the sentences may "
        "change.",
        "## Why a hook failed",
        "`failed` in `results` of [`fire --json`](fire-json.md), and `hook_` with the kind as "
        "`code` in `errors`:",
        table(
            ("failed", "what happened", "what to do"),
            [
                (code(kind), *told)
                for kind, told in tell(get_args(FailedKind), _KINDS, of="the kind of failure")
            ],
        ),
        "A hook that blocks has not failed: `failed` is absent.",
        "## Codes of errors",
        "`code` in `errors`, when the engine or the bus is the cause:",
        table(
            ("code", "what happened"),
            [(code(name), told) for name, told in tell(codes, _CODES, of="the code")],
        ),
        "`stage` says where it happened, and gives the code where nothing more is known:",
        table(("stage", "code"), [(code(stage), code(it)) for stage, it in STAGE_CODES.items()]),
        "## Exceptions",
        "What Python code may catch; all are `hookline.HooklineError`:",
        table(
            ("exception", "code", "when"),
            [
                (
                    code(kind.__name__),
                    code(kind.code) if hasattr(kind, "code") else "–",
                    _when(kind),
                )
                for kind in _exceptions()
            ],
        ),
        "## Problems in settings",
        "`kind` of each problem of `HookSystem.get_problems()`:",
        table(
            ("kind", "what is wrong"),
            [
                (code(kind), told)
                for kind, told in tell(find_problem_kinds(), _PROBLEMS, of="the kind of problem")
            ],
        ),
        "## Rules of hookline check",
        "`rule` in `hookline check --json`. An error makes the exit status 1, a warning only with "
        "`--strict`.",
        table(
            ("rule", "severity", "what is wrong"),
            [
                (code(rule), ", ".join(each for each in _SEVERITIES if each in rules[rule]), told)
                for rule, told in tell(rules, RULE_MEANINGS, of="the rule")
            ],
        ),
    )


def _exceptions() -> list[type[errors.HooklineError]]:
    """The exceptions of ``hookline.errors``, in the order of their definitions."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in found if issubclass(kind, errors.HooklineError)]


def _when(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())
