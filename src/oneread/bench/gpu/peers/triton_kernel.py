"""A softmax for Triton: a row in the registers of one program.

Imported where Triton is: its compiler reads this file.
"""

# mypy: ignore-errors
# Annotations of a kernel are words to Triton.

import triton
import triton.language as tl


@triton.jit
def softmax_program(x, y, vocab, x_stride, y_stride, block: tl.constexpr):
    """Write the probabilities of the row that has the program's number."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    inside = columns < vocab
    held = tl.load(x + row * x_stride + columns, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(held - tl.max(held, axis=0))
    d = tl.sum(e, axis=0)
    tl.store(y + row * y_stride + columns, (e / d).to(y.dtype.element_ty), mask=inside)
