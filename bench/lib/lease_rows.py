"""A check that the library decides from leased units."""

import json

from lib import processes
from lib.processes import LOAD_CORE, SERVER_CORE, run_load
from lib.row import Row

LEAST_NS = 60  # what a leased check may cost, however fast the machine subtracts


def leases(options):
    with processes.sluice("bench/leased.yaml") as server:
        command = [processes.BUILD / "leased", f"http://127.0.0.1:{server.port}", options.runs]
        got = json.loads(run_load(command, core=f"{SERVER_CORE},{LOAD_CORE}"))
    allowed = max(LEAST_NS, 3 * got["subtraction_ns"])
    return [Row("leased check vs 60 ns or 3 atomic subtractions", "ns", got["one_ns"], allowed, got["one_ns"] / allowed, 1),
            Row("leased check, 8 threads on one key, vs the same", "ns", got["many_ns"], allowed, got["many_ns"] / allowed, 2.5),
            Row("batches of leased checks that allocate", "", got["allocating_batches"], None, got["allocating_batches"], 0.1)]


GROUPS = {"leases": leases}
