"""The rows about the Redis protocol: CL.THROTTLE on our door against INCR on redis-server, by the same redis-benchmark."""

from lib import processes
from lib.redis_server import redis, redis_benchmark
from lib.row import Row, interleaved

KEYS = 100_000
# About what is reached; only the length of the runs depends on it.
REQUESTS_PER_SECOND = {1: 100_000, 16: 600_000}
THROTTLE = ("CL.THROTTLE", "key:__rand_int__", 1_000_000, 1_000_000_000, 1, 1)  # a limit that never denies
INCREMENT = ("INCR", "key:__rand_int__")


def door():
    return processes.serving("sluice", lambda port: [
        processes.BUILD / "sluice", "serve", "--listen", "127.0.0.1:0", "--resp-listen", f"127.0.0.1:{port}",
        "--policy-db", "sqlite::memory:", "--threads", "1"])


def row(pipeline, target):
    def measure(options):
        count = int(REQUESTS_PER_SECOND[pipeline] * options.seconds)
        rate = lambda server, command: redis_benchmark(server, "-P", pipeline, "-n", count, "-r", KEYS, *command)["rps"]
        with door() as ours, redis() as baseline:
            a, b, ratio, ratios = interleaved(lambda: rate(ours, THROTTLE), lambda: rate(baseline, INCREMENT), options.runs)
        return [Row(f"Redis protocol, pipeline of {pipeline}: commands/s vs INCR", "/s", a, b, ratio, target, ratios, at_least=True)]
    return measure


GROUPS = {"redis-door-p16": row(16, 0.8), "redis-door-p1": row(1, 0.9)}
