"""Holds back what Spark's processes write to the terminal, which is pages of stack traces when a disk is full."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STDERR = 2


@contextmanager
def stderr_held_back(explained: Callable[[BaseException], bool]) -> Iterator[None]:
    """Keep in memory what is written to standard error in the block; show it afterwards.

    Processes that the block starts are held back for as long as they run. No disk is needed.

    Args:
        explained: whether an exception that ends the block is a sentence by itself, so that nothing is shown.
    """
    if not hasattr(os, "memfd_create"):
        yield
        return
    sys.stderr.flush()
    terminal, held = os.dup(_STDERR), os.memfd_create("stderr")
    os.dup2(held, _STDERR)
    shown = True
    try:
        yield
    except BaseException as error:
        shown = not explained(error)
        raise
    finally:
        sys.stderr.flush()
        os.dup2(terminal, _STDERR)
        with open(held, "rb") as kept, open(terminal, "wb") as out:  # noqa: PTH123
            kept.seek(0)
            if shown:
                out.write(kept.read())
