"""A recording is one file: nothing is fetched, and nothing in it can become markup or a script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from oneread.trace import Case, open_kernel
from oneread.trace.tracefile import record
from oneread.web.bundle import Bundle
from oneread.web.export import page

HOSTILE = "</script><script>alert(1)</script><!-- --> <img src=x onerror=alert(2)> \u2028 & ]]>"


class Reader(HTMLParser):
    """What a browser would see: elements, with the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.comments: list[str] = []
        self.is_open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append("")
        self.is_open = True

    def handle_endtag(self, tag: str) -> None:
        self.is_open = False

    def handle_data(self, data: str) -> None:
        if self.is_open:
            self.inside[-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def texts(self, tag: str) -> list[str]:
        pairs = zip(self.elements, self.inside, strict=True)
        return [text for (name, _), text in pairs if name == tag]


def trace_of(key: str = "relu", **case: Any) -> str:
    return record(open_kernel(key).launch, Case(rows=1, vocab=32, **case))


def start_of(document: str) -> Any:
    return json.loads(Reader(document).texts("script")[0])


def test_recording_is_in_the_page_as_it_is(files: Bundle) -> None:
    trace = trace_of()
    start = start_of(page(trace, {"relu"}, "oneread trace relu", files))
    assert start["mode"] == "recorded"
    assert start["command"] == "oneread trace relu"
    assert start["trace"] == json.loads(trace)


def test_catalogue_of_a_recording_has_what_the_recording_is_of(files: Bundle) -> None:
    start = start_of(page(trace_of(), {"online_softmax_tiled_racy"}, "", files))
    keys = {kernel["key"] for kernel in start["catalogue"]["kernels"]}
    assert keys == {"online_softmax_tiled_racy", "online_softmax_tiled"}
    assert "race-warps" in start["catalogue"]["messages"]


def test_nothing_of_what_was_typed_becomes_markup(files: Bundle) -> None:
    trace = trace_of().replace("relu", json.dumps(HOSTILE)[1:-1])
    document = page(trace, (), HOSTILE, files)
    reader = Reader(document)
    assert [tag for tag, _ in reader.elements] == [
        "html", "head", "meta", "meta", "style", "body", "div", "script", "script",
    ]  # fmt: skip
    assert len(reader.comments) == 1
    assert start_of(document)["command"] == HOSTILE
    assert HOSTILE in start_of(document)["trace"]["runs"][0]["name"]


def test_licences_cannot_leave_their_comment(files: Bundle) -> None:
    hostile = Bundle(files.document, files.script, files.style, "--><b>x</b> --!><b> <!-- ->")
    reader = Reader(page(trace_of(), (), "", hostile))
    assert "b" not in [tag for tag, _ in reader.elements]
    assert len(reader.comments) == 1


def test_page_refers_to_nothing_outside(files: Bundle) -> None:
    reader = Reader(page(trace_of(), (), "", files))
    for tag, attributes in reader.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        assert not {"src", "href", "srcset", "action", "style"} & attributes.keys()


def test_policy_lets_only_the_two_texts_of_the_page_run(files: Bundle) -> None:
    reader = Reader(page(trace_of(), (), "", files))
    (policy,) = (
        str(attributes["content"])
        for tag, attributes in reader.elements
        if tag == "meta" and "http-equiv" in attributes
    )
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    texts = [files.script, files.style]
    assert hashes == [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]
    assert reader.texts("script")[1] == files.script
    assert reader.texts("style") == [files.style]


def test_same_trace_gives_the_same_bytes(files: Bundle) -> None:
    pages = [page(trace_of(), {"relu", "top_k"}, "x", files) for _ in range(2)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("part", ["<\\/script", "__NONCE__ \\1 \\g<0> $&"])
def test_texts_are_put_in_as_they_are(files: Bundle, part: str) -> None:
    odd = Bundle(files.document, f"let x = '{part}';", files.style, files.notices)
    assert Reader(page(trace_of(), (), "", odd)).texts("script")[1] == odd.script
