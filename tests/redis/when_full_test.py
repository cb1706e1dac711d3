"""The script for a server without memory: what is there is counted, what would be new is named, a denial is a denial."""

import itertools
import random
import re

import pytest
import redis
from script import REPLAYED, Check, Entry, RequestId, Script
from script_test import HOUR, KEYS, NOW
from steps import redis_script
from vectors import ALGORITHMS, Grant, Limit

LIMITS = [Limit.parse(f"{algorithm} 10/1h") for algorithm in ALGORITHMS]
BUCKET, LEAKY, WINDOW, LOG = (1 + ALGORITHMS.index(name) for name in ("gcra", "leaky_bucket", "fixed_window", "sliding_log"))


@pytest.fixture
def full(client):
    """The script for a full server; the server is full from the first full.up()."""
    script = Script(client, redis_script.build(when_full=True))
    script.up = lambda: client.config_set("maxmemory", 1)
    yield script
    client.config_set("maxmemory", 0)


def ask(script, *checks, counter_keys=3, **more):
    return script(KEYS, LIMITS, list(checks), counter_keys=counter_keys, **{"now_us": NOW, **more}).verdicts


def named(script, *checks, **more):
    """The new counters, longer logs and new ids that the script names."""
    with pytest.raises(redis.ResponseError) as error:
        ask(script, *checks, **more)
    assert re.match("STOREFULL ", str(error.value)), error.value
    return [[int(number) for number in part.split()] for part in str(error.value).removeprefix("STOREFULL ").split(";")]


def with_id(*entries):
    return Check(entries, request_id=RequestId(4, b"payload1"))


def test_what_is_there_is_counted(script, full, client):
    ask(script, Check((Entry(1, BUCKET, 8),)), Check((Entry(2, WINDOW, 8),)))
    full.up()
    assert ask(full, Check((Entry(1, BUCKET),), repeats=5), Check((Entry(1, BUCKET), Entry(2, WINDOW)))) == [2, 0]
    assert ask(full, Check((Entry(2, WINDOW, 2),)), Check((Entry(2, WINDOW),))) == [1, 0]


def test_what_would_be_new_or_longer_is_named_and_nothing_is_charged(script, full, client):
    ask(script, Check((Entry(1, BUCKET),)), Check((Entry(2, LOG),), explain=True))
    before = client.mget(KEYS)
    full.up()
    later = NOW + 1000
    assert named(full, Check((Entry(1, BUCKET),)), Check((Entry(3, WINDOW),))) == [[3], [], []]
    assert named(full, Check((Entry(1, BUCKET), Entry(2, LOG)), explain=True), now_us=later) == [[], [2], []]
    assert named(full, with_id(Entry(1, BUCKET))) == [[], [], [4]]
    assert named(full, with_id(Entry(3, LEAKY), Entry(2, LOG), Entry(1, BUCKET)), now_us=later) == [[3], [2], [4]]
    assert client.mget(KEYS) == before


def test_only_what_would_be_written_is_named(script, full, client):
    ask(script, with_id(Entry(1, BUCKET, 3)))
    full.up()
    assert ask(full, with_id(Entry(1, BUCKET, 3))) == [REPLAYED]
    assert ask(full, Check((Entry(1, BUCKET, 2), Entry(3, BUCKET, 0)))) == [1]
    assert ask(full, Check((Entry(1, BUCKET, 11), Entry(3, BUCKET)))) == [0]
    assert client.exists(KEYS[2]) == 0


def test_a_log_may_change_as_long_as_it_does_not_grow(script, full, client):
    for moment, cost in ((NOW, 2), (NOW + 1000, 8)):
        ask(script, Check((Entry(1, LOG, cost),), explain=True), now_us=moment)
    length = client.strlen(KEYS[0])
    full.up()
    assert ask(full, Check((Entry(1, LOG),), explain=True), now_us=NOW + 2000) == [0]
    assert ask(full, Check((Entry(1, LOG),), explain=True), now_us=NOW + HOUR) == [1], "takes the place of what is over"
    assert client.strlen(KEYS[0]) == length
    refund = Check((Entry(1, LOG, 8),), refund_of=(Grant(NOW + 1000, 8, 0, HOUR),))
    assert ask(full, refund, now_us=NOW + HOUR) == [1]
    assert client.strlen(KEYS[0]) < length


def test_a_log_becomes_a_bucket(script, full, client):
    ask(script, Check((Entry(1, LOG, 8),), explain=True))
    full.up()
    assert ask(full, Check((Entry(1, BUCKET),), repeats=5)) == [2]


def test_a_denial_that_is_asked_alone_writes_nothing(script, full, client):
    """Whatever it would write: a denied cost, a charge in spite of the denial, a log that is settled, a record."""
    full.up()
    for old, new, *count_denied in itertools.product(range(len(LIMITS)), range(len(LIMITS)), (False, True), (False, True)):
        client.config_set("maxmemory", 0)
        client.flushdb()
        ask(script, Check((Entry(1, old + 1, 10),), explain=True))
        full.up()
        before = client.mget(KEYS)
        entries = (Entry(1, old + 1, 1, count_denied[0]), Entry(2, new + 1, 1, count_denied[1]))
        for check in (Check(entries, explain=True), with_id(*entries)):
            assert ask(full, check, alone=True) == [0]
            assert client.mget(KEYS) == before
        assert named(full, Check(entries[1:], explain=True), alone=True)[0] == [2]


def test_what_is_admitted_alone_is_written_if_it_takes_no_memory(script, full, client):
    ask(script, Check((Entry(1, BUCKET),)))
    full.up()
    assert ask(full, Check((Entry(1, BUCKET, 5), Entry(3, BUCKET, 0))), alone=True) == [1]
    assert ask(full, Check((Entry(1, BUCKET, 5),)), alone=True) == [0]


def test_what_is_there_is_counted_while_its_slot_is_given_away(cluster_node, migrating_node):
    ask(Script(cluster_node), Check((Entry(1, BUCKET, 8),)))
    full = Script(migrating_node(KEYS[0]), redis_script.build(when_full=True))
    cluster_node.config_set("maxmemory", 1)
    assert full(KEYS[:1], LIMITS, [Check((Entry(1, BUCKET),), repeats=5)], now_us=NOW).verdicts == [2]


def compare(script, full, client, seed, rounds):
    """Random checks. The script for a full server does to counters that are there what the other does; where that would make
    something or let it grow it does nothing, and asked alone denies what the other denies."""
    rng = random.Random(seed)
    for _ in range(rounds):
        client.flushdb()
        for key in range(1, 4):
            if rng.random() < 0.6:
                ask(script, Check((Entry(key, rng.randint(1, len(LIMITS)), rng.randint(1, 10)),), explain=True))
        keys = rng.sample((1, 2, 3), rng.randint(1, 3))
        entries = tuple(Entry(key, rng.randint(1, len(LIMITS)), rng.randint(0, 6), rng.random() < 0.3) for key in keys)
        check = with_id(*entries) if rng.random() < 0.3 else Check(entries, explain=True)
        later, alone = NOW + rng.choice((1, HOUR // 2, HOUR, 2 * HOUR)), rng.random() < 0.5
        before = {key: client.dump(key) for key in KEYS}
        values = client.mget(KEYS)
        (verdict,) = ask(script, check, now_us=later)
        after = client.mget(KEYS)
        for key, dump in before.items():
            client.delete(key)
            if dump:
                client.restore(key, 0, dump)
        is_log = lambda value: value[0] in (96, 97)
        new = [i + 1 for i in range(3) if after[i] and not values[i]]
        longer = [i + 1 for i in range(3) if after[i] and values[i] and len(after[i]) > len(values[i]) and is_log(after[i])]
        ids = [4] if after[3] and not values[3] else []
        client.config_set("maxmemory", 1)
        try:
            if alone and verdict == 0:
                assert ask(full, check, now_us=later, alone=True) == [0]
                assert client.mget(KEYS) == values
            elif new or longer or ids:
                assert named(full, check, now_us=later, alone=alone) == [new, longer, ids]
                assert client.mget(KEYS) == values
            else:
                assert ask(full, check, now_us=later, alone=alone) == [verdict]
                assert client.mget(KEYS) == after
        finally:
            client.config_set("maxmemory", 0)


def test_it_does_as_the_script_does_wherever_that_takes_no_memory(script, full, client):
    compare(script, full, client, 1, 400)
