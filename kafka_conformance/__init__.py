"""The only name that the suite adds to a Python environment.

It starts the console script `kafka-conformance`.

The wheel has the repository's folders in `suite/`, next to this file. Other programs of the environment cannot import
them by accident, and they replace no package of the same name. In a checkout they are next to this package.

`suite/` looks like the repository's root, with `conftest.py` and `pyproject.toml`: the installed suite loads the same
plugins and has the same pytest options, and its `code_sha256` is that of the checkout. The command puts this folder
first on its own `sys.path`. Only Spark's processes get it in `PYTHONPATH`; judged clients do not, but for those that
the project brings.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

_PACKAGE = Path(__file__).parent
SUITE = _PACKAGE / "suite" if (_PACKAGE / "suite").is_dir() else _PACKAGE.parent
"""The folder that has the suite's packages."""
NEW_OBJECTS = 50_000
"""New objects after which Python looks for garbage. After each 700, which is its default, that takes a tenth of a
short run: imports make hundreds of thousands of objects, and no garbage."""


def main() -> None:
    """Run the console script with this process's arguments.

    A signal that ends it while the commands are imported has the same exit status as later.
    """
    gc.set_threshold(NEW_OBJECTS)
    # First, because the environment may have packages of the same names.
    sys.path.insert(0, str(SUITE))
    signals = import_module("fixtures.cleanup.ending_signals")
    interrupted = import_module("clauses.exit_statuses").INTERRUPTED
    try:
        signals.INTERRUPTS.handle()
        import_module("conformance.__main__").main()
    except (KeyboardInterrupt, Exception):
        # Python makes other errors of an interrupt, such as while it creates a class.
        if not signals.INTERRUPTS.came:
            raise
        with suppress(OSError):
            os.write(2, b"interrupted\n")
        raise SystemExit(interrupted) from None
    except SystemExit as end:
        # Click has this for an interrupt that comes between its steps.
        if signals.INTERRUPTS.came and end.code == 1:
            raise SystemExit(interrupted) from None
        raise
    finally:
        # Another one while Python ends does not change the exit status.
        signals.keep_exit_status()
