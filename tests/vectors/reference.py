#!/usr/bin/env python3
"""The six algorithms once more, as slow and as obvious as possible, to check the vectors against.

    reference.py check FILE...        compare every row with this model; exit status 1 if any differs
    reference.py fill FILE...         rewrite the expected columns (then read the diff!)
    reference.py random SEED GROUPS   print that many random groups with the answers of this model

A model says only two things: does a cost fit at a moment, and what does charging it do. The rest follows from what the
words mean, by search: `remaining` is the largest cost that fits, `retry_after_us` the shortest wait after which the cost
fits, `reset_after_us` the shortest wait after which nothing counts any more. Fractions are exact.
"""

import copy
import random
import re
import sys
from fractions import Fraction
from math import ceil, floor

NEVER = -1
DENIED_MAX = 2**22 - 1
UNITS_MAX = 2**30 - 1
BUCKETS = ("gcra", "token_bucket", "leaky_bucket")
WINDOWS = ("fixed_window", "sliding_window")
ALGORITHMS = BUCKETS + WINDOWS + ("sliding_log",)
UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


class Limit:
    def __init__(self, algorithm, count, period, burst=None):
        self.algorithm, self.count, self.period = algorithm, count, period
        self.capacity = 0 if count == 0 else burst or count
        self.interval = Fraction(period, count) if count else None


class Bucket:
    """Full again at the moment `full_at`; each unit takes one interval to come back."""

    def __init__(self, limit):
        self.limit, self.full_at, self.denied = limit, Fraction(0), 0

    def size(self):
        return self.limit.capacity * self.limit.interval

    def missing(self, now):
        return min(max(self.full_at - now, Fraction(0)), self.size())

    def fits(self, now, cost):
        return self.missing(now) + cost * self.limit.interval <= self.size()

    def idle(self, now):
        return self.missing(now) == 0

    def settle(self, now):
        self.full_at = min(self.full_at, now + self.size()) if self.full_at > now else Fraction(0)

    def charge(self, now, cost):
        missing = self.missing(now) + cost * self.limit.interval
        self.full_at = now + min(missing, self.size())

    def note(self, allowed, cost):
        if self.limit.algorithm == "leaky_bucket":
            if not allowed:
                self.denied = min(self.denied + cost, DENIED_MAX)
            elif cost:
                self.denied = 0

    def units(self, now):
        return ceil(self.missing(now) / self.limit.interval)

    def set_units(self, now, units):
        if units:
            self.full_at = now + units * self.limit.interval

    def columns(self):
        whole = floor(self.full_at)
        denominator = self.limit.interval.denominator if self.limit.interval else 1
        return [whole, (self.full_at - whole) * denominator, self.denied]


class Windows:
    """Counts of the window `index` and of the one before it."""

    def __init__(self, limit):
        self.limit, self.index, self.current, self.previous = limit, 0, 0, 0

    def settle(self, now):
        index = now // self.limit.period
        if self.current == self.previous == 0:
            self.index = index
        self.index = min(self.index, index + 1)  # the clock has stepped back
        if self.index < index:
            sliding = self.limit.algorithm == "sliding_window"
            self.previous = self.current if sliding and self.index == index - 1 else 0
            self.current, self.index = 0, index

    def at(self, now):
        later = copy.copy(self)
        later.settle(now)
        return later

    def units(self, now):
        w = self.at(now)
        part = max(Fraction(now, w.limit.period) - w.index, Fraction(0))
        return ceil(w.previous * (1 - part)) + w.current

    def fits(self, now, cost):
        return self.units(now) + cost <= self.limit.capacity

    def idle(self, now):
        return self.units(now) == 0

    def charge(self, now, cost):
        self.current = min(self.current + cost, UNITS_MAX)

    def note(self, allowed, cost):
        pass

    def set_units(self, now, units):
        if units:
            self.index, self.current = now // self.limit.period, units

    def columns(self):
        return [self.index if self.current or self.previous else 0, self.current, self.previous]


class Log:
    """What was admitted, and when."""

    def __init__(self, limit):
        self.limit, self.entries = limit, []

    def settle(self, now):
        for entry in self.entries:
            entry[0] = min(entry[0], now + self.limit.period)  # the clock has stepped back
        time = max([now] + [at for at, _ in self.entries])
        alive = [[at, cost] for at, cost in self.entries if at + self.limit.period > time]
        self.entries = []
        for at, cost in alive:
            self.add(at, cost)
        return time

    def add(self, at, cost):
        if self.entries and self.entries[-1][0] == at:
            self.entries[-1][1] = min(self.entries[-1][1] + cost, UNITS_MAX)
        else:
            self.entries.append([at, cost])

    def units(self, now):
        later = copy.deepcopy(self)
        later.settle(now)
        return sum(cost for _, cost in later.entries)

    def fits(self, now, cost):
        return self.units(now) + cost <= self.limit.capacity

    def idle(self, now):
        return self.units(now) == 0

    def charge(self, now, cost):
        self.add(self.settle(now), cost)
        while sum(cost for _, cost in self.entries[1:]) >= self.limit.capacity:
            self.entries.pop(0)

    def note(self, allowed, cost):
        pass

    def columns(self):
        return [f"{at}:{cost}" for at, cost in self.entries]


def new_counter(limit):
    return (Bucket if limit.algorithm in BUCKETS else Windows if limit.algorithm in WINDOWS else Log)(limit)


def changed(counter, limit, now):
    """The counter after its limit's numbers have changed."""
    old = counter.limit
    if isinstance(counter, Log):
        counter.limit = limit
        return counter
    if vars(old) == vars(limit):
        return counter
    moved = new_counter(limit)
    if old.algorithm == limit.algorithm == "leaky_bucket":
        moved.denied = counter.denied
    if not (old.capacity and limit.capacity):
        return moved
    if isinstance(counter, Bucket) and isinstance(moved, Bucket) and old.interval == limit.interval:
        moved.full_at = counter.full_at
    elif isinstance(counter, Windows) and old.algorithm == limit.algorithm and old.period == limit.period:
        moved.index, moved.current, moved.previous = counter.index, counter.current, counter.previous
    else:
        moved.set_units(now, min(counter.units(now), limit.capacity))
    return moved


def smallest(holds, start=0):
    """The smallest n >= start for which `holds`, which stays true once it is."""
    if holds(start):
        return start
    step = 1
    while not holds(start + step):
        step *= 2
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def step(counter, now, cost, count_denied):
    """Decides, charges, and returns the row's expected columns."""
    limit = counter.limit
    if limit.capacity == 0:
        counter.note(False, cost)
        return ["no", 0, NEVER, 0]
    counter.settle(now)
    allowed = cost == 0 or counter.fits(now, cost)
    if cost and (allowed or count_denied):
        counter.charge(now, cost)
    counter.note(allowed, cost)
    if allowed:
        retry = 0
    elif cost > limit.capacity:
        retry = NEVER
    else:
        retry = smallest(lambda d: counter.fits(now + d, cost))
    over = smallest(lambda c: c > limit.capacity or not counter.fits(now, c))
    reset = smallest(lambda d: counter.idle(now + d))
    return ["yes" if allowed else "no", max(over - 1, 0), retry, reset]


def parse_limit(words):
    count, size, unit = re.fullmatch(r"(\d+)/(\d+)([a-z]+)", words[2]).groups()
    burst = int(words[4]) if len(words) > 3 else None
    return Limit(words[1], int(count), int(size) * UNITS[unit], burst)


def answer(lines):
    """Yields (line, what the line should be), row by row."""
    counter = limit = None
    count_denied = pending = False
    for line in lines:
        words = line.split()
        if not words or words[0].startswith("#"):
            yield line, line
        elif words[0] == "fresh":
            counter, count_denied = None, False
            yield line, line
        elif words[0] == "limit":
            limit, pending = parse_limit(words), True
            yield line, line
        elif words[0] == "count_denied":
            count_denied = words[1] == "on"
            yield line, line
        else:
            now, cost = int(words[0]), int(words[1])
            if counter is None:
                counter = new_counter(limit)
            elif pending:
                counter = changed(counter, limit, now)
            pending = False
            expected = step(counter, now, cost, count_denied)
            left = f"{now:>16} {cost:>10} | {expected[0]:>3} "
            right = " ".join(f"{n:>{w}}" for n, w in zip(expected[1:], (10, 14, 14)))
            yield line, (left + right + " | " + " ".join(str(c) for c in counter.columns())).rstrip()


def random_limit(rng, algorithm):
    count = rng.choice([1, 2, 3, 7, 10, 100, 997, rng.randint(1, 4096)])
    size, unit = rng.choice([(1, "ms"), (7, "ms"), (1, "s"), (90, "s"), (1, "m"), (1, "h"), (1, "d")])
    burst = ""
    if algorithm in BUCKETS:
        count *= rng.choice([1, 1, 1000])
        burst = rng.choice(["", " burst 1", f" burst {rng.randint(1, 2 * count)}"])
    if rng.random() < 0.02:
        count, burst = 0, ""
    return f"limit {algorithm} {count}/{size}{unit}{burst}"


def random_group(rng):
    """A counter's life: bursts, pauses, a clock that steps back now and then, limits that change."""
    algorithm = rng.choice(ALGORITHMS)
    lines = ["fresh", random_limit(rng, algorithm)]
    if rng.random() < 0.3:
        lines.append("count_denied on")
    limit = parse_limit(lines[1].split())
    now = rng.randint(0, 2**51)
    for _ in range(rng.randint(5, 40)):
        pace = max(limit.period // max(limit.count, 1), 1)
        now += rng.choice([0, 0, 1, rng.randint(0, pace), rng.randint(0, 3 * pace), rng.randint(0, limit.period)])
        if rng.random() < 0.03:
            now = max(now - rng.randint(0, 4 * limit.period), 0)
        if rng.random() < 0.05:
            others = [algorithm] if algorithm == "sliding_log" else BUCKETS + WINDOWS
            lines.append(random_limit(rng, rng.choice([algorithm, rng.choice(others)])))
            limit = parse_limit(lines[-1].split())
        share = max(limit.capacity // 4, 1)
        cost = rng.choice([0, 1, 1, 1, rng.randint(1, share), rng.randint(1, share), limit.capacity, limit.capacity + 1])
        lines.append(f"{now} {cost}")
    return [expected for _, expected in answer(lines)]


def main(arguments):
    wrong = 0
    if arguments[:1] == ["random"] and len(arguments) == 3:
        rng = random.Random(int(arguments[1]))
        for _ in range(int(arguments[2])):
            print("\n".join(random_group(rng)), end="\n\n")
    elif arguments[:1] in (["check"], ["fill"]) and arguments[1:]:
        for path in arguments[1:]:
            with open(path, encoding="utf-8") as file:
                pairs = list(answer(file.read().splitlines()))
            if arguments[0] == "fill":
                with open(path, "w", encoding="utf-8") as file:
                    file.write("".join(new + "\n" for _, new in pairs))
                continue
            for number, (line, expected) in enumerate(pairs, 1):
                if line.split() != expected.split():
                    wrong += 1
                    print(f"{path}:{number}: has      {line}\n{path}:{number}: expected {expected}")
    else:
        sys.exit(__doc__)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
