"""What stands at file level: constants, types, demands, and the arguments of templates.

Knows the file's names; knows no function's body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oneread.source.text import Position
from oneread.spec.words import plural
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_statements import StatementChecker
from oneread.trace.front.matching import Arguments, TemplateValue
from oneread.trace.front.names import BUILT_IN, Constant, Lost, Names
from oneread.trace.front.report import Refused
from oneread.trace.types import INT, VOID, Scalar

if TYPE_CHECKING:
    from oneread.trace.front.functions import Functions


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

    def is_later(self, name: str) -> bool:
        return name in self.functions.file

    def constants(self, node: syntax.Variables) -> None:
        """Check variables of the file: only constants and shared memory may be there."""
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
        self, node: syntax.Apply, arguments: Arguments
    ) -> tuple[tree.Function, tuple[bool, ...]]:
        raise self.report.outside("a call in a constant", node.position)

    def least_distance(self, node: syntax.Apply, arguments: Arguments) -> int | None:
        return None

    def template_values(
        self,
        head: syntax.FunctionHead,
        written: Sequence[syntax.TypeId | syntax.Expr],
        known: Mapping[str, Sequence[TemplateValue]],
        where: Position,
        outer: StatementChecker | None = None,
    ) -> tuple[TemplateValue, ...]:
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
                elif seen := known.get(parameter.name):
                    value = seen[0]
                    if len(seen) > 1:
                        raise self.report.error(
                            "template-conflict", where, name=head.name, parameter=parameter.name,
                            one=str(seen[0]), other=str(seen[1]),
                        )  # fmt: skip
                elif parameter.default is not None:
                    value = self.settled(parameter, parameter.default, self)
                else:
                    message = "template-kernel" if head.is_kernel else "template-missing"
                    raise self.report.error(
                        message, where, name=head.name, parameter=parameter.name
                    )
                found.append(value)
                self.names.add(parameter.name, value)
        return tuple(found)

    def settled(
        self,
        parameter: syntax.TemplateParameter,
        argument: syntax.TypeId | syntax.Expr,
        scope: StatementChecker,
    ) -> TemplateValue:
        if parameter.words is None:
            if not isinstance(argument, syntax.TypeId):
                if isinstance(argument, syntax.Name):
                    scope.base_type(syntax.TypeWords(argument.position, argument.name))
                raise self.report.error("template-type", argument.position, name=parameter.name)
            return scope.argument_type(argument)
        if isinstance(argument, syntax.TypeId):
            raise self.report.error("template-number", argument.words.position, name=parameter.name)
        kind = self.base_type(parameter.words).type if parameter.words.name != "auto" else INT
        if not isinstance(kind, Scalar) or kind.kind == "float":
            raise self.report.error("template-kind", parameter.position, type=str(kind))
        number = scope.constant(argument, f"template argument '{parameter.name}'")
        value = nodes.converted(tree.Literal(argument.position, INT, number), kind)
        assert isinstance(value, tree.Literal)
        return Constant(kind, value.value)
