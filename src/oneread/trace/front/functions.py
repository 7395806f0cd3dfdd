"""Functions of a file: found by name, made from templates, checked once each.

Knows the order in which bodies are checked, which function a call means and that no function may
reach itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice

from oneread.source.errors import Diagnostic
from oneread.source.text import Position
from oneread.spec.words import plural
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_file import FileChecker
from oneread.trace.front.matching import Arguments, TemplateValue, deduced, rank, settles
from oneread.trace.front.names import BUILT_IN, Bound, Constant, Lost, Meaning
from oneread.trace.front.report import Refused, Report
from oneread.trace.front.statements import Parser
from oneread.trace.types import VOID, Array, Pointer, Struct, Type, Void, may_hold

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
        #: Names that could not be read at file level; the parser adds to them.
        self.lost = parser.lost_of_file
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
        if head.body is None:  # it has one, but behind what could not be read
            raise Refused
        checker = FileChecker(self)
        values = checker.template_values(head, written or (), {}, head.position)
        kernel = self.instance(head, values, head.position)
        self.run_waiting()
        if self.report.failed:
            self.check_rest()
        for one in self.made.values():
            one.report_cycle()
        self.report.stop()
        kernel.function.shared = (*self.shared, *kernel.function.shared)
        return tree.Program(kernel.function, tuple(self.ordered(kernel)))

    def run_waiting(self) -> None:
        while self.waiting:
            self.waiting.pop().run()

    def check_rest(self) -> None:
        """Check the functions that only what has an error calls: it does not hide theirs."""
        for head in chain.from_iterable(self.heads.values()):
            if head.body is not None and not head.template and not head.is_kernel:
                self.instance(head, (), head.position)
        self.run_waiting()

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
            if head.body is None or head.template or self.checker(head, ()).broken:
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
        self.lost = frozenset(functions.lost | head.lost)
        #: Whether its head has an error, so that what a call of it means is not known.
        self.broken = head.broken
        self.references: tuple[bool, ...] = ()
        self.returns = self.return_type()
        parameters = tuple(self.parameters())
        shown = ", ".join(str(v.value if isinstance(v, Constant) else v) for v in values)
        name = f"{head.name}<{shown}>" if values else head.name
        self.function = tree.Function(
            name, head.position, self.returns or VOID, parameters, tree.Block(head.position, ()),
            head.is_kernel, (), (), self.thread_limit(),
        )  # fmt: skip

    def return_type(self) -> Type | None:
        """Return the type that is written; None where it has an error."""
        head = self.head
        where = head.returns.words.position
        try:
            if head.returns.declarator.reference or head.returns.words.name == "auto":
                raise self.report.outside("a function that returns a reference or auto", where)
            declarator = syntax.Declarator(
                head.position, head.name, head.returns.declarator.pointers
            )
            kind = self.resolved(head.returns.words, declarator)[0]
            if head.is_kernel and not isinstance(kind, Void):
                raise self.report.error("kernel-returns", where, type=str(kind))
        except Refused:
            self.broken = True
            return None
        return kind

    def thread_limit(self) -> int | None:
        if self.head.max_threads is None:
            return None
        with suppress(Refused):
            return self.constant(self.head.max_threads, "__launch_bounds__")
        return None

    def parameters(self) -> Iterator[tree.Variable]:
        for node in self.head.parameters:
            try:
                yield self.parameter(node)
            except Refused:
                self.broken = True
                self.names.scopes[-1].setdefault(node.type.declarator.name, Lost.LOST)

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
        if declarator.name and self.names.here(declarator.name):
            raise self.report.error("twice", where, name=declarator.name)
        storage = tree.Storage.REGISTER if may_hold(kind) else tree.Storage.LOCAL
        variable = tree.Variable(declarator.name, kind, storage, where, const)
        self.names.add(declarator.name, Bound(variable, declarator.reference))
        self.references += (declarator.reference,)
        self.variables.append(variable)
        return variable

    def run(self) -> None:
        """Check the body."""
        body = self.functions.body(self.head)
        self.lost = frozenset(self.functions.lost | body.lost)
        statements = tuple(self.statements(body.block.statements))
        misses = body.whole and not self.has_return
        if misses and self.returns is not None and not isinstance(self.returns, Void):
            self.report.error("no-return", self.head.position, name=self.head.name)
        self.function.body = tree.Block(body.block.position, statements)
        self.function.variables = tuple(self.variables)
        self.function.shared = tuple(self.shared)

    def instance(
        self, node: syntax.Apply, arguments: Arguments
    ) -> tuple[tree.Function, tuple[bool, ...]]:
        head = self.overload(node, arguments)
        name, where = node.function.name, node.position
        if head.broken:
            raise Refused
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
        if checker.broken:
            raise Refused
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
        if not self.finds_late(arguments) and not any(self.is_before(head) for head in heads):
            raise self.report.error(
                "used-before", where, "used-before-hint", name=name,
                notes=self.declared_at(heads[0]),
            )  # fmt: skip
        if not (bodies := self.bodies(heads, arguments)):
            raise self.report.error("no-body", where, name=name)
        return bodies[0] if len(bodies) == 1 else self.nearest(bodies, node, arguments)

    def is_before(self, head: syntax.FunctionHead) -> bool:
        return head.start <= self.head.start

    def finds_late(self, arguments: Arguments) -> bool:
        """Whether functions behind this one count: in a template, for arguments of a struct."""
        return bool(self.head.template) and any(
            one is not None and isinstance(one.type, Struct) for one in arguments
        )

    def bodies(
        self, heads: Sequence[syntax.FunctionHead], arguments: Arguments
    ) -> list[syntax.FunctionHead]:
        """Return the functions with a body that are known here, announced ones among them."""
        late, of = self.finds_late(arguments), self.functions.signature
        known = {of(head) for head in heads if late or self.is_before(head)}
        return [head for head in heads if head.body is not None and of(head) in known]

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
        heads = self.bodies(self.functions.heads.get(node.function.name, []), arguments)
        return min((one[0] for one in self.ranked(heads, node, arguments)), default=None)

    def distance(self, arguments: Arguments) -> int | None:
        """Return how far arguments are from this function's parameters; None if they do not fit."""
        if self.broken:
            return 0
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
