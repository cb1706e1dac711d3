"""Many clients at once on one key: exactly as many pass as the limit allows."""

import threading

import pytest

CLIENTS = 64
EACH = 5
LIMIT = 100

POLICY = """
policies:
  - id: p
    limits:
      - {{ name: shared, per: [key], rate: {limit}/d, algorithm: {algorithm} }}
      - {{ name: wide, per: [], rate: 100000/d, algorithm: fixed_window }}
"""


def run_clients(work):
    """Calls work(i) in CLIENTS threads that start together; returns all results."""
    start = threading.Barrier(CLIENTS)
    results, failures = [], []

    def run(i):
        try:
            start.wait()
            results.extend(work(i))
        except Exception as failure:  # reported below, in the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    return results


# gcra and token_bucket gain one unit in 864 s at 100/d: none while this runs.
ALGORITHMS = ["gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_exactly_the_limit_passes_over_http(server, http, algorithm):
    running = server(POLICY.format(limit=LIMIT, algorithm=algorithm), args=["--threads", "4"])
    connections = [http(running) for _ in range(CLIENTS)]
    allowed = run_clients(lambda i: [connections[i].check(policy_id="p", key="k")["allowed"] for _ in range(EACH)])
    assert (len(allowed), sum(allowed)) == (CLIENTS * EACH, LIMIT)


def test_exactly_the_limit_passes_over_grpc(server, grpc_stub):
    running = server(POLICY.format(limit=LIMIT, algorithm="gcra"), args=["--threads", "4"])
    stubs = [grpc_stub(running) for _ in range(CLIENTS)]
    allowed = run_clients(lambda i: [stubs[i].CheckAndIncrement(policy_id="p", dimensions={"key": "k"}).allowed
                                     for _ in range(EACH)])
    assert (len(allowed), sum(allowed)) == (CLIENTS * EACH, LIMIT)


def test_both_doors_share_one_counter(server, http, grpc_stub):
    running = server(POLICY.format(limit=LIMIT, algorithm="gcra"), args=["--threads", "2"])
    connections = [http(running) for _ in range(CLIENTS // 2)]
    stubs = [grpc_stub(running) for _ in range(CLIENTS // 2)]

    def work(i):
        if i % 2:
            return [connections[i // 2].check(policy_id="p", key="k")["allowed"] for _ in range(EACH)]
        return [stubs[i // 2].CheckAndIncrement(policy_id="p", dimensions={"key": "k"}).allowed for _ in range(EACH)]

    assert sum(run_clients(work)) == LIMIT


def test_a_denied_check_leaves_the_other_limits_alone(server, http):
    running = server(POLICY.format(limit=LIMIT, algorithm="gcra"))
    connections = [http(running) for _ in range(CLIENTS)]
    run_clients(lambda i: [connections[i].check(policy_id="p", key="k")["allowed"] for _ in range(EACH)])
    # Another key has the wide limit in common with it, which was charged for what passed and for nothing else.
    usages = connections[0].get("/v1/usage?policy_id=p&key=another").json["usages"]
    assert [usage["remaining"] for usage in usages] == [LIMIT, 100_000 - LIMIT]
