"""What happens when more keys come than fit: memory stays bounded, nobody gets quota back, and new keys are told."""

import re

import pytest

from harness.server import wait_until

POLICIES = """
policies:
  - id: login
    resource: /login
    limits: [{ name: tries, per: [key], rate: 3/d, algorithm: sliding_log }]
    on_failure: closed
  - id: api
    resource: /api
    limits: [{ name: day, per: [key], rate: 10/d }]
"""
MIB = 1
FLOOD = 50_000  # several times what a MiB holds


def metric(client, name):
    return int(re.search(rf"^{re.escape(name)} (\d+)$", client.get("/metrics").body.decode(), re.MULTILINE)[1])


def flood(client, tokens):
    for start in range(0, FLOOD, 1000):
        checks = [{"resource": "/api", "tenant_id": "t", "key": f"flood{i}", "tokens": tokens}
                  for i in range(start, start + 1000)]
        assert client.post("/v1/ratelimit/check-batch", {"checks": checks}).status == 200


@pytest.mark.parametrize("tokens", [1, 10], ids=["keys that hardly use their limit", "keys that exhaust it at once"])
def test_a_flood_of_new_keys_gives_no_quota_back(server, http, tokens):
    client = http(server(POLICIES, args=["--memory-mib", str(MIB)]))
    denied = [{"tenant_id": "t", "resource": resource, "key": f"denied{i}"} for i in range(50) for resource in ("/api", "/login")]
    nearly = [{"tenant_id": "t", "resource": "/api", "key": f"nearly{i}"} for i in range(50)]
    for check in denied:
        assert client.check(**check, tokens=10 if check["resource"] == "/api" else 3)["allowed"]
    for check in nearly:
        assert client.check(**check, tokens=9)["allowed"]
    flood(client, tokens)
    assert [check for check in denied if client.check(**check)["allowed"]] == []
    assert [client.check(**check)["allowed"] for check in nearly * 2] == [True] * 50 + [False] * 50
    assert metric(client, "rate_limiter_store_bytes") <= MIB * 2**20
    assert metric(client, "rate_limiter_store_keys") < FLOOD


def test_new_keys_that_a_full_store_cannot_count_get_the_failure_rule_visibly(server, http):
    one = server(POLICIES, args=["--memory-mib", str(MIB)])
    client = http(one)
    assert client.get("/readyz").json["problems"] == []
    flood(client, 1)
    told = {name: client.check(tenant_id="t", resource=f"/{name}", key="late") for name in ("api", "login")}
    assert {name: (answer["allowed"], answer["degraded"], answer["reason"]) for name, answer in told.items()} == {
        "api": (True, True, "store_full"), "login": (False, True, "store_full")}
    refused = client.get("/v1/authorize?tenant_id=t&resource=/login&key=later")
    assert refused.status == 503 and "out of memory" in refused.json["detail"] and "retry-after" in refused.headers
    assert metric(client, 'rate_limiter_failed_total{policy="login",mode="closed"}') == 2
    assert metric(client, "rate_limiter_store_full_total") > 1

    def problems():
        return [problem for problem in client.get("/readyz").json["problems"] if "raise --memory-mib" in problem]
    one.wait_for_log("raise --memory-mib")
    wait_until(problems, "the problem in /readyz")
    assert one.log().count("raise --memory-mib") == 1


def test_request_ids_of_one_tenant_are_not_forgotten_because_of_another(server, http):
    limits = ", ".join(f"{{ name: l{i}, per: [tenant], rate: 1000000/d }}" for i in range(16))  # long answers
    client = http(server(f"policies: [{{ id: p, limits: [{limits}] }}]"))
    mine = [{"tenant_id": "mine", "resource": "/api", "key": "ann", "request_id": f"m{i}"} for i in range(5)]
    for check in mine:
        assert not client.check(**check)["replayed"]
    batch = 0
    while metric(client, "rate_limiter_request_ids_evicted_total") == 0:
        for batch in range(batch + 1, batch + 11):
            checks = [{"tenant_id": "other", "resource": "/api", "key": "k", "request_id": f"o{batch}.{i}"} for i in range(1000)]
            assert client.post("/v1/ratelimit/check-batch", {"checks": checks}).status == 200
    assert all(client.check(**check)["replayed"] for check in mine)
