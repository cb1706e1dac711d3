"""The vectors of tests/vectors as rows: what is asked, and what must come of it."""

import dataclasses
import os
import pathlib
import random
import subprocess
import sys
from math import gcd

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests/vectors"
sys.path.insert(0, str(FOLDER))

import reference  # noqa: E402

ALGORITHMS = ("gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log")
BUCKETS, WINDOWS = ALGORITHMS[:3], ALGORITHMS[3:5]


@dataclasses.dataclass(frozen=True)
class Limit:
    """The numbers of a limit as the steps want them; src/algorithm/limit_params.h says what they mean."""

    algorithm: int
    count: int
    period_us: int
    capacity: int
    scale: int
    denominator: int = 1
    interval_us: int = 0
    interval_remainder: int = 0
    full_us: int = 0
    full_remainder: int = 0

    @staticmethod
    def parse(text):
        """Limit.parse("gcra 10/1s burst 5 scale 100")"""
        limit = reference.parse_limit(["limit"] + text.split())
        return Limit.of(ALGORITHMS.index(limit.algorithm), limit.count, limit.period, limit.capacity, limit.scale)

    @staticmethod
    def of(algorithm, count, period_us, capacity, scale):
        if ALGORITHMS[algorithm] not in BUCKETS or not capacity:
            return Limit(algorithm, count, period_us, capacity, scale)
        divisor = gcd(count, period_us)
        denominator, period = count // divisor, period_us // divisor
        full = capacity * period
        return Limit(algorithm, count, period_us, capacity, scale, denominator, period // denominator, period % denominator,
                     full // denominator, full % denominator)

    @property
    def name(self):
        return ALGORITHMS[self.algorithm]

    def same_numbers(self, other):
        """Whether a counter is the same under both: of windows of any capacity above 0 it is."""
        if self.name in WINDOWS and self.capacity and other.capacity:
            return (self.algorithm, self.period_us, self.scale) == (other.algorithm, other.period_us, other.scale)
        return self == other


@dataclasses.dataclass(frozen=True)
class Grant:
    """What is known of an admitted row when it is given back."""

    at_us: int
    cost: int
    remaining: int
    reset_after_us: int


ANY_TIME_US = 2**53  # of units that nobody remembers when they were charged


@dataclasses.dataclass(frozen=True)
class Row:
    where: str
    fresh: bool
    limit: Limit
    kept_by: Limit  # the numbers that the state is under afterwards
    count_denied: bool
    now_us: int
    cost: int
    refund_of: object  # the Grant that is given back; None: `cost` is charged
    outcome: tuple  # allowed, remaining, retry_after_us, reset_after_us
    state: tuple  # three numbers; of a log: time, cost, time, cost, …


def read(lines, name):
    rows, grants, limits = [], [], []
    fresh, limit, count_denied = True, None, False
    for line_number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "fresh":
            fresh, count_denied, grants, limits = True, False, [], [limit]
        elif words[0] == "limit":
            limit = Limit.parse(" ".join(words[1:]))
            limits = [limit] if fresh else limits + [limit]
        elif words[0] == "count_denied":
            count_denied = words[1] == "on"
        else:
            asked, answer, state = line.split("|")
            kind = words[0] if words[0] in ("refund", "return") else ""
            now_us, number = map(int, asked.split()[1 if kind else 0:])
            allowed, *numbers = answer.split()
            cost, refund_of = (0 if kind else number), None
            if kind:
                refund_of = grants[number - 1] if kind == "refund" else Grant(ANY_TIME_US, number, 0, 0)
            numbers = tuple(map(int, numbers))
            grants.append(Grant(now_us, cost, numbers[0], numbers[2]))
            state, _, of = state.partition("of")
            kept_by = limits[int(of) - 1] if of else limit
            state = tuple(int(n) for word in state.split() for n in word.split(":"))
            rows.append(Row(f"{name}:{line_number}", fresh, limit, kept_by, count_denied, now_us, cost, refund_of,
                            (allowed == "yes", *numbers), state))
            fresh = False
    return rows


def from_file(algorithm):
    return read((FOLDER / f"{algorithm}.vec").read_text(encoding="utf-8").splitlines(), f"{algorithm}.vec")


def seed_for_test():
    """SLUICE_SEED, or a new one. Printed, so that a failure can be repeated."""
    seed = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().randrange(2**31))
    print(f"SLUICE_SEED={seed}")
    return seed


def at_random(seed, groups):
    command = [sys.executable, FOLDER / "reference.py", "random", str(seed), str(groups)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return read(text.splitlines(), f"random {seed}")
