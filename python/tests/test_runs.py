"""Training, evaluation, experiments, reports and tables from Python."""

import json
import os
import signal
import sys
import threading

import pytest

import lcsm

SMALL = dict(d_model=16, layers=1, heads=2, seq_len=32, batch_size=2)


def test_training_tells_its_progress(run, book, tmp_path):
    events = []
    lcsm.train(book, tmp_path / "r", "retnet", steps=7, progress=events.append, **SMALL)
    assert [e.step for e in events if e.kind == "update"] == list(range(1, 8))
    assert {"start", "update", "eval", "end"} <= {e.kind for e in events}
    assert run.steps == 60 and run.loss < 2 and run.reason == "steps" and not run.stopped
    assert "<svg" in run._repr_html_() and run.metrics()[0]["step"] == 1


def test_a_callback_may_stop_a_run_which_resumes(book, tmp_path):
    run = lcsm.train(book, tmp_path / "r", "gla", steps=20, progress=lambda e: e.step < 5, **SMALL)
    assert run.stopped and run.steps == 5
    assert lcsm.train(out=tmp_path / "r", resume=True).steps == 20


def test_an_exception_in_a_callback_stops_and_is_raised(book, tmp_path):
    def fail(event):
        if event.kind == "update" and event.step == 3:
            raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        lcsm.train(book, tmp_path / "r", "gla", steps=10 ** 6, progress=fail, **SMALL)
    assert lcsm.train(out=tmp_path / "r", resume=True, steps=5).steps == 5


def test_ctrl_c_saves_and_raises(book, tmp_path):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        lcsm.train(book, tmp_path / "r", "gla", steps=10 ** 7, **SMALL)
    assert (tmp_path / "r" / "checkpoints").is_dir()


def test_evaluation_of_text_and_of_recall(run, book, tmp_path):
    r = lcsm.evaluate(run.folder, book, blocks=4)
    assert r.tokens == 4 * 64 and 0 < r.loss < 2 and "<table>" in r._repr_html_()
    recall = lcsm.train(out=tmp_path / "q", model="1-1-1-0", task="mqar", steps=3, seq_len=32, pairs=2,
                        batch_size=4, d_model=16, layers=1, heads=1, test_examples=8)
    assert 0 <= lcsm.evaluate(recall.folder)["accuracy"] <= 1
    with pytest.raises(lcsm.ArgumentError, match="pass data="):
        lcsm.evaluate(run.folder)


def test_a_stopped_evaluation_is_that_of_the_batches_so_far(run, book):
    calls = []
    r = lcsm.evaluate(run.folder, book, length=16, batch=1, progress=lambda done, total: calls.append(done) or False)
    assert len(calls) == 1 and r.blocks < 10


def test_methods_and_settings_are_tables(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    table = lcsm.methods()
    assert {"gla", "mamba", "retnet"} <= set(table["name"]) and len(table) == len(list(table))
    assert table[0]["name"] == "s4" and "<td>gla</td>" in table._repr_html_() and "gla" in repr(table)
    assert lcsm.methods(pandas=False)[1:3].columns[0] == "name"
    assert len(lcsm.codes()) > 5 and "d_model" in lcsm.settings("model")["name"]
    with pytest.raises(ImportError):
        lcsm.methods(pandas=True)


def test_methods_are_a_frame_where_pandas_is():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert isinstance(lcsm.methods(), pandas.DataFrame)


def test_html_is_escaped():
    assert "<b>" not in lcsm.Table(["<b>"], [["<b>"]], "<b>")._repr_html_()


def test_descriptions(run):
    about = lcsm.describe("1-9-1-4", d_model=64, layers=2)
    assert about.parameters == sum(about.parameter_list["count"]) and "m_t" in about.equations
    assert "<table>" in about._repr_html_() and "states" not in about.facts
    assert lcsm.describe(run.folder).facts["training"]
    assert lcsm.describe("mamba", size="3m").parameters > 2e6


def test_reports_and_inspection(run, tmp_path):
    report = lcsm.report(run.folder, tmp_path / "r.html")
    assert report.runs == 1 and "gla" in str(report) and (tmp_path / "r.html").read_text() == report.html
    assert "<svg" in next(iter(report.figures.values()))._repr_html_() and "<iframe" in report._repr_html_()
    assert lcsm.inspect(run.folder, tokens=64)["layers"]


def test_experiments_run_and_report(tmp_path):
    if not os.path.exists(lcsm.program()):
        pytest.skip("the program lcsm is not beside the package")
    grid = {e["name"]: e for e in lcsm.experiments(pandas=False)}
    assert grid["tau-mqar"]["tiny"] > 0
    seen = []

    def stop_at_once(event):
        seen.append(event["kind"])
        return event["kind"] == "plan"
    result = lcsm.experiment("tau-mqar", tmp_path / "x", progress=stop_at_once)
    assert seen[0] == "plan" and result.stopped and result.runs == grid["tau-mqar"]["tiny"]
    assert result.report().runs == result.runs


def test_a_run_begins_with_the_weights_of_another(book, tmp_path):
    small = {"batch_size": 4, "seq_len": 32, "threads": 1}
    lcsm.train(book, tmp_path / "base", layers=1, d_model=16, steps=2, **small)
    run = lcsm.train(book, tmp_path / "tuned", init=tmp_path / "base", steps=1, **small)
    assert run.steps == 1 and json.loads((tmp_path / "tuned/config.json").read_text())["d_model"] == 16
    with pytest.raises(lcsm.ConfigError, match="d_model is 32"):
        lcsm.train(book, tmp_path / "no", init=tmp_path / "base", d_model=32, **small)
