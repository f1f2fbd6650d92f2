#!/usr/bin/env python3
"""Denies shell commands that destroy, and asks about those that are hard to undo.

A command is taken apart as a shell would: quotes, lists, pipes, `sudo`, `sh -c '…'`, `$(…)`.
Settings say "onFailure": "block", so anything unexpected here ends in a denial.
"""

import json
import os
import re
import shlex
import sys

DENY, ASK = "deny", "ask"
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish"}
INTERPRETERS = SHELLS | {"python", "python3", "perl", "ruby", "node"}
# Words that stand before a program, and programs that run another: with their options that take
# a value, so that the program can be found behind them.
LEADING = {"{", "!", "if", "then", "else", "elif", "do", "while", "until", "time"}
WRAPPERS = {
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
OPERATORS = re.compile(r"&&|\|\||\|&|&>>?|>>|>&|>\||<<<|<<|<&|<>|[;&|()<>\n]")
SUBSTITUTION = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
DISK = re.compile(r"/dev/(?:sd|hd|vd|nvme|mmcblk|r?disk)")
# What is wrong with a command as a whole, whatever its words are.
WHOLE = {
    r":\s*\(\)\s*\{.*:\s*\|\s*:": "it starts processes without end",
    r"\b(?:sh|bash|zsh|eval|source)\b[^;&|\n]*[<$]\(\s*(?:curl|wget)\b": (
        "it runs a download unseen; save it to a file and read it first"
    ),
}


class Command:
    """One simple command: its program, what it is given, where that goes, and what feeds it."""

    def __init__(self, words, redirects, fed_by):
        self.words = words
        self.program = os.path.basename(words[0])
        self.args = words[1:]
        self.operands = [arg for arg in self.args if not arg.startswith("-")]
        self.redirects = redirects
        self.fed_by = fed_by

    def has(self, letters, *names):
        """Whether an option is there: one of these letters, alone or bundled, or one by name."""
        short = any(re.match(r"-\w", arg) and set(letters) & set(arg[1:]) for arg in self.args)
        return short or any(arg.split("=")[0] in names for arg in self.args)

    def runs(self):
        """The words of the command that this one runs, if that is what it does."""
        if self.program == "find":
            places = [i for i, arg in enumerate(self.args) if arg in ("-exec", "-execdir")]
            return self.args[places[0] + 1 :] if places else []
        if self.program not in WRAPPERS:
            return []
        rest = self.args
        while rest and (rest[0].startswith("-") or re.match(r"\w+=", rest[0])):
            has_value = len(rest[0]) == 2 and rest[0][1] in WRAPPERS[self.program]
            rest = rest[2:] if has_value else rest[1:]
        return rest[1:] if self.program == "timeout" else rest

    def script(self):
        """The text that this command hands to a shell, if it does."""
        if self.program == "eval":
            return " ".join(self.args)
        return " ".join(self.operands) if self.program in SHELLS and self.has("c") else ""


def tokens(text):
    """Words, and operators one by one."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.commenters = " \t\r", ""
    try:
        found = list(lexer)
    except ValueError:
        # Quotes that do not close, as an apostrophe in a here-document.
        found = re.findall(r"[;&|()<>\n]+|[^\s;&|()<>'\"]+", text)
    for token in found:
        yield from OPERATORS.findall(token) if set(token) <= set(";&|()<>\n") else [token]


def commands(text, depth=0):
    """The simple commands of a text, with those inside others."""
    if depth > 5:
        return
    words, redirects, fed_by, is_target = [], [], [], False
    for token in [*tokens(text), "\n"]:
        is_operator = OPERATORS.fullmatch(token)
        if is_operator and set(token) & set("<>"):
            is_target = True
        elif is_operator:
            found = list(simple(words, redirects, fed_by, depth))
            yield from found
            programs = [*fed_by, *(command.program for command in found)]
            fed_by = programs if token in ("|", "|&", ")") else []
            words, redirects, is_target = [], [], False
        else:
            (redirects if is_target else words).append(token)
            is_target = False
    for inner in SUBSTITUTION.findall(text):
        yield from commands("".join(inner), depth + 1)


def simple(words, redirects, fed_by, depth):
    """The command that these words are, and those that it runs."""
    while words and (words[0] in LEADING or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return
    command = Command(words, redirects, fed_by)
    yield command
    yield from simple(command.runs(), redirects, fed_by, depth)
    yield from commands(command.script(), depth + 1)


def is_precious(target):
    """Whether a path is the root, a directory in it, a home, the work at hand or its history."""
    target = re.sub(r"^\$(?:HOME|\{HOME\})(?=/|$)", "~", target)
    path = "/" if target == "/*" else os.path.normpath(re.sub(r"/\*+$", "", target))
    if os.path.isabs(path):
        return path.lstrip("/").count("/") == 0 or path == os.path.expanduser("~")
    return path in ("~", "*", ".", ".git") or set(path.split("/")) == {".."}


def removal(command):
    if command.program != "rm" or not command.has("rR", "--recursive"):
        return None
    if any(map(is_precious, command.operands)):
        return DENY, "it removes what cannot be replaced; name only what should go"
    return None


def disks(command):
    if re.match(r"mkfs|mke2fs|newfs|wipefs", command.program):
        return DENY, "it formats a disk"
    outputs = [arg[3:] for arg in command.args if arg.startswith("of=")]
    if any(map(DISK.match, [*command.redirects, *outputs])):
        return DENY, "it overwrites a disk"
    return None


def machine(command):
    if command.program in ("shutdown", "reboot", "halt", "poweroff"):
        return DENY, "it stops the machine"
    if command.program == "kill" and "-1" in command.args[1:]:
        return DENY, "it ends every process; name the one that should end"
    if command.program in ("sudo", "doas"):
        return ASK, "it runs as another user"
    return None


def permissions(command):
    if command.program not in ("chmod", "chown", "chgrp") or not command.has("R", "--recursive"):
        return None
    if any(map(is_precious, command.operands[1:])):
        return DENY, "it changes far too many files; name those that need it"
    if re.match(r"0?777$|a?\+rwx$", (command.operands or [""])[0]):
        return DENY, "it lets everybody write; give only the permissions that are needed"
    return None


def downloads(command):
    if command.program in INTERPRETERS and {"curl", "wget"} & set(command.fed_by):
        return DENY, "it runs a download unseen; save it to a file and read it first"
    return None


def history(command):
    if command.program != "git":
        return None
    verbs = set(command.operands)
    forced = command.has("f", "--force")
    if "push" in verbs and (forced or any(word.startswith("+") for word in command.operands)):
        return DENY, "it overwrites what others pushed; --force-with-lease does not"
    if "push" in verbs and command.has("", "--force-with-lease"):
        return ASK, "it rewrites published history"
    if "reset" in verbs and command.has("", "--hard"):
        return ASK, "it throws away uncommitted work"
    if "clean" in verbs and forced:
        return ASK, "it deletes files that git has no copy of"
    return None


RULES = (removal, disks, machine, permissions, downloads, history)


def judge(text):
    """The gravest decision about a command with its reason, None when all is well."""
    verdicts = [(DENY, why) for pattern, why in WHOLE.items() if re.search(pattern, text)]
    verdicts += [
        verdict for c in commands(text) for verdict in (rule(c) for rule in RULES) if verdict
    ]
    return min(verdicts, key=lambda verdict: verdict[0] != DENY) if verdicts else None


def main():
    command = json.load(sys.stdin.buffer)["tool_input"].get("command", "")
    # Some tools take a command word by word.
    text = command if isinstance(command, str) else " ".join(map(shlex.quote, command))
    decision, why = judge(text) or (None, None)
    if decision == ASK:
        json.dump({"decision": ASK, "reason": f"This command needs a yes: {why}."}, sys.stdout)
    elif decision == DENY:
        advice = (
            "Do not try the same in other words: find a narrower way, or tell the user what it "
            "was for and let them run it."
        )
        json.dump({"decision": DENY, "reason": f"Not run: {why}. {advice}"}, sys.stdout)


if __name__ == "__main__":
    main()
