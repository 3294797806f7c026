# SPDX-License-Identifier: Apache-2.0
"""Every defect of a run, for who asks for it: the file of `--all-defects`, whole or absent."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scrub.errors import UsageError
from scrub.model.defect import Defect
from scrub.model.request import CheckRequest

DefectListener = Callable[[Defect], None]


@contextmanager
def every_defect(
    request: CheckRequest, listener: DefectListener | None
) -> Iterator[DefectListener | None]:
    """Who gets every defect: the file that the request asks for, the listener, both or nobody."""
    with all_defects_file(request) as write:
        if write is None or listener is None:
            yield write or listener
            return
        also = listener

        def tell_both(defect: Defect) -> None:
            write(defect)
            also(defect)

        yield tell_both


@contextmanager
def all_defects_file(request: CheckRequest) -> Iterator[DefectListener | None]:
    """Write every defect to the file asked for, which appears only when it is whole."""
    if request.all_defects is None:
        yield None
        return
    from reports.as_jsonl import defect_line

    path = request.all_defects
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with ExitStack() as stack:
        with _writing(path):
            file = stack.enter_context(temporary.open("w", encoding="utf-8"))
        stack.callback(temporary.unlink, missing_ok=True)

        def write(defect: Defect) -> None:
            with _writing(path):
                file.write(defect_line(defect, redact=request.redact))

        yield write
        with _writing(path):
            file.close()
            temporary.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say what cannot be written; other errors of the check are none of this file's."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
