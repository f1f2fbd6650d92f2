"""Makes small bugs in a source text, each a span of bytes and what takes its place.

Positions come from ``ast`` and the text is spliced there, so that the rest of a file keeps its
bytes. A bug that is drawn compiles, and means something else to the parser.
"""

import ast
import difflib
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Scripts that are copied for users, and what has nothing to get wrong.
LEFT_OUT = ("cli/init/hooks/", "cli/demo/project/", "_version.py", "__main__.py")

_SWAPPED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
}
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
_TYPES = frozenset({"Literal", "Annotated", "ClassVar", "Callable", "cast", "type"})
_KEY = re.compile(r"[\w.$-]+")


@dataclass(frozen=True)
class Bug:
    """One small bug: the module's bytes from ``start`` to ``end`` are replaced by ``text``."""

    module: str  # below the package, such as "runner/process.py"
    function: str  # "Class.method", or "" for the module's own lines
    line: int
    column: int
    kind: str
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}:{self.column} {self.kind}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def diff(self, source: bytes) -> str:
        """The changed lines as a unified diff without context."""
        before, after = (text.decode().splitlines() for text in (source, self.apply(source)))
        lines = difflib.unified_diff(before, after, lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def modules(package: Path, only: str = "") -> list[str]:
    """The modules of ``package`` that bugs are made in, below a prefix."""
    names = sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py"))
    return [n for n in names if n.startswith(only) and not n.startswith(LEFT_OUT)]


def sample(sources: dict[str, bytes], number: int, seed: int) -> list[Bug]:
    """Draw lines, and one bug of each: a line with many constants weighs no more than another."""
    lines: dict[tuple[str, int], list[Bug]] = {}
    for module, source in sources.items():
        for bug in find(source, module):
            lines.setdefault((bug.module, bug.line), []).append(bug)
    chance = random.Random(seed)
    places = sorted(lines)
    chance.shuffle(places)
    drawn: list[Bug] = []
    for place in places:
        bug = chance.choice(lines[place])
        if len(drawn) < number and is_bug(bug, sources[bug.module]):
            drawn.append(bug)
    return drawn


def find(source: bytes, module: str) -> list[Bug]:
    """Every bug that can be made in the module; a few may not be one, which ``is_bug`` says."""
    tree = ast.parse(source)
    finder = _Finder(source, module, tree)
    finder.visit(tree)
    return list(dict.fromkeys(finder.found))


def is_bug(bug: Bug, source: bytes) -> bool:
    """True if the text with the bug compiles, and means something else to the parser."""
    mutated = bug.apply(source)
    try:
        tree = ast.parse(mutated)
        compile(mutated, "<bug>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes, module: str, tree: ast.Module) -> None:
        self.found: list[Bug] = []
        self._source = source
        self._module = module
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._scope: list[str] = []
        self._functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self._keys = sorted(set(_keys_below(tree)))

    # Where nothing is changed.

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave the text of messages alone."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave errors and their messages alone."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave assertions alone: they are for type checkers."""

    # Scopes.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name == "__repr__" or any("overload" in ast.dump(d) for d in node.decorator_list):
            return
        self._scope.append(node.name)
        self._functions.append(node)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._flip(default)
                self.visit(default)
        self._visit_all(node.body)
        self._functions.pop()
        self._scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if "__all__" in names:
            return
        if not self._functions:
            self._count_up(node.value)
            self._flip(node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            if not self._functions:
                self._count_up(node.value)
                self._flip(node.value)
            self.visit(node.value)

    # Conditions.

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test) or "__main__" in ast.dump(node.test):
            return
        self._invert(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._invert(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._invert(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._invert(condition)
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self._invert(node.guard)
            self.visit(node.guard)
        self._visit_all(node.body)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self._start(node)
            written = re.match(rb"not\b\s*", self._source[start:])
            if written:
                self._add("not dropped", start, start + written.end(), "")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._replace_between(left, right, rf"\b{word}\b", other, f"{other} for {word}")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            pattern, other = _SWAPPED[type(op)]
            kind = "bound" if isinstance(op, _BOUNDS) else "comparison"
            self._replace_between(left, right, pattern, other, kind)
        for side in sides:
            self._count_up(side)
        self.generic_visit(node)

    # Bounds, calls, keys, ways out.

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _is_type(node):
            return
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper):
                self._count_up(bound)
                self._count_down(bound)
        else:
            self._count_up(node.slice)
            self._rename(node.slice)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key in node.keys:
            self._rename(key)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            for argument in node.args:
                self._count_up(argument)
        if _is_lookup(node):
            self._rename(node.args[0])
        for keyword in node.keywords:
            self._flip(keyword.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and not _is_logging(call):
            self._put(node, "call dropped", "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        function = self._functions[-1]
        if node.value is None:
            if node is not function.body[-1]:
                self._put(node, "return dropped", "pass")
            return
        self._flip(node.value)
        may_be_none = function.returns is not None and "None" in ast.unparse(function.returns)
        if may_be_none and not isinstance(node.value, ast.Constant):
            self._put(node.value, "None returned", "None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._put(node, "loop", "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._put(node, "loop", "continue")

    # Making a bug of a node.

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _invert(self, test: ast.expr) -> None:
        if isinstance(test, ast.Constant):
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return  # its "not" is dropped
        if isinstance(test, ast.Compare) and not isinstance(test.ops[0], _BOUNDS):
            return  # its operator is swapped
        start, end = self._start(test), self._end(test)
        text = self._source[start:end].decode()
        self._add("condition inverted", start, end, f"(not ({text}))")

    def _count_up(self, node: ast.expr | None) -> None:
        number = _int_of(node)
        if node is not None and number is not None:
            self._put(node, "off by one", str(number + 1))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self._count_up(node.operand)

    def _count_down(self, node: ast.expr | None) -> None:
        number = _int_of(node)
        if node is not None and number:
            self._put(node, "off by one", str(number - 1))

    def _flip(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            self._put(node, "flag", str(not node.value))

    def _rename(self, node: ast.expr | None) -> None:
        key = _key_of(node)
        if node is None or key is None:
            return
        place = self._keys.index(key) if key in self._keys else -1
        others = len(self._keys) > 1
        other = self._keys[(place + 1) % len(self._keys)] if others else f"{key}_"
        self._put(node, "key", json.dumps(other))

    def _replace_between(
        self, left: ast.expr, right: ast.expr, pattern: str, other: str, kind: str
    ) -> None:
        start = self._end(left)
        written = re.search(pattern.encode(), self._source[start : self._start(right)])
        if written:
            self._add(kind, start + written.start(), start + written.end(), other)

    def _put(self, node: ast.expr | ast.stmt, kind: str, text: str) -> None:
        self._add(kind, self._start(node), self._end(node), text)

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        line = self._source.count(b"\n", 0, start) + 1
        column = start - self._lines[line - 1] + 1
        function = ".".join(self._scope) if self._functions else ""
        self.found.append(Bug(self._module, function, line, column, kind, start, end, text))

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset


def _keys_below(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        candidates: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            candidates += node.keys
        elif isinstance(node, ast.Subscript) and not _is_type(node):
            candidates.append(node.slice)
        elif isinstance(node, ast.Call) and _is_lookup(node):
            candidates.append(node.args[0])
        yield from filter(None, map(_key_of, candidates))


def _is_type(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in _TYPES


def _is_lookup(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "pop", "setdefault")
    return named and bool(call.args)


def _key_of(node: ast.expr | None) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and _KEY.fullmatch(value) else None


def _int_of(node: ast.expr | None) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_logging(call: ast.Call) -> bool:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in _LOGGING):
        return False
    return "log" in ast.unparse(call.func.value).lower()
