"""Logits in files: `.npy` and `.safetensors` readers, streams of rows, result files.

Knows no backend and prints nothing: the command line does that.
"""

from oneread.files.errors import FileFormatError, printable
from oneread.files.npy import read_npy_header
from oneread.files.opening import TensorNotNamedError, open_tensor
from oneread.files.output import (
    SUFFIXES,
    json_line,
    replacing,
    row_objects,
    write_jsonl,
    write_npz,
)
from oneread.files.safetensors import read_safetensors_header
from oneread.files.select import Columns, read_columns
from oneread.files.stream import BLOCK_BYTES, ReadOptions, RowBlock, read_rows
from oneread.files.tensor import MappedTensor, StoredTensor

__all__ = [
    "BLOCK_BYTES",
    "SUFFIXES",
    "Columns",
    "FileFormatError",
    "MappedTensor",
    "ReadOptions",
    "RowBlock",
    "StoredTensor",
    "TensorNotNamedError",
    "json_line",
    "open_tensor",
    "printable",
    "read_columns",
    "read_npy_header",
    "read_rows",
    "read_safetensors_header",
    "replacing",
    "row_objects",
    "write_jsonl",
    "write_npz",
]
