"""During an upgrade old and new servers share counters: scripts of two versions side by side decide as one alone."""

import contextlib
import dataclasses
import random
import subprocess

import pytest
import vectors
from batches_test import KEYS, NOW, random_check, random_limits
from script import Check, Record, RequestId, Script, pack_state, unpack_state
from steps import redis_script

IDS = [f"rl:{{abc}}i{i:021d}" for i in range(4)]


def former_versions():
    """{commit: the script before it, put together by its own list of parts}: before every leaky bucket of a check counted
    its denial, and before there were refunds; as far as the history of this checkout goes."""
    def show(commit, path):
        return subprocess.run(["git", "show", f"{commit}^:{path}"], cwd=redis_script.ROOT, capture_output=True,
                              text=True, check=True).stdout

    def build(commit):
        order = show(commit, "src/store/redis/script.order").splitlines()
        return "\n".join(show(commit, line) for line in order if line and not line.startswith("#"))
    found = {}
    for commit in ("a2fcdf0", "19de33c"):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            found[commit] = build(commit)
    return found


def common_check(rng, limit_of_key):
    """A check that all versions decide alike: in the former ones no window denied a look."""
    check = random_check(rng, limit_of_key)
    entries = tuple(dataclasses.replace(entry, count_denied=entry.count_denied and entry.cost > 0) for entry in check.entries)
    return dataclasses.replace(check, entries=entries)


def with_id(rng, check):
    """The same check under one of a few request ids; so some are replayed, and some are conflicts. Charged in any case: the
    former versions remembered what charges nothing, too."""
    request_id = RequestId(len(KEYS) + 1 + rng.randrange(len(IDS)), bytes([rng.randrange(2)] * 8))
    entries = tuple(dataclasses.replace(entry, cost=max(entry.cost, 1), count_denied=True) for entry in check.entries)
    return Check(entries, request_id=request_id)


def whole(answer, values, _):
    return answer, values


def without_denied_costs(answer, values, limits):
    """What decides: the same, but for what leaky buckets have denied and when, and for the pressure, which once followed the
    cost. Of the values only those afterwards."""
    def bare_record(record):
        return record and dataclasses.replace(
            record, outcomes=tuple(dataclasses.replace(outcome, denied_cost=0, pressure="") for outcome in record.outcomes))

    def bare_value(value, numbers):
        if value is None or numbers.limit.name != "leaky_bucket":
            return value
        tag, warned, (at_us, first, _) = unpack_state(value)
        return pack_state(tag, numbers.limit, (at_us, first, 0), warned) if at_us > answer.now_us else None
    records = [bare_record(record) for record in answer.records]
    ids = [value and bare_record(Record.unpack(value)) for value in values[len(KEYS):]]
    return answer.verdicts, records, ids, [bare_value(value, numbers) for value, numbers in zip(values, limits)]


def alternate(one, other, client, seed, shown=whole):
    """Random calls, first by one of two scripts, chosen by chance; then, from the same start, by the second alone."""
    rng = random.Random(seed)
    used = {one.sha: 0, other.sha: 0}
    for _ in range(10):
        limits = random_limits(rng)
        limit_of_key = [rng.randrange(5) + 1 for _ in KEYS]
        now_us, calls = NOW, []
        for _ in range(30):
            checks = [common_check(rng, limit_of_key) for _ in range(rng.randrange(1, 12))]
            checks.append(with_id(rng, common_check(rng, limit_of_key)))
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
                outcome.append(shown(answer, client.mget(KEYS + IDS), [limits[index - 1] for index in limit_of_key]))
            outcomes.append(outcome)
        for step, (mixed, alone) in enumerate(zip(*outcomes)):
            assert mixed == alone, (seed, step, limits, calls[step])
    assert min(used.values()) > 50


def test_two_texts_of_one_version(client):
    current = redis_script.build()
    alternate(Script(client, "-- as of another release\n" + current), Script(client, current), client,
              vectors.seed_for_test())


@pytest.mark.parametrize("former", former_versions().values(), ids=former_versions().keys())
def test_a_former_version(client, former):
    assert former != redis_script.build()
    alternate(Script(client, former), Script(client, redis_script.build()), client, vectors.seed_for_test(),
              without_denied_costs)
