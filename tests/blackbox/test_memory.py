"""What happens when more keys come than fit: memory stays bounded, and whoever is denied stays denied."""

import re

import pytest

POLICIES = """
policies:
  - id: login
    resource: /login
    limits: [{ name: tries, per: [key], rate: 3/d, algorithm: sliding_log }]
  - id: api
    resource: /api
    limits: [{ name: day, per: [key], rate: 5/d }]
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


@pytest.mark.parametrize("tokens", [1, 5], ids=["keys that hardly use their limit", "keys that exhaust it at once"])
def test_a_flood_of_new_keys_cannot_reset_a_denied_one(server, http, tokens):
    client = http(server(POLICIES, args=["--memory-mib", str(MIB)]))
    denied = [{"tenant_id": "t", "resource": resource, "key": f"denied{i}"} for i in range(50) for resource in ("/api", "/login")]
    for check in denied:
        client.check(**check, tokens=5 if check["resource"] == "/api" else 3)
    flood(client, tokens)
    assert [check for check in denied if client.check(**check)["allowed"]] == []
    assert metric(client, "rate_limiter_store_bytes") <= MIB * 2**20
    assert metric(client, "rate_limiter_store_keys") < FLOOD
