#!/usr/bin/python3
"""The interop matrix: other people's gRPC clients, h2spec, Envoy and OpenTelemetry against a release build of Sluice.

    tests/interop/run.py                     everything; writes docs/interop.md
    tests/interop/run.py grpc-go h2spec      only these parts; writes nothing

Exit status 0: every cell is what it must be.
"""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "blackbox")]
os.environ.setdefault("SLUICE_BINARY", str(ROOT / "build/release/sluice"))

import envoy  # noqa: E402
import h2spec  # noqa: E402
import page  # noqa: E402
import traces  # noqa: E402
from builds import CLIENTS, Failed  # noqa: E402
from matrix import Matrix  # noqa: E402

PARTS = [*(client.name for client in CLIENTS), "h2spec", "envoy", "traces"]


def say(text):
    print(f"interop: {text}", flush=True)


def fresh(directory):
    directory.mkdir()
    return directory


def run_clients(clients, directory):
    """Builds all, then runs all: ({name: version}, {name: {what: (is it right?, text)}})"""
    starts, versions = {}, {}
    for client in clients:
        say(f"building {client.name} {client.version()}")
        starts[client.name], versions[client.name] = client.start_with(), client.version()
    matrix = Matrix(directory)
    try:
        for name, start in starts.items():
            say(f"running {name}")
            matrix.run(name, start)
        say("waiting for pings")
        matrix.run_idle(starts)
    finally:
        matrix.stop()
    return versions, matrix.results


def run(wanted, directory):
    """Runs the wanted parts; true if all is well. Writes the page if nothing was left out."""
    clients = [client for client in CLIENTS if client.name in wanted]
    conformance = proxied = traced = versions = results = None
    right = []
    if "h2spec" in wanted:
        say("h2spec")
        conformance = h2spec.measure(fresh(directory / "h2spec"))
        right += [count == h2spec.TESTS for count in conformance[1].values()]
    if "envoy" in wanted:
        say("envoy")
        proxied = envoy.run(fresh(directory / "envoy"))
        right += [good for _, good in proxied[1]]
    if "traces" in wanted:
        say("traces")
        traced = traces.run(fresh(directory / "traces"))
        right += [good for _, good in traced[1]]
    if clients:
        versions, results = run_clients(clients, fresh(directory / "clients"))
        right += [good for cells in results.values() for good, _ in cells.values()]
    if set(wanted) == set(PARTS):
        page.write(ROOT / "docs/interop.md", versions, results, conformance, proxied, traced, h2spec.TESTS)
    say(f"{sum(right)} of {len(right)} as they must be")
    return all(right)


def main():
    wanted = sys.argv[1:] or PARTS
    if unknown := set(wanted) - set(PARTS):
        print(f"interop: no part is named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="sluice-interop-") as directory:
        try:
            return 0 if run(wanted, pathlib.Path(directory)) else 1
        except Failed as error:
            print(f"interop: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
