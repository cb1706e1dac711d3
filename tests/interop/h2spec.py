"""h2spec against the server, in the clear and over TLS: how many of its tests pass."""

import re
import subprocess

from builds import HERE, Failed, found, fresh_copy, run
from harness.admin import QUICK_END
from harness.certificates import Authority
from harness.server import Server

TESTS = 145
SECONDS = 300


def program():
    """The binary, and its version."""
    source = HERE / "h2spec"
    folder = fresh_copy(source, "h2spec")
    run(["go", "install", "tool"], folder, GOBIN=str(folder / "bin"))
    return folder / "bin/h2spec", found(r"summerwind/h2spec v([0-9.]+)", source / "go.mod")


def passed(binary, server, *options):
    """How many tests pass. Those that don't are printed."""
    command = [str(binary), "--host", server.host, "--port", str(server.port), "--path", "/healthz", "--timeout", "5", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    counts = re.search(r"(\d+) tests, (\d+) passed", done.stdout)
    if not counts or int(counts[1]) != TESTS:
        raise Failed(f"h2spec did not run its {TESTS} tests:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    if int(counts[2]) != TESTS:
        print(done.stdout.partition("Failures:")[2], flush=True)
    return int(counts[2])


def measure(directory):
    """(h2spec's version, {how the server was reached: tests passed})"""
    binary, version = program()
    own = Authority(directory).for_servers()
    counts = {}
    for name, args, options in (("in the clear", [], []),
                                ("over TLS", ["--tls-cert", str(own.certificate), "--tls-key", str(own.key)], ["--tls", "--insecure"])):
        server = Server(directory / f"h2spec-{'tls' if args else 'clear'}", args=[*QUICK_END, *args])
        try:
            counts[name] = passed(binary, server, *options)
            if server.stop() != 0:
                raise Failed(f"the server ended with {server.process.returncode} after h2spec:\n{server.log()[-4000:]}")
        finally:
            server.kill()
    return version, counts
