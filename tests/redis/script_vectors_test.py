"""Every row of tests/vectors, and random ones, through the whole script on a real server."""

import random

import near_misses
import pytest
import stamps
import vectors
from script import Check, Entry, Record
from vectors import ALGORITHMS

KEY = "rl:{abc}0123456789012345678901"
LEAKY_BUCKET = ALGORITHMS.index("leaky_bucket")
SLIDING_WINDOW = ALGORITHMS.index("sliding_window")
SLIDING_LOG = ALGORITHMS.index("sliding_log")


def stored_before(rows):
    """For each row: the value that the row before has left, if any; every other one warns, which decides nothing.

    Each row starts from what the vectors say, not from what the last call has stored: looks store nothing, and a key
    may expire while the clock of the vectors stands still.
    """
    before = None
    for number, row in enumerate(rows):
        has_value = not row.fresh and any(before.state)
        yield stamps.pack(before.kept_by, before.state, number % 2 == 1) if has_value else None
        before = row


def in_ms(time):
    return time[0] * 1000 + time[1] / 1000


def run(rows, script, client):
    """Each row twice: explained, and as most checks are, which takes another way through the script. Refunds are always
    explained."""
    for row, stored in zip(rows, stored_before(rows)):
        entry = Entry(1, 1, row.cost, row.count_denied)
        ways = (Check((entry,), explain=True), Check((entry,)))
        if row.refund_of:
            ways = (Check((Entry(1, 1, row.refund_of.cost),), explain=True, refund_of=(row.refund_of,)),)
        for check in ways:
            pipe = client.pipeline(transaction=True)
            pipe.set(KEY, stored) if stored else pipe.delete(KEY)
            pipe.time().evalsha(*script.arguments([KEY], [row.limit], [check], now_us=row.now_us))
            pipe.get(KEY).pexpiretime(KEY).time()
            _, before, reply, value, expires_ms, after = pipe.execute()
            assert reply[:3] == [row.now_us, stored, is_admitted(row)], row.where
            if check.explain:
                check_record(row, Record.unpack(reply[3]))
            check_value(row, stored, value, expires_ms, in_ms(before), in_ms(after))


def is_admitted(row):
    """A refund always is; its row is the look that follows it."""
    return row.outcome[0] or row.refund_of is not None


def check_record(row, record):
    got = record.outcomes[0]
    retry_after_us = got.retry_after_us
    if row.cost == 0 and row.limit.algorithm == SLIDING_LOG and row.outcome[0] and not row.refund_of:
        check_look(row, got)
        retry_after_us = 0
    assert (got.allowed, got.remaining, retry_after_us, got.reset_after_us) == row.outcome, row.where
    if row.kept_by.algorithm == LEAKY_BUCKET and row.kept_by != row.limit:
        pass  # of a look, what is still remembered
    elif row.limit.algorithm == LEAKY_BUCKET and row.kept_by.algorithm != LEAKY_BUCKET:
        assert got.denied_cost == 0, row.where
    else:
        assert got.denied_cost == (row.state[2] if row.limit.algorithm == LEAKY_BUCKET else 0), row.where
    assert (record.allowed, record.now_us) == (is_admitted(row), row.now_us), row.where


def check_look(row, got):
    """A look at a log tells when one unit fits: 0 if one does now."""
    if got.remaining > 0:
        assert got.retry_after_us == 0, row.where
    elif row.kept_by.same_numbers(row.limit):
        assert got.retry_after_us == row.state[0] + row.limit.period_us - row.now_us, row.where


def check_value(row, stored, value, expires_ms, before_ms, after_ms):
    if row.cost == 0 and not row.refund_of:
        assert value == stored, f"{row.where}: a look has written"
        return
    if gives_nothing(row):
        assert value == stored, f"{row.where}: it has given back what nobody can tell"
        return
    left_ms = remembered_us(row) / 1000
    if value is None and before_ms + left_ms <= after_ms:
        return  # already expired
    assert value_is(row, value), f"{row.where}: {value}"
    if value not in (None, stored) and row.kept_by.capacity:
        # The key outlives what it remembers, by an eighth at most.
        assert before_ms + left_ms <= expires_ms <= after_ms + left_ms * 1.125 + 2, row.where


def gives_nothing(row):
    """Of a refund, while the counter is kept under other numbers."""
    grant, limit, kept_by = row.refund_of, row.limit, row.kept_by
    if not grant or kept_by.same_numbers(limit):
        return False
    is_scaled = kept_by.scale > 0 and limit.scale > 0
    return limit.capacity == 0 or (is_scaled and grant.cost * kept_by.scale < limit.scale) or grant.cost == 0


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
        counter = stamps.unpack(value)  # script_test.py says when it warns
        return counter is not None and value == stamps.pack(row.kept_by, row.state, counter.warned)
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
