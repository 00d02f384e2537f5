"""Where the package and the library are: those of the clone, unless the package is installed."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
try:
    import lcsm
except ModuleNotFoundError:
    sys.path.insert(0, str(ROOT / "python"))
    import lcsm


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "book.txt"
    path.write_text("It was the best of times, it was the worst of times.\n" * 300)
    return path


@pytest.fixture(scope="session")
def run(book, tmp_path_factory):
    """A small model that has learned its text."""
    return lcsm.train(book, tmp_path_factory.mktemp("runs") / "gla", "gla", steps=60, d_model=48, layers=2,
                      heads=2, seq_len=64, batch_size=4, lr=5e-3, warmup=5)


@pytest.fixture(scope="session")
def model(run):
    return run.load()
