"""A Redis that has no memory left (maxmemory with noeviction): counters that are there stay limited, new ones get the
failure rule, visibly, and nobody else notices."""

import json
import re

import pytest
from harness.server import wait_until


LIMIT = 10
POLICIES = f"""
policies:
  - id: open
    resource: /open
    limits: [{{ name: units, per: [tenant, key], rate: {LIMIT}/366d }}]
    on_failure: open
    deadline: 30s
  - id: closed
    resource: /closed
    limits: [{{ name: units, per: [tenant, key], rate: {LIMIT}/366d }}]
    on_failure: closed
    deadline: 30s
  - id: local
    resource: /local
    limits: [{{ name: units, per: [tenant, key], rate: {LIMIT}/366d }}]
    on_failure: local
    local: {{ rate: 2/366d }}
    deadline: 30s
"""

# A cap for the whole tenant, and a limit for each key beside it.
ALGORITHMS = ("gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log")
CAPPED = "policies:\n" + "".join(f"""
  - id: {algorithm}{"-counts" if counts else ""}
    resource: /{algorithm}{"/counts" if counts else ""}
    limits:
      - {{ name: cap, per: [tenant], algorithm: {algorithm}, rate: {LIMIT}/30d, count_denied: {str(counts).lower()} }}
      - {{ name: each, per: [tenant, key], algorithm: leaky_bucket, rate: {LIMIT}/30d, count_denied: {str(counts).lower()} }}
    on_failure: open
    deadline: 30s
""" for algorithm in ALGORITHMS for counts in (False, True))


def masters(store):
    return [node.cli for node in store.masters] if hasattr(store, "masters") else [store.cli]


@pytest.fixture(params=["server", "cluster"])
def store(request):
    return request.getfixturevalue("redis_server" if request.param == "server" else "cluster")()


def flood(client, tenant, size=1000):
    """How many new keys of a tenant were let through without being counted."""
    checks = [{"tenant_id": tenant, "resource": "/open", "key": f"k{i}"} for i in range(size)]
    answer = client.post("/v1/ratelimit/check-batch", json.dumps({"checks": checks}))
    return sum(one["reason"] == "store_full" for one in answer.json["results"])


def test_a_full_server_counts_what_it_knows(store, sluice, http):
    node = sluice(store.url, policies=POLICIES)
    client = http(node)
    ask = lambda resource, key, **more: client.check(tenant_id="t", resource=resource, key=key, **more)
    for resource in ("/open", "/closed"):
        assert ask(resource, "old", tokens=LIMIT - 3)["allowed"]
        assert ask(resource, "used up", tokens=LIMIT)["allowed"]
    for one in masters(store):
        one.config_set("maxmemory", 1)
    for resource, allowed in (("/open", True), ("/closed", False)):
        for i in range(4):
            told = ask(resource, f"new{i}")
            assert (told["allowed"], told["degraded"], told["reason"]) == (allowed, True, "store_full")
        assert not ask(resource, "used up")["allowed"]
        old = [ask(resource, "old", **({"request_id": f"{resource}{i}"} if i % 2 else {})) for i in range(6)]
        assert [one["allowed"] for one in old] == [True] * 3 + [False] * 3
        assert not any(one["degraded"] for one in old)
    assert [ask("/local", "new")["allowed"] for _ in range(4)] == [True] * 2 + [False] * 2, "its counters are our own"
    metrics = lambda: client.get("/metrics").body.decode()  # loops tell theirs now and then
    wait_until(lambda: re.search(r"^rate_limiter_store_full_total 12$", metrics(), re.M), "the metric")
    assert re.search(r'rate_limiter_redis_breaker_transitions_total\{state="open"\} 0', metrics())
    ready = client.get("/readyz")
    assert ready.status == 200 and "no memory left" in " ".join(ready.json["problems"])
    for one in masters(store):
        one.config_set("maxmemory", 0)
    wait_until(lambda: not ask("/closed", "new0")["degraded"], "memory")
    assert not ask("/closed", "old")["allowed"]


def test_new_keys_do_not_lift_a_cap_that_is_used_up(store, sluice, http):
    """The cap denies, and would write something: what it denied, a charge in spite of that, a log without what is over."""
    client = http(sluice(store.url, policies=CAPPED))
    resources = [f"/{algorithm}{counts}" for algorithm in ALGORITHMS for counts in ("", "/counts")]
    ask = lambda resource, key, **more: client.check(tenant_id="t", resource=resource, key=key, **more)
    for resource in resources:
        assert ask(resource, "old", tokens=LIMIT)["allowed"], resource
    for one in masters(store):
        one.config_set("maxmemory", 1)
    for resource in resources:
        told = [ask(resource, f"new{i}", **({"request_id": f"{resource}{i}"} if i % 2 else {})) for i in range(4)]
        assert [(one["allowed"], one["degraded"], one["reason"]) for one in told] == [(False, False, "limited")] * 4, resource
        assert not ask(resource, "old")["allowed"], resource


def test_new_keys_use_up_a_cap_that_has_room(store, sluice, http):
    """The key's limit is passed over, the cap counts. (A log that is the cap would have to grow, and is passed over, too.)"""
    client = http(sluice(store.url, policies=CAPPED))
    resources = [f"/{algorithm}{counts}" for algorithm in ALGORITHMS[:-1] for counts in ("", "/counts")]
    ask = lambda resource, key, **more: client.check(tenant_id="t", resource=resource, key=key, **more)
    for resource in resources:
        assert ask(resource, "old", tokens=LIMIT - 3)["allowed"], resource
    for one in masters(store):
        one.config_set("maxmemory", 1)
    for resource in resources:
        told = [ask(resource, f"new{i}", **({"request_id": f"{resource}{i}"} if i % 2 else {})) for i in range(5)]
        assert [(one["allowed"], one["degraded"], one["reason"]) for one in told] == \
            [(True, True, "store_full")] * 3 + [(False, False, "limited")] * 2, resource
        assert [one["remaining"] for one in told[:3]] == [2, 1, 0], resource


def test_who_fills_the_server_lifts_nobodys_limit(redis_server, sluice, http):
    """With a real bound, which is reached by new keys."""
    store = redis_server(maxmemory="3mb", maxmemory_policy="noeviction")
    node = sluice(store.url, policies=POLICIES)
    client = http(node)
    ask = lambda: client.check(tenant_id="bystander", resource="/open", key="k")
    assert ask()["remaining"] == LIMIT - 1
    rounds = 0
    while flood(client, f"whale{rounds}") == 0:
        rounds += 1
        assert rounds < 200
    assert flood(client, "whale") > 900
    answers = [ask() for _ in range(2 * LIMIT)]
    assert [one["allowed"] for one in answers] == [True] * (LIMIT - 1) + [False] * (LIMIT + 1)
    keys = store.cli.dbsize()
    flood(client, "another")
    assert store.cli.dbsize() <= keys + 100, "nothing is made beyond the bound"
