"""Functions of a file: found by name, made from templates, checked once each.

Knows the order in which bodies are checked and that no function may reach itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from oneread.source.errors import Diagnostic
from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_calls import TemplateValue, deduced, rank
from oneread.trace.front.check_statements import StatementChecker
from oneread.trace.front.names import BUILT_IN, Bound, Constant, Lost, Meaning, Named, Names
from oneread.trace.front.report import Refused, Report, plural
from oneread.trace.front.statements import Parser
from oneread.trace.types import INT, VOID, Array, Pointer, Scalar, Type, Void, may_hold

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
        self.lost: set[str] = set()
        self.known_names: set[str] = set()
        self.template_scopes: dict[int, dict[str, bool]] = {}
        self.bodies: dict[int, syntax.Body] = {}
        self.made: dict[tuple[int, Values], FunctionChecker] = {}
        self.waiting: list[FunctionChecker] = []

    def add(self, head: syntax.FunctionHead) -> None:
        """Enter a function, or the announcement of one."""
        known = self.heads.setdefault(head.name, [])
        known.append(head)
        if head.template:
            self.parser.templates.add(head.name)

    def file_level(self, statement: syntax.Statement | None) -> None:
        """Check a declaration of the file."""
        if statement is None:
            return
        checker = FileChecker(self)
        if isinstance(statement, syntax.Variables):
            checker.constants(statement)
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
            checker = FunctionChecker(self, head, values)
            self.made[key] = checker
            self.waiting.append(checker)
        return self.made[key]

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


class FileChecker(StatementChecker):
    """Checks what stands at file level: types, constants, demands, template arguments."""

    def __init__(self, functions: Functions) -> None:
        super().__init__(Names([BUILT_IN]), functions.report, frozenset(functions.lost))
        self.names.scopes = [BUILT_IN, functions.file]
        self.functions = functions
        self.returns = VOID
        self.variables = []
        self.shared = []

    def is_function(self, name: str) -> bool:
        return name in self.functions.heads or name in self.functions.host

    def function_names(self) -> list[str]:
        return [*self.functions.heads, *self.functions.host]

    def known_names(self) -> set[str]:
        return self.functions.known_names

    def constants(self, node: syntax.Variables) -> None:
        """Check variables of the file: only constants and dynamic shared memory may be there."""
        if "__shared__" in node.flags:
            raise self.report.error("shared-file", node.position)
        for declarator, value in node.declared:
            try:
                if self.names.here(declarator.name):
                    raise self.report.error("twice", declarator.position, name=declarator.name)
                found = list(self.variable(node, declarator, value))
            except Refused:
                self.names.add(declarator.name, Lost.LOST)
                continue
            if found:
                self.names.add(declarator.name, Lost.LOST)
                self.report.error(
                    "file-variable", declarator.position, "file-variable-hint",
                    name=declarator.name,
                )  # fmt: skip

    def instance(
        self, node: syntax.Apply, arguments: Sequence[tree.Expr]
    ) -> tuple[tree.Function, tuple[bool, ...]]:
        raise self.report.error("not-constant", node.position, what="a value at file level")

    def template_values(
        self,
        head: syntax.FunctionHead,
        written: Sequence[syntax.TypeId | syntax.Expr],
        known: dict[str, TemplateValue],
        where: Position,
        outer: StatementChecker | None = None,
    ) -> Values:
        """Settle the arguments of a template: written, deduced from a call, or its defaults."""
        if len(written) > len(head.template):
            raise self.report.error(
                "template-many", where, name=head.name, given=len(written),
                wanted=plural(len(head.template), "parameter"),
            )  # fmt: skip
        found: list[TemplateValue] = []
        with self.names.inner():
            for at, parameter in enumerate(head.template):
                if at < len(written):
                    value = self.settled(parameter, written[at], outer or self)
                elif parameter.name in known:
                    value = known[parameter.name]
                elif parameter.default is not None:
                    value = self.settled(parameter, parameter.default, self)
                else:
                    message = "template-kernel" if head.is_kernel else "template-missing"
                    raise self.report.error(
                        message, where, name=head.name, parameter=parameter.name
                    )
                found.append(value)
                self.names.add(parameter.name, as_meaning(value))
        return tuple(found)

    def settled(
        self,
        parameter: syntax.TemplateParameter,
        argument: syntax.TypeId | syntax.Expr,
        scope: StatementChecker,
    ) -> TemplateValue:
        if parameter.words is None:
            if not isinstance(argument, syntax.TypeId):
                raise self.report.error("template-type", argument.position, name=parameter.name)
            return scope.type_id(argument)
        if isinstance(argument, syntax.TypeId):
            raise self.report.error("template-number", argument.words.position, name=parameter.name)
        kind = self.base_type(parameter.words).type if parameter.words.name != "auto" else INT
        if not isinstance(kind, Scalar) or kind.kind == "float":
            raise self.report.error("template-kind", parameter.position, type=str(kind))
        number = scope.constant(argument, f"template argument '{parameter.name}'")
        value = nodes.converted(tree.Literal(argument.position, INT, number), kind)
        assert isinstance(value, tree.Literal)
        return kind, value.value


def as_meaning(value: TemplateValue) -> Meaning:
    """Return what the name of a template's parameter means for an argument."""
    return Constant(*value) if isinstance(value, tuple) else Named(value)


class FunctionChecker(FileChecker):
    """Checks one function for one set of template arguments."""

    def __init__(self, functions: Functions, head: syntax.FunctionHead, values: Values) -> None:
        super().__init__(functions)
        self.head = head
        self.callees: dict[FunctionChecker, Position] = {}
        names = [parameter.name for parameter in head.template]
        template = {n: as_meaning(v) for n, v in zip(names, values, strict=True)}
        self.names.scopes += [template, {}]
        self.references: tuple[bool, ...] = ()
        self.returns = self.return_type()
        parameters = tuple(self.parameter(one) for one in head.parameters)
        shown = ", ".join(str(v[1] if isinstance(v, tuple) else v) for v in values)
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
        self, node: syntax.Apply, arguments: Sequence[tree.Expr]
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

    def overload(self, node: syntax.Apply, arguments: Sequence[tree.Expr]) -> syntax.FunctionHead:
        """Return the function of a name that a call means."""
        name, where = node.function.name, node.position
        heads = self.functions.heads.get(name, [])
        if not heads:
            raise self.report.error("host-call", where, "host-call-hint", name=name)
        if any(head.is_kernel for head in heads):
            raise self.report.error("kernel-call", where, name=name)
        before = [head for head in heads if self.is_before(head, where)]
        if not before:
            raise self.report.error(
                "used-before", where, "used-before-hint", name=name,
                notes=self.declared_at(heads[0]),
            )  # fmt: skip
        bodies = [head for head in heads if head.body is not None]
        if not bodies:
            raise self.report.error("no-body", where, name=name)
        if len(bodies) == 1:
            return bodies[0]
        return self.nearest(bodies, node, arguments)

    def nearest(
        self,
        heads: Sequence[syntax.FunctionHead],
        node: syntax.Apply,
        arguments: Sequence[tree.Expr],
    ) -> syntax.FunctionHead:
        """Return the overload whose parameters are nearest; plain functions before templates."""
        ranked: list[tuple[int, int, int, syntax.FunctionHead]] = []
        for at, head in enumerate(heads):
            if len(head.parameters) != len(arguments):
                continue
            if head.template:
                ranked.append((0, 1, at, head))
                continue
            checker = self.functions.instance(head, (), node.position)
            total = 0
            for argument, parameter, reference in zip(
                arguments, checker.function.parameters, checker.references, strict=True
            ):
                kind = parameter.type
                if reference and isinstance(kind, Pointer):
                    kind = kind.target
                one = rank(nodes.loaded(argument), kind)
                total = -1 if one is None or total < 0 else total + one
            if total >= 0:
                ranked.append((total, 0, at, head))
        if not ranked:
            given = ", ".join(str(argument.type) for argument in arguments)
            raise self.report.error(
                "no-overload", node.position, name=node.function.name, given=given,
                notes=tuple(note for head in heads for note in self.declared_at(head)),
            )  # fmt: skip
        return min(ranked, key=lambda one: one[:3])[3]

    def is_before(self, head: syntax.FunctionHead, where: Position) -> bool:
        at = head.position
        return at.file != where.file or (at.line, at.column) <= (where.line, where.column)

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
