"""A value says under which numbers it is kept: every kind of stamp, written and read; and what only looks like a value."""

import random
from fractions import Fraction
from math import ceil

import pytest
import stamps
import vectors
from script import Check, Entry
from vectors import Limit

NOW = 1_790_000_000_000_003  # odd: a moment must not lose a bit
KEY = "rl:{abc}0123456789012345678901"
BUCKETS = ("gcra", "token_bucket", "leaky_bucket")
PERIODS = ("1ms", "100ms", "1s", "5s", "10s", "15s", "30s", "1m", "5m", "10m", "15m", "30m", "1h", "1d", "7d", "30d")

# By hand, from the contract.
STAMPS = {
    # The count is the capacity.
    "gcra 10/1h": "98 00000a",
    "token_bucket 10/1s": "a4 00000a",
    "leaky_bucket 100/1m": "ce 000064",
    "gcra 1/30d": "9e 000001",
    "gcra 1000000/1s": "84 0f4240",
    "gcra 1024000/1s": "84 0fa000",
    "gcra 16776000/1d": "9a fffb40",
    "gcra 16781250/1d": "40 01000fc2 00141dd76000 01000fc2",  # 2^24 and more
    "gcra 16777215/1d": "40 00ffffff 00141dd76000 00ffffff",  # thirds and more of a microsecond do not fit into a byte
    "gcra 16777216/1d": "40 01000000 00141dd76000 01000000",
    "gcra 16384/1s": "84 004000",                             # a denominator of 256
    "gcra 257/1s": "40 00000101 0000000f4240 00000101",       # of 257
    # Another capacity.
    "gcra 100/1m burst 20": "8f 190 050",
    "gcra 1000/1s burst 5000": "85 fa0 7d1",
    "leaky_bucket 10/1s burst 1023": "c5 028 ffc",
    "gcra 10/1s burst 1024": "40 0000000a 0000000f4240 00000400",
    "gcra 10/1s burst 1030": "85 028 19d",
    "gcra 10/1s burst 10230": "85 028 ffd",
    "gcra 10/1s burst 10240": "40 0000000a 0000000f4240 00002800",
    "gcra 10/1s burst 1023000": "85 028 fff",
    "gcra 10/1s burst 1024000": "40 0000000a 0000000f4240 000fa000",
    "gcra 10/1s burst 1000000": "85 028 fa3",
    "gcra 10/1s burst 10000000": "40 0000000a 0000000f4240 00989680",
    "token_bucket 1020000/1s burst 7": "a5 ff3 01c",
    "token_bucket 1024000/1s burst 7": "41 000fa000 0000000f4240 00000007",
    "token_bucket 16384/1s burst 7": "41 00004000 0000000f4240 00000007",
    # Windows, of whatever capacity.
    "fixed_window 10/1h": "1c",
    "fixed_window 999999937/1h": "1c",
    "sliding_window 10/1h": "2c",
    "fixed_window 1/1ms": "10",
    "sliding_window 1/1ms": "20",
    "sliding_window 4/30d": "2f",
    "fixed_window 10/2h": "43 00000001 0001ad274800 00000001",
    "sliding_window 77/366d": "44 00000001 1cc2a9eb4000 00000001",
    # A period that is not in the list; a scale.
    "gcra 10/2h": "40 0000000a 0001ad274800 0000000a",
    "leaky_bucket 7/90s burst 3": "42 00000007 0000055d4a80 00000003",
    "gcra 10/1h scale 10": "48 0000000a 0000d693a400 0000000a 0000000a",
    "token_bucket 10/1h burst 20 scale 100": "49 0000000a 0000d693a400 00000014 00000064",
    "leaky_bucket 10/1h scale 1000000000": "4a 0000000a 0000d693a400 0000000a 3b9aca00",
    "fixed_window 10/1h scale 10": "4b 00000001 0000d693a400 00000001 0000000a",
    "sliding_window 99/1h scale 10": "4c 00000001 0000d693a400 00000001 0000000a",
    # Logs.
    "sliding_log 10/1h": "60 0000000a 0000d693a400 00000000",
    "sliding_log 4096/1m": "60 00001000 000003938700 00000000",
    "sliding_log 10/1h scale 4096": "60 0000000a 0000d693a400 00001000",
} | {f"{name} 3/{period}": bytes([128 + 32 * i + 2 * j, 0, 0, 3]).hex()
     for i, name in enumerate(BUCKETS) for j, period in enumerate(PERIODS)
} | {f"{name} 3/{period}": bytes([16 + 16 * i + j]).hex()
     for i, name in enumerate(("fixed_window", "sliding_window")) for j, period in enumerate(PERIODS)}

ASKS_ANY = Limit.parse("fixed_window 1000000000/1d")  # sees units of whatever is there


def by_hand(text):
    return bytes.fromhex(STAMPS[text].replace(" ", ""))


def entry_check(cost, *, limit=1, explain=False, count_denied=False):
    return Check((Entry(1, limit, cost, count_denied),), explain=explain)


def look(script, limit, now_us):
    answer = script([KEY], [limit], [entry_check(0, explain=True)], now_us=now_us)
    return answer.records[0].outcomes[0]


# Written, and read by whoever asks

def check_kind(text, script, client):
    """A charge of one, or of all: by the plain way, and explained."""
    limit, stamp = Limit.parse(text), by_hand(text)
    size = 12 if len(stamp) < 15 else len(stamp) + 11
    for cost, explain in ((1, False), (1, True), (limit.capacity, False), (limit.capacity, True)):
        check = entry_check(cost, explain=explain)
        pipe = client.pipeline(transaction=True)  # in which no time passes: some are over after a microsecond
        pipe.delete(KEY)
        pipe.evalsha(*script.arguments([KEY], [limit], [check], now_us=NOW)).get(KEY)
        pipe.evalsha(*script.arguments([KEY], [limit], [check], now_us=NOW)).get(KEY)
        _, charged, first, again, second = pipe.execute()
        fits = 2 * cost <= limit.capacity
        assert (charged[2], again[2]) == (1, int(fits)), text
        for value, units in ((first, cost), (second, 2 * cost if fits else cost)):
            counter = stamps.unpack(value)
            assert counter and counter.limit.same_numbers(limit), text
            assert units_in(limit, counter.state, NOW) == units, text
            assert value == stamps.pack(limit, counter.state, counter.warned), text
            has_denied = limit.name == "leaky_bucket" and counter.state[2] > 0
            assert len(value) == size + 4 * has_denied, text
            assert value.startswith(stamp if stamp[0] != 96 else bytes([96 + counter.warned]) + stamp[1:]), text


@pytest.mark.parametrize("text", STAMPS)
def test_a_stamp_is_as_the_contract_says(text, script, client):
    assert stamps.stamp(Limit.parse(text)) == by_hand(text)
    # A key of a millisecond may expire between two commands of a busy server.
    for tries in range(100 if text.endswith("/1ms") else 1, 0, -1):
        try:
            return check_kind(text, script, client)
        except AssertionError:
            if tries == 1:
                raise


def units_in(limit, state, now_us):
    """Whole units in use, of a state that a step would leave."""
    at, first, second = state if limit.name != "sliding_log" else (0, 0, 0)
    if limit.name in BUCKETS:
        interval = Fraction(limit.period_us, limit.count)
        missing = max(at + Fraction(first, limit.denominator) - now_us, 0)
        return ceil(min(missing, limit.capacity * interval) / interval)
    if limit.name == "sliding_log":
        return sum(cost for cost in state[1::2])
    fading = Fraction((at + 1) * limit.period_us - now_us, limit.period_us) if limit.name == "sliding_window" else 0
    return first + ceil(second * fading)


def random_limit(rng):
    """Numbers of any kind of stamp, at the edges more often than chance would have it."""
    count = rng.choice([1, 3, 10, 255, 256, 257, 1023, 1024, 10230, 16384, 10**6, 2**24, 10**9, rng.randint(1, 4096), rng.randint(1, 10**9)])
    period = rng.choice([*stamps.PERIODS_US, rng.randint(1000, 366 * stamps.D)])
    name = rng.choice(vectors.ALGORITHMS)
    capacity = count
    if name in BUCKETS:
        capacity = rng.choice([count, count, 1, 1023, 1024, 10230, 1023000, 1024000, rng.randint(1, 10**9)])
    if name == "sliding_log":
        count = capacity = min(count, 4096)
    scale = rng.choice([0, 0, 1, min(capacity, 4096)])
    limit = Limit.of(vectors.ALGORITHMS.index(name), count, period, capacity, scale)
    canonical = limit if name not in vectors.WINDOWS else Limit.of(limit.algorithm, 1, period, 1, scale)
    return limit if stamps.may_be(canonical) else random_limit(rng)


def random_state(rng, limit, now_us):
    if limit.name in BUCKETS:
        full = limit.full_us if rng.random() < 0.5 else min(limit.full_us, 10**6)
        us = rng.randint(0, full)
        fraction = rng.randrange(limit.full_remainder + 1 if us == limit.full_us else limit.denominator)
        second = rng.choice([0, 7]) if limit.name == "leaky_bucket" else 0
        return (now_us + us, fraction, second)
    if limit.name == "sliding_log":
        count = rng.randint(1, 4)
        times = sorted(rng.sample(range(min(limit.period_us, 10**6)), count), reverse=True)
        return tuple(n for time in times for n in (now_us - time, rng.randint(1, limit.capacity)))
    before = rng.choice([0, rng.randint(1, limit.capacity)]) if limit.name == "sliding_window" else 0
    return (now_us // limit.period_us, rng.randint(1, limit.capacity), before)


def check_read(script, client, seed, count):
    """Values of numbers that no call has named, asked by others: units in use are seen to the last one, and a denial leaves them
    under their numbers, with the mark that they warned."""
    rng = random.Random(seed)
    now_us = NOW + rng.randrange(8)
    counters = [(limit, random_state(rng, limit, now_us), rng.random() < 0.5) for limit in (random_limit(rng) for _ in range(count))]
    keys = [f"rl:{{abc}}{i:022d}" for i in range(count)]
    values = [stamps.pack(*counter) for counter in counters]
    client.mset(dict(zip(keys, values)))
    checks = [Check((Entry(i + 1, 1, 0),), explain=True) for i in range(count)]
    answer = script(keys, [ASKS_ANY], checks, now_us=now_us)
    assert answer.values == values == client.mget(keys)
    for (limit, state, warned), value, record in zip(counters, values, answer.records):
        read = stamps.unpack(value)
        assert (read.state, read.warned) == (state, warned) and read.limit.same_numbers(limit), limit
        units = units_in(limit, state, now_us)
        assert record.outcomes[0].remaining == max(ASKS_ANY.capacity - units, 0), (limit, state)
    never_fits = [Check((Entry(i + 1, 1, 2),)) for i in range(count)]
    pipe = client.pipeline(transaction=True)
    pipe.evalsha(*script.arguments(keys, [Limit.parse("gcra 1/13s scale 3")], never_fits, now_us=now_us)).mget(keys)
    denied, after = pipe.execute()
    assert denied[1 + count:] == [0] * count
    for (limit, state, warned), value in zip(counters, after):
        if limit.name == "leaky_bucket":
            state = (*state[:2], state[2] + 2)  # it counts what is denied
        if units_in(limit, state, now_us):
            assert value == stamps.pack(limit, state, warned), (limit, state)


def test_numbers_that_nobody_has_named_are_read_exactly(script, client):
    check_read(script, client, vectors.seed_for_test(), 1000)


WARNING = ("gcra 10/1h", "gcra 10/2h", "leaky_bucket 10/1h", "fixed_window 10/1h", "sliding_window 10/1h",
           "sliding_window 10/1h scale 10", "sliding_log 10/1h")


def check_warning(text, explain, script, client):
    limit = Limit.parse(text)
    for now_us in range(NOW, NOW + 9):
        client.delete(KEY)
        script([KEY], [limit], [entry_check(9, explain=explain)], now_us=now_us)
        counter = stamps.unpack(client.get(KEY))
        assert counter.warned
        client.delete(KEY)
        script([KEY], [limit], [entry_check(1, explain=explain)], now_us=now_us)
        calm = stamps.unpack(client.get(KEY))
        assert not calm.warned
        if limit.name in BUCKETS:
            assert (counter.state[0] - now_us, calm.state[0] - now_us) == (9 * limit.interval_us, limit.interval_us)
        else:
            assert counter.state[0] == calm.state[0]
        client.set(KEY, stamps.pack(limit, counter.state, warned=True))
        assert script([KEY], [limit], [entry_check(2, explain=explain)], now_us=now_us).verdicts == [0]
        read = stamps.unpack(client.get(KEY))
        assert (read.warned, read.state[:2]) == (True, counter.state[:2])
        assert look(script, limit, now_us).reset_after_us == look(script, ASKS_ANY, now_us).reset_after_us


@pytest.mark.parametrize("text", WARNING)
@pytest.mark.parametrize("explain", [False, True])
def test_a_warning_costs_no_microsecond(text, explain, script, client):
    """2^55 and a moment are more than a double holds."""
    check_warning(text, explain, script, client)


def test_a_full_stamp_costs_16_bytes_more(script, client):
    for text, bytes_used in (("gcra 10/1h", 88), ("fixed_window 10/1h", 88), ("gcra 10/2h", 104), ("fixed_window 10/2h", 104)):
        client.delete(KEY)
        script([KEY], [Limit.parse(text)], [entry_check(1)], now_us=NOW)
        assert client.memory_usage(KEY) <= bytes_used, text


# No counters

def full(kind, count, period_us, capacity, *scale):
    return bytes([kind]) + b"".join(stamps.uint(n, size) for n, size in zip((count, period_us, capacity, *scale), (4, 6, 4, 4)))


STATE, HOUR = stamps.uint(NOW + 10**9, 7) + b"\0\0\0\5", 3600 * 10**6
LOG_ENTRY = stamps.uint(NOW, 7) + stamps.uint(5, 4)
SHORT_STATE = STATE[:7] + b"\0"
VALID = {
    "short bucket": bytes.fromhex("98000064") + SHORT_STATE,
    "short bucket of two numbers": bytes.fromhex("99190050") + SHORT_STATE,
    "short window": b"\x1c" + stamps.uint(NOW // HOUR, 7) + b"\0\0\0\5",
    "full bucket": full(64, 10, 2 * HOUR, 10) + STATE,
    "full bucket with a scale": full(72, 10, 2 * HOUR, 10, 10) + STATE,
    "full window": full(68, 1, 2 * HOUR, 1) + stamps.uint(NOW // (2 * HOUR), 7) + b"\0\0\0\5",
    "log": full(96, 10, HOUR, 0) + LOG_ENTRY,
}
LAST_EXACT = 150119970  # the largest burst of 999999937/1m
FOREIGN = {
    "empty": b"",
    "text": b"thirteen byte",
    "bucket of the algorithm that is none": bytes.fromhex("f8000064") + SHORT_STATE,
    "bucket that is a window of one unit": bytes.fromhex("f8000001") + STATE[:7] + b"\5",
    "bucket of count 0": bytes.fromhex("98000000") + SHORT_STATE,
    "bucket of two numbers, count 0": bytes.fromhex("99000050") + SHORT_STATE,
    "bucket of two numbers, capacity 0": bytes.fromhex("99190000") + SHORT_STATE,
    "bucket of two numbers, count 0 with zeros": bytes.fromhex("99003050") + SHORT_STATE,
    "short bucket that takes too long to fill": bytes.fromhex("9f004fff") + SHORT_STATE,  # 1/30d burst 1023000: 84,000 years
    "full of count 0": full(64, 0, HOUR, 10) + STATE,
    "full of capacity 0": full(64, 10, HOUR, 0) + STATE,
    "full of too large a count": full(64, 10**9 + 1, HOUR, 10) + STATE,
    "full of too large a capacity": full(64, 10**9, 1000 * 10**6, 10**9 + 1) + STATE,
    "full of too short a period": full(64, 10, 999, 10) + STATE,
    "full of too long a period": full(64, 10, 366 * stamps.D + 1, 10) + STATE,
    "full that takes too long to fill": full(64, 1, 2**42, 2**10) + STATE,
    "full that takes a little too long to fill": full(64, 10, 45035997, 10**9) + STATE,
    "full that can't be exact": full(64, 999999937, stamps.M, LAST_EXACT + 1) + STATE,
    "full of too large a scale": full(72, 10, HOUR, 10, 10**9 + 1) + STATE,
    "full window of two units": full(67, 2, HOUR, 2) + STATE,
    "full window with a burst": full(68, 2, HOUR, 1) + STATE,
    "full and more": full(80, 10, HOUR, 10) + STATE,
    "full and more, with a scale": full(88, 10, HOUR, 10, 10) + STATE,
    "full log": full(69, 10, HOUR, 10) + STATE,
    "full of algorithm 6": full(70, 10, HOUR, 10) + STATE,
    "full of algorithm 7 with a scale": full(79, 10, HOUR, 10, 10) + STATE,
    "log of count 0": full(96, 0, HOUR, 0) + LOG_ENTRY,
    "log of too large a count": full(96, 4097, HOUR, 0) + LOG_ENTRY,
    "log of too short a period": full(97, 10, 999, 0) + LOG_ENTRY,
    "log of two warnings": full(98, 10, HOUR, 0) + LOG_ENTRY,
} | {f"first byte {kind}": bytes([kind]) + b"\0\0\0\1" * size
     for kind in (0, 1, 15, 48, 63, 80, 95, 98, 127) for size in (3, 4, 7)
} | {f"{name}, {len(value) + more} bytes": (value + b"\1\1\1\1\1")[:len(value) + more]
     for name, value in VALID.items() for more in (-12, -11, -1, 1, 2, 3, 5) if len(value) + more > 0 and (name, more) != ("log", -11)
} | {f"{name}, {size} bytes": value[:size] for name, value in VALID.items() for size in (1, 3, 4, 8, 14) if size < len(value)}
IN_RANGE = {
    "takes all but too long to fill": full(64, 1, 2**42, 2**10 - 1) + STATE,
    "takes all but a little too long to fill": full(64, 10, 45035996, 10**9) + STATE,
    "is just exact": full(64, 999999937, stamps.M, LAST_EXACT) + STATE,
    "shortest period": full(65, 10, 1000, 10) + STATE,
    "longest period": full(66, 10, 366 * stamps.D, 10) + STATE,
    "largest count": full(64, 10**9, 1000 * 10**6, 10**9) + STATE,
    "largest scale": full(72, 10, HOUR, 10, 10**9) + STATE,
    "largest log": full(96, 4096, HOUR, 4096) + LOG_ENTRY,
    "a short stamp of more than 256 parts": bytes.fromhex("98ffffff") + SHORT_STATE,
}
ASKED = ("gcra 100/1h", "leaky_bucket 100/2h", "fixed_window 100/1h", "sliding_window 100/1h scale 100", "sliding_log 100/1h")


def check_foreign(name, value, script, client):
    """It counts as fresh, is gone after a charge, and a neighbour does not notice."""
    assert stamps.unpack(value) is None, name
    neighbour = KEY[:-1] + "2"
    for text in ASKED:
        limit = Limit.parse(text)
        for explain in (True, False):
            client.delete(KEY, neighbour)
            client.set(KEY, value)
            seen = look(script, limit, NOW)
            assert (seen.allowed, seen.remaining, seen.reset_after_us) == (True, 100, 0), (name, text)
            assert client.get(KEY) == value, (name, text)
            checks = [Check((Entry(i, 1, 60),), explain=explain) for i in (1, 2, 1, 2)]
            assert script([KEY, neighbour], [limit], checks, now_us=NOW).verdicts == [1, 1, 0, 0], (name, text)
            got, expected = client.mget(KEY, neighbour)
            assert got == expected and stamps.unpack(got).limit.same_numbers(limit), (name, text)


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_counter_counts_as_fresh(name, script, client):
    check_foreign(name, FOREIGN[name], script, client)


def check_in_range(name, value, script, client):
    """Something is in use, and the look says how long."""
    counter = stamps.unpack(value)
    assert counter, name
    client.set(KEY, value)
    seen = look(script, ASKS_ANY, NOW)
    assert seen.remaining == ASKS_ANY.capacity - units_in(counter.limit, counter.state, NOW) < ASKS_ANY.capacity, name


@pytest.mark.parametrize("name", [*VALID, *IN_RANGE])
def test_what_is_just_in_range_is_a_counter(name, script, client):
    check_in_range(name, (VALID | IN_RANGE)[name], script, client)


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("name", VALID)
def test_no_state_breaks_the_script(name, text, script, client):
    """All bits set, or none, behind a stamp that is in order: nobody gets more than a fresh counter has."""
    limit, stamp_bytes = Limit.parse(text), len(VALID[name]) - (8 if name.startswith("short bucket") else 11)
    stamp = VALID[name][:stamp_bytes]
    sizes = (11, 22, 11 * 300) if name == "log" else (len(VALID[name]) - stamp_bytes, len(VALID[name]) - stamp_bytes + 4)
    for state in [bytes([fill]) * size for size in sizes for fill in (0, 0x7f, 0x80, 0xff)]:
        assert stamps.unpack(stamp + state)
        for cost, count_denied in ((0, False), (1, False), (101, False), (1, True)):
            for explain in (False, True):
                client.set(KEY, stamp + state)
                answer = script([KEY], [limit], [entry_check(cost, explain=explain, count_denied=count_denied)], now_us=NOW)
                for record in answer.records:
                    assert 0 <= record.outcomes[0].remaining <= 100


def check_random_bytes(script, client, seed):
    """Values with a few bytes changed, cut or added."""
    rng = random.Random(seed)
    limit = Limit.parse("gcra 100/1h")
    values = []
    for _ in range(4000):
        value = bytearray(rng.choice(list(VALID.values())))
        for _ in range(rng.choice([1, 1, 2, 8])):
            value[rng.randrange(min(len(value), rng.choice([1, 4, 19, 40])))] = rng.choice([0, 1, 64, 127, 128, 255, rng.randrange(256)])
        values.append(bytes(value)[:rng.choice([len(value)] * 4 + [rng.randrange(1, len(value))])] + bytes(rng.choice([0, 0, 0, 1, 4, 11])))
    keys = [f"rl:{{abc}}{i:022d}" for i in range(len(values))]
    client.mset(dict(zip(keys, values)))
    answer = script(keys, [limit], [Check((Entry(i + 1, 1, 0),), explain=True) for i in range(len(keys))], now_us=NOW)
    none = 0
    for value, record in zip(values, answer.records):
        outcome = record.outcomes[0]
        if stamps.unpack(value) is None:
            none += 1
            assert (outcome.remaining, outcome.reset_after_us) == (100, 0), value
        assert 0 <= outcome.remaining <= 100, value
    assert 100 < none < len(values) - 100


def test_random_bytes_are_a_counter_or_none_as_the_contract_says(script, client):
    check_random_bytes(script, client, vectors.seed_for_test())


def check_all(script, client, seed):
    """For scripts with a mistake."""
    for text in STAMPS:
        check_kind(text, script, client)
    for text in WARNING:
        for explain in (False, True):
            check_warning(text, explain, script, client)
    check_read(script, client, seed, 1000)
    for name, value in (VALID | IN_RANGE).items():
        check_in_range(name, value, script, client)
    for name, value in FOREIGN.items():
        check_foreign(name, value, script, client)
    check_random_bytes(script, client, seed)


def test_a_script_without_one_passes(script, client):
    check_all(script, client, vectors.seed_for_test())
