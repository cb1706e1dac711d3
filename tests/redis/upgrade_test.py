"""During an upgrade old and new servers share counters: two scripts side by side decide as one alone. Values have had their present
form since they say their numbers; scripts from before that are not compared."""

import dataclasses
import random

import vectors
from batches_test import KEYS, LIMITS, NOW, random_check, random_limits
from script import Check, RequestId, Script
from steps import redis_script

IDS = [f"rl:{{abc}}i{i:021d}" for i in range(4)]


def with_id(rng, check):
    """The same check under one of a few request ids; so some are replayed, and some are conflicts. Charged in any case."""
    request_id = RequestId(len(KEYS) + 1 + rng.randrange(len(IDS)), bytes([rng.randrange(2)] * 8))
    entries = tuple(dataclasses.replace(entry, cost=max(entry.cost, 1), count_denied=True) for entry in check.entries)
    return Check(entries, request_id=request_id)


def alternate(one, other, client, seed):
    """Random calls, first by one of two scripts, chosen by chance; then, from the same start, by the second alone."""
    rng = random.Random(seed)
    used = {one.sha: 0, other.sha: 0}
    for _ in range(10):
        limits = random_limits(rng)
        limit_of_key = [rng.randrange(LIMITS) + 1 for _ in KEYS]
        now_us, calls = NOW, []
        for _ in range(30):
            checks = [random_check(rng, limit_of_key) for _ in range(rng.randrange(1, 12))]
            checks.append(with_id(rng, random_check(rng, limit_of_key)))
            calls.append((checks, now_us))
            now_us += rng.choice([0, 1, 1_000_000, 300_000_000])
        outcomes = []
        for chosen in (lambda: rng.choice([one, other]), lambda: other):
            client.flushall()
            outcome = []
            for checks, at_us in calls:
                script = chosen()
                used[script.sha] += 1
                answer = script(KEYS + IDS, limits, checks, counter_keys=len(KEYS), now_us=at_us)
                outcome.append((answer, client.mget(KEYS + IDS)))
            outcomes.append(outcome)
        for step, (mixed, alone) in enumerate(zip(*outcomes)):
            assert mixed == alone, (seed, step, limits, calls[step])
    assert min(used.values()) > 50


def test_two_texts_of_one_version(client):
    current = redis_script.build()
    alternate(Script(client, "-- as of another release\n" + current), Script(client, current), client,
              vectors.seed_for_test())
