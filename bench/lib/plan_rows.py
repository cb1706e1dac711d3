"""`sluice plan`: how long a million lines take."""

import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

from lib.processes import BUILD, ROOT, BenchError
from lib.row import Row

LINES = 1_000_000
KEYS = 100_000
ROUTES = 20
LINES_PER_SECOND = 500


def write_log(path):
    """Combined lines: users by Zipf's law, routes at random; the same each time."""
    dice = random.Random(1)
    users = dice.choices(range(KEYS), [1 / (1 + rank) for rank in range(KEYS)], k=LINES)
    with open(path, "w") as log:
        for number, user in enumerate(users):
            at = time.gmtime(1_791_633_600 + number // LINES_PER_SECOND)
            stamp = f"{at.tm_mday:02d}/Oct/2026:{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d} +0000"
            log.write(f'10.{user >> 16}.{user >> 8 & 255}.{user & 255} - user{user} [{stamp}] "GET /route{dice.randrange(ROUTES)}?q={number} '
                      f'HTTP/1.1" 200 {dice.randrange(100_000)} "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64)"\n')


def run_once(command):
    """Seconds by the clock and of CPU."""
    cpu = lambda: sum(os.times()[2:4])
    before, cpu_before = time.monotonic(), cpu()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0 or f"{LINES:,} lines" not in done.stdout:
        raise BenchError(f"sluice plan failed ({done.returncode}):\n{done.stdout[:500]}{done.stderr}")
    return time.monotonic() - before, cpu() - cpu_before


def plan(options):
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        log = pathlib.Path(folder, "access.log")
        write_log(log)
        command = [BUILD / "sluice", "plan", log, "--policies", ROOT / "bench/plan.yaml"]
        run_once(command)  # the log is in the page cache from now on
        wall, cpu = zip(*(run_once(command) for _ in range(options.runs)))
    return [Row("plan, 1 M lines", "s", statistics.median(wall), None, statistics.median(wall), 3, list(wall), value_unit="s"),
            Row("plan, 1 M lines, CPU", "s", statistics.median(cpu), None, statistics.median(cpu), 3, list(cpu), value_unit="s")]


GROUPS = {"plan": plan}
