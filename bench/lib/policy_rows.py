"""The rows about policies as a service: 100,000 policies of 10,000 tenants in a SQLite database."""

import contextlib
import http.client
import json
import pathlib
import statistics
import tempfile
import threading
import time

from lib import load, processes
from lib.processes import BUILD, BenchError
from lib.row import Row, interleaved

TENANTS, POLICIES_EACH = 10_000, 10
POLICIES = TENANTS * POLICIES_EACH
POLICIES_PER_CALL = 4_000
WIDE = 1_000  # the policy that all checks ask for while others change
RATE = 5_000  # checks per second while policies change
CHANGES_PER_SECOND = 2  # no more: the admin API limits itself


def policy(number, rate=100):
    tenant, own = divmod(number, POLICIES_EACH)
    return {"id": f"tenant-{tenant}.policy-{own}", "tenant": f"tenant-{tenant}", "resource": f"/api/v1/resource-{own}",
            "owner": "team-a", "limits": [{"name": "limit", "per": ["tenant", "key"], "rate": f"{rate + number % 50}/m"}]}


def call(server, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        text = answer.read()
    if answer.status >= 300:
        raise BenchError(f"{method} {path} was answered {answer.status}: {text[:300]!r}")
    return json.loads(text)


def change(server, number, rate):
    call(server, "PUT", f"/v1/policies/{policy(number)['id']}", policy(number, rate))


def check(server, number):
    wanted = policy(number)
    return call(server, "POST", "/v1/ratelimit/check", {"tenant_id": wanted["tenant"], "resource": wanted["resource"], "key": "k"})


def serving(folder):
    """On both cores: the control plane's thread has one where the loop is not."""
    return processes.serving("sluice", lambda port: [
        BUILD / "sluice", "serve", "--listen", f"127.0.0.1:{port}", "--policy-db", f"sqlite:{folder}/policies.db", "--threads", "1"],
        core="0,1")


def resident_bytes(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def fill(folder):
    with serving(folder) as server:
        check(server, 0)
        empty = resident_bytes(server)
        for first in range(0, POLICIES, POLICIES_PER_CALL):
            call(server, "POST", "/v1/policies", {"policies": [policy(n) for n in range(first, first + POLICIES_PER_CALL)]})
    return empty


def start_ms(folder):
    """From exec to the answer of a check by the policy that was written last."""
    begin = time.monotonic()
    with serving(folder) as server:
        if check(server, POLICIES - 1)["policy_id"] != policy(POLICIES - 1)["id"]:
            raise BenchError("the first check met no policy")
        return (time.monotonic() - begin) * 1000


def change_ms(server, number):
    begin = time.monotonic()
    change(server, number, 1000 + number)
    took = (time.monotonic() - begin) * 1000
    if check(server, number)["limit"] != 1000 + number + number % 50:
        raise BenchError("a change was answered before it was in force")
    return took


def p99_us(server, seconds, changes):
    """p99 of checks at a steady rate, with or without changes meanwhile."""
    stop, failed = threading.Event(), []

    def keep_changing():
        try:
            number = 0
            while not stop.wait(1 / CHANGES_PER_SECOND):
                number += 1
                change(server, WIDE + number, int(time.time()) % 1000 + 1)
        except Exception as error:  # told after the run
            failed.append(error)
    changer = threading.Thread(target=keep_changing)
    if changes:
        changer.start()
    try:
        measured = load.sluice_bench(server.address, "--grpc", "--connections", 4, "--streams", 10, "--rate", RATE, "--duration", seconds,
                                     "--warmup", 0.5, "--tenant", policy(WIDE)["tenant"], "--resource", policy(WIDE)["resource"])
    finally:
        stop.set()
        if changes:
            changer.join()
    if failed:
        raise BenchError(f"a change failed: {failed[0]}")
    return load.all_allowed(measured)["latency_us"]["p99"]


def service(options):
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        empty = fill(folder)
        starts = [start_ms(folder) for _ in range(options.runs)]
        with serving(folder) as server:
            check(server, 0)
            bytes_each = (resident_bytes(server) - empty) / POLICIES
            changes = [change_ms(server, number) for number in range(100, 130)]
            change(server, WIDE, 900_000_000)
            a, b, ratio, ratios = interleaved(lambda: p99_us(server, options.seconds, True),
                                              lambda: p99_us(server, options.seconds, False), max(options.runs, 9))
    start, changed = statistics.median(starts), statistics.median(changes)
    return [Row("100,000 policies, start to first check", "ms", start, None, start, 2000, starts, value_unit="ms"),
            Row("100,000 policies, one change", "ms", changed, None, changed, 50, changes, value_unit="ms"),
            Row("100,000 policies, memory of each", "B", bytes_each, None, bytes_each, 1024, value_unit="B"),
            Row("100,000 policies, p99 while one changes vs not", "µs", a, b, ratio, 1.5, ratios)]


GROUPS = {"policy-service": service}
