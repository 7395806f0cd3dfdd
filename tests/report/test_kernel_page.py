"""The page of a kernel holds what its record says, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from oneread.report import kernel_page as module
from oneread.report.kernel_page import kernel_page

Record = dict[str, Any]
CSS = Path(module.__file__).with_name("kernel_page.css").read_text("utf-8")
#: Of text on each of the surfaces that it stands on, by WCAG 2.2, success criterion 1.4.3.
LEAST_CONTRAST = 4.5


class Reader(HTMLParser):
    """Collects ids, links and the elements that are open at the end."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.rows: dict[str, dict[str, str | None]] = {}
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in ("meta", "input", "i"):
            self.open.append(tag)
        self.ids += [given["id"]] if given.get("id") else []
        if "row" in (given.get("class") or "").split():
            self.rows[given["id"] or ""] = given
        for name in ("href", "src"):
            link = given.get(name)
            if link:
                (self.links if link.startswith("#") else self.outside).append(link)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_every_instruction_has_a_row_with_role_and_registers(record: Record) -> None:
    rows = Reader(kernel_page(record)).rows
    assert list(rows) == [f"i{one['at']:04x}" for one in record["instructions"]]
    assert rows["i0030"]["class"] == "row role-exp taken7"
    assert rows["i0030"]["data-live"] == "R2 R3 R5 R6 R7 R9 R11"


def test_every_link_leads_to_a_place_on_the_page(record: Record) -> None:
    page = Reader(kernel_page(record))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert page.outside == []
    assert page.open == []


def test_line_is_that_of_the_function_that_was_inlined(record: Record) -> None:
    rows = Reader(kernel_page(record)).rows
    assert rows["i0040"]["data-lines"] == "[2,6]"


def test_line_of_another_file_is_no_line_of_the_source(record: Record) -> None:
    assert Reader(kernel_page(record)).rows["i0050"]["data-lines"] == "[]"


def test_source_is_shown_and_cannot_be_markup(record: Record) -> None:
    page = kernel_page(record)
    assert "// A sum &amp; its &lt;exponential&gt;." in page
    assert "<exponential>" not in page


def test_loop_says_its_elements_and_its_limit(record: Record) -> None:
    title = "Loop at 0x0010 · 1 element a trip · 7.0 instructions an element · at most 16.00"
    assert title in kernel_page(record)


def test_control_bits_are_in_their_row(record: Record) -> None:
    page = kernel_page(record)
    assert re.search(r'id="i0040".*>B0-----:R-:W-:Y:S03<', page)


def test_page_in_korean_says_so(korean: Record) -> None:
    page = kernel_page(korean)
    assert '<html lang="ko">' in page
    assert "control bit" in page
    assert all(one["heading"] in page for one in korean["story"])


def test_machine_code_alone_has_a_page(without_source: Record) -> None:
    page = Reader(kernel_page(without_source))
    assert len(page.rows) == len(without_source["instructions"])
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_policy_allows_the_script_and_the_styles_of_the_page_alone(record: Record) -> None:
    page = kernel_page(record)
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} &#x27;sha256-{digest}&#x27;" in page or f"{rule} 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert "style=" not in page


def test_same_record_gives_the_same_page(record: Record) -> None:
    assert kernel_page(record) == kernel_page(record)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_every_surface(scheme: str) -> None:
    light, dark = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    block = light if scheme == "light" else dark
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    surfaces = {"paper", "surface", "on"}
    texts = colours.keys() - surfaces - {"line", "firm", "on-edge"}
    for text, surface in product(texts, surfaces):
        high, low = sorted((luminance(colours[text]), luminance(colours[surface])))[::-1]
        assert (high + 0.05) / (low + 0.05) >= LEAST_CONTRAST, (text, surface)
