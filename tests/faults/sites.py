"""Draw small faults at random from the source of the product.

The operators are those of mutmut and a few of ours. A fault is kept as the lines that it replaces, with the lines that
it puts in their place: it can be read, and put into another version of the file that still has these lines.
"""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

PACKAGES = ("arena", "bots", "games", "machine", "measuring", "protocol", "referee")
MIN_PER_PACKAGE = 20
"""The least number of faults of a package, however small it is."""
LOGGING = re.compile(r"(?:^|\.)_?(?:log|logger|logging)\.\w+$|^(?:cast|TypeVar|NewType)$|\.warn$")
"""The functions whose calls stay as they are: they take texts for a log, or types."""
CRUDE = {"assignment", "arg_removal", "lambda", "remove_statement", "return_none"}
SUBTLE_WEIGHT = 3
"""The weight of other operators beside crude ones, whose faults nearly every test finds."""
STRICT = re.compile(r",\s*strict=\w+")
"""An argument of `zip` whose change is no fault: it states what is so anyway."""
COMPILED = {"compiled", "entry"}
"""The decorators of functions that numba compiles: no tool sees their lines run."""


class Fault(NamedTuple):
    """Replace the lines `before`, from `line` on, by the lines `after`."""

    number: int
    file: str
    line: int
    before: list[str]
    after: list[str]
    operator: str
    function: str
    """Qualified name of the function or class it is in; empty at the top level."""


class Place(NamedTuple):
    """Describe where a fault is, as far as it matters for the search of tests."""

    lines: range
    """The lines of the smallest statement around it; of one with a body, those of its head."""
    at_import: bool
    """Whether it runs when the module is imported."""
    compiled: bool
    """Whether it is in a function that numba compiles."""
    in_class: bool
    """Whether it runs in the body of a class: what it defines is an attribute."""
    names: list[str]
    """What the statement defines, or else the function or class around it."""


def draw(tree: Path, count: int, seed: int) -> list[Fault]:
    """Draw faults: a line of the product at random, then one of the faults that can be put into it."""
    rng = random.Random(seed)
    files = {package: sorted((tree / package).rglob("*.py")) for package in PACKAGES}
    lengths = {file: len(file.read_text().splitlines()) for some in files.values() for file in some}
    sources: dict[Path, Source] = {}
    drawn: list[Fault] = []
    taken = set()
    for package in _packages(rng, {name: sum(lengths[file] for file in files[name]) for name in PACKAGES}, count):
        while True:
            (file,) = rng.choices(files[package], [lengths[file] for file in files[package]])
            line = rng.randint(1, max(1, lengths[file]))
            if file not in sources:
                sources[file] = Source(file.read_text())
            found = sources[file].fault(line, rng)
            if found is None or (file, line) in taken:
                continue
            taken.add((file, line))
            first, before, after, operator = found
            name = str(file.relative_to(tree))
            function = function_around(ast.parse(file.read_text()), line)
            drawn.append(Fault(len(drawn) + 1, name, first, before, after, operator, function))
            break
    return drawn


def _packages(rng: random.Random, lengths: dict[str, int], count: int) -> list[str]:
    """Return the package of each fault: drawn by length, but some of each."""
    least = min(MIN_PER_PACKAGE, count // len(lengths))
    packages = [name for name in lengths for _ in range(least)]
    packages += rng.choices(list(lengths), list(lengths.values()), k=count - len(packages))
    rng.shuffle(packages)
    return packages


class Source:
    """Find the faults that can be put into a file of the product."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.meaning = ast.dump(ast.parse(STRICT.sub("", text)))
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        visitor = _Visitor()
        wrapper.visit(visitor)
        self.module = wrapper.module
        self.sites = visitor.sites

    def fault(self, line: int, rng: random.Random) -> tuple[int, list[str], list[str], str] | None:
        sites = self.sites.get(line, [])
        while sites:
            names = sorted({name for name, _, _ in sites})
            (operator,) = rng.choices(names, [1 if name in CRUDE else SUBTLE_WEIGHT for name in names])
            site = rng.choice([site for site in sites if site[0] == operator])
            changed = self._changed(site[1], site[2])
            if changed is not None:
                return (*changed, operator)
            sites = [other for other in sites if other is not site]
        return None

    def _changed(self, old: cst.CSTNode, new: cst.CSTNode) -> tuple[int, list[str], list[str]] | None:
        """Return the lines that differ; None if the changed file does not compile or means the same."""
        try:
            text = self.module.deep_replace(old, new).code  # type: ignore[attr-defined]
            if self.meaning == ast.dump(ast.parse(STRICT.sub("", text))):
                return None
            compile(text, "fault", "exec")
        except (SyntaxError, ValueError, TypeError, cst.CSTValidationError):
            return None
        before, after = self.text.splitlines(keepends=True), text.splitlines(keepends=True)
        steps = [
            step for step in difflib.SequenceMatcher(None, before, after, False).get_opcodes() if step[0] != "equal"
        ]
        _, start, _, begin, _ = steps[0]
        _, _, end, _, stop = steps[-1]
        if start == end:  # only put in, which no fault does: keep a line to find the place by
            end += 1
            stop += 1
        return start + 1, before[start:end], after[begin:stop]


class _Visitor(cst.CSTVisitor):
    """Collect (operator, node, replacement) by the line on which the node begins."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.sites: dict[int, list[tuple[str, cst.CSTNode, cst.CSTNode]]] = {}

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_exempt(node):
            return False
        position = self.get_metadata(PositionProvider, node, None)
        if position is not None:
            for name, replacement in mutated(node):
                self.sites.setdefault(position.start.line, []).append((name, node, replacement))
        return True


def _is_exempt(node: cst.CSTNode) -> bool:
    """Return whether nothing in a node is changed: it is a docstring, a type, an import, or a text for a log."""
    if isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom | cst.TypeAlias | cst.TypeParameters):
        return True
    if isinstance(node, cst.SimpleStatementLine):
        only = node.body[0]
        return isinstance(only, cst.Expr) and isinstance(only.value, cst.BaseString)
    if isinstance(node, cst.If):
        return m.matches(node.test, m.Name("TYPE_CHECKING") | m.Attribute(attr=m.Name("TYPE_CHECKING")))
    if isinstance(node, cst.Call):
        return LOGGING.search(cst.Module([]).code_for_node(node.func)) is not None
    return False


Operator = tuple[Any, str, Callable[[Any], Iterable[cst.CSTNode]]]


def mutated(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield what may replace a node, each with the name of its operator."""
    for kind, name, operator in OPERATORS:
        if isinstance(node, kind):
            for replacement in operator(node):
                yield name, replacement


def _removed(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    if isinstance(node.body[0], cst.Expr | cst.Assign | cst.AugAssign | cst.Raise | cst.Del | cst.Assert):
        yield node.with_changes(body=[cst.Pass()])


def _returned(node: cst.Return) -> Iterator[cst.CSTNode]:
    if node.value is not None and not m.matches(node.value, m.Name("None")):
        yield node.with_changes(value=cst.Name("None"), whitespace_after_return=cst.SimpleWhitespace(" "))


def _unawaited(node: cst.Await) -> Iterator[cst.CSTNode]:
    yield node.expression


def _negated(node: cst.If | cst.While | cst.IfExp) -> Iterator[cst.CSTNode]:
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    changed: dict[str, Any] = {"test": cst.UnaryOperation(cst.Not(), test)}
    if isinstance(node, cst.If):
        changed["whitespace_before_test"] = cst.SimpleWhitespace(" ")
    elif isinstance(node, cst.While):
        changed["whitespace_after_while"] = cst.SimpleWhitespace(" ")
    else:
        changed["whitespace_after_if"] = cst.SimpleWhitespace(" ")
    yield node.with_changes(**changed)


def _swapped(node: cst.Call) -> Iterator[cst.CSTNode]:
    for at, (one, other) in enumerate(zip(node.args, node.args[1:], strict=False)):
        if not (one.star or other.star or one.keyword or other.keyword):
            pair = one.with_changes(value=other.value), other.with_changes(value=one.value)
            yield node.with_changes(args=[*node.args[:at], *pair, *node.args[at + 2 :]])


def _shortened(node: cst.List | cst.Tuple | cst.Set | cst.Dict) -> Iterator[cst.CSTNode]:
    least = 1 if isinstance(node, cst.List | cst.Dict) else 3 if isinstance(node, cst.Tuple) else 2
    if len(node.elements) >= least:
        for at in range(len(node.elements)):
            yield node.with_changes(elements=[*node.elements[:at], *node.elements[at + 1 :]])


def _lessened(node: cst.Integer) -> Iterator[cst.CSTNode]:
    if node.evaluated_value > 0:
        yield node.with_changes(value=repr(node.evaluated_value - 1))


def _reversed(node: cst.ComparisonTarget) -> Iterator[cst.CSTNode]:
    opposite = {
        cst.LessThan: cst.GreaterThanEqual,
        cst.LessThanEqual: cst.GreaterThan,
        cst.GreaterThan: cst.LessThanEqual,
        cst.GreaterThanEqual: cst.LessThan,
    }.get(type(node.operator))  # type: ignore[call-overload]
    if opposite is not None:
        yield node.with_changes(operator=opposite())


def _one_of_two(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    yield node.left
    yield node.right


def _unfiltered(node: cst.CompFor) -> Iterator[cst.CSTNode]:
    if node.ifs:
        yield node.with_changes(ifs=node.ifs[1:])


OPERATORS: Sequence[Operator] = (
    *((kind, operator.__name__.removeprefix("operator_"), operator) for kind, operator in mutation_operators),
    (cst.SimpleStatementLine, "remove_statement", _removed),
    (cst.Return, "return_none", _returned),
    (cst.Await, "drop_await", _unawaited),
    (cst.If | cst.While | cst.IfExp, "negate_condition", _negated),
    (cst.Call, "swap_arguments", _swapped),
    (cst.List | cst.Tuple | cst.Set | cst.Dict, "drop_element", _shortened),
    (cst.Integer, "number_less", _lessened),
    (cst.ComparisonTarget, "reverse_comparison", _reversed),
    (cst.BooleanOperation, "drop_operand", _one_of_two),
    (cst.CompFor, "drop_filter", _unfiltered),
)


def put_in(fault: Fault, text: str) -> str:
    """Return the text of a file with the fault in it. Raise ValueError if the file does not have its lines."""
    lines = text.splitlines(keepends=True)
    start = fault.line - 1
    if lines[start : start + len(fault.before)] != fault.before:
        raise ValueError(f"{fault.file}:{fault.line} has changed")
    return "".join([*lines[:start], *fault.after, *lines[start + len(fault.before) :]])


def carried(fault: Fault, old: str, new: str) -> Fault | None:
    """Return the same fault in a later version of its file; None if that has not these lines in that function."""
    lines, former = new.splitlines(keepends=True), old.splitlines(keepends=True)
    tree = ast.parse(new)
    start = fault.line - 1
    size = len(fault.before)
    around = former[max(0, start - 6) : start] + former[start + size : start + size + 6]
    found = []
    for at in range(len(lines) - size + 1):
        if lines[at : at + size] == fault.before:
            beside = lines[max(0, at - 6) : at] + lines[at + size : at + size + 6]
            alike = difflib.SequenceMatcher(None, around, beside, False).ratio()
            same = function_around(tree, at + 1).rsplit(".")[-1] == fault.function.rsplit(".")[-1]
            found.append((same, alike, -abs(at - start), at))
    if not found or max(found)[:2] < (False, 0.5):
        return None
    moved = fault._replace(line=max(found)[3] + 1)
    try:
        compile(put_in(moved, new), fault.file, "exec")
    except SyntaxError:
        return None
    return moved


def _statements(tree: ast.AST, line: int) -> list[ast.stmt]:
    """Return the statements around a line, from the outermost on."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    found = [node for node in statements if _first(node) <= line <= (node.end_lineno or 0)]
    return sorted(found, key=lambda node: (_first(node), -(node.end_lineno or 0)))


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def function_around(tree: ast.AST, line: int) -> str:
    """Return the qualified name of the function or class that a line is in."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return ".".join(node.name for node in _statements(tree, line) if isinstance(node, kinds))


def place(fault: Fault, text: str) -> Place:
    """Return where a fault is in its file."""
    around = _statements(ast.parse(text), fault.line)
    if not around:
        return Place(range(fault.line, fault.line + len(fault.before)), True, False, False, [])
    inner = around[-1]
    body = getattr(inner, "body", None)
    head = range(_first(inner), max(_first(inner), body[0].lineno - 1) + 1 if body else (inner.end_lineno or 0) + 1)
    functions = [node for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = [node for node in functions if node.body[0].lineno <= fault.line]
    names = [node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    named = [node.name for node in around if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    if inside or not names:
        names = named[-1:]
    decorators = {name for node in functions for one in node.decorator_list for name in _names(one)}
    classes = [node for node in around if isinstance(node, ast.ClassDef) and node.lineno < fault.line]
    return Place(head, not inside, bool(decorators & COMPILED), bool(classes) and not inside, names)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
