"""State: what one read of a part of each row leaves behind, to be merged with other parts.

Knows nothing of how parts travel. What is kept is in `_parts`, the arithmetic in `_merge`, the
form in bytes in `_stored`.
"""

from __future__ import annotations

from typing import Any, Self

from oneread.backends.base import dtype_name
from oneread.backends.find import on_gpu, outside_graphs
from oneread.ops._arguments import (
    Call,
    Options,
    Source,
    check_axes,
    normalized_axes,
    source_of,
)
from oneread.ops._fields import FLAGS, StateFields
from oneread.ops._numbers import check_sizes, integer, shown
from oneread.ops._parts import LAST_STOP, Asked, asked_of, merged_parts, no_parts, read_parts
from oneread.spec import INPUT_DTYPES, DtypeError, ShapeError


class State(StateFields):
    """What is known of each row after some of its columns have been read.

    Made by `State.of`, `State.identity` or `State.unpack`. Two states of different columns of the
    same rows merge with ``|`` into that of all these columns, in any order and grouping; `update`
    reads the next columns. The fields are those of `Read`, with global column numbers.

    Notes
    -----
    Kept for each row: the maximum m, the sums of ``exp t``, ``t exp t`` and ``exp 2t`` with
    ``t = (x - m) / temperature`` over all columns but one that holds m, the first columns in
    top-k order, and what was found of the selected columns [1]_. Merging is commutative bit for
    bit; m, top-k, argmax and rank are exactly those of one read, the sums within 4 ulp. A
    state is not locked: one thread at a time may update it.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       section 3.1, equation 4.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> x = np.array([[1.0, 4.0, 2.0, 3.0]])
    >>> left = oneread.State.of(x[:, :2], top_k=2)
    >>> right = oneread.State.of(x[:, 2:], offset=2, top_k=2)
    >>> both = left | right
    >>> print(both.lse.round(4), both.indices)
    [4.4402] [[1 3]]
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise DtypeError("a State is made by State.of, State.identity or State.unpack")

    @classmethod
    @outside_graphs
    def of(
        cls,
        x: Any,
        axis: Any = -1,
        offset: int = 0,
        top_k: int = 0,
        select: Any = None,
        selected_logit: Any = None,
        rank: bool = False,
        entropy: bool = False,
        sum_p2: bool = False,
        argmax: bool = False,
        *,
        temperature: Any = None,
        where: Any = None,
        lengths: Any = None,
        threads: int | None = None,
    ) -> Self:
        """Read a chunk of each row and return its state.

        Parameters
        ----------
        x : array, at least one axis, bool|integer|float16|bfloat16|float32|float64
            Logits, as in `read`: some columns of each row, also none.
        axis : int or None, default -1
            The axis of a row. None: all of `x`, in C order.
        offset : int, default 0
            The column of the row that the first column of `x` is; chunks end by 2**63 - 1. A
            forgotten or overlapping offset is not detected.
        top_k, entropy, sum_p2, argmax, temperature
            As in `read`; `top_k` may be above the length of the chunk.
        select : int or array of int, optional
            Global columns whose log-probability is wanted; each may lie in any chunk.
        selected_logit : array of float, optional
            The logits in these columns, in the shape of `select`. `rank` needs them.
        rank : bool, default False
            Also count the columns that come before the selected ones.
        where, lengths, threads
            As in `read`, for this chunk; `lengths` counts the chunk's own columns.

        Returns
        -------
        State
            Of the columns of `x`.

        Raises
        ------
        AxisError, ShapeError, DtypeError, BackendUnavailableError
            As in `read`; ShapeError if `rank` is asked for without `selected_logit`.
        IndexError
            If a selected column is negative.

        Examples
        --------
        >>> import numpy as np, oneread
        >>> s = oneread.State.of(np.array([0.0, 0.0]), select=3).update(np.zeros(2))
        >>> print(s.lse.round(4), s.selected.round(4))
        1.3863 -1.3863
        """
        options = {
            "top_k": top_k, "select": select, "selected_logit": selected_logit, "rank": rank,
            "entropy": entropy, "sum_p2": sum_p2, "argmax": argmax, "temperature": temperature,
        }  # fmt: skip
        if on_gpu(x):
            from oneread.ops._device_state import DeviceState

            chunk = {"where": where, "lengths": lengths, "threads": threads}
            return DeviceState.first(x, axis, offset, options, chunk)  # type: ignore[return-value]
        source = source_of(x)
        axes = normalized_axes(axis, source.shape, False, "State")
        rows = tuple([n for i, n in enumerate(source.shape) if i not in axes])
        state = cls._new(asked_of(rows, None if axis is None else axes[0], **options))
        state._stop = integer(offset, "offset")
        if not 0 <= state._stop <= LAST_STOP:
            raise ShapeError(f"offset is {shown(state._stop)}; 0 to 2**63 - 1 is allowed")
        return state._update(source, where, lengths, threads)

    @classmethod
    @outside_graphs
    def identity(
        cls,
        rows: int | tuple[int, ...],
        axis: Any = -1,
        *,
        top_k: int = 0,
        select: Any = None,
        selected_logit: Any = None,
        rank: bool = False,
        entropy: bool = False,
        sum_p2: bool = False,
        argmax: bool = False,
        temperature: Any = None,
        dtype: Any = None,
    ) -> Self:
        """Return the state of no columns: merging it with a state changes nothing.

        Parameters
        ----------
        rows : int or tuple of int
            How many rows, or the shape of the input without its axis.
        axis : int or None, default -1
            As in `of`, among the axes of the chunks to come.
        top_k, select, selected_logit, rank, entropy, sum_p2, argmax, temperature
            As in `of`.
        dtype : str or dtype, optional
            Element type of the chunks to come. Default: that of the first.

        Returns
        -------
        State
            lse -inf, d 0.

        Raises
        ------
        ShapeError, DtypeError, IndexError
            As in `of`.

        Examples
        --------
        >>> import oneread
        >>> print(oneread.State.identity(2).lse)
        [-inf -inf]
        """
        sizes = check_sizes(rows if isinstance(rows, tuple) else (rows,), "rows")
        place = None
        if axis is not None:
            place = normalized_axes(axis, (*sizes, 0), False, "State")[0]
        state = cls._new(
            asked_of(
                sizes, place, top_k=top_k, select=select, selected_logit=selected_logit, rank=rank,
                entropy=entropy, sum_p2=sum_p2, argmax=argmax, temperature=temperature,
            )
        )  # fmt: skip
        if dtype is not None:
            state._dtype = dtype_name(dtype)
            if state._dtype not in INPUT_DTYPES:
                raise DtypeError(f"dtype is {state._dtype}; {', '.join(INPUT_DTYPES)} is allowed")
        return state

    @classmethod
    def _new(cls, asked: Asked) -> Self:
        state = cls.__new__(cls)
        state._asked, state._parts = asked, no_parts(asked)
        state._dtype, state._library = None, "numpy"
        state._columns = state._stop = 0
        return state

    @outside_graphs
    def update(
        self, x: Any, *, where: Any = None, lengths: Any = None, threads: int | None = None
    ) -> Self:
        """Read the next columns of each row into this state.

        Parameters
        ----------
        x : array
            The columns after those seen so far, of the same type and the same rows.
        where, lengths, threads
            As in `of`, for this chunk.

        Returns
        -------
        State
            This very state.

        Raises
        ------
        ShapeError
            If the rows differ; the state is left as it was.
        DtypeError
            If the element type differs.

        Examples
        --------
        >>> import numpy as np, oneread
        >>> s = oneread.State.of(np.array([1.0, 5.0]), argmax=True)
        >>> int(s.update(np.array([9.0])).argmax)
        2
        """
        return self._update(source_of(x), where, lengths, threads)

    def _update(self, source: Source, where: Any, lengths: Any, threads: Any) -> Self:
        asked = self._asked
        scale = asked.temperature
        options = Options(
            where, lengths, scale if isinstance(scale, float) else scale.reshape(asked.rows),
            threads=threads,
        )  # fmt: skip
        call = Call("read", source, asked.axis, options)
        check_axes(call)
        if call.rows != asked.rows:
            raise ShapeError(
                f"the chunk has shape {call.shape} and so rows {call.rows}; this state has rows "
                f"{asked.rows} with axis {asked.axis}"
            )
        dtype = _one_dtype(self._dtype, call.dtype)
        if self._stop + call.length > LAST_STOP:
            raise ShapeError(
                f"the chunk has {call.length} columns after offset {self._stop}; columns are "
                "numbered up to 2**63 - 1"
            )
        parts = read_parts(asked, call, self._stop)
        self._parts = merged_parts(self._parts, parts, asked, call.float_dtype)
        self._dtype, self._library = dtype, max(self._library, source.backend.NAME)
        self._columns += call.length
        self._stop += call.length
        return self

    @outside_graphs
    def __or__(self, other: object) -> State:
        """Return the state of the columns of both; neither is changed."""
        if not isinstance(other, State):
            return NotImplemented
        if type(self) is not type(other):
            from oneread.ops._device_state import elsewhere

            raise elsewhere(self, other)
        self._asked.check_same(other._asked)
        state = State._new(self._asked)
        state._dtype = _one_dtype(self._dtype, other._dtype)
        state._library = max(self._library, other._library)
        state._parts = merged_parts(self._parts, other._parts, self._asked, state._value_dtype)
        state._columns = self._columns + other._columns
        state._stop = max(self._stop, other._stop)
        return state

    @outside_graphs
    def pack(self) -> bytes:
        """Return the state as bytes, for `unpack` here or on another machine.

        Returns
        -------
        bytes
            Little-endian, with a magic number, a version, lengths and a checksum.

        Examples
        --------
        >>> import numpy as np, oneread
        >>> data = oneread.State.of(np.zeros(4)).pack()
        >>> print(oneread.State.unpack(data).lse.round(4))
        1.3863
        """
        from oneread.ops._stored import stored

        return stored(self)

    @classmethod
    @outside_graphs
    def unpack(cls, data: Any) -> Self:
        """Return the state that `pack` made these bytes of.

        Parameters
        ----------
        data : bytes-like
            What `pack` returned, on any machine.

        Returns
        -------
        State
            Merges with others and goes on as the packed one would.

        Raises
        ------
        ShapeError
            If the bytes are anything else; the message says what is wrong with them.

        Examples
        --------
        >>> import oneread
        >>> try:
        ...     oneread.State.unpack(b"nonsense, and long enough for a header")
        ... except oneread.ShapeError as error:
        ...     print(error)
        these bytes are not a packed State: they do not start with its magic number
        """
        from oneread.ops._stored import restore

        state = cls.__new__(cls)
        restore(state, data)
        return state

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return type(self).unpack, (self.pack(),)

    def __repr__(self) -> str:
        asked = self._asked
        options = [name for name in FLAGS if getattr(asked, name)]
        options += [f"top_k={asked.top_k}"] if asked.top_k else []
        options += [f"select={asked.tail or 1}"] if asked.select is not None else []
        more = "".join(f", {option}" for option in options)
        return f"State(rows={asked.rows}, columns={self._columns}, dtype={self._dtype}{more})"


def _one_dtype(a: str | None, b: str | None) -> str | None:
    if a is not None and b is not None and a != b:
        raise DtypeError(f"states of {a} and {b} cannot be merged; convert one input")
    return a if b is None else b
