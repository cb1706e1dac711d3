"""Spans that Sluice exports, decoded by OpenTelemetry's own Python package."""

import json
import subprocess

from builds import BUILD, HERE, ROOT, python_with
from harness.admin import sqlite
from harness.collector import Collector
from harness.rpc import Api
from harness.server import Server, wait_until
from harness.web import Http

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
POLICIES = "policies: [{ id: p, limits: [{ name: one, per: [key], rate: 1/d }] }]\n"


def run(directory):
    """(version of the package, [(what, is it so?)])"""
    folder = BUILD / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    python = python_with(folder, HERE / "traces-requirements.txt")
    (directory / "api").mkdir()
    collector = Collector(Api(ROOT / "tests/blackbox/otlp", directory / "api"))
    server = Server(directory / "node", POLICIES, ["--otlp", collector.url, *sqlite(directory)])
    try:
        with Http(server.host, server.port) as client:
            for _ in range(2):
                client.post("/v1/ratelimit/check", {"tenant_id": "acme", "resource": "/x", "key": "k"},
                            {"traceparent": f"00-{TRACE}-{PARENT}-01"})
        wait_until(lambda: len(collector.spans()) == 2, "two spans")
        decoded = subprocess.run([python, HERE / "traces_decoded.py"], check=True, capture_output=True, text=True,
                                 input="\n".join(body.hex() for _, _, body in collector.posts))
    finally:
        server.stop()
        server.kill()
        collector.stop()
    seen = json.loads(decoded.stdout)
    spans = seen["spans"]
    return seen["version"], [
        ("the request and every field of it is known", not seen["unknown"]),
        ("both spans belong to the caller's trace, below its span",
         [(span["trace"], span["parent"]) for span in spans] == [(TRACE, PARENT)] * 2),
        ("kind, flags and times", all(span["kind"] == 2 and span["flags"] == 1 and 0 < span["begin"] <= span["end"] for span in spans)),
        ("attributes with their types", [(span["about"]["sluice.allowed"], span["about"]["sluice.policy_version"]) for span in spans]
         == [(True, 1), (False, 1)]),
        ("the resource", seen["service"] == "sluice"),
    ]
