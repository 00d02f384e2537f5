"""Every example runs from beginning to end."""

import os
import pathlib
import subprocess
import sys

import pytest

import lcsm

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def start(name, *arguments, cwd):
    path = os.pathsep.join([str(pathlib.Path(lcsm.__file__).parent.parent), *sys.path])
    where = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}  # threads of torch spin while others work
    return subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], cwd=cwd, env=where, text=True,
                          stdout=subprocess.PIPE, check=True, timeout=300).stdout


def test_train_in_ten_lines(book, tmp_path):
    assert "tokens per second" in start("train_in_ten_lines.py", book, 20, cwd=tmp_path)
    assert (tmp_path / "runs" / "book" / "model.safetensors").exists()


def test_compare_methods(book, tmp_path):
    out = start("compare_methods.py", book, 3, cwd=tmp_path)
    assert "gated-deltanet" in out and "<html" in (tmp_path / "compare.html").read_text()


def test_streaming(run, tmp_path):
    out = start("streaming.py", run.folder, cwd=tmp_path)
    assert "64 tokens read" in out and "back at token 64" in out


def test_torch_module(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    losses = [float(line.split()[-1]) for line in start("torch_module.py", cwd=tmp_path).splitlines()]
    assert losses[-1] < losses[0] / 1.3


def test_classifier(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    assert float(start("classifier.py", cwd=tmp_path).split()[-1]) > 0.9


def test_every_example_has_a_test():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == {"train_in_ten_lines", "compare_methods", "streaming", "torch_module", "classifier"}
