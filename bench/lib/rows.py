"""What is measured, one function per row or group of rows, and what it should come to."""

from lib import lease_rows, load, overload_rows, plan_rows, policy_rows, processes, redis_door_rows, redis_rows
from lib.row import Row, interleaved


def against(name, start_baseline, drive, target, options, start_ours=processes.sluice):
    with start_ours() as ours, start_baseline() as baseline:
        a, b, ratio, ratios = interleaved(lambda: drive(ours), lambda: drive(baseline), options.runs)
    return [Row(name, "µs", a, b, ratio, target, ratios)]


def grpc(name, connections, streams, target, **sides):
    def measure(options):
        drive = lambda server: load.grpc(server, options.seconds, connections, streams)["server_cpu_us_per_check"]
        return against(name, drive=drive, target=target, options=options, **{"start_baseline": processes.grpcpp, **sides})
    return measure


def loops(options):
    """A session that only answers, on our loop and on Asio's."""
    sides = {"start_ours": processes.own_loop, "start_baseline": processes.asio_loop}
    return [row for connections, streams in ((8, 50), (64, 1)) for row in
            grpc(f"our loop vs Boost.Asio, {connections} × {streams}", connections, streams, 1, **sides)(options)]


def envoy(options):
    """The native check has the same two limits, one for all and one per key, and no headers for a client."""
    def cpu(drive, server):
        return drive(server, options.seconds, 8, 50)["server_cpu_us_per_check"]

    with processes.sluice("bench/envoy") as server:
        a, b, ratio, ratios = interleaved(lambda: cpu(load.envoy, server), lambda: cpu(load.grpc, server), options.runs)
    return [Row("Envoy, two descriptors vs native gRPC, two limits", "µs", a, b, ratio, 1.3, ratios)]


def http(options):
    return against("HTTP/1.1 JSON, 64 connections", processes.nginx,
                   lambda server: load.http(server, options.seconds, 64), 1.1, options)


def in_process(label, keys, what="keys"):
    """`what`: "keys" asks for one route, "routes" for ten in random order."""
    def measure(options):
        got = load.in_process(what, keys, options.runs)
        if got["keys"] != keys:
            raise processes.BenchError(f"the store kept {got['keys']} of {keys} keys")
        rows = [Row(f"in process, {label}", "ns", got["ours_ns"], got["baseline_ns"], got["ratio"], 2, got["ratios"]),
                Row(f"allocations per check, {label}", "", got["allocations_per_check"], None,
                    got["allocations_per_check"], 0)]
        if keys >= 10_000_000:
            rows.append(Row(f"bytes per key, {label}", "B", got["bytes_per_key"], None, got["bytes_per_key"], 48))
        return rows
    return measure


def policies(options):
    got = load.in_process("policies", 10_000, options.runs)
    return [Row("10,000 policies vs one", "ns", got["ours_ns"], got["baseline_ns"], got["ratio"], 1.15, got["ratios"])]


GROUPS = {
    "grpc-8x50": grpc("gRPC, 8 connections × 50 streams", 8, 50, 1 / 6),
    "grpc-64x1": grpc("gRPC, 64 connections × 1 stream", 64, 1, 1 / 2),
    "loops": loops,
    "tls": grpc("TLS, gRPC, 8 connections × 50 streams", 8, 50, 1.25, start_ours=processes.sluice_tls, start_baseline=processes.sluice),
    "envoy": envoy,
    "http": http,
    "in-process-1m": in_process("1 M keys", 1_000_000),
    "in-process-routes": in_process("1 M keys, ten routes", 1_000_000, "routes"),
    "in-process-10m": in_process("10 M keys", 10_000_000),
    "policies": policies,
    **lease_rows.GROUPS,
    **overload_rows.GROUPS,
    **plan_rows.GROUPS,
    **policy_rows.GROUPS,
    **redis_door_rows.GROUPS,
    **redis_rows.GROUPS,
}
