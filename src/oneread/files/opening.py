"""Which format a file has, and the tensor in it that was asked for.

Knows no op. Formats are told apart by their first bytes; the suffix only chooses the words of an
error.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Final

from oneread.files.errors import FileFormatError, printable
from oneread.files.npy import MAGIC, read_npy_header
from oneread.files.safetensors import read_safetensors_header
from oneread.files.tensor import StoredTensor, open_regular, usable

#: Names in the message of a name that is not there.
_MOST_NAMES: Final = 10


class TensorNotNamedError(FileFormatError):
    """A file of several named tensors was opened without a name.

    Parameters
    ----------
    message : str
        One line.
    tensors : tuple of StoredTensor
        What the file holds.
    """

    def __init__(self, message: str, tensors: tuple[StoredTensor, ...]) -> None:
        super().__init__(message)
        self.tensors = tensors


def open_tensor(path: Path, name: str | None = None, as_dtype: str | None = None) -> StoredTensor:
    """Find one array in a `.npy` or `.safetensors` file.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        Tensor of a `.safetensors` file, required when it holds several; refused elsewhere.
    as_dtype : str, optional
        ``"bfloat16"`` reads raw 16-bit words (also uint16 and int16) as bfloat16.

    Returns
    -------
    StoredTensor
        The array, of a type that the ops take, with at least one axis and one element.

    Raises
    ------
    TensorNotNamedError
        When the file holds several named tensors and `name` is None; carries them.
    FileFormatError
        When the file is not what it should be, or has no such tensor.
    OSError
        When the file cannot be opened.
    """
    if _is_npy(path):
        if name is not None:
            raise FileFormatError(
                f"{printable(path, 200)}: a .npy file has no named tensors; leave out --tensor"
            )
        return usable(read_npy_header(path), as_dtype)
    tensors = read_safetensors_header(path)
    if name is None and len(tensors) == 1:
        return usable(tensors[0], as_dtype)
    if name is None:
        raise TensorNotNamedError(
            f"{printable(path, 200)}: say which tensor with --tensor NAME ({len(tensors)} in the "
            "file)",
            tensors,
        )
    for tensor in tensors:
        if tensor.name == name:
            return usable(tensor, as_dtype)
    near = difflib.get_close_matches(name, [tensor.name for tensor in tensors[:1000]], 3, 0.5)
    hint = f"; near it: {', '.join(printable(other) for other in near)}" if near else ""
    names = [printable(tensor.name) for tensor in tensors[:_MOST_NAMES]]
    more = f" and {len(tensors) - len(names)} more" if len(tensors) > len(names) else ""
    raise FileFormatError(
        f"{printable(path, 200)}: no tensor {printable(repr(name))}{hint}; the file has "
        f"{', '.join(names) or 'none'}{more}"
    )


def _is_npy(path: Path) -> bool:
    """Whether the file is to be read as `.npy`; raise when it is neither format."""
    file, _ = open_regular(path)
    with file:
        start = file.read(9)
    if start[:6] == MAGIC or path.suffix == ".npy":
        return True
    if start[8:9] == b"{" or path.suffix == ".safetensors":
        return False
    what = "a zip archive, such as .npz or .pt" if start[:2] == b"PK" else "unknown"
    raise FileFormatError(
        f"{printable(path, 200)}: {what}; oneread reads .npy and .safetensors files"
    )
