"""What a counter's value says: the numbers it is kept under, and its state. Written from src/store/redis/script/README.md (Values, Stamps)
alone, in whole numbers of any size; it shares nothing with the script."""

import dataclasses

from vectors import ALGORITHMS, BUCKETS, WINDOWS, Limit

MS, S, M, H, D = 1000, 10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6
PERIODS_US = (MS, 100 * MS, S, 5 * S, 10 * S, 15 * S, 30 * S, M, 5 * M, 10 * M, 15 * M, 30 * M, H, D, 7 * D, 30 * D)
SLIDING_LOG = ALGORITHMS.index("sliding_log")
FIXED_WINDOW = ALGORITHMS.index("fixed_window")
WARNED = 2**55


def uint(value, size):
    return value.to_bytes(size, "big")


def number(value, start, size):
    return int.from_bytes(value[start:start + size], "big")


def rounded(count):
    """Up to 1023, followed by up to three zeros, in 12 bits; None: it is no such number."""
    for zeros in range(4):
        if count % 10**zeros == 0 and count // 10**zeros <= 1023:
            return count // 10**zeros * 4 + zeros
    return None


def short(limit):
    """The short stamp; nothing if there is none."""
    if limit.period_us not in PERIODS_US or not limit.capacity or limit.scale or limit.name == "sliding_log":
        return b""
    period = PERIODS_US.index(limit.period_us)
    if limit.name in WINDOWS:
        return bytes([16 * (1 + WINDOWS.index(limit.name)) + period])
    if limit.denominator > 256:
        return b""
    head = 128 + 32 * limit.algorithm + 2 * period
    if limit.count == limit.capacity and limit.count < 2**24:
        return bytes([head]) + uint(limit.count, 3)
    count, capacity = rounded(limit.count), rounded(limit.capacity)
    if count is None or capacity is None:
        return b""
    return bytes([head + 1]) + uint(count * 4096 + capacity, 3)


def full(limit):
    count, capacity = limit.count, limit.capacity
    if limit.name in WINDOWS:
        count = capacity = 1
    said = uint(count, 4) + uint(limit.period_us, 6)
    if limit.name == "sliding_log":
        return bytes([96]) + said + uint(limit.scale, 4)
    scale = uint(limit.scale, 4) if limit.scale else b""
    return bytes([64 + limit.algorithm + 8 * bool(scale)]) + said + uint(capacity, 4) + scale


def stamp(limit):
    return short(limit) or full(limit)


def pack(limit, state, warned=False):
    """The value that holds a state, as a row of the vectors has it."""
    head = stamp(limit)
    if limit.name == "sliding_log":
        entries = zip(state[::2], state[1::2])
        return bytes([96 + warned]) + head[1:] + b"".join(uint(at, 7) + uint(cost, 4) for at, cost in entries)
    at, first, second = state
    fraction_bytes = 1 if len(head) == 4 else 4
    return head + uint(at + WARNED * warned, 7) + uint(first, fraction_bytes) + (uint(second, 4) if second else b"")


@dataclasses.dataclass(frozen=True)
class Counter:
    limit: Limit  # of a window: of capacity 1
    state: tuple
    warned: bool


def may_be(limit):
    """Whether there is a limit of such numbers: make_limit_params of src/algorithm/limit_params.h."""
    if not (1 <= limit.count <= 10**9 and 1 <= limit.capacity <= 10**9 and MS <= limit.period_us <= 366 * D and limit.scale <= 10**9):
        return False
    if limit.name in BUCKETS:
        return limit.full_us < 2**52 and limit.capacity * limit.interval_remainder + limit.denominator < 2**53
    return limit.count <= 4096 if limit.name == "sliding_log" else limit.count == limit.capacity == 1


def read_stamp(value):
    """→ the numbers, and the stamp's length; None: there is no such stamp."""
    kind, size = value[0], len(value)
    if kind >= 128 and size >= 4:
        algorithm, period, form = kind >> 5 & 3, PERIODS_US[kind >> 1 & 15], kind & 1
        if algorithm == FIXED_WINDOW:
            return None
        if form == 0:
            return Limit.of(algorithm, number(value, 1, 3), period, number(value, 1, 3), 0), 4
        count, capacity = ((bits >> 2) * 10 ** (bits & 3) for bits in divmod(number(value, 1, 3), 4096))
        return Limit.of(algorithm, count, period, capacity, 0) if count else None, 4
    if 16 <= kind < 48:
        return Limit.of(FIXED_WINDOW + kind // 16 - 1, 1, PERIODS_US[kind % 16], 1, 0), 1
    if 64 <= kind < 80 and kind % 8 < SLIDING_LOG and size >= 15 + kind // 8 % 2 * 4:
        scale = number(value, 15, 4) if kind >= 72 else 0
        count, capacity = number(value, 1, 4), number(value, 11, 4)
        return Limit.of(kind % 8, count, number(value, 5, 6), capacity if count else 0, scale), 15 + kind // 8 % 2 * 4
    if kind in (96, 97) and size >= 15:
        return Limit.of(SLIDING_LOG, number(value, 1, 4), number(value, 5, 6), number(value, 1, 4), number(value, 11, 4)), 15
    return None


def unpack(value):
    """The Counter; None: it is no counter."""
    read = read_stamp(value) if value else None
    if not read or not read[0] or not may_be(read[0]):
        return None
    limit, start = read
    if limit.name == "sliding_log":
        if (len(value) - start) % 11:
            return None
        entries = range(start, len(value), 11)
        return Counter(limit, tuple(n for i in entries for n in (number(value, i, 7), number(value, i + 7, 4))), value[0] == 97)
    end = start + 7 + (1 if start == 4 else 4)
    if len(value) not in (end, end + 4):
        return None
    at = number(value, start, 7)
    return Counter(limit, (at % WARNED, number(value, start + 7, end - start - 7), number(value, end, 4)), at >= WARNED)
