"""Declarations: variables, types, functions' heads.

Knows the shapes of the subset and refuses the others by name; knows no type's size.
"""

from __future__ import annotations

from oneread.source.tokens import Token
from oneread.trace.front.expressions import ExpressionParser
from oneread.trace.front.precedence import ASSIGNMENT, CHOICE
from oneread.trace.front.report import Refused
from oneread.trace.front.specifiers import Specifiers
from oneread.trace.front.syntax import (
    Alias,
    Declarator,
    EnumType,
    Expr,
    FunctionHead,
    Parameter,
    StaticAssert,
    StructType,
    TemplateParameter,
    TypeId,
    Variables,
)


class DeclarationParser(ExpressionParser):
    """Parses declarations at the cursor."""

    #: Whether the members of a struct are being read.
    in_struct = False

    def declare(self, name: str, is_type: bool = False) -> None:
        """Enter a name in the innermost scope."""
        self.scopes[-1][name] = is_type

    def variables(self) -> Variables:
        """Parse ``float a = 1, *b, c[4];``."""
        start = self.token
        found = self.specifiers()
        if found.words.name == "auto" and self.sees("["):
            raise self.report.outside("a structured binding", self.token)
        declared: list[tuple[Declarator, Expr | None]] = []
        while True:
            declarator = self.declarator()
            self.check_declarator(declarator)
            self.declare(declarator.name)
            declared.append((declarator, self.initialiser()))
            if not self.take(","):
                break
        self.semicolon()
        return Variables(
            start.position, found.words, frozenset(found.flags), found.align, tuple(declared)
        )

    def check_declarator(self, declarator: Declarator) -> None:
        if not declarator.name:
            raise self.expected("a name")
        if self.sees("::"):
            raise self.report.outside("a name within a namespace or class", self.token)
        if self.sees(":"):
            what = "a bit field" if self.in_struct else "a loop over a range"
            raise self.report.outside(what, self.token)

    def initialiser(self) -> Expr | None:
        """Parse ``= value``, ``{...}`` or ``(value)``, if one is there."""
        if self.sees("=="):
            raise self.expected("'='")
        if self.take("="):
            return self.braces() if self.sees("{") else self.expression(ASSIGNMENT)
        if self.sees("{"):
            return self.braces()
        if self.sees("("):
            opening = self.token
            items = self.arguments(opening)
            if not items:
                raise self.report.outside("a function declared within a function", opening)
            if len(items) > 1:
                raise self.report.outside("a constructor", opening)
            return items[0]
        return None

    def alias(self) -> Alias | None:
        """Parse ``typedef T name;`` or ``using name = T;``; ``using namespace`` is nothing."""
        start = self.next()
        if start.text == "using":
            if self.take("namespace") or self.ahead().text == "::":
                while not self.sees(";", "}") and self.token.kind != "end":
                    self.next()
                self.semicolon()
                return None
            name = self.next()
            self.expect("=")
            names = [(name.position, name.text, self.type_id())]
        else:
            words = self.specifiers().words
            names = []
            while not names or self.take(","):
                declarator = self.declarator()
                if not declarator.name:
                    raise self.expected("a name")
                names.append((declarator.position, declarator.name, TypeId(words, declarator)))
        for _, text, _ in names:
            self.declare(text, is_type=True)
        self.semicolon()
        return Alias(start.position, tuple(names))

    def begins_struct(self) -> bool:
        """Say whether a definition of a struct or enum stands here, and not a use of one."""
        ahead = 0
        while self.ahead(ahead).text in ("typedef", "const", "static"):
            ahead += 1
        if self.ahead(ahead).text not in ("struct", "enum", "class", "union"):
            return False
        depth = 0
        for place in range(self.at + ahead, len(self.tokens)):
            text = self.tokens[place].text
            depth += (text == "(") - (text == ")")
            if text in (";", "=", "}") or depth < 0 or self.tokens[place].kind == "end":
                return text == ";" and place == self.at + ahead + 2
            if text == "{":
                return True
        return False

    def struct_or_enum(self) -> StructType | EnumType | None:
        """Parse a definition, with ``typedef struct {...} name;`` and no variables behind it."""
        is_typedef = self.take("typedef")
        self.take("const")
        word = self.next()
        if word.text in ("class", "union"):
            raise self.refused(word)
        made = self.enum(word) if word.text == "enum" else self.struct(word)
        if is_typedef and self.token.kind == "name" and made is not None:
            made.name = self.next().text
            self.declare(made.name, is_type=True)
        if (self.token.kind == "name" or self.sees("*")) and not self.token.first:
            raise self.report.outside("a variable behind its struct", self.token)
        self.semicolon()
        return made

    def struct(self, word: Token) -> StructType | None:
        align: Expr | None = None
        while self.sees("__align__", "alignas"):
            align = self.bracketed()
        name = self.next() if self.token.kind == "name" else None
        while self.sees("__align__", "alignas"):
            align = self.bracketed()
        if name is not None:
            self.declare(name.text, is_type=True)
        if self.sees(";"):
            return None  # only announced
        if self.sees(":"):
            raise self.report.outside("inheritance", self.token)
        opening = self.expect("{")
        members: list[Variables] = []
        self.scopes.append({})
        outer, self.in_struct = self.in_struct, True
        try:
            whole = self.members(name.text if name else "", members)
        finally:
            self.in_struct = outer
            self.scopes.pop()
        self.expect("}", opening)
        if not whole:
            raise Refused
        where = name.position if name else word.position
        return StructType(where, name.text if name else "", align, tuple(members))

    def members(self, struct: str, found: list[Variables]) -> bool:
        """Parse the members of a struct; say whether all of them could be read."""
        whole, lost = True, set(self.lost)
        while not self.sees("}") and self.token.kind != "end":
            start, self.astray = self.at, False
            if self.take(";"):
                continue  # one too many is none to C++
            try:
                self.check_member(struct)
                found.append(self.variables())
            except Refused:
                whole, self.whole = False, True
                self.skip_to_statement(start)
                self.lost &= lost  # outside of the struct, a member's name is another
        return whole

    def check_member(self, struct: str) -> None:
        """Refuse what a struct may hold besides variables."""
        token = self.token
        if self.is_refused(token):
            raise self.refused(token)
        if self.sees("public", "private", "protected"):
            raise self.report.outside("an access specifier", token)
        if self.sees("template"):
            raise self.report.outside("a member template", token)
        for place in range(self.at, len(self.tokens)):
            text = self.tokens[place].text
            if text in (";", "{", "}", "=") or self.tokens[place].kind == "end":
                return
            if text == "operator":
                raise self.report.outside("an operator of a struct", self.tokens[place])
            if text == "(" and self.tokens[place - 1].text not in ("__align__", "alignas"):
                what = "a member function"
                if self.tokens[place - 1].text == struct:
                    what = "a constructor"
                raise self.report.outside(what, self.tokens[place - 1])

    def enum(self, word: Token) -> EnumType:
        if self.sees("class", "struct"):
            raise self.report.outside("a scoped enumeration", self.token)
        name = self.next().text if self.token.kind == "name" else ""
        base = self.type_id() if self.take(":") else None
        opening = self.expect("{")
        items = []
        while not self.sees("}"):
            if self.token.kind != "name":
                raise self.expected("a name")
            item = self.next()
            self.declare(item.text)
            value = self.expression(ASSIGNMENT) if self.take("=") else None
            items.append((item.position, item.text, value))
            if not self.take(","):
                break
        self.expect("}", opening)
        if name:
            self.declare(name, is_type=True)
        return EnumType(word.position, name, base, tuple(items))

    def static_assert(self) -> StaticAssert:
        """Parse ``static_assert(condition, "message");``."""
        word = self.next()
        opening = self.expect("(")
        condition = self.expression(ASSIGNMENT)
        message = ""
        if self.take(","):
            while self.token.kind == "string":
                message += self.next().text.strip('"')
        self.expect(")", opening)
        self.semicolon()
        return StaticAssert(word.position, condition, message)

    def template_parameters(self) -> tuple[TemplateParameter, ...]:
        """Parse ``template <typename T, int N = 4>``."""
        self.next()
        opening = self.expect("<")
        found: list[TemplateParameter] = []
        while not self.sees(">"):
            found.append(self.template_parameter())
            if not self.take(","):
                break
        self.expect(">", opening)
        return tuple(found)

    def template_parameter(self) -> TemplateParameter:
        token = self.token
        if self.sees("template"):
            raise self.report.outside("a template template parameter", token)
        if self.ahead().text == "..." or (self.ahead(2).text == "..."):
            raise self.report.outside("a variadic template", token)
        if self.sees("typename", "class"):
            self.next()
            name = self.next().text if self.token.kind == "name" else ""
            self.declare(name, is_type=True)
            default: TypeId | Expr | None = self.type_id() if self.take("=") else None
            return TemplateParameter(token.position, name, None, default)
        words = self.specifiers().words
        declarator = self.declarator()
        if declarator.pointers or declarator.reference:
            raise self.report.outside("a pointer as a template parameter", token)
        self.declare(declarator.name)
        default = self.expression(CHOICE, in_angles=True) if self.take("=") else None
        return TemplateParameter(declarator.position, declarator.name, words, default)

    def function_head(self) -> FunctionHead:
        """Parse a function up to its body; the scope of its template stays open."""
        start = self.at
        template: tuple[TemplateParameter, ...] = ()
        if self.sees("template"):
            template = self.template_parameters()
            if not template:
                raise self.report.outside("a template specialisation", self.tokens[start])
            if self.sees("template"):
                raise self.report.outside("a template within a template", self.token)
        found = self.specifiers()
        declarator = self.declarator()
        if self.sees("operator") or declarator.name == "operator":
            raise self.report.outside("an overloaded operator", self.token)
        if not declarator.name:
            raise self.expected("the name of a function")
        found = self.more_attributes(found)
        parameters, whole = self.parameters()
        while self.sees("noexcept", "const"):
            self.next()
        body = self.at if self.sees("{") else None
        if body is None and not self.sees(";"):
            raise self.expected("'{'")
        return FunctionHead(
            declarator.position, declarator.name, "__global__" in found.flags,
            TypeId(found.words, declarator), parameters, template, found.max_threads, body, start,
            frozenset(self.lost), not whole,
        )  # fmt: skip

    def more_attributes(self, found: Specifiers) -> Specifiers:
        """Take ``__launch_bounds__`` where it stands behind the type."""
        while self.sees("__launch_bounds__"):
            found.max_threads = self.bracketed()
        return found

    def parameters(self) -> tuple[tuple[Parameter, ...], bool]:
        """Parse the parameters of a function; say whether all of them could be read."""
        opening = self.opened()
        found: list[Parameter] = []
        whole = True
        if self.sees("void") and self.ahead().text == ")":
            self.next()
        while not self.sees(")"):
            start = self.at
            try:
                found.append(self.parameter())
            except Refused:
                whole = False
                self.skip_parameter(start)
            if not self.take(","):
                if not self.begins_type(0):
                    break
                self.expected("',' or ')'")
        if not self.take(")"):
            self.expected("',' or ')'", self.opened_here(opening))
            stop = self.at
            self.skip_head(stop)
            whole &= self.at == stop
        return tuple(found), whole

    def parameter(self) -> Parameter:
        if self.sees("..."):
            raise self.report.outside("a variable number of arguments", self.token)
        words = self.specifiers().words
        declarator = self.declarator()
        if self.sees("="):
            raise self.report.outside("a default argument", self.token)
        return Parameter(TypeId(words, declarator))
