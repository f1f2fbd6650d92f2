"""Reads names out of the source that no table declares: variables, error codes, kinds, rules."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "hookline"

_VARIABLE = re.compile(r"(HOOKLINE|CLAUDE|GEMINI|LLXPRT|XDG)(_[A-Z0-9]+)+|CLAUDECODE")
# The functions that make a failure, and the argument that is its code: a position or a keyword.
_CODED: dict[str, int | str] = {
    "HookError": "code",
    "RequestFailed": 0,
    "fail": 0,
    "unanswered_response": 1,
    "_make_outage": 1,
}
# Stages, which ``fail`` of an executor is given.
_NOT_CODES = frozenset({"planning", "validation", "execution", "translation"})
_SEVERITIES = frozenset({"ERROR", "WARNING", "HINT"})


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _trees(words: str) -> dict[Path, ast.Module]:
    """The modules whose text matches an expression; parsing all of them takes a second."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.glob("**/*.py"))}
    return {path: _parse(path) for path, text in texts.items() if re.search(words, text)}


@cache
def find_variables() -> frozenset[str]:
    """The variables that the source names with one of our prefixes, or looks up by a literal."""
    found = set[str]()
    for tree in _trees(r"environ|(HOOKLINE|CLAUDE|GEMINI|LLXPRT|XDG)_").values():
        constants = _constants(tree)
        exported = {
            text
            for line in tree.body
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
            for each in ast.walk(line.value)
            for text in _texts(each, {})
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                # The names in a module's exports may look like variables.
                if _VARIABLE.fullmatch(node.value) and node.value not in exported:
                    found.add(node.value)
            elif name := _looked_up(node):
                found |= {constants.get(name.id, "")} if isinstance(name, ast.Name) else set()
                found |= {str(name.value)} if isinstance(name, ast.Constant) else set()
    return frozenset(found - {""})


def find_codes() -> set[str]:
    """The codes of errors: literals where one is made, and those of exceptions."""
    found = set[str]()
    made = "|".join(rf"\b{name}\(" for name in _CODED)
    for tree in _trees(rf'{made}|\n    code = "').values():
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found |= {
                    str(line.value.value)
                    for line in node.body
                    if isinstance(line, ast.Assign)
                    and isinstance(line.value, ast.Constant)
                    and ast.unparse(line.targets[0]) == "code"
                }
            elif isinstance(node, ast.Call) and (at := _CODED.get(_called(node))) is not None:
                found |= _texts(_argument(node, at), constants)
    return {code for code in found if re.fullmatch(r"[a-z]+(_[a-z]+)*", code)} - _NOT_CODES


def find_problem_kinds() -> set[str]:
    """The kinds of problems in settings: literals where one is made or reported."""
    found = set[str]()
    for path, tree in _trees(r"Problem\(|JsoncError|\.(report|problem)\(").items():
        if path.parent.name == "check":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == "JsoncError":
                made = next(each for each in node.body if isinstance(each, ast.FunctionDef))
                found |= _texts(made.args.kw_defaults[0], {})
            elif isinstance(node, ast.Call) and _called(node) in ("Problem", "JsoncError"):
                found |= _texts(_argument(node, "kind"), {})
            elif isinstance(node, ast.Call) and _called(node) in ("report", "problem"):
                found |= _texts(_argument(node, 1), {})
    return found


def find_rules() -> dict[str, set[str]]:
    """The rules of ``hookline check``, each with its severities."""
    found: dict[str, set[str]] = {}
    for path in sorted((SOURCE / "check").glob("*.py")):
        tree = _parse(path)
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            for node in ast.walk(function):
                for rule, severity in _rules_of(node):
                    severities = _severities(severity) or _severities_of(severity, function, tree)
                    severities = severities or _severities(function)
                    found.setdefault(rule, set()).update(severities)
    return found


def find_document_keys() -> dict[str, set[str]]:
    """The keys of each part of the document of ``fire --json``, by the function that makes it;
    those of an error by ``error_document``."""
    tree = _parse(SOURCE / "pipeline" / "answer.py")
    parts = {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name in ("document", "view", "result_document")
    }
    found = {name: _keys(node) for name, node in parts.items()}
    errors = next(
        value
        for node in ast.walk(parts["document"])
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "errors"
    )
    plan = {"sequential", "hooks"}
    return {
        **found,
        "error_document": _keys(errors),
        "document": found["document"] - (_keys(errors) - {"event"}) - plan,
    }


def _keys(node: ast.AST) -> set[str]:
    """The literal keys of dictionaries below a node, made or assigned."""
    keys = [key for each in ast.walk(node) if isinstance(each, ast.Dict) for key in each.keys]
    set_later = [
        each.slice
        for each in ast.walk(node)
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
    ]
    found = [*keys, *set_later]
    return {str(key.value) for key in found if isinstance(key, ast.Constant)}


def _rules_of(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.Call) and _called(node) in ("finding", "Verdict"):
        for rule in _texts(_argument(node, 0), {}):
            yield rule, _argument(node, 1)
    elif isinstance(node, ast.Call) and _called(node) == "Finding":
        for rule in _texts(_argument(node, "kind"), {}):
            yield rule, _argument(node, "severity")
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        # ``rule, severity = "…", Severity.…`` and ``kind, … = "…", …``
        names = [ast.unparse(target) for target in node.targets[0].elts]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        for name, value in zip(names, values, strict=False):
            if name in ("rule", "kind"):
                for rule in _texts(value, {}):
                    yield rule, node.value
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("rule", "kind"):
        for rule in _texts(node.value, {}):
            yield rule, None


def _severities(node: ast.AST | None) -> set[str]:
    return {
        each.attr.lower()
        for each in (ast.walk(node) if node is not None else ())
        if isinstance(each, ast.Attribute) and each.attr in _SEVERITIES
    }


def _severities_of(name: ast.AST | None, function: ast.FunctionDef, tree: ast.Module) -> set[str]:
    """The severities assigned to a variable of a function, or passed as its parameter."""
    if not isinstance(name, ast.Name):
        return set()
    of_variable = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and name.id in ast.unparse(node.targets[0]).strip("()").split(", ")
    ]
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    of_parameter = [call for call in calls if _called(call) == function.name]
    found = (_severities(node) for node in of_variable or of_parameter)
    return {severity for each in found for severity in each}


def _looked_up(node: ast.AST) -> ast.expr | None:
    """The expression NAME in ``environ.get(NAME)``, ``environ[NAME]``, ``NAME in environ``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("get", "pop") and _is_environment(node.func.value) and node.args:
            return node.args[0]
    elif isinstance(node, ast.Subscript) and _is_environment(node.value):
        return node.slice
    elif isinstance(node, ast.Compare) and _is_environment(node.comparators[0]):
        return node.left
    return None


def _is_environment(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in ("environ", "environment", "parent")


def _constants(tree: ast.Module) -> dict[str, str]:
    """The module's constants that are texts."""
    return {
        ast.unparse(line.targets[0]): line.value.value
        for line in tree.body
        if isinstance(line, ast.Assign)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    }


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _argument(node: ast.Call, at: int | str) -> ast.expr | None:
    for keyword in node.keywords:
        if keyword.arg == at:
            return keyword.value
    return node.args[at] if isinstance(at, int) and at < len(node.args) else None


def _texts(node: ast.AST | None, constants: dict[str, str]) -> set[str]:
    """The texts that an expression may be: a literal, a constant, or one of two literals."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.Name):
        return {constants[node.id]} if node.id in constants else set()
    if isinstance(node, ast.IfExp):
        return _texts(node.body, constants) | _texts(node.orelse, constants)
    return set()
