"""How implementations of the ops are judged: inputs, tolerance, mutants, real logits.

Knows the ops by their table and their reference, never those it judges, and no test framework.
"""

from oneread.testing.bigram import StdlibBigram, stdlib_bigram
from oneread.testing.conformance import assert_conforms
from oneread.testing.inputs import FAMILIES
from oneread.testing.mutants import MUTANTS, applies, assert_kills_all
from oneread.testing.outputs import faithful
from oneread.testing.tolerance import assert_close_to_truth
from oneread.testing.ulps import max_ulp_error, ulp

__all__ = [
    "FAMILIES",
    "MUTANTS",
    "StdlibBigram",
    "applies",
    "assert_close_to_truth",
    "assert_conforms",
    "assert_kills_all",
    "faithful",
    "max_ulp_error",
    "stdlib_bigram",
    "ulp",
]
