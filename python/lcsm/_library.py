"""Finds and loads liblcsm, and calls it: a failed call becomes an exception with its sentence."""

from __future__ import annotations

import contextlib
import ctypes as ct
import os
import pathlib
import signal
import threading
import weakref
from typing import Any, Callable, Iterator, Optional, Sequence

from . import _binding as b
from ._version import __version__

HERE = pathlib.Path(__file__).resolve().parent


class Error(Exception):
    """What the library refused or could not do. ``status`` is the name of its status code."""

    status = "ERR_INTERNAL"


class ArgumentError(Error, ValueError):
    """An argument is wrong."""


class ConfigError(Error, ValueError):
    """The settings do not make a model or a run."""


class FormatError(Error, ValueError):
    """A file does not follow its format."""


class FileError(Error, OSError):
    """A file could not be read or written, or there is no room for it."""


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be reserved."""


class NumberError(Error, ArithmeticError):
    """A number is NaN or infinite."""


class UnsupportedError(Error, NotImplementedError):
    """This combination is not supported."""


_KINDS = {
    b.LCSM_ERR_ARGUMENT: ArgumentError, b.LCSM_ERR_CONFIG: ConfigError,
    b.LCSM_ERR_FORMAT: FormatError, b.LCSM_ERR_IO: FileError, b.LCSM_ERR_SPACE: FileError,
    b.LCSM_ERR_MEMORY: OutOfMemoryError, b.LCSM_ERR_NUMBER: NumberError,
    b.LCSM_ERR_UNSUPPORTED: UnsupportedError,
}


def _candidates() -> list[str]:
    """Where the library may be: as told, inside the package, in the build folder of a clone, or
    installed."""
    told = os.environ.get("LCSM_LIBRARY")
    if told:
        return [told]
    beside = [HERE / "_lib" / "liblcsm.so", HERE.parent.parent / "build" / "liblcsm.so"]
    return [str(path) for path in beside if path.exists()] + ["liblcsm.so.0"]


def _load() -> ct.CDLL:
    path = _candidates()[0]
    try:
        library = ct.CDLL(path)
    except OSError as error:
        raise ImportError(f"liblcsm could not be loaded: {error}. Install the wheel, install the "
                          "library, or set LCSM_LIBRARY to its path") from error
    for name, (result, arguments) in b.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no function {name}; expected liblcsm {__version__}") from None
        function.restype, function.argtypes = result, arguments
    found = library.lcsm_version().decode()
    if found != __version__:
        raise ImportError(f"{path} is liblcsm {found}; expected {__version__}")
    return library


lib = _load()


def program() -> str:
    """The path of the program ``lcsm`` that belongs to this package, or the name to look for."""
    for path in (HERE / "_lib" / "lcsm", HERE.parent.parent / "build" / "lcsm"):
        if path.exists():
            return str(path)
    return "lcsm"


def failure(status: int, text: str) -> Error:
    """The exception of a status with its sentence."""
    error = _KINDS.get(status, Error)(text)
    error.status = lib.lcsm_status_name(status).decode()
    return error


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status and takes an lcsm_error last. The interpreter lock is
    released while it runs."""
    err = b.lcsm_error()
    status = getattr(lib, name)(*arguments, ct.byref(err))
    if status != b.LCSM_OK:
        raise failure(status, err.text.decode(errors="replace"))


class Handle:
    """An object of the library. It is freed with the last reference to it, and before what it
    needs."""

    def __init__(self, address: Optional[int], free: Optional[str], *needs: Any):
        self._as_parameter_ = address
        self._needs = needs
        if free is not None:
            self._finalizer = weakref.finalize(self, getattr(lib, free), address)
            self._finalizer.atexit = False


def make(name: str, free: str, *arguments: Any, needs: Sequence[Any] = ()) -> Handle:
    """Calls a function whose first argument is where a new handle goes."""
    out = ct.c_void_p()
    call(name, ct.byref(out), *arguments)
    return Handle(out.value, free, *needs)


def sized(kind: type, **values: Any) -> Any:
    """A struct that begins with its size."""
    return kind(size=ct.sizeof(kind), **values)


def text_list(texts: Sequence[Any]) -> Any:
    """A char ** of paths or texts, or NULL."""
    if not texts:
        return None
    items = [os.fsencode(t) if isinstance(t, os.PathLike) else str(t).encode() for t in texts]
    return (ct.c_char_p * len(items))(*items)


def paths_of(value: Any) -> list[Any]:
    """A path, several, or none, as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


def encode(path: Any) -> Optional[bytes]:
    """A path as bytes; None stays."""
    return None if path is None else os.fsencode(path)


class Callbacks:
    """Python functions that C calls. An exception in one is kept and raised after the call; until
    then ``failed`` is True, which stops what can be stopped."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None

    @property
    def failed(self) -> bool:
        return self.error is not None

    def wrap(self, kind: Any, function: Callable[..., Any], default: Any = None) -> Any:
        def guarded(*arguments: Any) -> Any:
            if self.error is None:
                try:
                    return function(*arguments)
                except BaseException as error:  # also KeyboardInterrupt: it stops the call
                    self.error = error
            return default
        return kind(guarded)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C becomes the exception that stops the call: raised wherever Python code happens to
        run inside it, C would not see it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(_number: int, _frame: Any) -> None:
            self.error = self.error or KeyboardInterrupt()
        before = signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def reraise(self) -> None:
        if self.error is not None:
            raise self.error
