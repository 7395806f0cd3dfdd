"""Changes of a source are found where they mean the same, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oneread.sass.advice.changes import exponentials, quotients, ternaries
from oneread.sass.advice.edits import Change, applied
from oneread.source.text import SourceText

Finder = Callable[[SourceText], Iterator[Change]]


def changed(find: Finder, line: str) -> str:
    """Return a line of a kernel with all changes of a kind made."""
    source = SourceText("k.cu", f"void f(float a, float d) {{\n{line}\n}}\n")
    for change in find(source):
        source = applied(source, change.edits)
    return source.line(2)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("m = a > b ? a : b;", "m = fmaxf(a, b);"),
        ("m = a < b ? b : a;", "m = fmaxf(a, b);"),
        ("m = a >= b ? b : a;", "m = fminf(a, b);"),
        ("m = (x[i] > m) ? x[i] : m;", "m = fmaxf(x[i], m);"),
        ("return f(a > b ? a : b, c);", "return f(fmaxf(a, b), c);"),
        ("m = a > b + 1 ? a : b + 1;  // why", "m = fmaxf(a, b + 1);  // why"),
        ("m = a > b ? a : b > c ? b : c;", "m = a > b ? a : fmaxf(b, c);"),
    ],
)
def test_ternary_that_takes_the_larger_or_smaller_is_changed(line: str, after: str) -> None:
    assert changed(ternaries, line) == after


@pytest.mark.parametrize(
    "line",
    [
        "m = a > b ? a : c;",
        "m = a > 0 ? b : c;",
        "m = a == b ? a : b;",
        "m = a > b && c ? a : b;",
        "m = a++ > b ? a++ : b;",
        "base = m == -INFINITY ? 0.0f : m;",
    ],
)
def test_other_ternary_is_left_alone(line: str) -> None:
    assert changed(ternaries, line) == line


def test_quotient_of_a_loop_becomes_a_product() -> None:
    line = "for (int i = 0; i < n; ++i) y[i] = x[i] / d;"
    after = "const float d_inverse = 1.0f / d; for (int i = 0; i < n; ++i) y[i] = x[i] * d_inverse;"
    assert changed(quotients, line) == after


def test_reciprocal_is_taken_before_the_outermost_loop() -> None:
    line = "for (;;) { z = 1; for (;;) y = x / d; }"
    assert changed(quotients, line) == (
        "const float d_inverse = 1.0f / d; for (;;) { z = 1; for (;;) y = x * d_inverse; }"
    )


def test_member_may_be_a_divisor() -> None:
    line = "for (int i = 0; i < n; ++i) { y[i] = x[i] / row.d; }"
    assert "1.0f / row.d; for" in changed(quotients, line)
    assert "x[i] * row_d_inverse;" in changed(quotients, line)


def test_name_of_the_inverse_is_a_new_one() -> None:
    line = "float d_inverse; for (int i = 0; i < n; ++i) y[i] = x[i] / d;"
    assert "float d_inverse_ = 1.0f / d;" in changed(quotients, line)


@pytest.mark.parametrize(
    "line",
    [
        "y[0] = x[0] / d;",
        "for (int i = 0; i < n; ++i) { d += 1; y[i] = x[i] / d; }",
        "for (int i = 0; i < n; ++i) { float d = x[i]; y[i] = 1 / d; }",
        "for (int i = 0; i < n; ++i) { change(&d); y[i] = x[i] / d; }",
        "for (int i = 0; i < n; ++i) y[i] = x[i] / d[i];",
        "for (int i = 0; i < n; ++i) y[i] = x[i] / d(i);",
        "for (int i = 0; i < n; ++i) y[i] = x[i] / n;",
        "for (int i = 0; i < n; ++i) y[i] = x[i] / 2;",
        # A declaration would not be a part of what the condition guards.
        "if (n) for (int i = 0; i < n; ++i) y[i] = x[i] / d;",
        "for (int i = 0; i < n; ++i) { d.x = 1; y[i] = x[i] / d.x; }",
    ],
)
def test_other_quotient_is_left_alone(line: str) -> None:
    assert changed(quotients, line) == line


def test_quotient_on_a_line_below_is_part_of_the_loop() -> None:
    source = SourceText(
        "k.cu", "void f(float d) {\nfor (;;)\n{ y = f(x,\n x / d); }\nz = 1 / d;\n}"
    )
    (change,) = quotients(source)
    assert change.lines == (2, 4)
    assert applied(source, change.edits).text.splitlines()[3:5] == [
        " x * d_inverse); }",
        "z = 1 / d;",
    ]


L = "1.4426950408889634f"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = expf(a - b);", f"y = exp2f(a * {L} - b * {L});"),
        ("y = __expf(x[i] - m.m) / d;", f"y = exp2f(x[i] * {L} - m.m * {L}) / d;"),
        ("y = expf(a * s - b);", f"y = exp2f((a * s) * {L} - b * {L});"),
        ("y = expf(-a - b);", f"y = exp2f((-a) * {L} - b * {L});"),
    ],
)
def test_exponential_of_a_difference_becomes_a_power_of_two(line: str, after: str) -> None:
    assert changed(exponentials, line) == after


@pytest.mark.parametrize(
    "line", ["y = expf(a);", "y = expf(-a);", "y = expf(a - b - c);", "y = expf(a + b - c);"]
)
def test_other_exponential_is_left_alone(line: str) -> None:
    assert changed(exponentials, line) == line


def test_directive_is_no_statement() -> None:
    source = SourceText("k.cu", "#define MAX(a, b) a > b ? a : b\nvoid f() {}\n")
    assert list(ternaries(source)) == []
