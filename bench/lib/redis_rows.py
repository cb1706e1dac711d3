"""The rows with Redis behind the checks. Redis has core 0 and everything else core 1, unless said otherwise."""

import statistics

from lib import load, processes
from lib.processes import LOAD_CORE, BenchError
from lib.redis_cluster import distant_cluster
from lib.redis_server import (KEYS, bytes_per_key, cpu_seconds, paced_single_checks, ping_us, redis, single_checks)
from lib.row import Row, interleaved

POLICIES = "bench/redis/policies.yaml"
RATE = 20_000
ONE_WAY_S = 0.002  # to the cluster


def cpu_per_check(server, limit, seconds):
    """µs of Redis' CPU per check by Sluice's own store client."""
    before = cpu_seconds(server)
    measured = load.on_store(server.url, limit, "--duration", seconds, "--warmup", 0)
    return (cpu_seconds(server) - before) * 1e6 / (measured["allowed"] + measured["denied"])


def cpu(options):
    rows = []
    for limit, what, target in (("uniform", "100,000 keys", 0.5), ("hot-admitted", "one hot key, admitted", 1 / 20),
                                ("hot-denied", "one hot key, denied", 1 / 20)):
        with redis() as server:
            single_checks(server, limit, 1)  # both sides find their keys there, as in steady use
            cpu_per_check(server, limit, 1)
            got = interleaved(lambda: cpu_per_check(server, limit, options.seconds),
                              lambda: single_checks(server, limit, options.seconds)[1], options.runs)
        a, b, ratio, ratios = got
        rows.append(Row(f"Redis CPU, {what}", "µs", a, b, ratio, target, ratios))
    return rows


def throughput(options):
    def compared(name, checks_per_second, target):
        got = interleaved(checks_per_second, lambda: single_checks(server, "uniform", options.seconds)[0] / 1000, options.runs)
        a, b, ratio, ratios = got
        return Row(name, "k/s", a, b, ratio, target, ratios, at_least=True)

    with redis() as server:
        single_checks(server, "uniform", 1)
        in_process = lambda: load.on_store(server.url, "uniform", "--duration", options.seconds,
                                           "--warmup", 0.5)["checks_per_second"] / 1000
        rows = [compared("checks per second on Redis, in process", in_process, 1.5)]
        with processes.sluice(POLICIES, server.url, LOAD_CORE) as sluice:
            over_grpc = lambda: load.grpc(sluice, options.seconds, 8, 50, "/uniform")["checks_per_second"] / 1000
            rows.append(compared("checks per second on Redis, over gRPC", over_grpc, 0.9))
    return rows


def zipf(options):
    """A few keys of a million have half of the checks. Without merging and leases each check is a step of Redis' own."""
    with redis() as server:
        run = lambda *how: load.on_store(server.url, "zipf", "--distribution", "zipf:1.1", "--warmup", 3, "--duration",
                                         options.seconds, *how, keys=1_000_000)["checks_per_second"] / 1000
        run("--no-merging")
        a, b, ratio, ratios = interleaved(lambda: run("--node-leases"), lambda: run("--no-merging"), options.runs)
    return [Row("Zipf 1.1, 1 M keys, with merging and leases vs without", "k/s", a, b, ratio, 3, ratios, at_least=True)]


def grpc(options):
    """Sluice alone has core 0 here, as with its counters in memory."""
    with (redis(core=LOAD_CORE) as server, processes.sluice(POLICIES, server.url) as on_redis,
          processes.sluice(POLICIES) as in_memory):
        drive = lambda sluice: load.grpc(sluice, options.seconds, 8, 50, "/uniform")["server_cpu_us_per_check"]
        a, b, ratio, ratios = interleaved(lambda: drive(on_redis), lambda: drive(in_memory), options.runs)
    return [Row("gRPC on Redis vs in memory, 8 × 50", "µs", a, b, ratio, 2.5, ratios)]


def latency(options):
    idle, paced = [], []
    with redis() as server:
        single_checks(server, "uniform", 1)
        for _ in range(options.runs):
            one = load.on_store(server.url, "uniform", "--in-flight", 1, "--duration", options.seconds, "--warmup", 0.5)
            idle.append((one["latency_us"]["p50"], ping_us(server, options.seconds)))
            many = load.on_store(server.url, "uniform", "--rate", RATE, "--duration", options.seconds,
                                 "--warmup", min(1, options.seconds / 2))
            if many["unanswered"]:
                raise BenchError(f"{many['unanswered']} checks of {RATE} per second were never sent")
            paced.append((many["latency_us"], paced_single_checks(server, RATE, options.seconds)))
    above = [ours - ping for ours, ping in idle]
    rows = [Row("one check at a time vs a bare PING, p50", "µs", statistics.median(a for a, _ in idle),
                statistics.median(b for _, b in idle), statistics.median(above), 100, above, value_unit="µs more")]
    for percentile, target_us in (("p99", 1500), ("p99.9", 4000)):
        ours = [ours[percentile] for ours, _ in paced]
        rows.append(Row(f"{RATE // 1000}k checks/s, {percentile}", "µs", statistics.median(ours),
                        statistics.median(single[percentile] for _, single in paced), statistics.median(ours), target_us, ours,
                        value_unit="µs"))
    return rows


def memory(options):
    with redis() as server:
        load.on_store(server.url, "uniform", "--duration", options.seconds, "--warmup", 0)
        most = bytes_per_key(server, 1000)
    return [Row(f"Redis' memory per key, {KEYS // 1000}k keys", "B", most, None, most, 100)]


def cluster(options):
    """All nodes share core 0, so without a network the nodes' work would be most of the time; the delay makes it one of round trips."""
    with distant_cluster(3, ONE_WAY_S) as url:
        p50_ms = lambda policy: load.on_store(url, policy, "--in-flight", 1, "--duration", options.seconds,
                                              "--warmup", 0.5)["latency_us"]["p50"] / 1000
        a, b, ratio, ratios = interleaved(lambda: p50_ms("three-slots"), lambda: p50_ms("one-slot"), options.runs)
    return [Row("cluster, three slots vs one, p50", "ms", a, b, ratio, 1.5, ratios)]


GROUPS = {
    "redis-cpu": cpu,
    "redis-throughput": throughput,
    "redis-zipf": zipf,
    "redis-grpc": grpc,
    "redis-latency": latency,
    "redis-memory": memory,
    "redis-cluster": cluster,
}
