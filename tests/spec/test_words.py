"""How many of something, in words."""

import pytest

from oneread.spec.words import plural


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "row", "1 row"),
        (0, "row", "0 rows"),
        (1_024, "thread", "1,024 threads"),
        (1, "access", "1 access"),
        (2, "access", "2 accesses"),
        (2, "launch", "2 launches"),
    ],
)
def test_one_is_singular_and_all_else_is_plural(count: int, noun: str, said: str) -> None:
    assert plural(count, noun) == said


def test_another_text_may_stand_for_the_number() -> None:
    assert plural(128, "thread", "32 x 4") == "32 x 4 threads"
