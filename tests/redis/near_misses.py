"""Rows where a division comes as near to a whole number as it can without being one: there doubles round to the wrong
side, and only exact arithmetic is right. Random rows never meet such numbers, so they are computed."""

from math import gcd

import reference
import vectors

PERIODS_MAX_US = 366 * 86_400 * 10**6


def coprime(rng, low, high, other):
    while True:
        number = rng.randrange(low, high)
        if gcd(number, other) == 1:
            return number


def sliding_window_group(rng):
    """What fades of the window before is ±1 ÷ period away from whole units; so is the wait of what is denied."""
    period = rng.randrange(PERIODS_MAX_US // 2, PERIODS_MAX_US)
    count = coprime(rng, 5 * 10**8, 10**9, period)
    capacity = 10**9
    start = rng.randrange(1, 40) * period
    left = rng.choice([1, -1]) * pow(count, -1, period) % period
    room = rng.choice([1, -1]) * pow(period, -1, count) % count
    return [f"limit sliding_window {capacity}/{period}us", f"{start} {count}", f"{start + 2 * period - left} 0",
            f"{start + 2 * period - left} 1", "fresh", f"{start} {count}", f"{start + period} {capacity - room}"]


def gcra_group(rng):
    """What remains is 1 ÷ (interval × denominator) away from whole units."""
    period = rng.randrange(PERIODS_MAX_US // 2, PERIODS_MAX_US)
    count = coprime(rng, 6 * 10**7, 9 * 10**7, period)
    start = rng.randrange(0, 2**50)
    waits = [rng.choice([1, -1]) * rng.randrange(1, 3) * pow(count, -1, period) % period for _ in range(3)]
    algorithm = rng.choice(vectors.BUCKETS)
    return [f"limit {algorithm} {count}/{period}us", f"{start} {count}",
            *(f"{start + wait} {cost}" for wait in sorted(waits) for cost in (0, 0))]


def scale_group(rng):
    """What is in use is ±1 ÷ scale away from whole units of the other scale, there and back; so is what may be in use for a
    cost to fit."""
    one = rng.randrange(5 * 10**8, 10**9)
    other = coprime(rng, 5 * 10**8, 10**9, one)
    used = rng.choice([1, -1]) * pow(other, -1, one) % one
    room = min(rng.choice([1, -1]) * pow(one, -1, other) % other, other - 1)
    start = rng.randrange(0, 2**50)
    windows = [f"limit {algorithm} 1000000000/1h scale {scale}"
               for algorithm, scale in zip(rng.choices(vectors.WINDOWS, k=2), (one, other))]
    return [windows[0], f"{start} {used}", windows[1], f"{start} 0", f"{start} 1", windows[0], f"{start} 0",
            "fresh", windows[0], f"{start} {one}", f"limit gcra 1000000000/1000s burst {other} scale {other}", f"{start} {other - room}", f"return {start} {used}",
            f"{start} 0"]


def rows(rng, groups):
    lines = []
    for _ in range(groups):
        lines += ["fresh", *rng.choice([sliding_window_group, gcra_group, scale_group])(rng)]
    return vectors.read([answer for _, answer in reference.answer(lines)], "near misses")
