"""The EOS operator as a PyTorch operator with gradients: lcsm::eos and its backward.

Operands go to the library where they lie: a tensor whose innermost axes are packed is passed by its
strides, any other one is copied first. Gradients come back in the layout of their operands.
"""

from __future__ import annotations

import ctypes as ct
import functools
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .. import _binding as b
from .._library import ArgumentError, call, lib, make, sized
from .._model import context

T, K, D, KK = b.LCSM_AXIS_T, b.LCSM_AXIS_K, b.LCSM_AXIS_D, b.LCSM_AXIS_KK

#: The operands in the order of lcsm_eos_desc, and which axes a number of dimensions means.
OPERANDS = ("i", "e", "s", "row", "col", "full", "row_phase", "col_phase", "full_phase", "u", "w", "dense",
            "erase", "a", "b", "bonus")
_ROW = {4: T | K, 3: T, 2: K, 1: 0}
_COL = {4: T | D, 2: D}
_FULL = {5: T | K | D, 3: K | D}
_KEY = {4: T | K, 2: K, 3: K | D}
AXES = {"i": {4: T | D}, "e": _KEY, "s": _KEY, "row": _ROW, "col": _COL, "full": _FULL, "row_phase": _ROW,
        "col_phase": _COL, "full_phase": _FULL, "dense": {5: T | KK, 3: KK}, "erase": {4: T | K},
        "a": {5: T | K, 3: K}, "b": {5: T | K, 3: K}, "bonus": {2: K, 1: 0}}
GENERATORS = {None: b.LCSM_GEN_NONE, "exp": b.LCSM_GEN_EXP, "gate": b.LCSM_GEN_GATE,
              "complement": b.LCSM_GEN_COMPLEMENT}
FORMS = {"auto": 0, "recurrent": 1, "chunked": 2, "scan": 3, "convolution": 4, "delta": 5}
REVERSE, READ_BEFORE, COMPLEX_Y, KEEP, FINAL = 1, 2, 4, 8, 16


# ---- layouts --------------------------------------------------------------------------------

def _fits(x: Tensor, outer: int) -> bool:
    """Whether the library can take a tensor where it lies: packed inside, no two elements in one
    place."""
    need, rest = 1, list(zip(x.shape, x.stride()))
    for size, stride in reversed(rest[outer:]):
        if size > 1 and stride != need:
            return False
        need *= size
    for stride, size in sorted((stride, size) for size, stride in rest[:outer] if size > 1):
        if stride < need:
            return False
        need = stride * (size - 1) + need
    return True


def _outer(axes: int) -> int:
    """Dimensions before the packed ones: B T H, or H."""
    return 3 if axes & T else 1


def _span(x: Tensor) -> int:
    """Numbers from the first to the last element."""
    return 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride())) if x.numel() else 0


def _layout(x: Optional[Tensor], axes: int) -> Any:
    """(axes, complex, heads, strides over B, T, H) of an operand, hashable."""
    if x is None:
        return None
    width, outer = (2 if x.is_complex() else 1), _outer(axes)
    strides = [0, 0, 0]
    if not x.is_contiguous():
        given = [s * width if n > 1 else 0 for n, s in zip(x.shape[:outer], x.stride()[:outer])]
        strides[3 - outer:] = given
        # a stride of a single step or sequence is any; one that is 0 would be computed from the others
        if outer == 3:
            strides = _whole_strides(x, given)
    return axes, x.is_complex(), int(x.shape[outer - 1]), tuple(int(s) for s in strides)


def _whole_strides(x: Tensor, given: Sequence[int]) -> List[int]:
    """Strides over B, T and H; those of axes with one element lie behind all others."""
    behind = _span(x) * (2 if x.is_complex() else 1)
    return [s if s else behind for s in given]


@functools.lru_cache(maxsize=512)
def _plan(sizes: Tuple[int, ...], layouts: Tuple[Any, ...], gen: int, tau: float, scale: float, flags: int,
          form: int, chunk: int, resets: bool, rank: int, double: bool, ctx: Any) -> Any:
    desc = sized(b.lcsm_eos_desc)
    lib.lcsm_eos_desc_init(ct.byref(desc), *sizes)
    for name, layout in zip(OPERANDS, layouts):
        if layout is None:
            continue
        axes, is_complex, heads, strides = layout
        setattr(desc, name, b.lcsm_eos_operand(True, is_complex, axes, *strides))
        setattr(desc.heads, name, heads)
    desc.gen, desc.tau, desc.scale, desc.form, desc.chunk, desc.rank = gen, tau, scale, form, chunk, rank
    desc.reverse, desc.resets, desc.double_precision = bool(flags & REVERSE), resets, double
    desc.read_before, desc.complex_y = bool(flags & READ_BEFORE), bool(flags & COMPLEX_Y)
    op = make("lcsm_eos_create", "lcsm_eos_free", ctx._handle, ct.byref(desc), needs=[ctx._handle])
    op.bytes = {"forward": lib.lcsm_eos_forward_workspace(op), "backward": lib.lcsm_eos_backward_workspace(op),
                "tape": lib.lcsm_eos_tape(op)}
    op.is_complex = bool(lib.lcsm_eos_is_complex(op))
    op.form = lib.lcsm_eos_form_name(lib.lcsm_eos_chosen_form(op)).decode()
    op.reason = lib.lcsm_eos_reason(op).decode()
    return op


class _Problem:
    """The operands of one call, ready for the library."""

    def __init__(self, operands: Sequence[Optional[Tensor]], m0: Optional[Tensor], reset: Optional[Tensor],
                 config: Sequence[int], tau: float, scale: float, packed_for: Sequence[bool] = ()):
        heads, u_axes, w_axes, gen, flags, form, chunk = config
        self.operands, self.flags = list(operands), flags
        i, e = operands[0], operands[1]
        axes = [(u_axes if n == "u" else w_axes if n == "w" else AXES[n][x.dim()]) if x is not None else 0
                for n, x in zip(OPERANDS, operands)]
        for j, x in enumerate(operands):
            if x is None:
                continue
            loose = j < len(packed_for) and packed_for[j] and _span(x) > 2 * x.numel()
            if loose or not _fits(x, _outer(axes[j])):
                self.operands[j] = x.contiguous()
        rows = e.shape[-2] if axes[1] & D else e.shape[-1]
        self.sizes = (i.shape[0], i.shape[1], heads, rows, i.shape[-1])
        a = operands[OPERANDS.index("a")]
        self.double = _real(i.dtype) == torch.float64
        self.m0, self.reset = m0, reset
        sizes = tuple(int(n) for n in self.sizes)
        layouts = tuple(_layout(x, k) for x, k in zip(self.operands, axes))
        self.plan = _plan(sizes, layouts, gen, tau, scale, flags & 7, form, chunk, reset is not None,
                          0 if a is None else int(a.shape[-2]), self.double, context())
        self.dtype = torch.float64 if self.double else torch.float32

    def memory(self) -> Tuple[int, ...]:
        B, _, H, rows, cols = self.sizes
        return (B, H, rows, cols)

    def number(self, is_complex: bool) -> torch.dtype:
        return self.dtype.to_complex() if is_complex else self.dtype

    def states(self) -> Any:
        kind = b.lcsm_eos_states_double if self.double else b.lcsm_eos_states
        x = kind(**{n: t.data_ptr() for n, t in zip(OPERANDS, self.operands) if t is not None})
        if self.m0 is not None:
            x.m0 = self.m0.data_ptr()
        if self.reset is not None:
            x.reset = self.reset.data_ptr()
        return x


def _real(dtype: torch.dtype) -> torch.dtype:
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def _room(size: int) -> Tensor:
    return torch.empty(size, dtype=torch.uint8)


# ---- the operators --------------------------------------------------------------------------

_OPERAND_ARGUMENTS = ", ".join(f"Tensor{'' if n in 'ies' else '?'} {n}" for n in OPERANDS)
_ARGUMENTS = f"{_OPERAND_ARGUMENTS}, Tensor? m0, Tensor? reset, int[] config, float tau, float scale"

torch.library.define("lcsm::eos", f"({_ARGUMENTS}) -> (Tensor, Tensor, Tensor)")
torch.library.define("lcsm::eos_backward", f"({_ARGUMENTS}, Tensor y, Tensor tape, Tensor? g_y, Tensor? g_m, "
                                           "bool[] needs) -> Tensor[]")
_N = len(OPERANDS)


def _problem(arguments: Sequence[Any], packed_for: Sequence[bool] = ()) -> _Problem:
    return _Problem(arguments[:_N], *arguments[_N:_N + 5], packed_for)


def _outputs(p: _Problem) -> Tuple[Tensor, Tensor, Tensor]:
    """Empty y, m_T and tape; what is not wanted has no elements."""
    like = p.operands[0]
    B, steps, H, _, cols = p.sizes
    y = like.new_empty((B, steps, H, cols), dtype=p.number(bool(p.flags & COMPLEX_Y)))
    m = like.new_empty(p.memory() if p.flags & FINAL else (0,), dtype=p.number(p.plan.is_complex))
    tape = like.new_empty((p.plan.bytes["tape"] if p.flags & KEEP else 0,), dtype=torch.uint8)
    return y, m, tape


@torch.library.register_fake("lcsm::eos")
def _eos_fake(*arguments: Any) -> Tuple[Tensor, Tensor, Tensor]:
    return _outputs(_problem(arguments))


@torch.library.impl("lcsm::eos", "cpu")
def _eos_cpu(*arguments: Any) -> Tuple[Tensor, Tensor, Tensor]:
    p = _problem(arguments)
    y, m, tape = _outputs(p)
    work = _room(p.plan.bytes["forward"])
    call("lcsm_eos_forward" + "_double" * p.double, p.plan, ct.byref(p.states()), y.data_ptr(),
         m.data_ptr() if p.flags & FINAL else None, tape.data_ptr() if p.flags & KEEP else None, work.data_ptr())
    return y, m, tape


def _gradient(x: Tensor) -> Tensor:
    """Zeros in the layout of an operand."""
    if x.is_contiguous():
        return torch.zeros_like(x, memory_format=torch.contiguous_format)
    return x.new_zeros(_span(x)).as_strided(x.shape, x.stride())


def _wanted(p: _Problem, needs: Sequence[bool]) -> List[Tensor]:
    given = [*p.operands, p.m0]
    return [_gradient(x) if need and x is not None else p.operands[0].new_empty(0) for x, need in zip(given, needs)]


@torch.library.register_fake("lcsm::eos_backward")
def _backward_fake(*arguments: Any) -> List[Tensor]:
    needs = arguments[-1]
    return _wanted(_problem(arguments, needs), needs)


@torch.library.impl("lcsm::eos_backward", "cpu")
def _backward_cpu(*arguments: Any) -> List[Tensor]:
    y, tape, g_y, g_m, needs = arguments[_N + 5:]
    p = _problem(arguments, needs)
    gradients = _wanted(p, needs)
    kind = b.lcsm_eos_grads_double if p.double else b.lcsm_eos_grads
    g = kind(**{n: t.data_ptr() for n, t, need in zip((*OPERANDS, "m0"), gradients, needs) if need})
    g_y = torch.zeros_like(y) if g_y is None else g_y.contiguous()
    g_m = None if g_m is None else g_m.contiguous()
    work = _room(p.plan.bytes["backward"])
    call("lcsm_eos_backward" + "_double" * p.double, p.plan, ct.byref(p.states()), y.data_ptr(), g_y.data_ptr(),
         None if g_m is None else g_m.data_ptr(), ct.byref(g), tape.data_ptr(), work.data_ptr())
    return gradients


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    y, _, tape = output
    ctx.rest = inputs[_N + 2:]
    ctx.save_for_backward(*inputs[:_N + 2], y, tape)


def _backward(ctx: Any, g_y: Any, g_m: Any, _g_tape: Any) -> Any:
    *inputs, y, tape = ctx.saved_tensors
    needs = list(ctx.needs_input_grad[:_N + 1])
    if not ctx.rest[0][4] & FINAL:
        g_m = None
    found = torch.ops.lcsm.eos_backward(*inputs, *ctx.rest, y, tape, g_y, g_m, needs)
    return (*[t if need else None for t, need in zip(found, needs)], None, None, None, None)


torch.library.register_autograd("lcsm::eos", _backward, setup_context=_setup)


# ---- the function ---------------------------------------------------------------------------

def _check(operands: dict, u_axes: int, w_axes: int) -> None:
    for name, x in operands.items():
        if x is None or name in ("u", "w"):
            continue
        if x.dim() not in AXES[name]:
            raise ArgumentError(f"eos: {name} has {x.dim()} dimensions; expected one of {sorted(AXES[name])}")
    for name, x in operands.items():
        if x is not None and x.device.type not in ("cpu", "meta"):
            raise ArgumentError(f"eos: {name} is on {x.device}; expected the CPU")
    sizes: dict = {}
    for name, x in operands.items():
        if x is None:
            continue
        axes = u_axes if name == "u" else w_axes if name == "w" else AXES[name][x.dim()]
        letters = ("BT" if axes & T else "") + "H" + ("R" if name in "ab" and axes & K else "")
        letters += "KK" if axes & KK else ("K" if axes & K else "") + ("D" if axes & D else "")
        if len(letters) != x.dim():
            raise ArgumentError(f"eos: {name} has {x.dim()} dimensions; its axes {letters} are {len(letters)}")
        for letter, size in zip(letters, x.shape):
            if letter != "H" and sizes.setdefault(letter, size) != size:
                raise ArgumentError(f"eos: {name} has the shape {tuple(x.shape)}; expected {letter} = {sizes[letter]}")


_LETTERS = {"T": T, "K": K, "D": D}


def eos(i: Tensor, e: Tensor, s: Tensor, *, row: Optional[Tensor] = None, col: Optional[Tensor] = None,
        full: Optional[Tensor] = None, row_phase: Optional[Tensor] = None, col_phase: Optional[Tensor] = None,
        full_phase: Optional[Tensor] = None, u: Optional[Tensor] = None, w: Optional[Tensor] = None,
        u_axes: str = "TD", w_axes: str = "KD", gen: Optional[str] = None, tau: float = 1.0,
        dense: Optional[Tensor] = None, erase: Optional[Tensor] = None, a: Optional[Tensor] = None,
        b: Optional[Tensor] = None, bonus: Optional[Tensor] = None, m0: Optional[Tensor] = None,
        reset: Optional[Tensor] = None, scale: float = 1.0, heads: Optional[int] = None, reverse: bool = False,
        read_before: bool = False, complex_y: bool = False, final: bool = False, form: str = "auto",
        chunk: int = 0) -> Any:
    """The EOS recurrence with gradients:  m_t = psi(o_t, m_{t-1}) + e_t i_t^T,  y_t = scale m_t^T s_t.

    Shapes, with B T H before the others; what has no B T is shared by all steps and sequences, and every
    operand may have fewer heads, a divisor of H:

    ===================  ==========================================================================
    i                    (B, T, H, D)
    e, s, erase          (B, T, H, K); e and s also (H, K) or (H, K, D)
    row                  log of the decay of a memory row: (B, T, H, K), (B, T, H), (H, K) or (H)
    col, full            log of the decay of a column (B, T, H, D) or (H, D); of each number (..., K, D)
    row_phase, ...       phases; the memory is complex then
    u, w, gen            o = gen(u w): "exp", "gate" (with tau) or "complement"; axes by letters
    a, b                 psi = o * m + sum_r a_r (b_r^T m): (B, T, H, R, K) or (H, R, K)
    dense                psi = O m: (B, T, H, K, K) or (H, K, K)
    bonus                of reading before the step (read_before): (H, K) or (H)
    m0                   (B, H, K, D)
    reset                (B, T), not 0 where a new sequence begins; the same steps with ``reverse``
    ===================  ==========================================================================

    Returns y (B, T, H, D), and with ``final`` also the last memory (B, H, K, D). float32 and float64 are computed
    as they are, half precision in float32. include/lcsm/eos.h has the definition.
    """
    operands = dict(zip(OPERANDS, (i, e, s, row, col, full, row_phase, col_phase, full_phase, u, w, dense, erase,
                                   a, b, bonus)))
    given = i.dtype
    present = [x for x in (*operands.values(), m0) if x is not None]
    real = torch.float64 if any(_real(x.dtype) == torch.float64 for x in present) else torch.float32

    def cast(x: Optional[Tensor]) -> Optional[Tensor]:
        if x is None:
            return None
        want = real.to_complex() if x.is_complex() else real
        return x if x.dtype == want else x.to(want)
    for name in ("a", "b"):
        x = operands[name]
        if x is not None and x.dim() in (2, 4):
            operands[name] = x.unsqueeze(-2)
    operands = {name: cast(x) for name, x in operands.items()}
    axes = [sum(_LETTERS[letter] for letter in text) for text in (u_axes, w_axes)]
    _check(operands, *axes)
    if gen not in GENERATORS or form not in FORMS:
        raise ArgumentError(f"eos: gen is {gen!r} and form {form!r}; expected one of {list(GENERATORS)} and {list(FORMS)}")
    H = heads or max(x.shape[2 if x.dim() == 4 else 0]
                     for n, x in operands.items() if x is not None and n in ("i", "e", "s"))
    is_complex = any(operands[n] is not None for n in ("row_phase", "col_phase", "full_phase")) or any(
        x.is_complex() for x in operands.values() if x is not None)
    if m0 is not None:
        want = (i.shape[0], H, e.shape[-2] if e.dim() == 3 else e.shape[-1], i.shape[-1])
        if tuple(m0.shape) != want:
            raise ArgumentError(f"eos: m0 has the shape {tuple(m0.shape)}; expected {want}")
        m0 = m0.to(real.to_complex() if is_complex else real).contiguous()
    if reset is not None:
        if tuple(reset.shape) != tuple(i.shape[:2]):
            raise ArgumentError(f"eos: reset has the shape {tuple(reset.shape)}; expected {tuple(i.shape[:2])}")
        reset = reset.to(torch.int32).contiguous()
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in present)
    flags = REVERSE * reverse | READ_BEFORE * read_before | COMPLEX_Y * complex_y | KEEP * keep | FINAL * final
    config = [H, *axes, GENERATORS[gen], flags, FORMS[form], chunk]
    y, m, _ = torch.ops.lcsm.eos(*operands.values(), m0, reset, config, tau, float(scale))
    if y.dtype != given and not complex_y:
        y = y.to(_real(given) if given.is_complex else given)
    return (y, m) if final else y
