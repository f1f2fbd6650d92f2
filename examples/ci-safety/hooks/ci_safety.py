#!/usr/bin/env python3
"""On CI, denies commands that wait for somebody, publish something or install from the network.

Nobody is there to answer, what is published cannot be taken back, and what is installed nobody has
looked at.  Anywhere else this does nothing.  Settings say "onFailure": "block".
"""

import json
import os
import re
import shlex
import sys

GIT = r"git(?: -[Cc] \S+| -\S+)*"
NODE = r"(?:npm|pnpm|yarn|bun)(?: (?:--prefix|--workspace|--filter|--cwd|-[CFw]) \S+| -\S+)*"
# A command is compared as its words with one space between, from its program on.
WAITS = (
    r"(?:vi|vim|nvim|nano|pico|less|more|htop|watch|tmux|screen|passwd|su)(?: |$)",
    r"emacs\b(?!.* --?(?:batch|script))",
    r"top(?: |$)(?!.*-\w*[bl])",
    r"read\b.* -\w*p",
    rf"{GIT} rebase\b.* (?:-i|--interactive)\b",
    rf"{GIT} (?:add|checkout|restore|reset|stash|commit)\b.* (?:-[ip]|--patch|--interactive)\b",
    rf"{GIT} commit\b(?!.* (?:-\w*[mFC]|--(?:message|file|no-edit|fixup|reuse-message)\b))",
    rf"{NODE} init\b(?!.* (?:-y|--yes)\b)",
    rf"(?:{NODE}|docker|heroku|vercel|az|gh auth|gcloud auth) login\b(?!.* --(?:password-|with-))",
    r"aws configure$",
)
PUBLISHES = (
    rf"{GIT} (?:push|send-email)\b",
    rf"{NODE} (?:npm )?(?:publish|unpublish|dist-tag)\b",
    r"(?:cargo|poetry|uv|flit|hatch|gem|pdm)(?: -\S+)* (?:publish|push|yank)\b",
    r"(?:\S+ -m )?twine upload\b",
    r"(?:docker|podman|helm)(?: (?:image|compose))? push\b|docker\b.* --push\b",
    r"gh (?:pr (?:create|merge)|release (?:create|upload|delete|edit)|repo (?:create|delete))\b",
    r"(?:kubectl|terraform|tofu|pulumi) (?:apply|up|delete|destroy)\b",
    r"(?:vercel|netlify|firebase|fly|flyctl|gcloud app|serverless) deploy\b",
)
INSTALLS = (
    r"(?:\S+(?: -\S+)* -m )?pip[\d.]*(?: -\S+)* install\b(?!.* --no-index\b)",
    r"uv (?:add|sync|pip install|tool install)\b",
    r"(?:uvx|pipx (?:install|run)|poetry (?:add|install)|conda install|pdm (?:add|install))\b",
    rf"{NODE} (?:install|i|ci|add|dlx|create|update|upgrade)\b",
    r"(?:npx|bunx)\b(?!.* --no(?:-install)?\b)",
    r"yarn$",
    r"(?:apt|apt-get|yum|dnf|apk|brew|snap|port|choco)(?: -\S+)* (?:install|add|upgrade|update)\b",
    r"(?:gem|go|cargo|composer|bundle) (?:install|add|get|require|update)\b",
    r"pacman -\w*S",
)
# What is wrong with each, and what to do instead.
WAITING = (
    "it waits for somebody to type, and nobody is there. Use the form that does not ask: an option "
    "like --yes, -m or --no-edit, or a file."
)
PUBLISHING = (
    "it changes things outside the job. Leave the change in the working tree and say what should "
    "be published: the pipeline or a person does it."
)
INSTALLING = (
    "it installs from the network what nobody has looked at. Work with what the job has. If "
    "something is missing, add it to the project's list of dependencies and say so."
)
KINDS = ((WAITING, WAITS), (PUBLISHING, PUBLISHES), (INSTALLING, INSTALLS))
PIPED = re.compile(r"\b(?:curl|wget)\b[^;&\n]{0,999}\|\s*(?:sudo )?(?:\S*/)?(?:ba|z|k)?sh\b")
# Programs that run another, with their options that take a value.
RUNNERS = {
    "sudo": "CDghpRrTtUu",
    "doas": "Cu",
    "env": "CPu",
    "nice": "n",
    "xargs": "adEILnPs",
    "timeout": "ks",
    "nohup": "",
    "command": "",
    "exec": "a",
}
LEADING = re.compile(r"\w+=.*|[{!]|if|then|else|elif|do|while|until|time", re.DOTALL)
SHELL = re.compile(r"(?:(?:ba|da|z|k)?sh(?: -\S+)*? -\w*c|eval) ")
HERE_DOCUMENT = re.compile(r"^(.*<<-?\s*(['\"]?)(\w+)\2.*\n)[\s\S]*?^\s*\3$", re.MULTILINE)


def is_ci():
    told = os.environ.get("CI", "").strip().lower()
    # Most variables are kept from hooks on the runners of GitHub; this one is not.
    return told not in ("", "0", "false", "no") or "GITHUB_ENV" in os.environ


def without_documents(text):
    """A text for a file is no command; one for a shell is."""

    def first_line(match):
        return match.group() if re.search(r"sh\b[^|]*<<", match.group(1)) else match.group(1)

    return HERE_DOCUMENT.sub(first_line, text)


def pieces(text):
    """The words of each command of a list or pipe."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.commenters = " \t\r", ""
    try:
        tokens = list(lexer)
    except ValueError:
        # Quotes that do not close, as an apostrophe in a comment.
        tokens = re.findall(r"[;&|()<>\n]+|[^\s;&|()<>'\"]+", text)
    words = []
    for token in [*tokens, "\n"]:
        if set(token) <= set(";&|()\n"):
            yield words
            words = []
        else:
            words.append(token)


def run_by(words):
    """The words of the command that this one runs, if that is what it does."""
    program, rest = os.path.basename(words[0]), words[1:]
    if program == "find":
        places = [place for place, word in enumerate(rest) if re.match(r"-(?:exec|ok)", word)]
        return rest[places[0] + 1 :] if places else []
    if program not in RUNNERS:
        return []
    while rest and (rest[0].startswith("-") or re.match(r"\w+=", rest[0])):
        has_value = len(rest[0]) == 2 and rest[0][1] in RUNNERS[program]
        rest = rest[2:] if has_value else rest[1:]
    return rest[1:] if program == "timeout" else rest


def commands(text, depth=0):
    """Each command of a text as one line, from its program on; with those that others run."""
    if depth > 5:
        return
    for words in pieces(text):
        while words and LEADING.fullmatch(words[0]):
            words = words[1:]
        while words:
            line = " ".join([os.path.basename(words[0]), *words[1:]])
            yield line
            if SHELL.match(line):
                yield from commands(SHELL.sub("", line, count=1), depth + 1)
            words = run_by(words)
    for inner in re.findall(r"\$\(([^()]*)\)|`([^`]*)`", text):
        yield from commands("".join(inner), depth + 1)


def objection(text):
    """What is wrong with a command and what to do instead, None when all is well."""
    text = without_documents(text)
    lines = list(commands(text))
    for why, patterns in KINDS:
        if any(re.match(pattern, line) for pattern in patterns for line in lines):
            return why
    return INSTALLING if PIPED.search(text) else None


def main():
    event = json.load(sys.stdin.buffer)
    if not is_ci():
        return
    command = event["tool_input"].get("command", "")
    # Some tools take a command word by word.
    text = command if isinstance(command, str) else " ".join(map(shlex.quote, command))
    why = objection(text)
    if why is not None:
        reason = f"Not run: this is a CI job, and {why}"
        json.dump({"decision": "deny", "reason": reason}, sys.stdout)


if __name__ == "__main__":
    main()
