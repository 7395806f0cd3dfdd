"""Functions of a file: found by name, made from templates, checked once each.

Knows the order in which bodies are checked, which function a call means and that no function may
reach itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from oneread.source.errors import Diagnostic
from oneread.source.text import Position
from oneread.spec.words import plural
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_calls import Arguments, TemplateValue, deduced, rank
from oneread.trace.front.check_file import FileChecker
from oneread.trace.front.names import BUILT_IN, Bound, Constant, Meaning
from oneread.trace.front.report import Refused, Report
from oneread.trace.front.statements import Parser
from oneread.trace.types import Array, Pointer, Type, Void, may_hold

Values = tuple[TemplateValue, ...]


class Functions:
    """The functions of a file and their instances.

    Parameters
    ----------
    parser : Parser
        Parses a body when it is first needed.
    report : Report
        Takes what is wrong.
    """

    def __init__(self, parser: Parser, report: Report) -> None:
        self.parser = parser
        self.report = report
        self.heads: dict[str, list[syntax.FunctionHead]] = {}
        self.host: dict[str, Position] = {}
        self.file: dict[str, Meaning] = {}
        #: Shared variables that stand outside of functions.
        self.shared: list[tree.Variable] = []
        #: How many names of the file stand before each function.
        self.before: dict[int, int] = {}
        self.lost: set[str] = set()
        self.known_names: set[str] = set()
        self.template_scopes: dict[int, dict[str, bool]] = {}
        self.bodies: dict[int, syntax.Body] = {}
        self.checkers: dict[tuple[int, Values], FunctionChecker] = {}
        self.made: dict[tuple[int, Values], FunctionChecker] = {}
        #: Names of functions that are known to have one body for the same parameters.
        self.single: set[str] = set()
        self.waiting: list[FunctionChecker] = []

    def add(self, head: syntax.FunctionHead) -> None:
        """Enter a function, or the announcement of one."""
        self.heads.setdefault(head.name, []).append(head)
        self.before[head.start] = len(self.file)
        if head.template:
            self.parser.templates.add(head.name)

    def file_level(self, statement: syntax.Statement | None) -> None:
        """Check a declaration of the file."""
        if statement is None:
            return
        checker = FileChecker(self)
        if isinstance(statement, syntax.Variables):
            checker.constants(statement)
            self.shared += checker.shared
        else:
            try:
                checker.declaration(statement)
            except Refused:
                checker.lose(statement)
                raise

    def program(
        self,
        head: syntax.FunctionHead,
        written: tuple[syntax.TypeId | syntax.Expr, ...] | None,
    ) -> tree.Program:
        """Return the program of a kernel, everything that it reaches checked."""
        checker = FileChecker(self)
        values = checker.template_values(head, written or (), {}, head.position)
        kernel = self.instance(head, values, head.position)
        while self.waiting:
            self.waiting.pop().run()
        for one in self.made.values():
            one.report_cycle()
        self.report.stop()
        kernel.function.shared = (*self.shared, *kernel.function.shared)
        return tree.Program(kernel.function, tuple(self.ordered(kernel)))

    def instance(
        self, head: syntax.FunctionHead, values: Values, where: Position
    ) -> FunctionChecker:
        """Return a function for some template arguments; its body is checked later."""
        key = (head.start, values)
        if key not in self.made:
            limit = self.report.limits.instances
            if len(self.made) >= limit:
                raise self.report.fatal("too-many-instances", where, limit=limit)
            self.made[key] = self.checker(head, values)
            self.waiting.append(self.made[key])
        return self.made[key]

    def checker(self, head: syntax.FunctionHead, values: Values) -> FunctionChecker:
        """Return a function whose head is checked; its body is not until a call needs it."""
        key = (head.start, values)
        if key not in self.checkers:
            self.checkers[key] = FunctionChecker(self, head, values)
        return self.checkers[key]

    def signature(self, head: syntax.FunctionHead) -> tuple[object, ...]:
        """Return what heads of one function have in common."""
        if head.template:
            return len(head.template), len(head.parameters)
        checker = self.checker(head, ())
        kinds = [parameter.type for parameter in checker.function.parameters]
        return tuple(zip(kinds, checker.references, strict=True))

    def check_doubles(self, name: str) -> None:
        """Report a function that has two bodies."""
        seen: dict[tuple[object, ...], syntax.FunctionHead] = {}
        for head in self.heads[name] if name not in self.single else ():
            if head.body is None or head.template:
                continue
            first = seen.setdefault(self.signature(head), head)
            if first is not head:
                note = Diagnostic("declared-here", first.position, {"name": name}, "note")
                raise self.report.error("function-twice", head.position, notes=(note,), name=name)
        self.single.add(name)

    def body(self, head: syntax.FunctionHead) -> syntax.Body:
        """Return the statements of a function, parsed once."""
        if head.start not in self.bodies:
            scope = self.template_scopes.get(head.start, {})
            self.parser.scopes.append(scope)
            try:
                self.bodies[head.start] = self.parser.body(head)
            finally:
                self.parser.scopes.pop()
        return self.bodies[head.start]

    def ordered(self, kernel: FunctionChecker) -> list[tree.Function]:
        """Return the functions, callees before callers; there is no cycle."""
        done: dict[int, tree.Function] = {}
        stack = [(kernel, iter(kernel.callees))]
        while stack:
            checker, callees = stack[-1]
            callee = next((c for c in callees if id(c) not in done), None)
            if callee is None:
                done[id(checker)] = checker.function
                stack.pop()
            else:
                stack.append((callee, iter(callee.callees)))
        return list(done.values())


def settles(
    head: syntax.FunctionHead, written: int, shown: Mapping[str, Sequence[TemplateValue]]
) -> bool:
    """Say whether a call gives each argument of a template, and gives it once."""
    if written > len(head.template):
        return False
    for parameter in head.template[written:]:
        count = len(shown.get(parameter.name, ()))
        if count > 1 or (count == 0 and parameter.default is None):
            return False
    return True


class FunctionChecker(FileChecker):
    """Checks one function for one set of template arguments."""

    def __init__(self, functions: Functions, head: syntax.FunctionHead, values: Values) -> None:
        super().__init__(functions)
        self.head = head
        self.callees: dict[FunctionChecker, Position] = {}
        names = [parameter.name for parameter in head.template]
        before = islice(functions.file.items(), functions.before[head.start])
        template: dict[str, Meaning] = dict(zip(names, values, strict=True))
        self.names.scopes = [BUILT_IN, dict(before), template, {}]
        self.references: tuple[bool, ...] = ()
        self.returns = self.return_type()
        parameters = tuple(self.parameter(one) for one in head.parameters)
        shown = ", ".join(str(v.value if isinstance(v, Constant) else v) for v in values)
        name = f"{head.name}<{shown}>" if values else head.name
        self.function = tree.Function(
            name, head.position, self.returns, parameters, tree.Block(head.position, ()),
            head.is_kernel, (), (), self.thread_limit(),
        )  # fmt: skip

    def return_type(self) -> Type:
        head = self.head
        where = head.returns.words.position
        if head.returns.declarator.reference or head.returns.words.name == "auto":
            raise self.report.outside("a function that returns a reference or auto", where)
        declarator = syntax.Declarator(head.position, head.name, head.returns.declarator.pointers)
        kind = self.resolved(head.returns.words, declarator)[0]
        if head.is_kernel and not isinstance(kind, Void):
            raise self.report.error("kernel-returns", where, type=str(kind))
        return kind

    def thread_limit(self) -> int | None:
        if self.head.max_threads is None:
            return None
        return self.constant(self.head.max_threads, "__launch_bounds__")

    def parameter(self, node: syntax.Parameter) -> tree.Variable:
        words, declarator = node.type.words, node.type.declarator
        where = declarator.position
        if words.name == "auto":
            raise self.report.error("auto-here", where)
        if self.head.is_kernel and not declarator.name:
            raise self.report.error("parameter-name", where)
        kind, const = self.resolved(words, declarator)
        if isinstance(kind, Void):
            raise self.report.error("void-variable", where, name=declarator.name)
        if declarator.reference:
            if self.head.is_kernel:
                raise self.report.error("kernel-reference", where, name=declarator.name)
            kind = Pointer(kind, const, words.volatile)
            const = True
        elif isinstance(kind, Array):
            kind, const = Pointer(kind.element, const, words.volatile), False
        self.references += (declarator.reference,)
        storage = tree.Storage.REGISTER if may_hold(kind) else tree.Storage.LOCAL
        variable = tree.Variable(declarator.name, kind, storage, where, const)
        if declarator.name and self.names.here(declarator.name):
            raise self.report.error("twice", where, name=declarator.name)
        self.names.add(declarator.name, Bound(variable, declarator.reference))
        self.variables.append(variable)
        return variable

    def run(self) -> None:
        """Check the body."""
        body = self.functions.body(self.head)
        self.lost = frozenset(self.functions.lost | body.lost)
        statements = tuple(self.statements(body.block.statements))
        if not isinstance(self.returns, Void) and not self.has_return:
            self.report.error("no-return", self.head.position, name=self.head.name)
        self.function.body = tree.Block(body.block.position, statements)
        self.function.variables = tuple(self.variables)
        self.function.shared = tuple(self.shared)

    def instance(
        self, node: syntax.Apply, arguments: Arguments
    ) -> tuple[tree.Function, tuple[bool, ...]]:
        head = self.overload(node, arguments)
        name, where = node.function.name, node.position
        if len(arguments) != len(head.parameters):
            raise self.report.error(
                "argument-count", where, name=name, wanted=plural(len(head.parameters), "argument"),
                given=len(arguments), notes=self.declared_at(head),
            )  # fmt: skip
        values = self.template_values(
            head, node.function.arguments or (), deduced(head, arguments), where, self
        )
        checker = self.functions.instance(head, values, where)
        self.callees.setdefault(checker, where)
        return checker.function, checker.references

    def overload(self, node: syntax.Apply, arguments: Arguments) -> syntax.FunctionHead:
        """Return the function of a name that a call means."""
        name, where = node.function.name, node.position
        heads = self.functions.heads.get(name, [])
        if not heads:
            raise self.report.error("host-call", where, "host-call-hint", name=name)
        if any(head.is_kernel for head in heads):
            raise self.report.error("kernel-call", where, name=name)
        self.functions.check_doubles(name)
        if not any(self.is_before(head) for head in heads):
            raise self.report.error(
                "used-before", where, "used-before-hint", name=name,
                notes=self.declared_at(heads[0]),
            )  # fmt: skip
        bodies = self.bodies(heads)
        if not bodies:
            raise self.report.error("no-body", where, name=name)
        return bodies[0] if len(bodies) == 1 else self.nearest(bodies, node, arguments)

    def is_before(self, head: syntax.FunctionHead) -> bool:
        return head.start <= self.head.start

    def bodies(self, heads: Sequence[syntax.FunctionHead]) -> list[syntax.FunctionHead]:
        """Return the functions with a body that stand before this one or are announced there."""
        known = {self.functions.signature(head) for head in heads if self.is_before(head)}
        return [
            head
            for head in heads
            if head.body is not None
            and (self.is_before(head) or self.functions.signature(head) in known)
        ]

    def nearest(
        self, heads: Sequence[syntax.FunctionHead], node: syntax.Apply, arguments: Arguments
    ) -> syntax.FunctionHead:
        """Return the nearest overload; of equals the one with the fewest types to deduce."""
        ranked = self.ranked(heads, node, arguments)
        if not ranked:
            given = ", ".join("{...}" if one is None else str(one.type) for one in arguments)
            raise self.report.error(
                "no-overload", node.position, name=node.function.name, given=given,
                notes=tuple(note for head in heads for note in self.declared_at(head)),
            )  # fmt: skip
        return min(ranked, key=lambda one: one[:2])[2]

    def ranked(
        self, heads: Sequence[syntax.FunctionHead], node: syntax.Apply, arguments: Arguments
    ) -> list[tuple[int, int, syntax.FunctionHead]]:
        """Return the functions that a call fits, each with how far it is from it."""
        found = []
        written = node.function.arguments or ()
        for head in heads:
            shown = deduced(head, arguments)
            if len(head.parameters) != len(arguments) or not settles(head, len(written), shown):
                continue
            values = self.template_values(head, written, shown, node.position, self)
            far = self.functions.checker(head, values).distance(arguments)
            if far is not None:
                found.append((far, len(head.template), head))
        return found

    def least_distance(self, node: syntax.Apply, arguments: Arguments) -> int | None:
        heads = self.bodies(self.functions.heads.get(node.function.name, []))
        return min((one[0] for one in self.ranked(heads, node, arguments)), default=None)

    def distance(self, arguments: Arguments) -> int | None:
        """Return how far arguments are from this function's parameters; None if they do not fit."""
        total = 0
        for argument, parameter, reference in zip(
            arguments, self.function.parameters, self.references, strict=True
        ):
            if argument is None:
                continue  # braces fit, or the call says why not
            kind = parameter.type
            if reference:
                assert isinstance(kind, Pointer)
                is_place = isinstance(argument, tree.Lvalue) and argument.type == kind.target
                if not kind.const and not is_place:
                    return None
                kind = kind.target
            far = rank(nodes.loaded(argument), kind)
            if far is None:
                return None
            total += far
        return total

    def declared_at(self, head: syntax.FunctionHead) -> tuple[Diagnostic, ...]:
        return (Diagnostic("declared-here", head.position, {"name": head.name}, "note"),)

    def report_cycle(self) -> None:
        """Report it if this function can reach itself."""
        seen: set[FunctionChecker] = set()
        waiting = [(callee, where) for callee, where in self.callees.items()]
        while waiting:
            callee, where = waiting.pop()
            if callee is self:
                self.report.outside("recursion", where)
                return
            if callee not in seen:
                seen.add(callee)
                waiting += [(further, where) for further in callee.callees]
