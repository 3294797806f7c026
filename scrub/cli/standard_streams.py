# SPDX-License-Identifier: Apache-2.0
"""Standard output and standard error of the command, wherever they lead.

A result that could not be written is an error, whichever command wanted to show it: the disk is
full, or standard output is closed. A message that could not be written changes nothing, least of
all the exit code.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

from scrub.errors import ScrubError

_OUTPUT, _ERROR = 1, 2


class Output(TextIOWrapper):
    """Standard output: what cannot be written is told. A reader that has gone is none of it."""

    def write(self, text: str) -> int:
        # click tries a stream out with b'' and '', and takes an error for the wrong kind of stream.
        return 0 if text == "" else self._done(super().write, text)

    def flush(self) -> None:
        self._done(super().flush)

    def _done(self, do: Callable[..., Any], *given: str) -> Any:
        try:
            return do(*given)
        except BrokenPipeError:
            raise
        except OSError as error:
            # What is still buffered would fail again, loudly, when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), _OUTPUT)
            raise ScrubError(
                f"the result could not be written to standard output: {error.strerror}"
            ) from error


class Messages(TextIOWrapper):
    """Standard error: there is nobody to tell that a message cannot be written."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def attach() -> None:
    """Have both streams be there and behave as above; those that somebody has replaced stay."""
    # A closed stream's number would be given to the next file that is opened. Nothing can be
    # written to the first of these, so that a result that goes nowhere is an error.
    _occupy(_OUTPUT, os.O_RDONLY)
    _occupy(_ERROR, os.O_WRONLY)
    sys.stdout = _standing_in(sys.stdout, _OUTPUT, Output)
    sys.stderr = _standing_in(sys.stderr, _ERROR, Messages)


def _occupy(number: int, flags: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, flags)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _standing_in(stream: Any, number: int, kind: type[TextIOWrapper]) -> Any:
    # A terminal that lacks a character must not cost the report.
    if stream is None:
        return kind(open(number, "wb", buffering=0), errors="backslashreplace", write_through=True)
    if type(stream) is not TextIOWrapper:
        return stream
    encoding, by_line, through = stream.encoding, stream.line_buffering, stream.write_through
    return kind(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=by_line,
        write_through=through,
    )
