"""What a caller can rely on, one promise at a time."""

import pytest
import redis
import stamps
from script import CONFLICT, REPLAYED, Check, Entry, RequestId, Script
from vectors import Limit

NOW = 1_790_000_000_000_000
SECOND, HOUR = 1_000_000, 3_600_000_000
KEYS = [f"rl:{{abc}}{i:022d}" for i in range(4)]
TEN_PER_HOUR = [Limit.parse("gcra 10/1h")]


def state_of(value):
    return stamps.unpack(value).state


def explain(*entries, **more):
    return Check(entries, explain=True, **more)


def only(answer):
    """The outcome of the only entry of the only check."""
    (outcome,) = answer.records[0].outcomes
    return outcome


# All or nothing

def test_if_one_limit_denies_none_is_charged(script, client):
    limits = [*TEN_PER_HOUR, Limit.parse("fixed_window 1/1h")]
    both = explain(Entry(1, 1), Entry(2, 2))
    assert script(KEYS[:2], limits, [both], now_us=NOW).verdicts == [1]
    before = client.mget(KEYS[:2])
    answer = script(KEYS[:2], limits, [both], now_us=NOW)
    assert answer.verdicts == [0]
    assert client.mget(KEYS[:2]) == before
    had_room, denied = answer.records[0].outcomes
    assert (had_room.allowed, had_room.remaining, had_room.retry_after_us) == (True, 9, 0)
    assert (denied.allowed, denied.remaining) == (False, 0)


def test_a_limit_that_counts_denied_is_charged_all_the_same(script):
    limits = [*TEN_PER_HOUR, Limit.parse("fixed_window 0/1h")]
    check = explain(Entry(1, 1, 3, count_denied=True), Entry(2, 2))
    assert script(KEYS[:2], limits, [check], now_us=NOW).verdicts == [0]
    assert only(script(KEYS[:1], limits, [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == 7


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"])
def test_every_algorithm_takes_part_in_all_or_nothing(algorithm, script):
    limits = [Limit.parse(f"{algorithm} 10/1h"), Limit.parse("gcra 1/1h")]
    check = Check((Entry(1, 1, 4), Entry(2, 2)))
    assert script(KEYS[:2], limits, [check, check, check], now_us=NOW).verdicts == [1, 0, 0]
    assert only(script(KEYS[:1], limits, [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == 6


# Pressure

def test_above_80_percent_it_warns_until_below_70(script):
    def step(cost, now_us):
        return only(script(KEYS[:1], TEN_PER_HOUR, [explain(Entry(1, 1, cost))], now_us=now_us)).pressure

    unit = HOUR // 10
    assert [step(8, NOW), step(1, NOW), step(1, NOW)] == ["normal", "warning", "throttled"]
    # Three units are back, four are taken: 7 of 10 after 4 intervals; it still warns, for it has warned before.
    assert [step(1, NOW + 4 * unit), step(0, NOW + 4 * unit)] == ["warning", "warning"]
    assert step(1, NOW + 6 * unit) == "normal"
    assert step(2, NOW + 6 * unit) == "normal"  # at 80 %, and it had stopped


def test_the_plain_way_keeps_the_same_warning_as_the_explained_one(script, client):
    unit = HOUR // 10
    for algorithm in ("gcra", "leaky_bucket", "fixed_window", "sliding_window"):
        limits = [Limit.parse(f"{algorithm} 10/1h")]
        for cost, later in [(7, 0), (1, 0), (1, 0), (1, 0), (1, 0), (1, 4 * unit), (1, 6 * unit), (3, 9 * unit)]:
            for key, check in ((KEYS[0], Check((Entry(1, 1, cost),))), (KEYS[1], explain(Entry(1, 1, cost)))):
                script([key], limits, [check], now_us=NOW + later)
            plain, explained = client.mget(KEYS[:2])
            assert plain == explained
        client.delete(*KEYS)


# Changed numbers

def test_a_raised_limit_helps_at_once_and_keeps_what_was_used(script):
    script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 10),))], now_us=NOW)
    raised = [Limit.parse("gcra 100/1h")]
    assert only(script(KEYS[:1], raised, [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == 90


def test_a_value_says_its_numbers_so_none_has_to_be_known(script, client):
    """10/d and 2/s once had the same seven bits: read as 2/s, ten used up for a day were two for a second, and the rest was
    given away."""
    by_day, by_second = [Limit.parse("gcra 10/1d")], [Limit.parse("gcra 2/1s")]
    script(KEYS[:1], by_day, [Check((Entry(1, 1, 10),))], now_us=NOW)
    used_up = client.get(KEYS[0])
    outcome = only(script(KEYS[:1], by_second, [explain(Entry(1, 1))], now_us=NOW))
    assert (outcome.allowed, outcome.remaining) == (False, 0)
    assert (outcome.retry_after_us, outcome.reset_after_us) == (9 * 24 * HOUR // 10, 24 * HOUR)
    for seconds in range(1, 60):
        assert script(KEYS[:1], by_second, [Check((Entry(1, 1),))], now_us=NOW + seconds * SECOND).verdicts == [0]
    assert client.get(KEYS[0]) == used_up
    look = explain(Entry(1, 1, 0))
    assert only(script(KEYS[:1], by_day, [look], now_us=NOW + 60 * SECOND)).remaining == 0
    back = NOW + 9 * 24 * HOUR // 10
    assert script(KEYS[:1], by_second, [Check((Entry(1, 1),))], now_us=back - 1).verdicts == [0], "the wait was exact"
    assert script(KEYS[:1], by_second, [Check((Entry(1, 1),))], now_us=back).verdicts == [1]
    assert stamps.unpack(client.get(KEYS[0])).limit == by_second[0]


@pytest.mark.parametrize("text, remaining, retry_after_us", [
    ("gcra 100/1m", 92, 0), ("gcra 10/1d", 2, 0), ("fixed_window 10/1d", 2, 0), ("sliding_log 10/1d", 2, 0),
    ("gcra 7/1m", 0, HOUR // 5), ("fixed_window 7/1s", 0, HOUR // 5), ("sliding_log 4/1s", 0, HOUR // 2)])
def test_a_bucket_of_any_numbers_is_read_exactly(text, remaining, retry_after_us, script, client):
    """Eight of 10/h are eight under whatever asks, and come back as 10/h says."""
    script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 8),))], now_us=NOW)
    value = client.get(KEYS[0])
    asked = [Limit.parse(text)]
    assert only(script(KEYS[:1], asked, [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == remaining
    outcome = only(script(KEYS[:1], asked, [explain(Entry(1, 1))], now_us=NOW))
    assert (outcome.allowed, outcome.retry_after_us) == (retry_after_us == 0, retry_after_us)
    if retry_after_us:
        assert client.get(KEYS[0]) == value
        assert not only(script(KEYS[:1], asked, [explain(Entry(1, 1))], now_us=NOW + retry_after_us - 1)).allowed
        assert only(script(KEYS[:1], asked, [explain(Entry(1, 1))], now_us=NOW + retry_after_us)).allowed


@pytest.mark.parametrize("text", ["fixed_window 9/1d", "sliding_window 9/1m", "gcra 9/1h", "sliding_log 9/1h"])
@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window", "sliding_log"])
def test_counts_of_any_numbers_are_read_exactly(algorithm, text, script):
    script(KEYS[:1], [Limit.parse(f"{algorithm} 10/1h")], [Check((Entry(1, 1, 8),))], now_us=NOW)
    checks = [Check((Entry(1, 1, 2),)), Check((Entry(1, 1),)), Check((Entry(1, 1),))]
    assert script(KEYS[:1], [Limit.parse(text)], checks, now_us=NOW).verdicts == [0, 1, 0]


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window"])
def test_a_window_is_the_same_counter_under_any_capacity(algorithm, script, client):
    """So a denial under a small one is as under a large one: nothing waits to be moved."""
    limits = [Limit.parse(f"{algorithm} {count}/1h") for count in (10, 1000, 3)]
    checks = [Check((Entry(1, limit, cost),)) for limit, cost in ((1, 8), (2, 100), (3, 1), (1, 1), (2, 1), (2, 892), (2, 891))]
    assert script(KEYS[:1], limits, checks, now_us=NOW).verdicts == [1, 1, 0, 0, 1, 0, 1]
    value = client.get(KEYS[0])
    assert len(value) == 12 and state_of(value)[1:] == (1000, 0)
    assert script(KEYS[:1], limits, [Check((Entry(1, 3, 1, count_denied=True),))], now_us=NOW).verdicts == [0]
    assert state_of(client.get(KEYS[0]))[1] == 1001
    none = [Limit.parse(f"{algorithm} 0/1h")]
    assert script(KEYS[:1], none, [Check((Entry(1, 1, 1, count_denied=True),))], now_us=NOW).verdicts == [0]
    assert state_of(client.get(KEYS[0]))[1] == 1001, "never is no capacity"


def test_to_and_fro_between_two_versions_of_a_limit_lifts_neither(script):
    """Two nodes, two versions side by side, and whoever may choose among them. Together they admit less than either alone."""
    versions = [Limit.parse("gcra 30/1h scale 30"), Limit.parse("gcra 100/1h scale 100")]
    checks = [Check((Entry(1, 1 + i % 2),)) for i in range(400)]
    verdicts = script(KEYS[:1], versions, checks, now_us=NOW).verdicts
    small, large = sum(verdicts[::2]), sum(verdicts[1::2])
    assert small / 30 + large / 100 <= 1
    assert small > 10 and large > 10
    later = script(KEYS[:1], versions, checks, now_us=NOW + HOUR // 2).verdicts
    assert sum(later[::2]) / 30 + sum(later[1::2]) / 100 <= 0.5


def test_a_share_is_taken_along_between_all_algorithms(script, client):
    texts = [f"{name} 10/1h scale 10" for name in ("gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log")]
    for old in texts:
        for new in [text.replace("10", "20") for text in texts]:
            client.delete(*KEYS)
            script(KEYS[:1], [Limit.parse(old)], [Check((Entry(1, 1, 6),))], now_us=NOW)
            limits = [Limit.parse(new)]
            assert only(script(KEYS[:1], limits, [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == 8, (old, new)
            assert script(KEYS[:1], limits, [Check((Entry(1, 1),), repeats=9)], now_us=NOW).verdicts == [8], (old, new)
            assert only(script(KEYS[:1], [Limit.parse(old)], [explain(Entry(1, 1, 0))], now_us=NOW)).remaining == 0, (old, new)


@pytest.mark.parametrize("text, fraction", [("gcra 10/1h", 255), ("gcra 10/2h", 999_999_999)])
def test_a_fraction_over_another_denominator_is_less_than_a_microsecond(text, fraction, script, client):
    limit = Limit.parse(text)
    client.set(KEYS[0], stamps.pack(limit, (NOW + 5, fraction, 0)))
    assert only(script(KEYS[:1], [limit], [explain(Entry(1, 1, 0))], now_us=NOW)).reset_after_us == 5


@pytest.mark.parametrize("age_us, before", [(HOUR - 1, 77), (HOUR, 0)])
def test_a_denied_cost_is_remembered_for_as_long_as_a_full_bucket_takes_to_run_empty(age_us, before, script, client):
    """Kept under other numbers, and added to by a check that another limit denies: that moves nothing, unless there is nothing to move."""
    limits, former = [Limit.parse("leaky_bucket 20/1h"), Limit.parse("gcra 0/1h")], Limit.parse("leaky_bucket 10/1h")
    client.set(KEYS[0], stamps.pack(former, (NOW - age_us, 0, 77)))
    assert only(script(KEYS[:1], limits, [explain(Entry(1, 1, 0))], now_us=NOW)).denied_cost == before
    answer = script(KEYS[:3], limits, [Check((Entry(1, 1, 5), Entry(2, 2)), explain=True), Check((Entry(3, 1),))], now_us=NOW)
    assert answer.verdicts == [0, 1]
    assert [outcome.denied_cost for outcome in answer.records[0].outcomes] == [before + 5, 0]
    assert client.get(KEYS[0]) == stamps.pack(former if before else limits[0], (NOW, 0, before + 5))
    assert client.exists(KEYS[1]) == 0


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_leaky_bucket_counts_what_another_limit_denies_and_an_admission_ends_it(repeats, script, client):
    limits = [Limit.parse("leaky_bucket 100/1h"), Limit.parse("leaky_bucket 10/1h")]
    denied = Check((Entry(1, 1, 11), Entry(2, 2, 11)), repeats=repeats)
    assert script(KEYS[:2], limits, [denied], now_us=NOW).verdicts == [0]
    assert client.mget(KEYS[:2]) == [stamps.pack(limit, (NOW, 0, 11 * repeats)) for limit in limits]
    assert script(KEYS[:2], limits, [Check((Entry(1, 1), Entry(2, 2)))], now_us=NOW).verdicts == [1]
    assert [state_of(value)[2] for value in client.mget(KEYS[:2])] == [0, 0]


def test_a_leaky_bucket_of_zero_remembers_nothing(script, client):
    limits = [Limit.parse("leaky_bucket 0/1h")]
    assert script(KEYS[:1], limits, [Check((Entry(1, 1, 5),), repeats=2)], now_us=NOW).verdicts == [0]
    assert only(script(KEYS[:1], limits, [explain(Entry(1, 1, 5))], now_us=NOW)).denied_cost == 0
    assert client.get(KEYS[0]) is None


def test_a_denied_cost_that_a_leaky_bucket_has_left_goes_with_another_algorithm(script, client):
    client.set(KEYS[0], stamps.pack(Limit.parse("leaky_bucket 10/1h"), (NOW, 0, 77)))
    assert script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 10),))], now_us=NOW).verdicts == [1]
    assert client.get(KEYS[0]) == stamps.pack(TEN_PER_HOUR[0], (NOW + HOUR, 0, 0), warned=True)


@pytest.mark.parametrize("old, new", [("gcra", "sliding_log"), ("sliding_log", "gcra"), ("sliding_log", "fixed_window"),
                                      ("sliding_window", "sliding_log"), ("sliding_log", "sliding_log")])
def test_consumption_carries_over_between_logs_and_others(old, new, script):
    script(KEYS[:1], [Limit.parse(f"{old} 10/1h")], [Check((Entry(1, 1, 6),))], now_us=NOW)
    limits = [Limit.parse(f"{new} 8/1h")]
    assert only(script(KEYS[:1], limits, [explain(Entry(1, 1),)], now_us=NOW)).remaining == 1
    assert script(KEYS[:1], limits, [Check((Entry(1, 1),), repeats=3)], now_us=NOW).verdicts == [1]


def test_the_numbers_may_change_within_a_call(script):
    limits = [Limit.parse("gcra 20/1h"), TEN_PER_HOUR[0]]
    checks = [Check((Entry(1, 2, 10),)), Check((Entry(1, 2),)), Check((Entry(1, 1, 10),)), Check((Entry(1, 1),))]
    assert script(KEYS[:1], limits, checks, now_us=NOW).verdicts == [1, 0, 1, 0]


# Request ids

ID_KEY = "rl:{abc}request-id-0123456789"


def with_id(fingerprint=b"payload1", *, cost=4, ttl_ms=600_000, count_denied=False, is_part=False):
    return Check((Entry(1, 1, cost, count_denied),), request_id=RequestId(2, fingerprint, ttl_ms), is_part=is_part)


def ask(script, *checks, limits=TEN_PER_HOUR, now_us=NOW):
    return script([KEYS[0], ID_KEY], limits, list(checks), counter_keys=1, now_us=now_us)


def test_the_first_decision_is_repeated_and_charges_nothing(script, client):
    first = ask(script, with_id())
    charged = client.get(KEYS[0])
    again = ask(script, with_id(), now_us=NOW + HOUR)
    assert (first.verdicts, again.verdicts) == ([1], [REPLAYED])
    assert first.records == again.records and first.records[0].outcomes[0].remaining == 6
    assert client.get(KEYS[0]) == charged


def test_what_charges_nothing_is_not_remembered(script, client):
    assert ask(script, with_id(cost=11), with_id(cost=0)).verdicts == [0, 1]
    assert client.dbsize() == 0
    ask(script, Check((Entry(1, 1, 10),)))
    assert ask(script, with_id()).verdicts == [0]
    assert client.exists(ID_KEY) == 0
    assert ask(script, with_id(), now_us=NOW + HOUR).verdicts == [1], "the wait was true"
    assert ask(script, with_id(), now_us=NOW + HOUR).verdicts == [REPLAYED]


def test_a_denial_that_is_charged_is_repeated(script):
    ask(script, Check((Entry(1, 1, 10),)))
    first = ask(script, with_id(count_denied=True))
    later = ask(script, with_id(count_denied=True), now_us=NOW + 10 * HOUR)
    assert (first.verdicts, later.verdicts) == ([0], [REPLAYED])
    assert later.records[0] == first.records[0] and not later.records[0].allowed


def test_the_decision_outlives_a_change_of_the_numbers(script):
    first = ask(script, with_id())
    changed = [Limit.parse("fixed_window 3/1m")]
    assert ask(script, with_id(), limits=changed).records == first.records


def test_the_same_id_with_another_payload_is_a_conflict(script, client):
    ask(script, with_id())
    before = client.mget(KEYS[0], ID_KEY)
    answer = ask(script, with_id(b"another1"), Check((Entry(1, 1, 0),)))
    assert (answer.verdicts, answer.records) == ([CONFLICT, 1], [None])
    assert client.mget(KEYS[0], ID_KEY) == before


def test_other_terms_are_no_other_payload(script, client):
    ask(script, with_id(b"payloadA"))
    before = client.get(ID_KEY)
    assert before.startswith(b"payloadA")
    answer = ask(script, with_id(b"payloaZA"), with_id(b"payloadB"))
    assert answer.verdicts == [REPLAYED, REPLAYED]
    assert ask(script, with_id(b"paYloadA")).verdicts == [CONFLICT]
    assert client.get(ID_KEY) == before, "they are those of the first"


def test_a_part_that_was_told_again_says_so(script, client):
    first, again = ask(script, with_id(is_part=True)), ask(script, with_id(is_part=True), with_id(is_part=True), with_id())
    assert (first.verdicts, again.verdicts) == ([1], [REPLAYED] * 3)
    assert [record.flags for record in first.records + again.records] == [1, 3, 3, 3]
    assert 590_000 < client.pttl(ID_KEY) <= 600_000
    assert all(record.allowed and record.outcomes == first.records[0].outcomes for record in again.records)


def test_twins_in_one_call_charge_once(script):
    answer = ask(script, with_id(), with_id(), with_id(b"another1"), with_id())
    assert answer.verdicts == [1, REPLAYED, CONFLICT, REPLAYED]
    assert answer.records[0] == answer.records[1] == answer.records[3]
    assert only(ask(script, explain(Entry(1, 1, 0)))).remaining == 6


def test_an_id_is_remembered_for_its_time_in_few_bytes(script, client):
    ask(script, with_id(ttl_ms=600_000))
    assert 590_000 < client.pttl(ID_KEY) <= 600_000
    assert client.strlen(ID_KEY) == 8 + 7 + 1 + 22


# What may go wrong

def test_keys_of_another_type_and_values_of_no_sense_start_anew_and_harm_nobody(script, client):
    client.lpush(KEYS[0], "a list")
    client.set(KEYS[1], "thirteen byte")
    client.set(KEYS[2], "")
    checks = [Check((Entry(key, 1, 10),)) for key in (1, 2, 3, 4)]
    assert script(KEYS, TEN_PER_HOUR, checks, now_us=NOW).verdicts == [1, 1, 1, 1]
    assert {state_of(value) for value in client.mget(KEYS)} == {(NOW + HOUR, 0, 0)}
    assert min(client.pttl(key) for key in KEYS) > 0


def test_a_record_of_no_sense_is_replaced(script, client):
    client.lpush(ID_KEY, "a list")
    assert ask(script, with_id()).verdicts == [1]
    assert ask(script, with_id()).verdicts == [REPLAYED]
    client.set(ID_KEY, "short")
    assert ask(script, with_id()).verdicts == [1]
    client.set(ID_KEY, "short")
    assert ask(script, with_id(cost=11)).verdicts == [0]
    assert client.get(ID_KEY) == b"short", "nothing to write"


def test_a_call_that_cannot_be_read_changes_nothing(script, client):
    good = script.arguments(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1),)), Check((Entry(1, 1),))], now_us=NOW)
    cut = [*good[:4], good[4][:-1], good[5]]
    no_such_limit = script.arguments(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1),)), Check((Entry(1, 7),))], now_us=NOW)
    for arguments in (cut, no_such_limit):
        with pytest.raises(redis.ResponseError):
            client.evalsha(*arguments)
        assert client.dbsize() == 0


def test_when_memory_is_full_nothing_is_half_charged_and_denials_still_come(script, client):
    script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 10),))], now_us=NOW)
    client.config_set("maxmemory", 1)
    try:
        assert script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1),))], now_us=NOW).verdicts == [0]
        with pytest.raises(redis.ResponseError, match="OOM"):
            script(KEYS[:3], TEN_PER_HOUR, [Check((Entry(2, 1),)), Check((Entry(3, 1),))], now_us=NOW)
    finally:
        client.config_set("maxmemory", 0)
    assert client.dbsize() == 1


# The server

def test_the_clock_is_the_servers(script, client):
    micros = lambda time: time[0] * SECOND + time[1]
    before = micros(client.time())
    answer = script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1),))])
    assert before <= answer.now_us <= micros(client.time())
    assert state_of(client.get(KEYS[0])) == (answer.now_us + HOUR // 10, 0, 0)


@pytest.mark.parametrize("text", ["gcra 30000/1h", "gcra 1000/1h burst 5000", "token_bucket 10/1h", "leaky_bucket 10/1h",
                                  "fixed_window 10/1h", "sliding_window 10/1h"])
def test_a_counter_takes_at_most_100_bytes_in_batches_large_and_small(text, script, client):
    limits = [Limit.parse(text)]
    keys = [f"rl:{{abc}}{i:022d}" for i in range(200)]
    for size in (1, 1, 2, 5, 40, 64, 1, 30):
        batch, keys = keys[:size], keys[size:]
        script(batch, limits, [Check((Entry(i + 1, 1, 3),)) for i in range(size)], now_us=NOW)
        script(batch, limits, [Check((Entry(i + 1, 1, 1),)) for i in range(size)], now_us=NOW)
        for key in batch:
            assert len(key) == 30 and client.strlen(key) == 12
            assert client.memory_usage(key) <= 100


def test_it_runs_on_a_node_of_a_cluster(cluster_node):
    script = Script(cluster_node)
    checks = [Check((Entry(1, 1), Entry(2, 1))), Check((Entry(3, 1),), repeats=11), with_id_at(4)]
    assert script(KEYS, TEN_PER_HOUR, checks, counter_keys=3).verdicts == [1, 10, 1]


def with_id_at(key):
    return Check((Entry(1, 1),), request_id=RequestId(key, b"payload1"))


def test_a_counter_that_is_as_good_as_new_is_deleted(script, client):
    client.set(KEYS[0], stamps.pack(TEN_PER_HOUR[0], (NOW - 1, 0, 0)))
    assert script(KEYS[:1], TEN_PER_HOUR, [Check((Entry(1, 1, 11),))], now_us=NOW).verdicts == [0]
    assert client.exists(KEYS[0]) == 0
