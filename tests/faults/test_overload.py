"""More is asked than Redis can answer, by one tenant, while Redis is well: load alone admits nothing beyond a limit.

The deadline of the policies is long: a busy machine is not a slow store. What is asserted are numbers of decisions,
never how long they take.
"""

import concurrent.futures
import json
import re

import pytest

from rig.patience import HANG_S

LIMIT = 10
POLICIES = f"""
policies:
  - id: scarce
    limits: [{{ name: units, per: [tenant, key], rate: {LIMIT}/366d }}]
    on_failure: open
    deadline: 30s
"""
CONNECTIONS = 24
ROUNDS = 3
BATCH = json.dumps({"checks": [{"policy_id": "scarce", "tenant_id": "whale", "key": "k"}] * 1000})


def invented(number):
    """A batch of which every check names another tenant."""
    return json.dumps({"checks": [{"policy_id": "scarce", "tenant_id": f"t{number}-{i}", "key": "k"} for i in range(1000)]})


@pytest.fixture(params=["server", "cluster"])
def store_url(request):
    return request.getfixturevalue("redis_server")().url if request.param == "server" \
        else request.getfixturevalue("cluster")().url


def flood(connection, batch=BATCH):
    """(how many were allowed, how many were shed) of several batches, one after the other."""
    allowed = shed = 0
    for _ in range(ROUNDS):
        answer = connection.post("/v1/ratelimit/check-batch", batch)
        if answer.status == 503:
            assert answer.json["code"] == "overloaded"
            assert 1 <= int(answer.headers["retry-after"]) <= 3
            shed += 1000
            continue
        assert answer.status == 200
        for one in answer.json["results"]:
            if "error" in one:
                assert (one["allowed"], one["error"]["code"]) == (False, "overloaded")
                shed += 1
            else:
                assert not one["degraded"]
                allowed += one["allowed"]
    return allowed, shed


def bystand(connection):
    """A tenant who asks for little, one check at a time: none of them is shed."""
    answers = [connection.check(policy_id="scarce", tenant_id="bystander", key="k") for _ in range(3 * LIMIT)]
    assert not any(one["degraded"] for one in answers)
    return [one["allowed"] for one in answers]


def test_a_flood_of_batches_lifts_no_limit(store_url, sluice, http):
    node = sluice(store_url, policies=POLICIES)
    connections = [http(node, timeout_s=HANG_S) for _ in range(CONNECTIONS + 1)]
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS + 1) as pool:
        whale = [pool.submit(flood, one) for one in connections[1:]]
        bystander = pool.submit(bystand, connections[0])
        assert bystander.result() == [True] * LIMIT + [False] * 2 * LIMIT
        allowed, shed = map(sum, zip(*(one.result() for one in whale)))
    assert allowed == LIMIT
    page = http(node).get("/metrics").body.decode()
    assert int(re.search(r'rate_limiter_shed_total\{reason="queue_full"\} (\d+)', page)[1]) == shed
    assert re.search(r'rate_limiter_failed_total\{policy="scarce",mode="open"\} 0', page) or \
        "rate_limiter_failed_total{policy=\"scarce\"" not in page


def test_invented_tenants_keep_nobody_out(store_url, sluice, http):
    node = sluice(store_url, policies=POLICIES)
    connections = [http(node, timeout_s=HANG_S) for _ in range(CONNECTIONS + 1)]
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS + 1) as pool:
        inventors = [pool.submit(flood, one, invented(i)) for i, one in enumerate(connections[1:])]
        bystander = pool.submit(bystand, connections[0])
        assert bystander.result() == [True] * LIMIT + [False] * 2 * LIMIT
        allowed = sum(one.result()[0] for one in inventors)
    assert allowed <= LIMIT * 1000 * CONNECTIONS


def test_what_was_denied_a_moment_ago_is_denied_without_asking(store_url, sluice, http):
    """Until somebody makes room, on this node at once, whichever of its loops is asked."""
    node = sluice(store_url, policies=POLICIES)
    connections = [http(node, timeout_s=HANG_S) for _ in range(8)]
    ask = lambda one: one.check(policy_id="scarce", tenant_id="t", key="k")
    answers = [ask(connections[i % 8]) for i in range(40 * LIMIT)]
    assert [one["allowed"] for one in answers] == [True] * LIMIT + [False] * 39 * LIMIT
    assert all(one["remaining"] == 0 and one["retry_after_ms"] > 0 for one in answers[LIMIT:])
    page = http(node).get("/metrics").body.decode()
    assert int(re.search(r"rate_limiter_denied_from_memory_total (\d+)", page)[1]) > 0
    for _ in range(3):
        reset = connections[0].post("/v1/reset", json.dumps({"policy_id": "scarce", "tenant_id": "t", "key": "k"}))
        assert reset.status == 200
        assert [ask(connections[i % 8])["allowed"] for i in range(2 * LIMIT)] == [True] * LIMIT + [False] * LIMIT
