"""Giving back what was charged: what the vectors don't show, several entries, other numbers, other checks of the call."""

import dataclasses

import pytest
import stamps
from script import CONFLICT, REPLAYED, Check, Entry, RequestId
from vectors import ANY_TIME_US, Grant, Limit

NOW = 1_790_000_000_000_000
HOUR = 3_600_000_000
KEYS = [f"rl:{{abc}}{i:022d}" for i in range(6)]
ALGORITHMS = ("gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log")
LIMITS = [Limit.parse(f"{algorithm} 10/1h") for algorithm in ALGORITHMS]
TEN_PER_HOUR = LIMITS[:1]


def charge(script, keys, limits, entries, now_us=NOW):
    """An admitted check, and the check that gives it back."""
    answer = script(keys, limits, [Check(entries, explain=True)], now_us=now_us)
    assert answer.verdicts == [1]
    grants = tuple(Grant(now_us, entry.cost, outcome.remaining, outcome.reset_after_us)
                   for entry, outcome in zip(entries, answer.records[0].outcomes))
    return Check(entries, refund_of=grants)


def test_every_algorithm_takes_part_and_the_values_are_those_of_before(script, client):
    before_all = tuple(Entry(i + 1, i + 1, 2) for i in range(6))
    charge(script, KEYS, LIMITS, before_all)
    before = client.mget(KEYS)
    refund = charge(script, KEYS, LIMITS, tuple(Entry(i + 1, i + 1, 3) for i in range(6)))
    assert client.mget(KEYS) != before
    answer = script(KEYS, LIMITS, [refund], now_us=NOW)
    assert client.mget(KEYS) == before
    assert (answer.verdicts, answer.records[0].allowed) == ([1], True)
    assert [(o.allowed, o.remaining, o.retry_after_us) for o in answer.records[0].outcomes] == [(True, 8, 0)] * 6


def test_what_is_as_good_as_new_afterwards_is_deleted(script, client):
    refund = charge(script, KEYS, LIMITS, tuple(Entry(i + 1, i + 1, 3) for i in range(6)))
    assert client.dbsize() == 6
    script(KEYS, LIMITS, [refund], now_us=NOW)
    assert client.dbsize() == 0


def test_a_refund_is_always_admitted_and_of_nothing_writes_nothing(script, client):
    refund = charge(script, KEYS[:1], TEN_PER_HOUR, (Entry(1, 1, 10),))
    client.delete(KEYS[0])
    client.config_resetstat()
    answer = script(KEYS[:1], TEN_PER_HOUR, [refund], now_us=NOW)
    assert (answer.verdicts, answer.records[0].outcomes[0].remaining) == ([1], 10)
    assert not {"cmdstat_set", "cmdstat_del"} & client.info("commandstats").keys()


def test_the_checks_after_it_in_the_call_have_the_room(script):
    refund = charge(script, KEYS[:1], TEN_PER_HOUR, (Entry(1, 1, 10),))
    one = Check((Entry(1, 1),), repeats=4)
    answer = script(KEYS[:1], TEN_PER_HOUR, [one, refund, one, Check((Entry(1, 1, 6),)), one], now_us=NOW)
    assert answer.verdicts == [0, 1, 4, 1, 0]


def test_a_charge_and_its_refund_may_meet_in_a_call(script):
    entries = (Entry(1, 1, 4),)
    refund = Check(entries, refund_of=(Grant(NOW, 4, 6, 4 * HOUR // 10),))
    checks = [Check(entries), refund, Check((Entry(1, 1, 10),))]
    assert script(KEYS[:1], TEN_PER_HOUR, checks, now_us=NOW).verdicts == [1, 1, 1]


@pytest.mark.parametrize("algorithm", range(6))
def test_a_counter_that_has_moved_to_other_numbers_is_left_alone(algorithm, script, client):
    refund = charge(script, KEYS[:1], [LIMITS[algorithm]], (Entry(1, 1, 4),))
    moved = [Limit.parse(f"{ALGORITHMS[algorithm]} 50/2h")]
    assert script(KEYS[:1], moved, [Check((Entry(1, 1, 9),))], now_us=NOW).verdicts == [1]
    value = client.get(KEYS[0])
    assert stamps.unpack(value).limit.same_numbers(moved[0])
    script(KEYS[:1], [LIMITS[algorithm]], [refund], now_us=NOW)
    assert client.get(KEYS[0]) == value


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window"])
def test_a_window_gives_back_what_was_charged_under_another_capacity(algorithm, script, client):
    few, many = [Limit.parse(f"{algorithm} 10/1h")], [Limit.parse(f"{algorithm} 50/1h")]
    refund = charge(script, KEYS[:1], few, (Entry(1, 1, 4),))
    charge(script, KEYS[:1], many, (Entry(1, 1, 20),))
    answer = script(KEYS[:1], many, [refund], now_us=NOW)
    assert answer.records[0].outcomes[0].remaining == 30
    assert stamps.unpack(client.get(KEYS[0])).state[1:] == (20, 0)


def any_time(entries):
    return Check(entries, refund_of=tuple(Grant(ANY_TIME_US, entry.cost, 0, 0) for entry in entries))


def test_a_counter_of_other_numbers_gives_back_under_those(script, client):
    limits = [Limit.parse("gcra 50/1h")]
    refund = charge(script, KEYS[:1], limits, (Entry(1, 1, 4),))
    client.set(KEYS[0], stamps.pack(TEN_PER_HOUR[0], (NOW + HOUR, 0, 0)))  # all 10, by a node of another version
    answer = script(KEYS[:1], limits, [refund], now_us=NOW)
    assert answer.records[0].outcomes[0].remaining == 50 - 10, "how much of that charge is left nobody knows"
    answer = script(KEYS[:1], limits, [any_time(refund.entries)], now_us=NOW)
    assert answer.records[0].outcomes[0].remaining == 50 - 10 + 4
    assert client.get(KEYS[0]) == stamps.pack(TEN_PER_HOUR[0], (NOW + HOUR * 6 // 10, 0, 0))


@pytest.mark.parametrize("kept, asked, units, comes_back", [
    (100, 10, 4, 4),    # never more than is given back
    (10, 100, 40, 4),   # a share of it
    (10, 100, 39, 3),   # rounded down
    (10, 100, 9, 0),
    (0, 100, 4, 4),     # beside no scale units are units
    (10, 0, 4, 4)])
def test_of_another_scale_a_share_comes_back(kept, asked, units, comes_back, script, client):
    kept_by = Limit.parse(f"gcra 100/1h scale {kept}")
    asked_by = [Limit.parse(f"gcra 1000/1h scale {asked}")]
    client.set(KEYS[0], stamps.pack(kept_by, (NOW + HOUR // 2, 0, 0)))
    script(KEYS[:1], asked_by, [any_time((Entry(1, 1, units),))], now_us=NOW)
    assert client.get(KEYS[0]) == stamps.pack(kept_by, (NOW + HOUR // 2 - HOUR // 100 * comes_back, 0, 0))


def test_under_never_nothing_comes_back(script, client):
    value = stamps.pack(TEN_PER_HOUR[0], (NOW + HOUR, 0, 0))
    client.set(KEYS[0], value)
    script(KEYS[:1], [Limit.parse("gcra 0/1h")], [any_time((Entry(1, 1, 4),))], now_us=NOW)
    assert client.get(KEYS[0]) == value


def test_what_nobody_knows_of_the_grant_gives_back_less(script):
    """Without its answers it counts as the first of its bucket: half an interval later half a unit has been refilled."""
    def remaining(known):
        script.client.flushall()
        script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 5),))], now_us=NOW)
        refund = charge(script, KEYS[:1], TEN_PER_HOUR, (Entry(1, 1, 1),))
        if not known:
            refund = Check(refund.entries, refund_of=(Grant(NOW, 1, 0, 0),))
        answer = script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 2),)), refund], now_us=NOW + HOUR // 20)
        return answer.records[0].outcomes[0].reset_after_us

    assert remaining(known=True) == 7 * HOUR // 10 - HOUR // 20
    assert remaining(known=False) == 7 * HOUR // 10 - HOUR // 20 + HOUR // 20


@pytest.mark.parametrize("algorithm", range(6))
def test_given_back_at_once_the_answers_of_the_grant_do_not_matter(algorithm, script, client):
    limits = [LIMITS[algorithm]]
    script(KEYS[:1], limits, [Check((Entry(1, 1, 2),))], now_us=NOW - 1)
    value = client.get(KEYS[0])
    refund = charge(script, KEYS[:1], limits, (Entry(1, 1, 3),))
    script(KEYS[:1], limits, [Check(refund.entries, refund_of=(Grant(NOW, 3, 0, 0),))], now_us=NOW)
    assert client.get(KEYS[0]) == value


@pytest.mark.parametrize("algorithm", range(6))
def test_the_warning_goes_with_what_was_given_back(algorithm, script, client):
    limits = [LIMITS[algorithm]]
    refund = charge(script, KEYS[:1], limits, (Entry(1, 1, 9),))
    answer = script(KEYS[:1], limits, [refund], now_us=NOW)
    assert answer.records[0].outcomes[0].pressure == "normal"
    charge(script, KEYS[:1], limits, (Entry(1, 1, 6),))
    refund = charge(script, KEYS[:1], limits, (Entry(1, 1, 3),))
    assert stamps.unpack(client.get(KEYS[0])).warned
    answer = script(KEYS[:1], limits, [refund], now_us=NOW)
    assert (answer.records[0].outcomes[0].remaining, answer.records[0].outcomes[0].pressure) == (4, "normal")
    assert not stamps.unpack(client.get(KEYS[0])).warned


ID_KEYS = [KEYS[0], "rl:{abc}id"]
LOOK = Check((Entry(1, 1, 0),), explain=True)


def charge_with_id(script, cost, *, now_us=NOW, **how):
    """The answer, and the refund of just that."""
    check = Check((Entry(1, 1, cost),), request_id=RequestId(2, b"payload1"), **how)
    answer = script(ID_KEYS, TEN_PER_HOUR, [check], counter_keys=1, now_us=now_us)
    record = answer.records[0]
    grant = Grant(record.now_us, cost, record.outcomes[0].remaining, record.outcomes[0].reset_after_us)
    refund = Check(check.entries, refund_of=(grant,), request_id=RequestId(2, b"payload1", record.flags))
    return answer, refund


def give_back(script, *refunds, now_us=NOW):
    """The verdicts, and what is left then."""
    answer = script(ID_KEYS, TEN_PER_HOUR, [*refunds, LOOK], counter_keys=1, now_us=now_us)
    return answer.verdicts[:-1], answer.records[-1].outcomes[0].remaining


def test_with_the_request_id_it_gives_back_once_and_takes_the_record_along(script, client):
    _, refund = charge_with_id(script, 4)
    charge(script, KEYS[:1], TEN_PER_HOUR, (Entry(1, 1, 5),))
    assert client.exists(ID_KEYS[1]) == 1
    assert give_back(script, refund) == ([1], 5)
    assert client.exists(ID_KEYS[1]) == 0
    assert give_back(script, refund, refund) == ([REPLAYED, REPLAYED], 5)
    answer, refund = charge_with_id(script, 4)
    assert answer.verdicts == [1], "the id is free"
    assert give_back(script, refund, refund) == ([1, REPLAYED], 5), "in one call, too"


def test_what_was_told_again_is_not_given_back(script):
    _, first = charge_with_id(script, 4, is_part=True)
    for _ in range(130):  # more than a byte could count
        answer, _ = charge_with_id(script, 4, is_part=True)
        assert answer.verdicts == [REPLAYED]
        assert give_back(script, first) == ([REPLAYED], 6), "others rely on it now"


def test_a_later_charge_of_the_same_id_is_another(script):
    _, first = charge_with_id(script, 4, is_part=True)
    assert give_back(script, first) == ([1], 10)
    charge_with_id(script, 4, now_us=NOW + 1, is_part=True)
    assert give_back(script, first, now_us=NOW + 1) == ([REPLAYED], 6)


def test_another_payload_gives_nothing_back(script):
    _, refund = charge_with_id(script, 4)
    other = dataclasses.replace(refund, request_id=RequestId(2, b"another1", 1))
    assert give_back(script, other) == ([CONFLICT], 6)
