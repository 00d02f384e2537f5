"""lcsm: linear-complexity sequence models on a CPU.

    import lcsm
    run = lcsm.train("book.txt", "runs/book", "gla", minutes=2)
    for text in run.load().generate("It was"):
        print(text, end="", flush=True)

``lcsm.torch`` has the operator as PyTorch functions with gradients; it is imported on its own.
"""

from ._figure import Figure
from ._library import (ArgumentError, ConfigError, Error, FileError, FormatError, NumberError, OutOfMemoryError,
                       UnsupportedError, program)
from ._model import Context, Model, Session, Tokenizer, context, load, set_threads
from ._run import (Description, Evaluation, Experiment, Progress, Report, Run, codes, describe, evaluate, experiment,
                   experiments, import_model, inspect, methods, report, train)
from ._settings import Settings, settings
from ._slots import Slot, Slots
from ._table import Table
from ._version import __version__

__all__ = [
    "ArgumentError", "ConfigError", "Context", "Description", "Error", "Evaluation", "Experiment", "Figure",
    "FileError", "FormatError", "Model", "NumberError", "OutOfMemoryError", "Progress", "Report", "Run", "Session",
    "Settings", "Slot", "Slots", "Table", "Tokenizer", "UnsupportedError", "__version__", "codes", "context", "describe", "evaluate",
    "experiment", "experiments", "import_model", "inspect", "load", "methods", "program", "report", "set_threads",
    "settings", "train",
]
