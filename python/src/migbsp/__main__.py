"""`python -m migbsp FILE COMMAND ...`: the commands for a file that does not call `migbsp.main`, such as one for MPI."""

from __future__ import annotations

import sys

from ._file import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
