"""Many checks in one call come out as the same checks one by one; and what that saves."""

import dataclasses
import random

import vectors
from script import Check, Entry
from vectors import Limit

NOW = 1_790_000_000_000_000
KEYS = [f"rl:{{abc}}{i:022d}" for i in range(12)]


def one_by_one(script, limits, checks, now_us):
    """The admissions of each check, repeated checks spelled out, one call for each."""
    for check in checks:
        once = dataclasses.replace(check, repeats=1)
        yield sum(script(KEYS, limits, [once], now_us=now_us).verdicts[0] for _ in range(check.repeats))


LIMITS = 5


def random_limits(rng):
    texts = ["gcra 100/1h burst 20", "gcra 11/1h burst 7", "token_bucket 50/1h", "leaky_bucket 70/1h burst 9",
             "fixed_window 25/1h", "sliding_window 30/1h", "sliding_log 12/1h", "gcra 0/1h", "fixed_window 50/1h",
             "gcra 30/1h scale 30", "token_bucket 13/2h scale 13", "sliding_log 6/1h scale 6", "leaky_bucket 11/1h burst 50"]
    return [Limit.parse(text) for text in rng.sample(texts, LIMITS)]


def random_check(rng, limit_of_key, other_limits=0.1):
    """Most keys are asked under their limit, some under another one."""
    def entry(key):
        limit = limit_of_key[key] if rng.random() > other_limits else rng.randrange(LIMITS) + 1
        return Entry(key + 1, limit, rng.choice([0, 1, 1, 1, 2, 5, 30]), rng.random() < 0.15)

    keys = rng.sample(range(len(KEYS)), rng.choice([1, 1, 1, 2, 3]))
    return Check(tuple(entry(key) for key in keys), repeats=rng.choice([1, 1, 1, 2, 9, 40]))


def compare(script, client, seed, lives):
    """Random batches, decided together and, from the same start, one by one."""
    rng = random.Random(seed)
    for _ in range(lives):
        client.flushall()
        limits = random_limits(rng)
        limit_of_key = [rng.randrange(LIMITS) + 1 for _ in KEYS]
        now_us = NOW
        for _ in range(8):
            checks = [random_check(rng, limit_of_key) for _ in range(rng.randrange(1, 25))]
            before = client.mget(KEYS)
            batched = script(KEYS, limits, checks, now_us=now_us)
            after = client.mget(KEYS)
            assert batched.values == before
            restore(client, before)
            assert list(one_by_one(script, limits, checks, now_us)) == batched.verdicts, (limits, checks)
            assert client.mget(KEYS) == after, (limits, checks)
            now_us += rng.choice([0, 1, 1_000_000, 300_000_000, 4_000_000_000])


def test_a_batch_decides_as_its_checks_would_one_by_one(script, client):
    compare(script, client, vectors.seed_for_test(), 15)


def restore(client, values):
    pipe = client.pipeline()
    pipe.delete(*KEYS)
    for key, value in zip(KEYS, values):
        if value is not None:
            pipe.set(key, value)
    pipe.execute()


def commands(client):
    return {name.removeprefix("cmdstat_"): stats["calls"] for name, stats in client.info("commandstats").items()}


def test_a_hundred_costs_on_one_key_are_one_read_and_one_write(script, client):
    limits = [Limit.parse("gcra 100/1h burst 40")]
    client.config_resetstat()
    answer = script(KEYS[:1], limits, [Check((Entry(1, 1),), repeats=100)], now_us=NOW)
    assert answer.verdicts == [40]
    used = commands(client)
    assert (used["time"], used["mget"], used["set"]) == (1, 1, 1)


def test_different_costs_on_one_key_are_decided_in_order_and_written_once(script, client):
    limits = [Limit.parse("gcra 100/1h burst 10")]
    checks = [Check((Entry(1, 1, cost),)) for cost in (4, 5, 3, 1, 1)]
    client.config_resetstat()
    assert script(KEYS[:1], limits, checks, now_us=NOW).verdicts == [1, 1, 0, 1, 0]
    assert commands(client)["set"] == 1


def test_denials_and_looks_write_nothing(script, client):
    limits = [Limit.parse("gcra 1/1h")]
    script(KEYS[:1], limits, [Check((Entry(1, 1),))], now_us=NOW)
    client.config_resetstat()
    checks = [Check((Entry(1, 1),)), Check((Entry(1, 1, 0),)), Check((Entry(2, 1, 0),))]
    assert script(KEYS[:2], limits, checks, now_us=NOW).verdicts == [0, 1, 1]
    used = commands(client)
    assert not {"set", "del"} & used.keys()
    assert client.exists(KEYS[1]) == 0


def test_a_call_may_have_thousands_of_keys(script, client):
    keys = [f"rl:{{abc}}{i:022d}" for i in range(5000)]
    limits = [Limit.parse("gcra 2/1h")]
    checks = [Check((Entry(i + 1, 1),), repeats=3) for i in range(len(keys))]
    assert script(keys, limits, checks, now_us=NOW).verdicts == [2] * len(keys)
    assert client.dbsize() == len(keys)
    assert script(keys, limits, checks, now_us=NOW).verdicts == [0] * len(keys)
