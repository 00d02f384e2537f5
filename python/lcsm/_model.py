"""Contexts, tokenizers, models, and sessions that run a model token by token."""

from __future__ import annotations

import ctypes as ct
import itertools
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union

import numpy as np

from . import _binding as b
from ._library import (ArgumentError, Callbacks, Handle, call, encode, lib, make, sized,
                       text_list)
from ._settings import Settings, build
from ._table import html_table

if TYPE_CHECKING:
    from ._slots import Slots

Tokens = Union[Sequence[int], np.ndarray]


# ---- contexts -------------------------------------------------------------------------------

@b.lcsm_log_fn
def _log(_user: Any, level: int, text: bytes) -> None:
    if level >= b.LCSM_LOG_WARNING:
        print(f"lcsm: {text.decode(errors='replace')}", file=sys.stderr)


class Context:
    """Threads and kernels. One for the whole program is made when it is first needed.

    :param threads: 0: one for each processor that the process may use
    :param isa: use nothing faster than this: "reference", "portable", "avx2", "avx512", "avx512-bf16", "neon"
    """

    def __init__(self, threads: int = 0, isa: str = "auto"):
        names = [name.decode() for name in itertools.takewhile(bool, map(lib.lcsm_isa_name, itertools.count()))]
        if isa not in names:
            raise ArgumentError(f"isa is '{isa}'; expected one of {', '.join(names)}")
        options = sized(b.lcsm_context_options, threads=threads, isa=names.index(isa), log=_log)
        self._handle = make("lcsm_context_create", "lcsm_context_free", ct.byref(options))

    @property
    def threads(self) -> int:
        """How many threads compute, the caller's included."""
        return int(lib.lcsm_context_threads(self._handle))

    @property
    def isa(self) -> str:
        """The instruction set of the kernels."""
        return lib.lcsm_context_isa_name(self._handle).decode()

    def __repr__(self) -> str:
        return f"Context(threads={self.threads}, isa='{self.isa}')"


_shared: Optional[Context] = None
_shared_lock = threading.Lock()


def context() -> Context:
    """The context that is used where none is given."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Context()
        return _shared


def set_threads(threads: int, isa: str = "auto") -> None:
    """Sets the number of threads of everything that is created from now on, and the fastest kernels that it uses, as
    Context has them; 0: all processors."""
    global _shared
    fresh = Context(threads, isa)
    with _shared_lock:
        _shared = fresh


# ---- tokenizers -----------------------------------------------------------------------------

class Tokenizer:
    """Text to token ids and back: bytes, or a ``tokenizer.json`` of the byte-level BPE family.

    :param path: tokenizer.json or its folder; None: every byte is a token
    """

    def __init__(self, path: Any = None, *, _handle: Optional[Handle] = None):
        if _handle is not None:
            self._handle = _handle
        elif path is None:
            self._handle = make("lcsm_tokenizer_bytes", "lcsm_tokenizer_free")
        else:
            self._handle = make("lcsm_tokenizer_load", "lcsm_tokenizer_free", encode(path))

    @classmethod
    def train(cls, data: Any, vocab: int = 8192, eos: Optional[str] = None,
              min_count: int = 2) -> "Tokenizer":
        """Trains byte-level BPE on text files and folders."""
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        options = sized(b.lcsm_tokenizer_training, vocab=vocab, min_count=min_count,
                        eos=None if eos is None else eos.encode())
        return cls(_handle=make("lcsm_tokenizer_train", "lcsm_tokenizer_free", text_list(paths),
                                len(paths), ct.byref(options), b.lcsm_tokenizer_progress(), None))

    def save(self, path: Any) -> None:
        """Writes a tokenizer.json, which Hugging Face's tokenizers reads too."""
        call("lcsm_tokenizer_save", self._handle, encode(path))

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return int(lib.lcsm_tokenizer_vocab(self._handle))

    @property
    def eos(self) -> Optional[int]:
        """The id that ends a text, or None."""
        found = lib.lcsm_tokenizer_eos(self._handle)
        return None if found < 0 else int(found)

    def find(self, text: str) -> Optional[int]:
        """The id of a token by its text, or None."""
        raw = text.encode()
        found = lib.lcsm_tokenizer_find(self._handle, raw, len(raw))
        return None if found < 0 else int(found)

    def encode(self, text: Union[str, bytes], special: bool = False, template: bool = False,
               skip: bool = False) -> np.ndarray:
        """The ids of a text, int32.

        :param special: special tokens in the text become their ids
        :param template: add the tokens that the tokenizer puts around a text
        :param skip: leave out bytes that the vocabulary lacks, instead of failing
        """
        raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        flags = (b.LCSM_ENCODE_SPECIAL * special | b.LCSM_ENCODE_TEMPLATE * template
                 | b.LCSM_ENCODE_SKIP * skip)
        ids, count = ct.c_void_p(), ct.c_size_t()
        call("lcsm_tokenizer_encode", self._handle, raw, len(raw), flags, ct.byref(ids), ct.byref(count))
        return _adopt(ids.value, count.value)

    def decode_bytes(self, ids: Tokens) -> bytes:
        """The bytes that the ids stand for."""
        array = np.ascontiguousarray(ids, dtype=np.int32).ravel()
        text, size = ct.c_void_p(), ct.c_size_t()
        call("lcsm_tokenizer_decode", self._handle, array.ctypes.data, array.size, ct.byref(text),
             ct.byref(size))
        try:
            return ct.string_at(text.value, size.value) if size.value else b""
        finally:
            _libc.free(text)

    def decode(self, ids: Tokens) -> str:
        """The text that the ids stand for; invalid UTF-8 becomes U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        info = sized(b.lcsm_tokenizer_info)
        call("lcsm_tokenizer_describe", self._handle, ct.byref(info))
        return f"Tokenizer({info.kind.decode()}, {info.vocab} tokens)"


_libc = ct.CDLL(None)
_libc.free.argtypes = [ct.c_void_p]
_libc.free.restype = None


class _Adopted:
    """Memory from malloc, freed with the last array over it."""

    def __init__(self, address: int, count: int):
        self._address = address
        self.__array_interface__ = {"data": (address, False), "shape": (count,), "typestr": "<i4",
                                    "version": 3}

    def __del__(self) -> None:
        _libc.free(self._address)


def _adopt(address: Optional[int], count: int) -> np.ndarray:
    return np.asarray(_Adopted(address, count)) if address else np.zeros(0, np.int32)


# ---- models ---------------------------------------------------------------------------------

class Model:
    """A model with its weights; ``lcsm.load`` reads one, ``lcsm.train`` makes one."""

    def __init__(self, handle: Handle, ctx: Context, folder: Any = None,
                 tokenizer: Optional[Tokenizer] = None):
        self._handle, self._context, self.folder = handle, ctx, folder
        self._tokenizer, self._length, self._ends = tokenizer, 0, "auto"
        self.settings = Settings("model", Handle(lib.lcsm_model_config_of(handle), None, handle))

    @classmethod
    def create(cls, name: Optional[str] = None, seed: int = 1, size: Optional[str] = None,
               tokenizer: Optional[Tokenizer] = None, ctx: Optional[Context] = None,
               **keys: Any) -> "Model":
        """A model with initial values. ``name`` is a method, a code, or a pattern of layers."""
        ctx = ctx or context()
        model, _ = build(keys, name)
        if size is not None:
            call("lcsm_model_config_size", model._handle, ctx._handle, size.encode())
        handle = make("lcsm_model_create", "lcsm_model_free", ctx._handle, model._handle, seed,
                      needs=[ctx._handle])
        return cls(handle, ctx, None, tokenizer)

    def save(self, folder: Any) -> None:
        """Writes config.json and model.safetensors."""
        call("lcsm_model_save", self._handle, encode(folder))

    @property
    def parameters(self) -> int:
        """How many parameters it has."""
        return int(lib.lcsm_model_param_count(self._handle))

    @property
    def vocab_size(self) -> int:
        return int(self.settings["vocab"])

    @property
    def tokenizer(self) -> Tokenizer:
        """That of the run folder; every byte is a token where there is none and 256 tokens."""
        if self._tokenizer is None:
            if self.vocab_size != 256:
                raise ArgumentError(f"{self.folder or 'the model'} has no tokenizer.json, and only a "
                                    f"vocabulary of 256 needs none (it has {self.vocab_size})")
            self._tokenizer = Tokenizer()
        return self._tokenizer

    @property
    def _lines(self) -> bool:
        """Whether end-of-text tokens are line ends, as in models that lcsm trained."""
        return self._length > 0 and self._ends in ("auto", "line") and self.tokenizer.eos is not None

    def session(self, batch: int = 1, chunk: int = 0, rewind: int = 0) -> "Session":
        """A new session, with an empty memory."""
        return Session(self, batch, chunk, rewind)

    def slots(self, slots: int = 8, chunk: int = 0, rewind: int = 0) -> "Slots":
        """Room for so many sequences that share the passes over the weights."""
        from ._slots import Slots
        return Slots(self, slots, chunk, rewind)

    def logits(self, tokens: Tokens) -> np.ndarray:
        """The logits behind every token: (n) gives (n, V), (B, n) gives (B, n, V)."""
        array = np.asarray(tokens)
        return Session(self, 1 if array.ndim < 2 else array.shape[0]).feed(array, logits=True)

    def generate(self, prompt: str = "", tokens: int = 100, *, temperature: float = 0.8,
                 top_k: int = 0, top_p: float = 0.0, min_p: float = 0.0, repeat_penalty: float = 0.0,
                 seed: int = 0, stop: Sequence[str] = (), ignore_end: bool = False,
                 session: Optional["Session"] = None) -> Iterator[str]:
        """Continues a prompt and yields the text in pieces of whole characters.

        :param tokens: tokens to generate; 0 = unlimited
        :param temperature: 0 takes the most probable token
        :param stop: texts that end it; they are not yielded
        :param session: continue this one, which has read what came before
        """
        sample = sized(b.lcsm_sample_options, repeat_penalty=repeat_penalty, temperature=temperature,
                       top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
        stops = text_list(list(stop))
        options = sized(b.lcsm_generate_options, sample=ct.pointer(sample), tokens=tokens, stop=stops,
                        stop_count=len(stop), ignore_end=ignore_end, lines=self._lines)
        session = session or self.session()
        raw = prompt.encode("utf-8", "surrogateescape")
        if raw or session.position == 0:
            call("lcsm_generate_prompt", session._handle, self.tokenizer._handle, ct.byref(options),
                 raw, len(raw))
        return _pieces(session, self.tokenizer, options, (sample, stops))

    def __repr__(self) -> str:
        kind = next((self.settings[k] for k in ("layers_pattern", "code") if self.settings[k]),
                    self.settings["method"])
        return f"Model({kind}, {self.parameters} parameters, {self.vocab_size} tokens)"

    def _repr_html_(self) -> str:
        keys = [k for k in self.settings.keys() if lib.lcsm_model_config_reads(self.settings._handle, k.encode())]
        return html_table(["setting", "value"], [[k, self.settings[k]] for k in keys], repr(self))


def _pieces(session: "Session", tokenizer: Tokenizer, options: Any, keep: Any) -> Iterator[str]:
    """Runs lcsm_generate in a thread that is at most one piece ahead of the reader."""
    pieces: "queue.Queue[Any]" = queue.Queue(1)
    closed, callbacks = threading.Event(), Callbacks()

    def put(_user: Any, text: int, size: int) -> bool:
        pieces.put(ct.string_at(text, size).decode("utf-8", "replace"))
        return not closed.is_set()

    kind = ct.CFUNCTYPE(ct.c_bool, ct.c_void_p, ct.c_void_p, ct.c_size_t)
    taker = callbacks.wrap(kind, put, False)

    def run() -> None:
        try:
            call("lcsm_generate", session._handle, tokenizer._handle, ct.byref(options),
                 ct.cast(taker, b.lcsm_text_fn), None, None)
            pieces.put(callbacks.error)
        except BaseException as error:
            pieces.put(error)

    thread = threading.Thread(target=run, name="lcsm.generate", daemon=True)
    thread.start()
    done = False
    try:
        while True:
            piece = pieces.get()
            done = not isinstance(piece, str)
            if done:
                if piece is not None:
                    raise piece
                return
            yield piece
    finally:
        closed.set()
        while not done and not isinstance(pieces.get(), (type(None), BaseException)):
            pass
        thread.join()
        del keep


def load(folder: Any, threads: Optional[int] = None, ctx: Optional[Context] = None,
         weights: Optional[str] = None) -> Model:
    """Loads the model of a run folder, with its tokenizer.

    :param threads: of a context of its own; None: the shared one
    :param weights: store matrices as "f32", "f16", "bf16", "q8", "q4" or "q4k"; None: as they are. With
        another type than f32 a model takes less memory and cannot be trained
    """
    ctx = ctx or (context() if threads is None else Context(threads))
    options = sized(b.lcsm_model_load_options, weights=encode(weights) if weights else None)
    handle = make("lcsm_model_load_with", "lcsm_model_free", ctx._handle, encode(folder),
                  ct.byref(options), needs=[ctx._handle])
    found = os.path.join(os.fspath(folder), "tokenizer.json")
    model = Model(handle, ctx, folder, Tokenizer(folder) if os.path.exists(found) else None)
    train = Settings("train")
    try:
        call("lcsm_run_settings", encode(folder), None, train._handle)
        model._length, model._ends = int(train["seq_len"]), train["ends"]
    except ArgumentError:  # imported: it has no settings of training
        pass
    return model


# ---- sessions -------------------------------------------------------------------------------

class Session:
    """A model with its memory: reads tokens, and always has the logits of the next one. Its size does
    not depend on how many tokens it has read.

    :param batch: sequences side by side
    :param chunk: tokens of a prompt that are taken at once, at most; 0: 256
    :param rewind: tokens that ``rollback`` can go back, from the last one
    """

    def __init__(self, model: Model, batch: int = 1, chunk: int = 0, rewind: int = 0, *,
                 _handle: Optional[Handle] = None):
        self.model, self._chunk = model, chunk
        options = sized(b.lcsm_session_options, batch=batch, chunk=chunk, rewind=rewind)
        self._handle = _handle or make("lcsm_session_create", "lcsm_session_free", model._handle,
                                       ct.byref(options), needs=[model._handle])

    @property
    def batch(self) -> int:
        """Sequences side by side."""
        return int(lib.lcsm_session_batch(self._handle))

    @property
    def position(self) -> int:
        """How many tokens every sequence has read."""
        return int(lib.lcsm_session_position(self._handle))

    def feed(self, tokens: Tokens, logits: bool = False) -> Optional[np.ndarray]:
        """Reads tokens, (n) or (B, n). With ``logits`` returns those behind each of them."""
        array = np.asarray(tokens)
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise ArgumentError(f"tokens have the type {array.dtype}; expected whole numbers")
        if array.ndim > 2 or (array.ndim < 2 and self.batch > 1) or (array.ndim == 2 and array.shape[0] != self.batch):
            raise ArgumentError(f"tokens have the shape {array.shape}; expected ({self.batch}, n)"
                                + (" or (n)" if self.batch == 1 else ""))
        whole = np.ascontiguousarray(array, dtype=np.int32)
        if not np.array_equal(whole, array):
            raise ArgumentError("a token does not fit into 32 bits")
        n = whole.shape[-1] if whole.ndim else 1
        shape = (n,) if array.ndim < 2 else array.shape
        out = np.empty((*shape, self.model.vocab_size), np.float32) if logits else None
        call("lcsm_session_feed", self._handle, whole.ctypes.data, n,
             None if out is None else out.ctypes.data)
        return out

    @property
    def logits(self) -> Optional[np.ndarray]:
        """The logits behind the last token, (V), or (B, V) of a batch; None before the first one.
        A view of the session's own memory: the next feed changes it."""
        address = lib.lcsm_session_logits(self._handle)
        if not address:
            return None
        shape = (self.batch, self.model.vocab_size)
        memory = (ct.c_float * (shape[0] * shape[1])).from_address(address)
        memory.owner = self._handle  # lives as long as the view
        view = np.frombuffer(memory, np.float32).reshape(shape)
        view.flags.writeable = False
        return view if self.batch > 1 else view[0]

    def reset(self) -> None:
        """Empties the memory."""
        lib.lcsm_session_reset(self._handle)

    def clone(self) -> "Session":
        """A session that continues from the same point, independently and bit-identically."""
        handle = make("lcsm_session_clone", "lcsm_session_free", self._handle, needs=[self.model._handle])
        return Session(self.model, self.batch, self._chunk, _handle=handle)

    def mark(self) -> "Session":
        """The present point, for ``rollback``: a clone."""
        return self.clone()

    @property
    def rewindable(self) -> int:
        """How many tokens ``rollback`` can go back now."""
        return int(lib.lcsm_session_rewindable(self._handle))

    def rollback(self, mark: Union[int, "Session"]) -> None:
        """Goes back by so many tokens, or to a mark, which may be used again."""
        if not isinstance(mark, Session):
            call("lcsm_session_rewind", self._handle, mark)
            return
        if mark.model is not self.model or mark.batch != self.batch:
            raise ArgumentError("the mark is of another model or batch")
        self._handle = mark.clone()._handle

    def save(self) -> bytes:
        """Memory, position and last logits as bytes."""
        size = ct.c_size_t()
        call("lcsm_session_write_state", self._handle, None, ct.byref(size))
        buffer = ct.create_string_buffer(size.value)
        call("lcsm_session_write_state", self._handle, buffer, ct.byref(size))
        return buffer.raw[:size.value]

    def load(self, state: bytes) -> None:
        """Continues from the bytes of ``save``, of the same model and batch."""
        call("lcsm_session_read_state", self._handle, state, len(state))

    def __repr__(self) -> str:
        return f"Session({self.model!r}, batch={self.batch}, position={self.position})"

