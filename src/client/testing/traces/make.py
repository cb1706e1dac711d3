#!/usr/bin/python3
"""Writes the traces beside it: what a key spends in each second of ten minutes. The same each time.

    wave    a day in ten minutes, with noise
    bursts  600 units every fifteen seconds, little in between
    polls   200 clients that poll every five seconds, and steady callers
    step    four steps, as when gateways are added and removed
    noise   no pattern at all
"""

import math
import pathlib
import random

SECONDS = 600
dice = random.Random(1)


def around(mean):
    return max(0, round(dice.gauss(mean, math.sqrt(mean) if mean > 0 else 0)))


TRACES = {
    "wave": [around((50 + 450 * (1 - math.cos(2 * math.pi * s / SECONDS)) / 2) * dice.uniform(0.9, 1.1)) for s in range(SECONDS)],
    "bursts": [around(600 if s % 15 == 7 else 3) for s in range(SECONDS)],
    "polls": [around(40) + (200 if s % 5 == 2 else 0) for s in range(SECONDS)],
    "step": [around([40, 400, 150, 900][s * 4 // SECONDS]) for s in range(SECONDS)],
    "noise": [around(100 * math.exp(dice.gauss(0, 0.5))) for _ in range(SECONDS)],
}

for name, units in TRACES.items():
    lines = (" ".join(map(str, units[i:i + 20])) for i in range(0, SECONDS, 20))
    pathlib.Path(__file__).with_name(f"{name}.txt").write_text("\n".join(lines) + "\n")
