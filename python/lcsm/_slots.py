"""Many sequences beside one model, each at its own place."""

from __future__ import annotations

import ctypes as ct
from typing import Mapping, Optional

import numpy as np

from . import _binding as b
from ._library import ArgumentError, call, lib, make, sized
from ._model import Model, Tokens


def _tokens(tokens: Tokens) -> np.ndarray:
    array = np.asarray(tokens)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ArgumentError(f"tokens have the type {array.dtype}; expected whole numbers")
    whole = np.ascontiguousarray(array, dtype=np.int32).reshape(-1)
    if array.ndim > 1 or not np.array_equal(whole, array.reshape(-1)):
        raise ArgumentError("tokens of a slot are a list of numbers that fit into 32 bits")
    return whole


class Slots:
    """Sequences that share the passes over a model's weights: they join and leave at any time, and each is
    bit-identical to a session of its own.

    :param slots: sequences at once, at most
    :param chunk: tokens of a prompt that are taken at once, at most; 0: 256
    :param rewind: tokens that ``Slot.rollback`` can go back, from the last one
    """

    def __init__(self, model: Model, slots: int = 8, chunk: int = 0, rewind: int = 0):
        self.model = model
        options = sized(b.lcsm_slots_options, slots=slots, chunk=chunk, rewind=rewind)
        self._handle = make("lcsm_slots_create", "lcsm_slots_free", model._handle, ct.byref(options),
                            needs=[model._handle])

    @property
    def capacity(self) -> int:
        """Sequences at once, at most."""
        return int(lib.lcsm_slots_capacity(self._handle))

    def __len__(self) -> int:
        """Sequences that are there now."""
        return int(lib.lcsm_slots_count(self._handle))

    def open(self, state: Optional[bytes] = None) -> "Slot":
        """A new sequence: empty, or from the bytes of ``save``, of a slot or of a session."""
        number = ct.c_size_t()
        call("lcsm_slots_open", self._handle, ct.byref(number))
        slot = Slot(self, number.value)
        try:
            if state is not None:
                slot.load(state)
        except Exception:
            slot.close()
            raise
        return slot

    def feed(self, tokens: Mapping["Slot", Tokens]) -> None:
        """Reads tokens of several sequences, any number of each."""
        arrays = {slot: _tokens(list_) for slot, list_ in tokens.items()}
        if any(slot.slots is not self for slot in arrays):
            raise ArgumentError("a slot is of another Slots")
        items = (b.lcsm_slot_feed * max(len(arrays), 1))()
        for item, (slot, array) in zip(items, arrays.items()):
            item.slot, item.n = slot._number, array.size
            item.tokens = array.ctypes.data
        call("lcsm_slots_feed", self._handle, items, len(arrays))

    def __repr__(self) -> str:
        return f"Slots({self.model!r}, {len(self)} of {self.capacity})"


class Slot:
    """One sequence of ``Slots``; also a context, which closes it at the end."""

    def __init__(self, slots: Slots, number: int):
        self.slots, self._own = slots, number
        self._open = True

    @property
    def _number(self) -> int:
        if not self._open:
            raise ArgumentError("the slot is closed; open another one")
        return self._own

    @property
    def position(self) -> int:
        """How many tokens it has read."""
        return int(lib.lcsm_slots_position(self.slots._handle, self._number))

    @property
    def logits(self) -> Optional[np.ndarray]:
        """The logits behind its last token, (V), a copy; None before the first one."""
        address = lib.lcsm_slots_logits(self.slots._handle, self._number)
        if not address:
            return None
        return np.array((ct.c_float * self.slots.model.vocab_size).from_address(address), np.float32)

    def feed(self, tokens: Tokens) -> None:
        """Reads tokens of this sequence alone."""
        self.slots.feed({self: tokens})

    def branch(self) -> "Slot":
        """Another sequence that continues from here, independently and bit-identically."""
        number = ct.c_size_t()
        call("lcsm_slots_branch", self.slots._handle, self._number, ct.byref(number))
        return Slot(self.slots, number.value)

    def reset(self) -> None:
        """Empties its memory."""
        call("lcsm_slots_reset", self.slots._handle, self._number)

    @property
    def rewindable(self) -> int:
        """How many tokens ``rollback`` can go back now."""
        return int(lib.lcsm_slots_rewindable(self.slots._handle, self._number))

    def rollback(self, tokens: int) -> None:
        """Goes back by so many tokens."""
        call("lcsm_slots_rewind", self.slots._handle, self._number, tokens)

    def save(self) -> bytes:
        """Memory, position and last logits as bytes, which a session of this model loads too."""
        size = ct.c_size_t()
        call("lcsm_slots_write_state", self.slots._handle, self._number, None, ct.byref(size))
        buffer = ct.create_string_buffer(size.value)
        call("lcsm_slots_write_state", self.slots._handle, self._number, buffer, ct.byref(size))
        return buffer.raw[:size.value]

    def load(self, state: bytes) -> None:
        """Continues from the bytes of ``save``, of a slot or of a session of this model."""
        call("lcsm_slots_read_state", self.slots._handle, self._number, state, len(state))

    def close(self) -> None:
        """Gives its place to others."""
        if self._open:
            call("lcsm_slots_close", self.slots._handle, self._own)
            self._open = False

    def __enter__(self) -> "Slot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Slot(position={self.position})" if self._open else "Slot(closed)"
