"""python -m lcsm, and the command lcsm of the wheel: runs the program of this package."""

import os
import sys

from ._library import program


def main() -> None:
    path = program()
    os.execvp(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
