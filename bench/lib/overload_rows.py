"""More is asked than can be answered: is a limit lifted, and does somebody notice who asks for little?

Sluice has core 0; Redis, the load and the bystander share core 1. The load gives way, so that it cannot keep Redis and the
bystander from their core: what is measured is the overload of Sluice and Redis, not that of a machine with two cores.
"""

import contextlib
import re
import statistics
import subprocess
import urllib.request

from lib import load, processes
from lib.processes import BUILD, LOAD_CORE, ROOT, BenchError
from lib.redis_server import redis
from lib.row import Row

POLICIES = "bench/overload/policies.yaml"
LIMIT = 10  # of a key, an hour
LOG_LIMIT = 4096
LOGS = 4
FILL_SECONDS = 20  # until the logs are full
MANY_KEYS = 100_000  # more than are remembered
BYSTANDER_RATE = 500
WITHIN_MS = 5  # of the idle value


def batches(connections, keys):
    """Closed loop: check-batch of 1000 on keep-alive connections."""
    return lambda server, seconds: ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
                                    "-s", ROOT / "bench/overload/wrk_batch.lua",
                                    f"http://{server.address}/v1/ratelimit/check-batch", "--", keys]


def singles(resource, keys, *how):
    """Single checks; `how`: `sluice bench`'s flags."""
    return lambda server, seconds: [BUILD / "sluice", "bench", server.address, "--tenant", "whale", "--resource", resource,
                                    "--keys", keys, "--duration", seconds, "--warmup", 0, *how]


# Name, the load, of which policy, how many units may be admitted in all, and for how long it runs before it is measured.
ATTACKS = [
    ("4 × batches, one key", batches(4, 1), "scarce", LIMIT, 0),
    ("12 × batches, one key", batches(12, 1), "scarce", LIMIT, 0),
    ("12 × batches, 100,000 keys", batches(12, MANY_KEYS), "scarce", LIMIT * MANY_KEYS, 0),
    ("200 × HTTP, one key", singles("/scarce", 1, "--http", "--connections", 200, "--streams", 1), "scarce", LIMIT, 0),
    ("8 × 50 gRPC, 100,000 keys", singles("/scarce", MANY_KEYS, "--connections", 8, "--streams", 50), "scarce",
     LIMIT * MANY_KEYS, 0),
    ("open loop, 10 × heavy checks", singles("/heavy", MANY_KEYS, "--connections", 8, "--streams", 500, "--rate", 100_000),
     "heavy", LIMIT * MANY_KEYS, 0),
    ("open loop, one key", singles("/scarce", 1, "--connections", 8, "--streams", 500, "--rate", 200_000), "scarce", LIMIT, 0),
    ("full logs of 4096", singles("/logs", LOGS, "--connections", 8, "--streams", 50), "logs", LOG_LIMIT * LOGS, FILL_SECONDS),
]


def metric(page, name, **labels):
    """The sum of the samples that have these labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
               if re.match(rf"{name}[{{ ]", line) and all(each in line for each in wanted))


def metrics(server):
    with urllib.request.urlopen(f"http://{server.address}/metrics", timeout=30) as answer:
        return answer.read().decode()


def bystand(server, seconds):
    """(p99 in ms, how many of its checks were not admitted)"""
    measured = load.sluice_bench(server.address, "--tenant", "bystander", "--resource", "/quiet", "--connections", 1,
                                 "--streams", 50, "--keys", 1000, "--rate", BYSTANDER_RATE, "--duration", seconds, "--warmup", 0.2)
    return measured["latency_us"]["p99"] / 1000, measured["denied"] + measured["errors"] + measured["unanswered"]


@contextlib.contextmanager
def under(attack, server, seconds):
    """While the load runs, which is longer than what is measured."""
    command = processes.pinned(LOAD_CORE, attack(server, seconds + 1), is_load=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            yield
        finally:
            out = running.communicate()[0]
    if running.returncode not in (0, 1):  # 1: some checks were shed
        raise BenchError(f"the load failed ({running.returncode}):\n{out}")


def measure(name, attack, policy, units, before_s, options):
    with redis(core=LOAD_CORE) as store, processes.sluice(POLICIES, store.url) as server:
        bystand(server, 0.5)
        if before_s:
            with under(attack, server, before_s):
                pass
        idle, loaded = [], []
        for _ in range(options.runs):
            idle.append(bystand(server, options.seconds))
            with under(attack, server, options.seconds):
                loaded.append(bystand(server, options.seconds))
        page = metrics(server)
    admitted = metric(page, "rate_limiter_requests_allowed_total", policy=policy)
    beyond = max(admitted - units, metric(page, "rate_limiter_failed_total", policy=policy), 0)
    refused = sum(count for _, count in loaded)
    above = [b - a for (a, _), (b, _) in zip(idle, loaded)]
    return [Row(f"{name}: admitted beyond the limit", "", beyond, None, beyond, 0),
            Row(f"{name}: bystander's checks not admitted", "", refused, None, refused, 0),
            Row(f"{name}: bystander's p99 above idle", "ms", statistics.median(p99 for p99, _ in loaded),
                statistics.median(p99 for p99, _ in idle), statistics.median(above), WITHIN_MS, above, value_unit="ms")]


def overload(options):
    return [row for attack in ATTACKS for row in measure(*attack, options)]


GROUPS = {"overload": overload}
