"""Slots from Python: many sequences beside one model."""

import numpy as np
import pytest

import lcsm


def alone(model, *calls):
    session = model.session()
    for tokens in calls:
        session.feed(tokens)
    return session


def test_slots_equal_sessions_of_their_own(model):
    slots = model.slots(4)
    a, b = slots.open(), slots.open()
    slots.feed({a: [1, 2, 3, 4, 5], b: [9]})
    slots.feed({b: [8], a: [6]})
    c = a.branch()
    slots.feed({a: [7], c: [17], b: list(range(40))})
    assert (a.position, b.position, c.position, len(slots), slots.capacity) == (7, 42, 7, 3, 4)
    np.testing.assert_array_equal(a.logits, alone(model, [1, 2, 3, 4, 5], [6], [7]).logits)
    np.testing.assert_array_equal(c.logits, alone(model, [1, 2, 3, 4, 5], [6], [17]).logits)
    np.testing.assert_array_equal(b.logits, alone(model, [9], [8], list(range(40))).logits)


def test_states_move_between_slots_and_sessions(model):
    session = alone(model, [1, 2, 3])
    slots = model.slots(2, rewind=8)
    with slots.open(session.save()) as slot:
        assert slot.position == 3 and slot.rewindable == 0
        slot.feed([4, 5])
        session.feed([4, 5])
        np.testing.assert_array_equal(slot.logits, session.logits)
        session.load(slot.save())
        slot.rollback(2)
        assert slot.position == 3
        slot.reset()
        assert slot.logits is None
    assert len(slots) == 0


def test_wrong_use_is_refused_and_changes_nothing(model):
    slots = model.slots(1)
    slot = slots.open()
    slot.feed([1, 2])
    before = slot.logits
    with pytest.raises(lcsm.UnsupportedError, match="all 1 slots are open"):
        slots.open()
    with pytest.raises(lcsm.ArgumentError, match="token 1000000 at position 1"):
        slot.feed([3, 1000000])
    with pytest.raises(lcsm.ArgumentError, match="whole numbers"):
        slot.feed([0.5])
    with pytest.raises(lcsm.ArgumentError, match="another Slots"):
        model.slots(1).feed({slot: [1]})
    with pytest.raises(lcsm.FormatError):
        slot.load(b"nothing")
    np.testing.assert_array_equal(slot.logits, before)
    slot.close()
    slot.close()
    with pytest.raises(lcsm.ArgumentError, match="closed"):
        slot.feed([1])
    with pytest.raises(lcsm.FormatError):
        slots.open(b"nothing")
    assert len(slots) == 0
