"""One run of load at one server: microseconds of server CPU per answer."""

import json
import pathlib
import re
import tempfile

from lib.processes import BUILD, ROOT, BenchError, cpu_seconds, run_load

KEYS = 100_000


def grpc(server, seconds, connections, streams):
    """`sluice bench`, closed loop. It reads the server's CPU time itself, around the measured window only."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        result = pathlib.Path(folder, "result.json")
        run_load([BUILD / "sluice", "bench", server.address, "--grpc", "--connections", connections, "--streams", streams,
                  "--keys", KEYS, "--duration", seconds, "--warmup", min(1, seconds / 2), "--server-pid", server.pid,
                  "--json", result])
        measured = json.loads(result.read_text())
    if measured["denied"] or measured["errors"]:
        raise BenchError(f"{measured['denied']} denials and {measured['errors']} errors; all checks should pass")
    return measured["server_cpu_us_per_check"]


def http(server, seconds, connections):
    """wrk with one thread; the script varies the keys."""
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
