"""Every row of tests/vectors, and random ones, through the whole script on a real server."""

import dataclasses
import random

import near_misses
import pytest
import vectors
from script import Check, Entry, Numbers, Record, pack_state, unpack_state
from vectors import ALGORITHMS

KEY = "rl:{abc}0123456789012345678901"
LEAKY_BUCKET = ALGORITHMS.index("leaky_bucket")
SLIDING_WINDOW = ALGORITHMS.index("sliding_window")


def calls(rows):
    """For each row: the value that the row before has left, if any, and the limits of the call.

    Each row starts from what the vectors say, not from what the last call has stored: looks store nothing, and a key
    may expire while the clock of the vectors stands still.
    """
    before = None
    for row in rows:
        limits, value = [Numbers(row.limit, 1)], None
        if not row.fresh and any(before.state):
            if dataclasses.replace(before.kept_by, on_change=row.limit.on_change) != row.limit:
                limits = [Numbers(row.limit, 1, 2), Numbers(before.kept_by, 2, former=True)]
            value = pack_state(limits[-1].tag, before.kept_by, before.state)
        yield value, limits
        before = row


def in_ms(time):
    return time[0] * 1000 + time[1] / 1000


def run(rows, script, client):
    """Each row twice: explained, and as most checks are, which takes another way through the script. Refunds are always
    explained."""
    for row, (stored, limits) in zip(rows, calls(rows)):
        entry = Entry(1, 1, row.cost, row.count_denied)
        ways = (Check((entry,), explain=True), Check((entry,)))
        if row.refund_of:
            ways = (Check((Entry(1, 1, row.refund_of.cost),), explain=True, refund_of=(row.refund_of,)),)
        for check in ways:
            pipe = client.pipeline(transaction=True)
            pipe.set(KEY, stored) if stored else pipe.delete(KEY)
            pipe.time().evalsha(*script.arguments([KEY], limits, [check], now_us=row.now_us))
            pipe.get(KEY).pexpiretime(KEY).time()
            _, before, reply, value, expires_ms, after = pipe.execute()
            assert reply[:3] == [row.now_us, stored, row.outcome[0]], row.where
            if check.explain:
                check_record(row, Record.unpack(reply[3]))
            check_value(row, stored, value, expires_ms, in_ms(before), in_ms(after))


def check_record(row, record):
    got = record.outcomes[0]
    assert (got.allowed, got.remaining, got.retry_after_us, got.reset_after_us) == row.outcome, row.where
    if row.kept_by.algorithm == LEAKY_BUCKET and row.kept_by != row.limit:
        pass  # of a look, what is still remembered
    elif row.limit.algorithm == LEAKY_BUCKET and row.kept_by.algorithm != LEAKY_BUCKET:
        assert got.denied_cost == 0, row.where
    else:
        assert got.denied_cost == (row.state[2] if row.limit.algorithm == LEAKY_BUCKET else 0), row.where
    assert (record.allowed, record.now_us) == (row.outcome[0], row.now_us), row.where


def check_value(row, stored, value, expires_ms, before_ms, after_ms):
    if row.cost == 0 and not row.refund_of:
        assert value == stored, f"{row.where}: a look has written"
        return
    if value is not None:
        is_new = row.limit == dataclasses.replace(row.kept_by, on_change=row.limit.on_change)
        assert value[0] & 127 == (1 if is_new else 2), row.where
    left_ms = remembered_us(row) / 1000
    if value is None and before_ms + left_ms <= after_ms:
        return  # already expired
    assert value_is(row, value), f"{row.where}: {value}"
    if value not in (None, stored) and row.kept_by.capacity:
        # The key outlives what it remembers, by an eighth at most.
        assert before_ms + left_ms <= expires_ms <= after_ms + left_ms * 1.125 + 2, row.where


def remembered_us(row):
    """Until nothing counts any more; a denied cost, until a full bucket would have run empty after that."""
    limit = row.kept_by
    if limit.algorithm == SLIDING_WINDOW and limit != row.limit and row.state[2] > 0:
        # Under other numbers the units of the window before may count as none; the window that knows them goes on.
        return max(row.outcome[3], (row.state[0] + 1) * limit.period_us - row.now_us)
    if limit.algorithm != LEAKY_BUCKET or row.state[2] == 0:
        return row.outcome[3]
    return row.state[0] - row.now_us + limit.full_us + (limit.full_remainder > 0)


def value_is(row, value):
    """Whether the value is the row's state. What decides as a counter that was never used need not be stored."""
    if value is not None:
        return unpack_state(value)[2] == row.state
    return row.kept_by.capacity == 0 or not any(row.state)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_row_comes_out_as_written(algorithm, script, client):
    rows = vectors.from_file(algorithm)
    assert len(rows) > 20
    run(rows, script, client)


def test_random_lives_of_a_counter_agree_with_the_reference(script, client):
    rows = vectors.at_random(vectors.seed_for_test(), 150)
    assert len(rows) > 1000
    run(rows, script, client)


def test_divisions_that_nearly_come_out_even_are_exact(script, client):
    run(near_misses.rows(random.Random(vectors.seed_for_test()), 50), script, client)
