"""One run of load at one server."""

import json
import pathlib
import re
import tempfile

from lib.processes import BUILD, ROOT, BenchError, cpu_seconds, run_load

KEYS = 100_000


def sluice_bench(*arguments):
    """What `sluice bench` measured."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        result = pathlib.Path(folder, "result.json")
        run_load([BUILD / "sluice", "bench", *arguments, "--json", result])
        return json.loads(result.read_text())


def all_allowed(measured):
    if measured["denied"] or measured["errors"] or not measured["allowed"]:
        raise BenchError(f"{measured['allowed']} allowed, {measured['denied']} denied, {measured['errors']} errors; "
                         "all checks should pass")
    return measured


def grpc(server, seconds, connections, streams, resource="/bench"):
    """Closed loop. The generator reads the server's CPU time itself, around the measured window only."""
    where = ["https://" + server.address, "--ca", server.ca] if server.ca else [server.address]
    return all_allowed(sluice_bench(*where, "--grpc", "--connections", connections, "--streams", streams, "--keys", KEYS,
                                    "--resource", resource, "--duration", seconds, "--warmup", min(1, seconds / 2),
                                    "--server-pid", server.pid))


def envoy(server, seconds, connections, streams):
    """Envoy's rate limit service with two descriptors, closed loop as grpc()."""
    return all_allowed(sluice_bench(server.address, "--envoy", "--connections", connections, "--streams", streams, "--keys", KEYS,
                                    "--duration", seconds, "--warmup", min(1, seconds / 2), "--server-pid", server.pid))


def on_store(url, policy, *arguments, keys=None):
    """In process, on the Redis of that URL; `policy` is one of bench/redis/policies.yaml."""
    measured = sluice_bench("--direct", "--store", url, "--policies", ROOT / "bench/redis/policies.yaml",
                            "--resource", f"/{policy}", "--keys", keys or (1 if policy.startswith("hot") else KEYS), *arguments)
    if policy != "hot-denied":
        return all_allowed(measured)
    if measured["allowed"] > 1 or measured["errors"]:
        raise BenchError(f"{measured['allowed']} allowed, {measured['errors']} errors; all checks should be denied")
    return measured


def http(server, seconds, connections):
    """wrk with one thread; the script varies the keys. Microseconds of the server's CPU per answer."""
    before = cpu_seconds(server.pid)
    out = run_load(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", ROOT / "bench" / "wrk_check.lua",
                    f"http://{server.address}/v1/ratelimit/check"])
    after = cpu_seconds(server.pid)
    answers, errors = map(int, re.search(r"RESULT (\d+) (\d+)", out).groups())
    if errors or not answers:
        raise BenchError(f"wrk saw {errors} errors and {answers} answers")
    return (after - before) * 1e6 / answers


def in_process(what, count, runs):
    """The benchmark without a network; it interleaves its runs itself."""
    return json.loads(run_load([BUILD / "in_process", what, count, runs]))
