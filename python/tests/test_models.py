"""Models, sessions, tokenizers and generation from Python."""

import gc
import threading
import time

import numpy as np
import pytest

import lcsm


def test_logits_of_a_whole_sequence_are_those_of_single_steps(model):
    tokens = model.tokenizer.encode("It was the best")
    whole, session = model.logits(tokens), model.session()
    for n, token in enumerate(tokens):
        session.feed([token])
        # float rounding over other cuts of the sequence: logits are of order 10
        np.testing.assert_allclose(session.logits, whole[n], atol=2e-4)
    assert session.position == len(tokens)


def test_a_batch_is_its_sequences(model):
    rows = np.array([[1, 2, 3, 4], [9, 8, 7, 6]])
    both = model.logits(rows)
    assert both.shape == (2, 4, 256) and both.dtype == np.float32
    np.testing.assert_allclose(both[1], model.logits(rows[1]), atol=2e-4)
    session = model.session(batch=2)
    session.feed(rows)
    assert session.logits.shape == (2, 256)


def test_logits_are_a_view_that_outlives_its_session(model):
    session = model.session()
    assert session.logits is None
    session.feed([1, 2])
    view, kept = session.logits, session.logits.copy()
    assert not view.flags.writeable and view.base is not None
    session.rollback(session.mark())
    del session
    gc.collect()
    np.testing.assert_array_equal(view, kept)


def test_state_bytes_clone_and_rollback_continue_bit_identically(model):
    session = model.session()
    session.feed(model.tokenizer.encode("It was"))
    state, mark, clone = session.save(), session.mark(), session.clone()
    session.feed([65, 66])
    after = session.logits.copy()
    for back in (lambda: session.load(state), lambda: session.rollback(mark), lambda: session.rollback(mark)):
        back()
        assert session.position == 6
        session.feed([65, 66])
        np.testing.assert_array_equal(session.logits, after)
    clone.feed([65, 66])
    np.testing.assert_array_equal(clone.logits, after)
    session.reset()
    assert session.position == 0 and session.logits is None


def test_a_session_goes_back_by_tokens(model):
    session, other = model.session(rewind=8), model.session()
    session.feed([1, 2, 3])
    session.feed([4])
    session.feed([5])
    session.rollback(2)
    other.feed([1, 2, 3])
    np.testing.assert_array_equal(session.logits, other.logits)
    assert session.position == 3 and session.rewindable <= 3
    with pytest.raises(lcsm.ArgumentError):
        session.rollback(9)


def test_bad_tokens_states_and_marks_are_refused_in_words(model):
    session = model.session()
    for bad in ([256], [-1], [2 ** 40], [0.5], [[1], [2]]):
        with pytest.raises(lcsm.ArgumentError):
            session.feed(bad)
    assert session.position == 0
    session.feed([])
    with pytest.raises(lcsm.Error):
        session.load(b"not a state")
    with pytest.raises(lcsm.ArgumentError, match="another model"):
        session.rollback(lcsm.Model.create("retnet", d_model=16, layers=1, heads=2).session())


def test_generation_is_an_iterator_with_stops_and_seeds(model):
    text = "".join(model.generate("It was the ", 40, temperature=0))
    assert text == "".join(model.generate("It was the ", 40, temperature=0))
    assert "times" in text
    cut = "".join(model.generate("It was the ", 40, temperature=0, stop=["times"]))
    assert "times" not in cut and text.startswith(cut)
    one, two = ("".join(model.generate("It", 30, temperature=2.0, seed=s)) for s in (1, 2))
    assert one != two
    endless = model.generate("It", 0)
    first = [next(endless) for _ in range(5)]
    endless.close()
    assert len(first) == 5
    time.sleep(0.05)
    assert not any(t.name == "lcsm.generate" for t in threading.enumerate())


def test_generation_continues_a_session(model):
    session = model.session()
    first = "".join(model.generate("It was the ", 10, temperature=0, session=session))
    more = "".join(model.generate("", 10, temperature=0, session=session))
    assert first + more == "".join(model.generate("It was the ", 20, temperature=0))


def test_tokenizers_round_trip(book, tmp_path):
    tok = lcsm.Tokenizer.train(book, vocab=300)
    ids = tok.encode("It was — the ☃\udcff")
    assert ids.dtype == np.int32 and tok.decode_bytes(ids) == "It was — the ☃".encode() + b"\xff"
    assert tok.decode(ids).endswith("\ufffd")
    tok.save(tmp_path / "tokenizer.json")
    again = lcsm.Tokenizer(tmp_path)
    np.testing.assert_array_equal(again.encode("It was"), tok.encode("It was"))
    assert again.eos == again.find("<|endoftext|>") == 0 and len(again) == again.vocab_size
    assert lcsm.Tokenizer().encode("").size == 0 and lcsm.Tokenizer().eos is None
    with pytest.raises(lcsm.ArgumentError):
        tok.decode([10 ** 6])


def test_long_calls_release_the_interpreter(model):
    """A thread of Python code runs while the model reads."""
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)
    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.2:
        before = ticks[0]
        model.session().feed(np.zeros(20000, np.int32))
    stop.set()
    thread.join()
    assert ticks[0] > before


def test_models_are_saved_and_loaded(tmp_path):
    made = lcsm.Model.create("hgrn", d_model=32, layers=1, seed=3)
    made.save(tmp_path / "m")
    again = lcsm.load(tmp_path / "m", threads=1)
    np.testing.assert_array_equal(made.logits([1, 2, 3]), again.logits([1, 2, 3]))
    assert made.parameters == again.parameters and "hgrn" in repr(again) and "<table>" in again._repr_html_()


def test_models_are_loaded_in_less_room(tmp_path):
    made = lcsm.Model.create("gla", d_model=64, layers=1, seed=3)
    made.save(tmp_path / "m")
    whole = made.logits([1, 2, 3])
    for weights, most in [("f32", 0), ("f16", 1e-3), ("q8", 0.03), ("q4", 0.3)]:
        small = lcsm.load(tmp_path / "m", threads=1, weights=weights).logits([1, 2, 3])
        assert np.sqrt(np.mean((small - whole) ** 2)) <= most * np.sqrt(np.mean(whole ** 2))
    with pytest.raises(lcsm.ArgumentError, match="not a type of weights"):
        lcsm.load(tmp_path / "m", weights="q9")


def test_errors_are_exceptions_with_our_sentences(tmp_path):
    with pytest.raises(lcsm.FileError, match="is not a run folder") as e:
        lcsm.load(tmp_path)
    assert isinstance(e.value, OSError) and e.value.status == "ERR_IO"
    with pytest.raises(lcsm.ConfigError, match="lcsm.settings"):
        lcsm.Model.create("gla", no_such_key=1)
    with pytest.raises(lcsm.Error, match="gal"):
        lcsm.Model.create("gal")
    with pytest.raises(lcsm.ArgumentError, match="expected one of"):
        lcsm.Context(isa="mmx")


def test_every_instruction_set_of_the_processor_has_its_name():
    best = lcsm.Context().isa
    for isa in {"reference", "portable", best}:
        assert lcsm.Context(isa=isa).isa == isa
    with pytest.raises(lcsm.ArgumentError, match="avx512-bf16, neon"):
        lcsm.Context(isa="mmx")
