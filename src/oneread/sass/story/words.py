"""The words of the story: one catalogue a language.

Knows how a sentence is filled and cited; draws no conclusions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from oneread.sass.decode.instruction import Instruction
from oneread.sass.story.statements import Statement

LANGUAGES: Final = ("en", "ko")
_PARTICLES: Final = ("은|는", "이|가", "을|를")
#: How a list begins that is told of one by one.
_EACH: Final = "Each of "

#: Addresses and lines that a sentence names before it says how many more there are.
_CITED: Final = 4


@cache
def catalogue(language: str) -> Mapping[str, Mapping[str, str]]:
    """Return the sentences of a language, by table and id.

    Parameters
    ----------
    language : str
        One of `LANGUAGES`.

    Returns
    -------
    mapping
        Tables ``headings``, ``sentences``, ``parts``, ``functions`` and ``columns``.
    """
    path = Path(__file__).with_name(f"{language}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def sentence(statement: Statement, language: str) -> str:
    """Return a statement in words, its gaps filled."""
    words = catalogue(language)
    gaps: dict[str, _Filled] = {}
    for name, value in statement.gaps.items():
        if isinstance(value, tuple) and name == "where":
            names = _some(list(value), words["parts"]["more"])
            gaps[name] = _Filled(words["parts"]["each"].format(names=names))
        elif isinstance(value, tuple):
            part = words["parts"]["loop" if len(value) == 1 else "loops"]
            gaps[name] = _Filled(part.format(names=", ".join(value)))
        else:
            gaps[name] = _Filled(value)
    if statement.id == "function":
        functions = words["functions"]
        gaps["name"] = _Filled(functions.get(gaps["what"], functions["other"]))
    return words["sentences"][statement.id].format(**gaps)


class _Filled(str):
    """What fills a gap.

    With two words as its format, it is the first if it is 1 or one thing, not a list; with two
    forms of a Korean particle, the first if its last sound is a consonant.
    """

    __slots__ = ()

    def __format__(self, form: str) -> str:
        one, bar, many = form.partition("|")
        if not bar:
            return super().__format__(form)
        if form in _PARTICLES:
            return one if _ends_in_consonant(self) else many
        is_list = ", " in self and not self.startswith(_EACH)
        return one if self == "1" or not (is_list or self[:1].isdigit()) else many


def _ends_in_consonant(text: str) -> bool:
    """Say whether a word, a number or a name ends in a consonant as it is read in Korean."""
    words = re.findall(r"[A-Za-z]+|[0-9]|[가-힣]", text)
    last = words[-1] if words else ""
    if "가" <= last <= "힣":
        return (ord(last) - ord("가")) % 28 > 0
    # Digits and single letters by their names, words by their last letter: R is one, register none.
    return last.lower() in tuple("013678lmnr") or (len(last) > 1 and last[-1].lower() in "lmn")


def place(one: Instruction, language: str) -> str:
    """Return the line of an instruction in the kernel's own file, empty without line numbers."""
    line = one.line
    while line and line.call and line.file != line.outermost.file:
        line = line.call
    return catalogue(language)["parts"]["line"].format(lines=line.line) if line else ""


def citation(instructions: Iterable[Instruction], language: str) -> str:
    """Return where a sentence can be seen: addresses, and lines of the source.

    Parameters
    ----------
    instructions : iterable of Instruction
        What the sentence is about.
    language : str
        One of `LANGUAGES`.

    Returns
    -------
    str
        For example ``0x0070, 0x0090; line 24``, empty without instructions.
    """
    cited = list(instructions)
    if not cited:
        return ""
    parts = catalogue(language)["parts"]
    addresses = _some([f"{one.address:#06x}" for one in cited], parts["more"])
    lines = sorted({one.line.outermost.line for one in cited if one.line})
    if not lines:
        return addresses
    word = parts["line"] if len(lines) == 1 else parts["lines"]
    return f"{addresses}; {word.format(lines=_some(list(map(str, lines)), parts['more']))}"


def _some(words: list[str], more: str) -> str:
    """Return the first words, and how many more there are."""
    words = list(dict.fromkeys(words))
    shown = ", ".join(words[:_CITED])
    return shown if len(words) <= _CITED else more.format(shown=shown, count=len(words) - _CITED)
