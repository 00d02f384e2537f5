"""Layers as lists of parts (include/lcsm/parts.h): a whole layer is one call of the library.

A Program is such a list over addresses. For a single token it is kept and only the addresses of what
comes in and goes out are set; for whole sequences it is made anew on buffers that all layers share.
"""

from __future__ import annotations

import ctypes as ct
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from .. import _binding as b
from .._library import failure, lib
from .._model import context
from ._eos import OPERANDS, _plan

LINEAR, CONV, NORM, UNIT, MAP = b.LCSM_PART_LINEAR, b.LCSM_PART_CONV, b.LCSM_PART_NORM, b.LCSM_PART_UNIT, b.LCSM_PART_MAP
GLU, SCALE, SPREAD, RATES, EOS = b.LCSM_PART_GLU, b.LCSM_PART_SCALE, b.LCSM_PART_SPREAD, b.LCSM_PART_RATES, b.LCSM_PART_EOS
SAME, SILU, SIGMOID, SOFTPLUS = b.LCSM_PART_SAME, b.LCSM_PART_SILU, b.LCSM_PART_SIGMOID, b.LCSM_PART_SOFTPLUS
EXP, GELU, GELU_TANH, REST = b.LCSM_PART_EXP, b.LCSM_PART_GELU, b.LCSM_PART_GELU_TANH, b.LCSM_PART_REST
#: activations by the names of transformers and of its modules
FUNCTIONS = {"silu": SILU, "swish": SILU, "SiLU": SILU, "SiLUActivation": SILU, "gelu": GELU, "GELUActivation": GELU,
             "gelu_pytorch_tanh": GELU_TANH, "GELUTanh": GELU_TANH, "PytorchGELUTanh": GELU_TANH}
_FLOATS = 16  # of an aligned piece


class Unfit(Exception):
    """This layer, or this call of it, is not one for the library."""


class Rows:
    """Rows of floats: the address of the first, how wide they are, floats from row to row."""

    __slots__ = ("at", "wide", "row")

    def __init__(self, at: int, wide: int, row: int):
        self.at, self.wide, self.row = at, wide, row

    def cut(self, first: int, wide: int) -> "Rows":
        """Some columns."""
        return Rows(self.at + 4 * first, wide, self.row)


class Arena:
    """Buffers that follow each other in one block, which is kept for the next program of the thread."""

    def __init__(self) -> None:
        self.blocks: List[Tensor] = []
        self.used = 0

    def clear(self) -> None:
        """All buffers end; where one block was not enough, the next one is as large as all."""
        if len(self.blocks) > 1:
            self.blocks = [torch.empty(sum(x.numel() for x in self.blocks))]
        self.used = 0

    def take(self, size: int) -> int:
        size = -(-size // _FLOATS) * _FLOATS
        if not self.blocks or self.used + size > self.blocks[-1].numel():
            self.blocks.append(torch.empty(max(size, 1 << 16)))
            self.used = 0
        at = self.blocks[-1].data_ptr() + 4 * self.used
        self.used += size
        return at


    def tensor(self, x: Rows, batch: int, steps: int, last: int) -> Tensor:
        """The last steps of every sequence as (batch, width, steps), a view."""
        for block in self.blocks:
            first = (x.at - block.data_ptr()) // 4
            if 0 <= first < block.numel():
                last = min(last, steps)
                return block.as_strided((batch, x.wide, last), (steps * x.row, 1, x.row), first + (steps - last) * x.row)
        raise AssertionError("rows of another arena")


class _Local(threading.local):
    """What belongs to a thread: buffers that programs share, programs that are kept, and how many models are
    running whose linear maps are ours."""

    def __init__(self) -> None:
        self.models = 0
        self.arena = Arena()
        self.kept: Any = weakref.WeakKeyDictionary()


local = _Local()


class Program:
    """A list of parts. ``rows`` tokens: ``batch`` sequences of ``steps``."""

    def __init__(self, batch: int, steps: int, arena: Optional[Arena] = None):
        self.batch, self.steps, self.rows = batch, steps, batch * steps
        self.arena = Arena() if arena is None else arena
        self.kept: List[Any] = []              # what must live as long
        self.parts: List[Any] = []
        self.weights: List[Tuple[Any, str, Tensor, int]] = []
        self.modules: List[Tuple[Any, str, nn.Module]] = []
        self.inputs: List[Tuple[int, str]] = []  # part and operand where the input goes
        self.pre: Optional[Rows] = None        # what the convolution reads

    # ---- what it reads ----------------------------------------------------------------------

    def module(self, owner: nn.Module, name: str, kind: type = nn.Module) -> Any:
        """A module below the layer, which must be what it was made as."""
        child = owner._modules[name]
        if child is None or (kind is not nn.Module and type(child) is not kind):
            raise Unfit(name)
        self.modules.append((owner._modules, name, child))
        return child

    def weight(self, owner: nn.Module, name: str) -> Optional[int]:
        """The address of a parameter; None if there is none."""
        store = owner._parameters if name in owner._parameters else owner._buffers
        x = store.get(name)
        if x is None:
            return None
        if x.dtype != torch.float32 or x.device.type != "cpu" or not x.is_contiguous():
            raise Unfit(name)
        self.weights.append((store, name, x, x.data_ptr()))
        return x.data_ptr()

    def current(self) -> bool:
        """Whether it still reads the layer's own weights, and nobody has put anything between."""
        for store, name, x, at in self.weights:
            if store[name] is not x or x.data_ptr() != at:
                return False
        for children, name, child in self.modules:
            if (children[name] is not child or child._forward_hooks or child._forward_pre_hooks
                    or "forward" in child.__dict__):
                return False
        return True

    # ---- parts ------------------------------------------------------------------------------

    def rows_of(self, wide: int, rows: int = 0) -> Rows:
        """A new buffer."""
        return Rows(self.arena.take((rows or self.rows) * wide), wide, wide)

    def add(self, kind: int, y: Optional[Rows], x: Optional[Rows] = None, z: Optional[Rows] = None, **fields: Any) -> Any:
        part = b.lcsm_part(size=ct.sizeof(b.lcsm_part), kind=kind, rows=fields.pop("rows", self.rows), scale=1.0)
        for name, rows in (("x", x), ("y", y), ("z", z)):
            if rows is not None:
                setattr(part, name, rows.at)
                setattr(part, name + "_row", rows.row)
        for name, value in fields.items():
            setattr(part, name, value)
        self.parts.append(part)
        return y

    def linear(self, x: Rows, owner: nn.Module, name: str, function: int = SAME, y: Optional[Rows] = None,
               z: Optional[Rows] = None) -> Rows:
        m = self.module(owner, name, nn.Linear)
        y = y or self.rows_of(m.out_features)
        return self.add(LINEAR, y, x, z, w=self.weight(m, "weight"), b=self.weight(m, "bias"), function=function,
                        out=m.out_features, **{"in": m.in_features})

    def norm(self, x: Rows, w: Optional[int], eps: float, heads: int = 1, shift: float = 0.0, own: bool = False,
             y: Optional[Rows] = None, kind: int = NORM) -> Rows:
        y = y or self.rows_of(x.wide)
        return self.add(kind, y, x, w=w, eps=eps, heads=heads, shift=shift, own=own, **{"in": x.wide // heads})

    def conv(self, x: Rows, owner: nn.Module, name: str, function: int, held: int, y: Optional[Rows] = None) -> Rows:
        """The convolution; for a single step its state is set later."""
        m = self.module(owner, name, nn.Conv1d)
        if m.groups != x.wide or m.in_channels != x.wide or m.dilation != (1,) or m.stride != (1,):
            raise Unfit(name)
        y = y or self.rows_of(x.wide)
        self.add(CONV, y, x, w=self.weight(m, "weight"), b=self.weight(m, "bias"), function=function,
                 steps=self.steps, taps=m.kernel_size[0], held=held, state=64 if self.steps == 1 else None,
                 **{"in": x.wide})
        return y

    def glu(self, x: Rows, z: Rows, function: int, y: Optional[Rows] = None) -> Rows:
        return self.add(GLU, y or self.rows_of(x.wide), x, z, function=function, **{"in": x.wide})

    def map(self, x: Rows, function: int, y: Optional[Rows] = None, bias: Optional[int] = None, scale: float = 1.0,
            rows: int = 0) -> Rows:
        return self.add(MAP, y or self.rows_of(x.wide, rows), x, b=bias, function=function, scale=scale,
                        rows=rows or self.rows, **{"in": x.wide})

    def rates(self, owner: nn.Module, name: str, rows: int, wide: int) -> Rows:
        """-exp of a parameter (rows, wide), transposed, computed again when it has changed."""
        at = self.weight(owner, name)
        y, last = torch.full((wide * rows,), float("nan")), torch.full((rows * wide,), float("nan"))
        self.kept += [y, last]
        self.add(RATES, Rows(y.data_ptr(), rows, rows), x=Rows(at or 0, wide, wide), rows=rows, scale=-1.0,
                 state=last.data_ptr(), **{"in": wide})
        return Rows(y.data_ptr(), rows, rows)

    def eos(self, sizes: Tuple[int, int, int], operands: Dict[str, Tuple[int, int, Rows]], scale: float = 1.0, gen: int = 0,
            reset: Optional[int] = None, m0: Optional[int] = None) -> Rows:
        """The operator for H, K, D; operands by name: axes, heads, rows. Its memory is set later."""
        H, _, D = sizes
        layouts = tuple(self._layout(*operands[n]) if n in operands else None for n in OPERANDS)
        op = _plan((self.batch, self.steps, *sizes), layouts, gen, 1.0, scale, 0, 0, 0, reset is not None, 0, False, context())
        states = b.lcsm_eos_states(**{n: x.at for n, (_, _, x) in operands.items()}, m0=m0, reset=reset)
        self.kept += [op, states]
        y = self.rows_of(H * D)
        self.add(EOS, y, steps=self.steps, state=64 if self.steps == 1 else None, states=ct.pointer(states))
        self.parts[-1].eos = op._as_parameter_
        return y

    def _layout(self, axes: int, heads: int, x: Rows) -> Any:
        if not axes & b.LCSM_AXIS_T:
            return axes, False, heads, (0, 0, 0)
        return axes, False, heads, (x.row * self.steps, x.row, x.wide // heads)

    # ---- running ----------------------------------------------------------------------------

    def finish(self) -> "Program":
        self.array = (b.lcsm_part * len(self.parts))(*self.parts)
        self.list = [self.array[j] for j in range(len(self.parts))]
        self.context = context()
        size = ct.c_size_t()
        err = b.lcsm_error()
        self._check(lib.lcsm_parts_workspace(self.context._handle, self.array, len(self.parts), ct.byref(size), ct.byref(err)), err)
        self.room = self.arena.take(size.value // 4 + 1)
        self.error = err
        self.arguments = (self.context._handle, self.array, len(self.parts), self.room, ct.byref(err))
        return self

    def of_kind(self, kind: int) -> Any:
        return next(x for x in self.list if x.kind == kind)

    @staticmethod
    def _check(status: int, err: Any) -> None:
        if status != b.LCSM_OK:
            raise failure(status, err.text.decode(errors="replace"))

    def run(self) -> None:
        self._check(lib.lcsm_parts_run(*self.arguments), self.error)
