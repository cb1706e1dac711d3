"""Checks of one batch that meet on a counter are decided in the order of the batch, whatever else differs: who gets the
last unit is who stands first."""

import json

import pytest

LIMIT = 10
POLICIES = f"""
policies:
  - id: shared
    resource: /shared
    limits: [{{ name: units, per: [key], rate: {LIMIT}/366d }}]
    on_failure: closed
    deadline: 30s
  - id: both
    resource: /both
    limits:
      - {{ name: units, per: [key], rate: {LIMIT}/366d }}
      - {{ name: more, per: [key], rate: 1000/366d, algorithm: sliding_window }}
    on_failure: closed
    deadline: 30s
"""
CHECKS = 4 * LIMIT

# What distinguishes the n-th check of a batch from the others.
MIXTURES = {
    "tenants in rows": lambda n: {"tenant_id": f"t{n // 15}"},
    "tenants in turn": lambda n: {"tenant_id": f"t{n % 3}"},
    "some with ids": lambda n: {"request_id": f"r{n}"} if n % 3 == 1 else {},
    "ids first and last": lambda n: {"request_id": f"r{n}"} if n % 20 < 4 else {},
    "ids and tenants": lambda n: {"tenant_id": f"t{n % 4}", **({"request_id": f"r{n}"} if n % 2 else {})},
}


@pytest.fixture(params=["server", "cluster"])
def store_url(request):
    return request.getfixturevalue("redis_server")().url if request.param == "server" \
        else request.getfixturevalue("cluster")().url


def test_who_stands_first_gets_the_last_unit(store_url, sluice, http):
    node = sluice(store_url, policies=POLICIES)
    client = http(node)
    for resource in ("/shared", "/both"):
        for name, fields in MIXTURES.items():
            checks = [{"tenant_id": "t0", "resource": resource, "key": name, **fields(n)} for n in range(CHECKS)]
            for check in checks:
                if "request_id" in check:
                    check["request_id"] += resource + name  # nobody else's
            answer = client.post("/v1/ratelimit/check-batch", json.dumps({"checks": checks}))
            allowed = [one["allowed"] for one in answer.json["results"]]
            assert allowed == [True] * LIMIT + [False] * (CHECKS - LIMIT), (resource, name)
            remaining = [one["remaining"] for one in answer.json["results"]]
            assert remaining == [max(LIMIT - 1 - n, 0) for n in range(CHECKS)], (resource, name)
