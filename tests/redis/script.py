"""A client of the Redis script, as src/store/redis/README.md describes it: packs calls, unpacks answers."""

import dataclasses
import struct

from steps import redis_script

CONFLICT, REPLAYED = -1, -2
PRESSURES = ("normal", "warning", "throttled")


def uint(value, size):
    return value.to_bytes(size, "big")


@dataclasses.dataclass(frozen=True)
class Entry:
    key: int  # index into the call's keys, from 1
    limit: int  # index into the call's limits, from 1
    cost: int = 1
    count_denied: bool = False

    def pack(self):
        return struct.pack(">HHBI", self.key, self.limit, self.count_denied, self.cost)


@dataclasses.dataclass(frozen=True)
class RequestId:
    key: int  # index into the call's keys; after all counters
    fingerprint: bytes  # six bytes of the payload, two of the terms
    ttl_ms: int = 600_000  # of a refund: the flags that the record must have

    def pack(self):
        return struct.pack(">H8sI", self.key, self.fingerprint, self.ttl_ms)


@dataclasses.dataclass(frozen=True)
class Check:
    entries: tuple
    repeats: int = 1
    explain: bool = False
    request_id: RequestId = None
    is_part: bool = False  # of a request that is charged on other slots, too
    refund_of: tuple = ()  # the Grant of each entry: gives them back; explained

    def pack(self):
        header = len(self.entries) + (64 if self.request_id else 0) + (128 if self.explain or self.refund_of else 0)
        text = struct.pack(">BH", header, 0 if self.refund_of else 2 if self.is_part else self.repeats)
        text += b"".join(entry.pack() for entry in self.entries)
        if self.refund_of:
            text += uint(self.refund_of[0].at_us, 7)
            text += b"".join(uint(grant.remaining, 4) + uint(grant.reset_after_us, 7) for grant in self.refund_of)
        return text + (self.request_id.pack() if self.request_id else b"")


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A limit in a call: its numbers, their tag, the index of others that its counters may be kept under (0: none), and whether
    they are a former version's."""

    limit: object
    tag: int = 1
    previous: int = 0
    former: bool = False

    def pack(self):
        n = self.limit
        return (struct.pack(">BBHII", n.algorithm + 8 * n.on_change + 32 * self.former, self.tag, self.previous, n.capacity, n.denominator)
                + uint(n.interval_us, 6) + uint(n.interval_remainder, 4) + uint(n.full_us, 7)
                + uint(n.full_remainder, 4) + uint(n.period_us, 6))


@dataclasses.dataclass(frozen=True)
class Outcome:
    allowed: bool
    pressure: str
    remaining: int
    retry_after_us: int
    reset_after_us: int
    denied_cost: int


@dataclasses.dataclass(frozen=True)
class Record:
    now_us: int
    flags: int
    outcomes: tuple

    @property
    def allowed(self):
        return self.flags % 2 == 1

    @staticmethod
    def unpack(text):
        number = lambda start, size: int.from_bytes(text[start:start + size], "big")
        outcomes = tuple(
            Outcome(bool(text[i] & 1), PRESSURES[text[i] >> 1], number(i + 1, 4), number(i + 5, 7) - 1,
                    number(i + 12, 7), number(i + 19, 3)) for i in range(16, len(text), 22))
        return Record(number(8, 7), text[15], outcomes)


@dataclasses.dataclass(frozen=True)
class Answer:
    now_us: int
    verdicts: list
    values: list  # what the counters held before the call; comes before the verdicts
    records: list  # of the checks that have one

    @staticmethod
    def unpack(reply, checks, counter_keys):
        values_end = 1 + counter_keys
        verdicts_end = values_end + len(checks)
        records = [text and Record.unpack(text) for text in reply[verdicts_end:]]
        return Answer(reply[0], reply[values_end:verdicts_end], reply[1:values_end], records)


def unpack_state(value):
    """A stored value: tag, warned, and the state as a row of the vectors has it."""
    number = lambda start, size: int.from_bytes(value[start:start + size], "big")
    tag, warned = value[0] & 127, value[0] > 127
    if len(value) in (12, 16):
        return tag, warned, (number(1, 7), number(8, 4), number(12, 4))
    assert value[1:2] == b"L" and (len(value) - 2) % 11 == 0, value
    return tag, warned, tuple(n for i in range(2, len(value), 11) for n in (number(i, 7), number(i + 7, 4)))


def pack_state(tag, limit, state, warned=False):
    """The value that holds that state."""
    head = bytes([tag + 128 * warned])
    if limit.name != "sliding_log":
        return head + uint(state[0], 7) + uint(state[1], 4) + (uint(state[2], 4) if state[2] else b"")
    return head + b"L" + b"".join(uint(state[i], 7) + uint(state[i + 1], 4) for i in range(0, len(state), 2))


class Script:
    """The script on one server."""

    def __init__(self, client, text=None):
        self.client = client
        self.sha = client.script_load(text or redis_script.build())

    def arguments(self, keys, limits, checks, counter_keys=None, now_us=None):
        counter_keys = len(keys) if counter_keys is None else counter_keys
        blob = uint(counter_keys, 2) + b"".join(check.pack() for check in checks)
        now = [] if now_us is None else [now_us]
        return [self.sha, len(keys), *keys, b"".join(numbers.pack() for numbers in limits), blob, *now]

    def __call__(self, keys, limits, checks, counter_keys=None, now_us=None):
        reply = self.client.evalsha(*self.arguments(keys, limits, checks, counter_keys, now_us))
        return Answer.unpack(reply, checks, len(keys) if counter_keys is None else counter_keys)
