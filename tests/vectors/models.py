"""The six algorithms once more, as slow and as obvious as possible, in exact fractions.

A model says only a few things: does a cost fit at a moment, what does charging it do, and what giving it back. The rest
follows from what the words mean, by search: `remaining` is the largest cost that fits, `retry_after_us` the shortest wait
after which the cost fits, `reset_after_us` the shortest wait after which nothing counts any more.
"""

import copy
from fractions import Fraction
from math import ceil, floor

NEVER = -1
DENIED_MAX = 2**22 - 1
UNITS_MAX = 2**30 - 1
BUCKETS = ("gcra", "token_bucket", "leaky_bucket")
WINDOWS = ("fixed_window", "sliding_window")
ALGORITHMS = BUCKETS + WINDOWS + ("sliding_log",)


class Limit:
    def __init__(self, algorithm, count, period, burst=None, scale=0):
        self.algorithm, self.count, self.period, self.scale = algorithm, count, period, scale
        self.capacity = 0 if count == 0 else burst or count
        self.interval = Fraction(period, count) if count else None

    def __deepcopy__(self, _):
        return self


def same_numbers(one, other):
    """Whether a counter that is kept under one is kept under the other as well. What a window has counted means the same under
    any capacity."""
    if one.algorithm in WINDOWS and one.capacity and other.capacity:
        return (one.algorithm, one.period, one.scale) == (other.algorithm, other.period, other.scale)
    return vars(one) == vars(other)


def is_scaled(old, limit):
    """Whether units are taken along by the ratio of what they are a share of."""
    return old.scale > 0 and limit.scale > 0 and old.scale != limit.scale


def carried(old, limit, units):
    """As many units of `limit` as are in use when so many of `old` are."""
    return ceil(Fraction(units * limit.scale, old.scale)) if is_scaled(old, limit) else units


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
        if self.full_at > now:
            self.full_at = min(self.full_at, now + self.size())
        else:
            self.denied = self.remembered(now)
            self.full_at = Fraction(floor(self.full_at) if self.denied else 0)

    def remembered(self, now):
        """What was denied: for as long as a full bucket takes to run empty, once this one is."""
        return self.denied if self.limit.capacity and now < floor(self.full_at) + ceil(self.size()) else 0

    def charge(self, now, cost):
        missing = self.missing(now) + cost * self.limit.interval
        self.full_at = now + min(missing, self.size())

    def note(self, now, allowed, cost):
        if allowed and cost or not self.limit.capacity:
            self.denied = 0
        elif not allowed and self.limit.algorithm == "leaky_bucket":
            self.denied = min(self.denied + cost, DENIED_MAX)
            self.full_at = max(self.full_at, Fraction(now))

    def units(self, now):
        return ceil(self.missing(now) / self.limit.interval)

    def set_units(self, now, units):
        if units:
            self.full_at = now + units * self.limit.interval

    def place(self):
        return None  # all that is known is what the charge has answered

    def give_back(self, now, grant):
        """Charges are refilled in the order in which they came: this one until the moment at which the bucket was to be
        full again then. That moment is known to the microsecond, exactly if the bucket still answers as it did."""
        charged = grant.cost * self.limit.interval
        until = max(grant.now + grant.reset - 1, grant.now + charged)
        if self.full_at <= grant.now + self.size() and level(copy.copy(self), grant.now) == [grant.remaining, grant.reset]:
            until = self.full_at
        self.full_at -= max(min(until - now, charged, self.full_at - now), 0)

    def take_latest(self, now, cost):
        self.settle(now)
        self.full_at -= max(min(cost * self.limit.interval, self.full_at - now), 0)

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

    def note(self, now, allowed, cost):
        pass

    def set_units(self, now, units):
        if units:
            self.index, self.current = now // self.limit.period, min(units, UNITS_MAX)

    def place(self):
        return self.index

    def give_back(self, now, grant):
        if self.index == grant.place and self.current < UNITS_MAX:
            self.current = max(self.current - grant.cost, 0)
        elif self.index == grant.place + 1 and self.previous < UNITS_MAX:
            self.previous = max(self.previous - grant.cost, 0)

    def take_latest(self, now, cost):
        self.settle(now)
        taken = min(self.current, cost) if self.current < UNITS_MAX else 0
        self.current -= taken
        if self.previous < UNITS_MAX:
            self.previous -= min(self.previous, cost - taken)

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

    def take(self, time, entries):
        for at, cost in entries:  # what is too old for this period still counts now
            self.add(max(at, time - self.limit.period + 1, 0), cost)

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

    def note(self, now, allowed, cost):
        pass

    def set_units(self, now, units):
        if units:
            self.entries = [[now, units]]

    def place(self):
        return self.entries[-1][0]

    def give_back(self, now, grant):
        for entry in self.entries:
            if entry[0] == grant.place and entry[1] < UNITS_MAX:
                entry[1] = max(entry[1] - grant.cost, 0)
        self.entries = [entry for entry in self.entries if entry[1]]

    def take_latest(self, now, cost):
        self.settle(now)
        while cost and self.entries and self.entries[-1][1] < UNITS_MAX:
            at, units = self.entries.pop()
            if units > cost:
                self.entries.append([at, units - cost])
            cost -= min(units, cost)

    def columns(self):
        return [f"{at}:{cost}" for at, cost in self.entries]


def new_counter(limit):
    return (Bucket if limit.algorithm in BUCKETS else Windows if limit.algorithm in WINDOWS else Log)(limit)


def same_meter(old, limit):
    """Whether a state means the same under both."""
    if not (old.capacity and limit.capacity):
        return False
    if old.algorithm in BUCKETS and limit.algorithm in BUCKETS:
        return old.interval == limit.interval
    return (old.algorithm, old.period) == (limit.algorithm, limit.period)


def seen(counter, limit, now):
    """The counter as other numbers see it, all of it: a bucket may hold more than fits."""
    counter = copy.deepcopy(counter)
    old, moved = counter.limit, new_counter(limit)
    if not (old.capacity and limit.capacity):
        return moved
    (take_share if is_scaled(old, limit) else keep)(counter, moved, now)
    if old.algorithm == limit.algorithm == "leaky_bucket":
        moved.denied = counter.remembered(now)
        if moved.denied and not moved.full_at:
            moved.full_at = Fraction(min(floor(counter.full_at), now))
    return moved


def keep(counter, moved, now):
    old, limit = counter.limit, moved.limit
    if old.algorithm == limit.algorithm == "sliding_log":
        moved.take(counter.settle(now), counter.entries)
    elif same_meter(old, limit) and isinstance(counter, Bucket):
        if counter.missing(now):
            moved.full_at = now + counter.missing(now)
    elif same_meter(old, limit):
        moved.index, moved.current, moved.previous = counter.index, counter.current, counter.previous
    else:
        moved.set_units(now, counter.units(now))


def take_share(counter, moved, now):
    old, limit = counter.limit, moved.limit
    if old.algorithm == limit.algorithm == "sliding_log":
        time = counter.settle(now)
        costs = [cost for _, cost in counter.entries]
        newer = [carried(old, limit, sum(costs[i:])) for i in range(len(costs) + 1)]
        shares = [(at, newer[i] - newer[i + 1]) for i, (at, _) in enumerate(counter.entries)]
        moved.take(time, [(at, cost) for at, cost in shares if cost])
    else:
        moved.set_units(now, carried(old, limit, counter.units(now)))


def holds_all(counter, limit, now):
    """Whether the new numbers have a place for all that is in use."""
    old = counter.limit
    stays_exact = same_meter(old, limit) and not is_scaled(old, limit)
    if not old.capacity or (stays_exact and isinstance(counter, Windows)):
        return True
    if stays_exact and isinstance(counter, Bucket):
        return counter.missing(now) <= limit.capacity * limit.interval
    return carried(old, limit, counter.units(now)) <= limit.capacity


def ask(counter, limit, now, cost, count_denied):
    """Decides under the limit, whatever the counter is kept under, until others can take all of it along. → counter, expected columns"""
    old = counter.limit
    if same_numbers(old, limit):
        counter.limit = limit
        return counter, step(counter, now, cost, count_denied)
    unchanged, counter = counter, copy.deepcopy(counter)
    if old.capacity:
        counter.settle(now)
    moved = seen(counter, limit, now)
    if cost and (not old.capacity or counter.idle(now) and not getattr(counter, "denied", 0)):
        return moved, step(moved, now, cost, count_denied)  # it might as well have been forgotten
    is_look = cost == 0 and not (count_denied and isinstance(moved, Windows))
    def fits(wait):
        return is_look or seen(counter, limit, now + wait).fits(now + wait, cost)

    allowed = limit.capacity > 0 and fits(0)
    waits = NEVER if cost > limit.capacity or not limit.capacity else smallest(fits)
    if cost and limit.capacity:
        whole = holds_all(counter, limit, now)
        sooner = waits > 0 and whole and smallest(lambda wait: moved.fits(now + wait, cost)) < waits
        if allowed or sooner or (count_denied and whole):
            return moved, step(moved, now, cost, count_denied)
    remaining, reset = level(moved, now) if limit.capacity else (0, 0)
    if old.capacity:
        reset = smallest(lambda wait: counter.idle(now + wait))
    counter.note(now, cost == 0, cost)
    return counter if cost else unchanged, ["yes" if allowed else "no", remaining, waits, reset]


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
        counter.note(now, False, cost)
        return ["no", 0, NEVER, 0]
    counter.settle(now)
    may_be_exceeded = count_denied and isinstance(counter, Windows)
    allowed = (cost == 0 and not may_be_exceeded) or counter.fits(now, cost)
    if cost and (allowed or count_denied):
        counter.charge(now, cost)
    counter.note(now, allowed, cost)
    if allowed:
        retry = 0
    elif cost > limit.capacity:
        retry = NEVER
    else:
        retry = smallest(lambda d: counter.fits(now + d, cost))
    remaining, reset = level(counter, now)
    return ["yes" if allowed else "no", remaining, retry, reset]


def level(counter, now):
    """What remains, and how long until nothing counts any more."""
    counter.settle(now)
    over = smallest(lambda c: c > counter.limit.capacity or not counter.fits(now, c))
    return [max(over - 1, 0), smallest(lambda d: counter.idle(now + d))]


class Grant:
    """What is known of an admitted row when it is given back."""

    def __init__(self, counter, now, cost, expected):
        self.now, self.cost, self.place = now, cost, counter.place()
        self.remaining, self.reset = expected[1], expected[3]


def refund(counter, limit, now, grant):
    """Takes the charge out; what a look says afterwards."""
    counter.give_back(now, grant)
    return ask(counter, limit, now, 0, False)


def give_back(counter, limit, now, cost):
    """The same for units that nobody remembers when they were charged."""
    old = counter.limit
    if not same_numbers(old, limit) and not limit.capacity:
        cost = 0
    elif is_scaled(old, limit):
        cost = min(cost, floor(Fraction(cost * old.scale, limit.scale)))
    if old.capacity:
        counter.take_latest(now, cost)
        counter.settle(now)
    return ask(counter, limit, now, 0, False)
