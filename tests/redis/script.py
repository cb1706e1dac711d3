"""A client of the Redis script, as src/store/redis/script/README.md describes it: packs calls, unpacks answers."""

import dataclasses
import struct

import stamps
from stamps import uint
from steps import redis_script

CONFLICT, REPLAYED = -1, -2
PRESSURES = ("normal", "warning", "throttled")


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


def pack_limit(n):
    return (uint(n.algorithm, 1) + uint(n.count, 4) + uint(n.period_us, 6) + uint(n.capacity, 4) + uint(n.scale, 4)
            + uint(n.denominator, 4) + uint(n.interval_us, 6) + uint(n.interval_remainder, 4) + uint(n.full_us, 7)
            + uint(n.full_remainder, 4) + stamps.short(n).ljust(4, b"\0"))


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


class Script:
    """The script on one server."""

    def __init__(self, client, text=None):
        self.client = client
        self.sha = client.script_load(text or redis_script.build())

    def arguments(self, keys, limits, checks, counter_keys=None, now_us=None, alone=False):
        counter_keys = len(keys) if counter_keys is None else counter_keys
        blob = uint(counter_keys, 2) + b"".join(check.pack() for check in checks)
        now = [now_us or "", 1] if alone else [] if now_us is None else [now_us]
        return [self.sha, len(keys), *keys, b"".join(pack_limit(limit) for limit in limits), blob, *now]

    def __call__(self, keys, limits, checks, counter_keys=None, now_us=None, alone=False):
        reply = self.client.evalsha(*self.arguments(keys, limits, checks, counter_keys, now_us, alone))
        return Answer.unpack(reply, checks, len(keys) if counter_keys is None else counter_keys)
