"""Redis servers of our own, what can be asked of them, and redis-benchmark."""

import contextlib
import csv
import io
import json
import pathlib
import socket
import tempfile

from lib.processes import ROOT, SERVER_CORE, BenchError, run_load, serving

KEYS = 100_000
# Thirty bytes with the twelve digits that follow, as Sluice's keys have.
KEY_PREFIX = "rl:{abc}0000000000"
PIPELINE = 32
# About what a redis-benchmark with a pipeline reaches; only the length of its runs depends on it.
REQUESTS_PER_SECOND = 80_000
PINGS_PER_SECOND = 10_000

# Limits as arguments of single_check.lua: cost, capacity, denominator, interval_us and its remainder, full_us and its remainder.
# The same as in bench/redis/policies.yaml.
LIMITS = {
    "uniform": (1, 10_000, 1, 3_600_000, 0, 36_000_000_000, 0),
    "hot-admitted": (1, 1_000_000_000, 1000, 0, 1, 1_000_000, 0),
    "hot-denied": (1, 1, 1, 3_600_000_000, 0, 3_600_000_000, 0),
}


@contextlib.contextmanager
def redis(core=SERVER_CORE, **settings):
    """A redis-server without persistence; settings as cluster_enabled="yes". Yields its Server."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        more = [word for name, value in settings.items() for word in ("--" + name.replace("_", "-"), value)]
        command = lambda port: ["/usr/bin/redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                                "--dir", folder, *more]
        with serving("redis-server", command, core=core) as server:
            server.url = f"redis://{server.address}"
            yield server


def ask(server, *words):
    """One command's answer: a number, a text, or a list of such."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        parts = [word.encode() if isinstance(word, str) else str(word).encode() for word in words]
        connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        with connection.makefile("rb") as answer:
            return read_answer(answer)


def read_answer(stream):
    line = stream.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2].decode() if int(rest) >= 0 else None
    if kind == b"*":
        return [read_answer(stream) for _ in range(int(rest))]
    if kind != b"+":
        raise BenchError(f"Redis answers: {line.decode()}")
    return rest.decode()


def cpu_seconds(server):
    """CPU time so far; the scheduler's own count, in nanoseconds, because a hot key costs Redis very little."""
    threads = pathlib.Path(f"/proc/{server.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def load_single_check(server):
    return ask(server, "SCRIPT", "LOAD", (ROOT / "bench" / "redis" / "single_check.lua").read_text())


def redis_benchmark(server, *arguments):
    out = run_load(["redis-benchmark", "-h", "127.0.0.1", "-p", server.port, "--csv", *arguments])
    return {name: float(value) for name, value in next(csv.DictReader(io.StringIO(out))).items() if name != "test"}


def single_checks(server, limit, seconds):
    """redis-benchmark with one EVALSHA per check; (checks per second, µs of Redis' CPU per check)."""
    count = int(REQUESTS_PER_SECOND * seconds)
    sha, keys = load_single_check(server), KEYS if limit == "uniform" else 1
    before = cpu_seconds(server)
    rates = redis_benchmark(server, "-P", PIPELINE, "-n", count, "-r", keys, "EVALSHA", sha, 1,
                            f"{KEY_PREFIX}__rand_int__", *LIMITS[limit])
    return rates["rps"], (cpu_seconds(server) - before) * 1e6 / count


def ping_us(server, seconds):
    """The median of a bare PING, one at a time."""
    return redis_benchmark(server, "-c", 1, "-n", int(PINGS_PER_SECOND * seconds), "PING")["p50_latency_ms"] * 1000


def paced_single_checks(server, rate, seconds):
    """Percentiles in µs of one EVALSHA per check at that rate."""
    return json.loads(run_load([ROOT / "bench" / "redis" / "paced_single", server.port, load_single_check(server), rate,
                                seconds, min(1, seconds / 2), KEY_PREFIX, KEYS, *LIMITS["uniform"]]))


def bytes_per_key(server, samples):
    """Of the largest of so many keys at random."""
    return max(ask(server, "MEMORY", "USAGE", ask(server, "RANDOMKEY")) for _ in range(samples))
