"""Training, evaluation, experiments and reports; the method table and descriptions of models."""

from __future__ import annotations

import ctypes as ct
import json
import math
import os
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, Sequence

from . import _binding as b
from ._figure import Figure, curve
from ._library import (ArgumentError, Callbacks, call, encode, lib, make, paths_of, program,
                       sized, text_list)
from ._model import Context, Model, _libc, context, load
from ._settings import Settings, build, is_run, name_model, put
from ._table import Table, html_table, table

# ---- the method table -----------------------------------------------------------------------

_METHOD = ("name", "family", "input", "expand", "oscillation", "shrink", "psi", "memory", "bare", "year",
           "reference")


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def methods(pandas: Optional[bool] = None) -> Any:
    """The method table: a DataFrame where pandas is installed, otherwise a ``Table``."""
    rows, info = [], sized(b.lcsm_method_info)
    for row in range(lib.lcsm_method_count()):
        call("lcsm_method_at", row, ct.byref(info))
        rows.append([_plain(getattr(info, name)) for name in _METHOD])
    return table(_METHOD, rows, pandas=pandas)


def codes(pandas: Optional[bool] = None) -> Any:
    """The oscillation table of the codes ``e-o-s-a``."""
    rows, info = [], sized(b.lcsm_code_info)
    for row in range(lib.lcsm_code_count()):
        call("lcsm_code_at", row, ct.byref(info))
        rows.append([info.code, _plain(info.notation), _plain(info.construction)])
    return table(["code", "notation", "construction"], rows, pandas=pandas)


@dataclass
class Description:
    """What one model is: equations, states, parameters, memory and cost."""

    name: str
    equations: str
    parameters: int
    memory_floats: int
    flops_per_token: float
    decode_flops_per_token: float
    form: str
    reason: str
    states: Table
    parameter_list: Table
    facts: dict[str, dict[str, str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [self.name, *("  " + line for line in self.equations.splitlines()), "", repr(self.states), "",
                 f"parameters  {self.parameters}", f"memory      {self.memory_floats} floats per sequence",
                 f"training    {self.flops_per_token:.4g} flops per token",
                 f"decoding    {self.decode_flops_per_token:.4g} flops per token",
                 f"form        {self.form}: {self.reason}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = [["parameters", self.parameters], ["memory, floats per sequence", self.memory_floats],
                 ["training, flops per token", self.flops_per_token],
                 ["decoding, flops per token", self.decode_flops_per_token], ["form", self.form]]
        facts += [[name, value] for section in self.facts.values() for name, value in section.items()]
        return (html_table([self.name, ""], facts) + html_table(["equations"], [[e] for e in self.equations.splitlines()])
                + self.states._repr_html_())


def describe(name: Any, length: int = 512, size: Optional[str] = None, recipe: Optional[str] = None,
             **keys: Any) -> Description:
    """One model before it is trained, or the model of a run folder.

    :param name: a method, a code, a pattern of layers, or a run folder
    :param length: sequence length for which the training cost is counted
    :param size: 1m 3m 10m 30m 50m 100m 300m 1b
    """
    facts: dict[str, dict[str, str]] = {}
    if isinstance(name, os.PathLike) or is_run(name):
        model, callbacks = Settings("model"), Callbacks()
        call("lcsm_run_settings", encode(name), model._handle, None)

        def fact(_user: Any, section: bytes, key: bytes, value: bytes) -> None:
            facts.setdefault(section.decode(), {})[key.decode()] = value.decode(errors="replace")
        call("lcsm_run_facts", encode(name), callbacks.wrap(b.lcsm_run_fact_fn, fact), None)
        callbacks.reraise()
    else:
        model, _ = build(keys, str(name), recipe)
    if size is not None:
        call("lcsm_model_config_size", model._handle, context()._handle, size.encode())
    about, rows = sized(b.lcsm_model_summary), []

    def parameter(_user: Any, row: Any) -> None:
        p = row.contents
        rows.append([_plain(p.name), _plain(p.shape), p.count, p.frozen])
    callbacks = Callbacks()
    call("lcsm_model_describe", context()._handle, model._handle, length, ct.byref(about),
         callbacks.wrap(b.lcsm_parameter_fn, parameter), None)
    callbacks.reraise()
    states = [[_plain(getattr(s, k)) for k in ("name", "shape", "from", "meaning")]
              for s in about.states[:about.state_count]]
    return Description(str(name), _plain(about.equations), about.parameters + about.reference_frozen,
                       about.memory_floats, about.train_flops, about.decode_flops, _plain(about.form),
                       _plain(about.reason), Table(["name", "shape", "from", "meaning"], states),
                       Table(["name", "shape", "count", "frozen"], rows), facts)


# ---- training -------------------------------------------------------------------------------

@dataclass
class Progress:
    """What a progress callback gets: the kind of event, and the numbers at that time."""

    kind: str  # "start", "update", "eval", "save", "note" or "end"
    text: str
    step: int
    loss: float
    lr: float
    grad_norm: float
    accuracy: float
    split: str
    seconds: float
    tokens_per_second: float
    left: float
    best: bool
    log: bool
    bits_per_byte: float


_KINDS = ("start", "update", "eval", "save", "note", "end")


def _progress(event: b.lcsm_train_event) -> Progress:
    update, nan = event.update.contents if event.update else None, math.nan
    evaluated = event.kind == b.LCSM_TRAIN_EVAL and event.tally.count > 0
    return Progress(
        kind=_KINDS[event.kind], text=_plain(event.text) or "", step=update.step if update else 0,
        loss=event.tally.loss / event.tally.count if evaluated else update.loss if update else nan,
        lr=update.lr if update else nan, grad_norm=update.grad_norm if update else nan,
        accuracy=event.tally.right / event.tally.count if evaluated else update.accuracy if update else nan,
        split=_plain(event.split) or "", seconds=event.seconds, tokens_per_second=event.tokens_per_second,
        left=event.left, best=event.best, log=event.log, bits_per_byte=event.bits_per_byte)


@dataclass
class Run:
    """A finished or stopped training run; its folder has everything."""

    folder: pathlib.Path
    steps: int
    tokens: int
    seconds: float
    loss: float
    best_loss: float
    best_accuracy: float
    test_loss: float
    tokens_per_second: float
    reason: str
    stopped: bool

    def load(self, **options: Any) -> Model:
        """The best model of the run."""
        return load(self.folder, **options)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        path = self.folder / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def figure(self) -> Figure:
        """The loss of training and of evaluations, by step."""
        series: dict[str, list[tuple[float, float]]] = {}
        for row in self.metrics():
            if "loss" in row and "step" in row:
                series.setdefault(row.get("split") or row.get("kind") or "train", []).append((row["step"], row["loss"]))
        return curve(series, "step", "loss")

    def _repr_html_(self) -> str:
        rows = [[k, getattr(self, k)] for k in self.__dataclass_fields__ if k != "folder"]
        return html_table([str(self.folder), ""], rows) + self.figure()._repr_html_()


def train(data: Any = None, out: Any = None, model: Optional[str] = None, *, valid: Any = None,
          test: Any = None, tokenizer: Any = None, recipe: Optional[str] = None, config: Any = None,
          cache: Any = None, resume: bool = False, init: Any = None, size: Optional[str] = None,
          progress: Optional[Callable[[Progress], Any]] = None,
          threads: Optional[int] = None, **keys: Any) -> Run:
    """Trains a model into a run folder. Any setting of ``lcsm.settings()`` may be given by its name.

    Ctrl-C, or a progress callback that returns False, writes a checkpoint and stops;
    ``resume=True`` continues. KeyboardInterrupt is raised after the checkpoint is on the disk.

    :param data: text files and folders; none for ``task="mqar"``
    :param out: the run folder
    :param model: a method, a code, or a pattern of layers
    :param tokenizer: tokenizer.json or its folder; None: every byte is a token
    :param init: a folder with a trained or imported model whose weights, settings and tokenizer the
        run begins with
    :param progress: called with a ``Progress`` after every step and evaluation
    """
    if out is None:
        raise ArgumentError("no run folder: pass out=FOLDER")
    ctx = context() if threads is None else Context(threads)
    if resume:
        own, trained = Settings("model"), Settings("train")
        call("lcsm_run_settings", encode(out), own._handle, trained._handle)
        if model is not None:
            name_model(own, model)
        for key, value in keys.items():
            put(own, trained, key, value)
    else:
        own, trained = build(keys, model, recipe, config, init)
    if size is not None:
        call("lcsm_model_config_size", own._handle, ctx._handle, size.encode())
    lists = {name: paths_of(value) for name, value in (("data", data), ("valid", valid), ("test", test))}
    job = sized(b.lcsm_train_job, model=own._handle._as_parameter_, train=trained._handle._as_parameter_,
                tokenizer=encode(tokenizer), cache=encode(cache), out=encode(out), resume=resume,
                init=encode(init),
                **{name: text_list(paths) for name, paths in lists.items()},
                **{name + "_count": len(paths) for name, paths in lists.items()})
    return _train(ctx, job, out, progress)


def _train(ctx: Context, job: Any, out: Any, progress: Optional[Callable[[Progress], Any]]) -> Run:
    callbacks, asked = Callbacks(), []

    def event(_user: Any, pointer: Any) -> None:
        if progress is not None and progress(_progress(pointer.contents)) is False:
            asked.append(True)

    fields = dict(b.lcsm_train_hooks._fields_)
    hooks = sized(b.lcsm_train_hooks, event=callbacks.wrap(fields["event"], event),
                  stop=callbacks.wrap(fields["stop"], lambda _user: bool(asked), True))
    result = sized(b.lcsm_train_result)
    with callbacks.interruptible():
        call("lcsm_train", ctx._handle, ct.byref(job), ct.byref(hooks), ct.byref(result))
    callbacks.reraise()
    return Run(pathlib.Path(out), result.steps, result.tokens, result.seconds, result.loss, result.best_loss,
               result.best_accuracy, result.test_loss, result.tokens_per_second, _plain(result.reason),
               result.stopped)


# ---- evaluation -----------------------------------------------------------------------------

@dataclass
class Evaluation:
    """How well a model predicts a text; losses in nats."""

    loss: float
    perplexity: float
    word_perplexity: float
    bits_per_byte: float
    accuracy: float
    tokens: int
    blocks: int
    length: int
    seconds: float
    curve: Table

    def _repr_html_(self) -> str:
        return html_table(["", ""], [[k, getattr(self, k)] for k in self.__dataclass_fields__ if k != "curve"])


_ENDS = ("never", "file", "line")


def evaluate(model: Any, data: Any = None, *, length: int = 0, batch: int = 0, carried: bool = False,
             blocks: int = 0, ends: str = "auto",
             progress: Optional[Callable[[int, int], Any]] = None) -> Any:
    """A model or run folder on text; without data, a recall model on the examples of its run.

    :param length: tokens of a block; 0: that of training, or 512
    :param carried: carry the memory from block to block
    :param ends: where end-of-text tokens are put: "never", "file", "line" or "auto"
    :param progress: called with the batches done and in all; False stops
    """
    if not isinstance(model, Model):
        model = load(model)
    if data is None:
        return _recall(model)
    if ends not in (*_ENDS, "auto"):
        raise ArgumentError(f"ends is '{ends}'; expected never, file, line or auto")
    where = ("line" if model._lines else "never") if ends == "auto" else ends
    tokenizer, paths = model.tokenizer, paths_of(data)
    options = sized(b.lcsm_dataset_options, ends=_ENDS.index(where))
    dataset = make("lcsm_dataset_open", "lcsm_dataset_free", text_list(paths), len(paths), tokenizer._handle,
                   ct.byref(options), b.lcsm_dataset_progress(), None, needs=[tokenizer])
    steps = length or model._length or 512
    how = sized(b.lcsm_evaluate_options, length=steps, batch=batch, carried=carried, max_blocks=blocks)
    callbacks, r = Callbacks(), sized(b.lcsm_evaluation)

    def told(_user: Any, done: int, total: int) -> bool:
        return progress is None or progress(done, total) is not False
    with callbacks.interruptible():
        call("lcsm_evaluate", model._handle, dataset, ct.byref(how), ct.byref(r),
             callbacks.wrap(b.lcsm_evaluate_progress, told, False), None)
    callbacks.reraise()
    points = Table(["from", "to", "loss"], [[getattr(p, "from"), p.to, p.loss] for p in r.curve[:r.points]])
    return Evaluation(r.loss, r.perplexity, r.word_perplexity, r.bits_per_byte, r.accuracy, r.tokens, r.blocks,
                      steps, r.seconds, points)


def _recall(model: Model) -> dict[str, float]:
    if model.folder is None:
        raise ArgumentError("no data: pass data=FILE or data=FOLDER")
    trained, sums = Settings("train"), b.lcsm_tally()
    call("lcsm_run_settings", encode(model.folder), None, trained._handle)
    if trained["task"] != "mqar":
        raise ArgumentError(f"no data: pass data=FILE or data=FOLDER; {model.folder} was trained on text")
    call("lcsm_evaluate_recall", model._handle, trained._handle, ct.byref(sums))
    return {"loss": sums.loss / sums.count, "accuracy": sums.right / sums.count, "queries": sums.count}


def inspect(run: Any, data: Any = None, tokens: int = 0, save: bool = False) -> Mapping[str, Any]:
    """What a trained model remembers: half-lives, gates, influence of past tokens (docs/formats.md)."""
    paths, text = paths_of(data), ct.c_void_p()
    options = sized(b.lcsm_inspect_options, run=encode(run), data=text_list(paths), data_count=len(paths),
                    tokens=tokens, save=save)
    call("lcsm_inspect", context()._handle, ct.byref(options), ct.byref(text))
    try:
        return json.loads(ct.string_at(text.value))
    finally:
        _libc.free(text)


# ---- experiments and reports ----------------------------------------------------------------

def experiments(pandas: Optional[bool] = None) -> Any:
    """The experiments that come with the library, as a table."""
    rows, callbacks = [], Callbacks()
    kind = b.FUNCTIONS["lcsm_experiment_list"][1][0]

    def each(_user: Any, pointer: Any) -> None:
        i = pointer.contents
        rows.append([_plain(i.name), _plain(i.task), i.variants, *i.runs, _plain(i.title), _plain(i.about)])
    call("lcsm_experiment_list", callbacks.wrap(kind, each), None)
    callbacks.reraise()
    return table(["name", "task", "variants", "tiny", "small", "paper", "title", "about"], rows, pandas=pandas)


@dataclass
class Experiment:
    """A grid of runs: how many there are, how many are done; its folder has all of them."""

    folder: pathlib.Path
    runs: int
    done: int
    failed: int
    stopped: bool

    def report(self, **options: Any) -> "Report":
        """Tables and figures of the runs."""
        return report(self.folder, **options)

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def experiment(name: Any, out: Any, scale: str = "tiny", *, data: Any = None, valid: Any = None, test: Any = None,
               tokenizer: Any = None, lr: Sequence[float] = (), seeds: int = 0, jobs: int = 0,
               only: Optional[str] = None, reading: Optional[str] = None,
               progress: Optional[Callable[[Mapping[str, Any]], Any]] = None) -> Experiment:
    """Runs an experiment into a folder; what is done is not done again.

    Ctrl-C, or a progress callback that returns False, stops the runs, which save.

    :param name: of ``lcsm.experiments()``, or a folder with a grid.json
    :param scale: "tiny", "small" or "paper"
    :param only: variants, separated by commas
    """
    callbacks, asked = Callbacks(), []
    kinds = ("plan", "start", "wait", "end", "note")

    def event(_user: Any, pointer: Any) -> None:
        e = pointer.contents
        seen = {k: _plain(getattr(e, k)) for k, _ in e._fields_}
        seen["kind"] = kinds[e.kind]
        if progress is not None and progress(seen) is False:
            asked.append(True)

    fields = dict(b.lcsm_experiment_hooks._fields_)
    hooks = sized(b.lcsm_experiment_hooks, event=callbacks.wrap(fields["event"], event),
                                    stop=callbacks.wrap(fields["stop"], lambda _user: bool(asked), True))
    lists = {key: paths_of(value) for key, value in (("data", data), ("valid", valid), ("test", test))}
    rates = (ct.c_double * len(lr))(*lr)
    options = sized(
        b.lcsm_experiment_options, name=encode(name), scale=scale.encode(), out=encode(out),
        tokenizer=encode(tokenizer),
        lr=ct.addressof(rates) if lr else None, lr_count=len(lr), seeds=seeds, jobs=jobs,
        only=encode(only), program=program().encode(), reading=encode(reading),
        **{key: text_list(paths) for key, paths in lists.items()},
        **{key + "_count": len(paths) for key, paths in lists.items()})
    result = sized(b.lcsm_experiment_result)
    with callbacks.interruptible():
        call("lcsm_experiment_run", context()._handle, ct.byref(options), ct.byref(hooks), ct.byref(result))
    callbacks.reraise()
    return Experiment(pathlib.Path(out), result.runs, result.done, result.failed, result.stopped)


@dataclass
class Report:
    """Run folders as tables and figures: ``text`` and ``markdown``, ``html`` a whole page, ``figures`` by name."""

    experiments: int
    runs: int
    done: int
    failed: int
    missing: int
    text: str
    markdown: str
    html: str
    csv: str
    figures: dict[str, Figure]
    notes: list[str]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html as escaper
        page = escaper.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0" title="report"></iframe>'


def report(folders: Any, out: Any = None, *, markdown: Any = None, csv: Any = None, svg: Any = None,
           title: Optional[str] = None) -> Report:
    """Tables and figures from run folders and experiments.

    :param out: also write the HTML page to this file; ``markdown``, ``csv`` and ``svg`` likewise
    """
    paths, callbacks = paths_of(folders), Callbacks()
    lines: list[str] = []
    notes: list[str] = []
    fields = dict(b.lcsm_report_options._fields_)
    with tempfile.TemporaryDirectory(prefix="lcsm-report-") as place:
        files = {name: os.fspath(given) if given is not None else os.path.join(place, name)
                 for name, given in (("html", out), ("markdown", markdown), ("csv", csv), ("svg", svg))}
        options = sized(
            b.lcsm_report_options, folders=text_list(paths), count=len(paths), title=encode(title),
            text=callbacks.wrap(fields["text"], lambda _user, text: lines.append(_plain(text))),
            note=callbacks.wrap(fields["note"], lambda _user, text: notes.append(_plain(text))),
            **{name: os.fsencode(path) for name, path in files.items()})
        summary = sized(b.lcsm_report_summary)
        call("lcsm_report_write", ct.byref(options), ct.byref(summary))
        callbacks.reraise()
        read = {name: pathlib.Path(files[name]).read_text() for name in ("html", "markdown", "csv")}
        figures = {p.stem: Figure(p.read_text()) for p in sorted(pathlib.Path(files["svg"]).glob("*.svg"))}
    s = summary
    return Report(s.experiments, s.runs, s.done, s.failed, s.missing, "".join(lines), read["markdown"],
                  read["html"], read["csv"], figures, notes)


def import_model(source: Any, out: Any, *, allow_nonfinite: bool = False, ignore_extra: bool = False,
                 rwkv_rescaled: bool = False) -> Model:
    """Converts a released checkpoint into a run folder and loads it."""
    options = sized(b.lcsm_import_options, allow_nonfinite=allow_nonfinite, ignore_extra=ignore_extra,
                    rwkv_rescaled=rwkv_rescaled)
    call("lcsm_import", context()._handle, encode(source), encode(out), ct.byref(options), None)
    return load(out)
