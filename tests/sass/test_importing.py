"""The explainer needs nothing but the standard library until it compiles."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from oneread.sass import analyse, read_code
from oneread.sass.story.telling import tell
text = "\\tcode for sm_90\\n\\t\\tFunction : f\\n        /*0000*/       EXIT ;\\n"
code = read_code(text.encode(), "f")
tell(code, analyse(code.kernel()))
print(sorted({name.partition(".")[0] for name in sys.modules} & {"numpy", "typer", "torch"}))
"""


def test_saved_text_is_told_without_any_other_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
