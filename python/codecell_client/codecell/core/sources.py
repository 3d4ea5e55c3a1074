"""What can be uploaded or be standard input: text, bytes, a Path, an open binary file, or pieces of bytes."""
from __future__ import annotations

import os
from typing import IO, Any, AsyncIterable, Callable, Iterable, Optional, Tuple, Union, cast

from ..errors import CodecellError
from ..http.message import PIECE, Body
from ..http.stream import Runtime

Source = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]", IO[bytes], Iterable[bytes], AsyncIterable[bytes]]


class Pieces:
    """Reads a source piece by piece. Close it."""

    def __init__(self, read: Callable[[], Any], close: Callable[[], None], runtime: Runtime) -> None:
        self._read = read
        self._runtime = runtime
        self.close = close

    def __aiter__(self) -> "Pieces":
        return self

    async def __anext__(self) -> bytes:
        piece = await self._runtime.in_thread(self._read)
        if not piece:
            raise StopAsyncIteration
        return checked(piece)


class AsyncPieces:
    """The same for an async iterable."""

    def __init__(self, source: AsyncIterable[bytes]) -> None:
        self._iterator = source.__aiter__()

    def __aiter__(self) -> "AsyncPieces":
        return self

    async def __anext__(self) -> bytes:
        return checked(await self._iterator.__anext__())


def checked(piece: Any) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if isinstance(piece, (bytearray, memoryview)):
        return bytes(cast("bytearray", piece))
    raise CodecellError("usage", "a piece is of type %s, not bytes" % type(piece).__name__, hint="open files with 'rb'")


def body_of(source: Source, runtime: Runtime) -> Tuple[Body, Optional[int], Callable[[], None]]:
    """The body of a request, its length if it is known, and what to call in the end."""
    if isinstance(source, str):
        return source.encode("utf-8"), None, nothing
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None, nothing
    if isinstance(source, os.PathLike):
        file = open(os.fspath(source), "rb")  # noqa: SIM115 - the caller closes it
        pieces = Pieces(lambda: file.read(PIECE), file.close, runtime)
        return pieces, None, file.close
    read = getattr(source, "read", None)
    if callable(read):
        return Pieces(lambda: read(PIECE), nothing, runtime), None, nothing
    if hasattr(source, "__aiter__"):
        return AsyncPieces(source), None, nothing  # type: ignore[arg-type]
    if hasattr(source, "__iter__"):
        iterator = iter(source)  # type: ignore[arg-type]
        return Pieces(lambda: next_piece(iterator), nothing, runtime), None, nothing
    raise CodecellError("usage", "a %s cannot be sent" % type(source).__name__, hint="pass bytes, text, a Path or a file")


def next_piece(iterator: Any) -> Any:
    """An empty piece is not the end."""
    for piece in iterator:
        if checked(piece):
            return piece
    return None


def nothing() -> None:
    pass
