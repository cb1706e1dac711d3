#!/usr/bin/env python3
"""The models of the six algorithms (models.py) as answers to the rows of vector files.

    reference.py check FILE...        compare every row with the models; exit status 1 if any differs
    reference.py fill FILE...         rewrite the expected columns (then read the diff!)
    reference.py random SEED GROUPS   print that many random groups with the answers of the models
"""

import random
import re
import sys

from models import ALGORITHMS, BUCKETS, Grant, Limit, ask, give_back, new_counter, refund, same_numbers

UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def parse_limit(words):
    count, size, unit = re.fullmatch(r"(\d+)/(\d+)([a-z]+)", words[2]).groups()
    options = dict(zip(words[3::2], words[4::2]))
    burst = int(options["burst"]) if "burst" in options else None
    return Limit(words[1], int(count), int(size) * UNITS[unit], burst, int(options.get("scale", 0)))


def answer(lines):
    """Yields (line, what the line should be), row by row."""
    counter = limit = None
    count_denied = False
    limits = []  # that this counter has had
    grants = []  # of the rows of this counter; None: not an admitted charge
    for line in lines:
        words, answered = line.split(), line
        if not words or words[0].startswith("#"):
            pass
        elif words[0] == "fresh":
            counter, count_denied, grants, limits = None, False, [], []
        elif words[0] == "limit":
            limit = parse_limit(words)
            limits.append(limit)
        elif words[0] == "count_denied":
            count_denied = words[1] == "on"
        else:
            kind = words[0] if words[0] in ("refund", "return") else ""
            begin = 1 if kind else 0
            now, number = (int(word) for word in words[begin:begin + 2])
            if counter is None:
                counter, limits = new_counter(limit), [limit]
            grant = None
            if kind == "refund":
                counter, expected = refund(counter, limit, now, grants[number - 1])
            elif kind == "return":
                counter, expected = give_back(counter, limit, now, number)
            else:
                counter, expected = ask(counter, limit, now, number, count_denied)
                if number and expected[0] == "yes":
                    grant = Grant(counter, now, number, expected)
            grants.append(grant)
            asked = f"{kind} {now:>9} {number:>10}" if kind else f"{now:>16} {number:>10}"
            outcome = " ".join(f"{n:>{w}}" for n, w in zip(expected, (3, 10, 14, 14)))
            kept = "" if counter.limit is limit else f" of {limits.index(counter.limit) + 1}"
            answered = f"{asked} | {outcome} | {' '.join(str(c) for c in counter.columns())}{kept}".rstrip()
        yield line, answered


def random_limit(rng, algorithm, before=None):
    """A line; some have the period and the scale of the limit before, as a tier has."""
    count = rng.choice([1, 2, 3, 7, 10, 100, 997, rng.randint(1, 4096)])
    size, unit = rng.choice([(1, "ms"), (7, "ms"), (1, "s"), (90, "s"), (1, "m"), (1, "h"), (1, "d")])
    burst = 0
    if algorithm in BUCKETS:
        count *= rng.choice([1, 1, 1000])
        burst = rng.choice([0, 1, rng.randint(1, 2 * count)])
    scale = rng.choice([0, 0, burst or count, rng.choice([1, 3, 1000, rng.randint(1, 10**9)])])
    if before and rng.random() < 0.4:
        size, unit, scale = before.period, "us", before.scale
    if algorithm == "sliding_log":
        scale = min(scale, 4096)  # as its rate
    if rng.random() < 0.02:
        count, burst, scale = 0, 0, 0
    options = "".join(f" {word} {number}" for word, number in (("burst", burst), ("scale", scale)) if number)
    return f"limit {algorithm} {count}/{size}{unit}{options}"


def random_life(rng, written):
    """The lines of a counter's life: bursts, pauses, refunds, a clock that steps back now and then, limits that change.
    `written` are those so far, with their answers."""
    algorithm = rng.choice(ALGORITHMS)
    yield "fresh"
    yield random_limit(rng, algorithm)
    if rng.random() < 0.3:
        yield "count_denied on"
    limit, first = parse_limit(written[1].split()), 0
    now = rng.randint(0, 2**51)
    for _ in range(rng.randint(5, 40)):
        pace = max(limit.period // max(limit.count, 1), 1)
        now += rng.choice([0, 0, 1, rng.randint(0, pace), rng.randint(0, 3 * pace), rng.randint(0, limit.period)])
        if rng.random() < 0.03:
            now = max(now - rng.randint(0, 4 * limit.period), 0)
        rows = [line.split() for line in written if "|" in line]
        if rng.random() < 0.08:
            line = random_limit(rng, rng.choice([algorithm, rng.choice(ALGORITHMS)]), limit)
            former, limit = limit, parse_limit(line.split())
            first = first if same_numbers(former, limit) else len(rows)
            yield line
        admitted = [i for i, row in enumerate(rows, 1) if i > first and row[0].isdigit() and row[1] != "0" and row[3] == "yes"]
        if admitted and rng.random() < 0.2:
            yield f"refund {now} {rng.choice(admitted[-4:])}"
            continue
        share = max(limit.capacity // 4, 1)
        if rows and rng.random() < 0.1:
            yield f"return {now} {rng.choice([1, share, limit.capacity + 1])}"
            continue
        cost = rng.choice([0, 1, 1, 1, rng.randint(1, share), rng.randint(1, share), limit.capacity, limit.capacity + 1])
        yield f"{now} {cost}"


def random_group(rng):
    written = []
    for _, expected in answer(random_life(rng, written)):
        written.append(expected)
    return written


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
