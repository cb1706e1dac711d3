"""What a check may say: both names of its cost, slips, what may be left out, and what is warned of."""

import json

import pytest
from harness.admin import expect, expect_problem
from harness.cli import sluice

POLICIES = """
policies:
  - id: api
    limits: [{ name: hour, per: [tenant, key], rate: 10/h }]
    tiers: { premium: { hour: { rate: 100/h } } }
  - id: cap
    resource: /cap
    limits: [{ name: all, per: [tenant], rate: 10/h }]
  - id: shop.rule
    tenant: shop
    resource: /orders
    limits: [{ name: own, per: [tenant, key], rate: 2/h }]
"""
WHO = {"tenant_id": "t", "resource": "/r", "key": "k"}
CHECK = "/v1/ratelimit/check"


def test_cost_is_charged_by_either_name(server, http):
    client = http(server(POLICIES))
    assert client.check(**WHO, cost=5)["remaining"] == 5
    assert client.check(**WHO, tokens=2)["remaining"] == 3
    expect_problem(client.post(CHECK, {**WHO, "cost": 1, "tokens": 1}), 400, "tokens")
    assert client.check(**WHO, cost=0)["remaining"] == 3


@pytest.mark.parametrize("slip", ["tokns", "Cost", "coast", "tenant_ids", "policyid", "request-id"])
def test_a_slip_is_refused_with_a_guess(server, http, slip):
    client = http(server(POLICIES))
    problem = expect_problem(client.post(CHECK, {**WHO, slip: 5}), 400, slip)
    assert "did you mean" in problem["detail"]
    expect_problem(client.get(f"/v1/authorize?tenant_id=t&resource=/r&key=k&{slip}=5"), 400, slip)
    assert client.check(**WHO, trace="x", cost=0)["remaining"] == 10, "other names are ignored, and nothing was charged"


def test_the_key_may_be_left_out_where_nothing_counts_by_it(server, http):
    client = http(server(POLICIES))
    assert client.check(tenant_id="t", resource="/cap")["remaining"] == 9
    expect_problem(client.post(CHECK, {"tenant_id": "t", "resource": "/r"}), 400, "key")


def test_the_default_tenant(server, http):
    client = http(server(POLICIES, args=["--default-tenant", "shop"]))
    assert [client.check(resource="/orders", key="k")["allowed"] for _ in range(3)] == [True, True, False]
    assert client.check(tenant_id="shop", resource="/orders", key="k")["allowed"] is False
    expect_problem(http(server(POLICIES)).post(CHECK, {"resource": "/orders", "key": "k"}), 400, "tenant_id")


def test_naming_a_tenants_policy_is_no_way_around_it(server, http):
    client = http(server(POLICIES))
    assert [client.check(policy_id="shop.rule", key="k")["allowed"] for _ in range(3)] == [True, True, False]
    expect_problem(client.post(CHECK, {"policy_id": "shop.rule", "tenant_id": "other", "key": "k"}), 400, "policy_id")


def test_a_tier_that_no_policy_knows_is_told_and_counted(server, http):
    client = http(server(POLICIES))
    assert "warnings" not in client.check(**WHO, dimensions={"tier": "premium"})
    answer = client.check(**WHO, dimensions={"tier": "premuim"})
    assert answer["limit"] == 10 and "no policy has the tier" in answer["warnings"][0]
    assert b"rate_limiter_unknown_tier_total 1" in client.get("/metrics").body


def test_a_dimension_that_nobody_provides_is_warned_of(admin, server, write):
    path = write("policies: [{ id: p, limits: [{ per: [usr], rate: 1/s }] }]\n")
    done = sluice("policy", "validate", path)
    assert done.returncode == 0 and 'did you mean "user"?' in done.stderr
    node = server("policies: [{ id: p, limits: [{ per: [usr], rate: 1/s }] }]\n")
    assert node.wait_for_log('no endpoint fills in the dimension "usr"')
    document = {"id": "q", "resource": "/q", "limits": [{"name": "one", "per": ["kye"], "rate": "1/s"}]}
    written = expect(admin().request("PUT", "/v1/policies/q", document), 201)
    assert 'did you mean "key"?' in written["warnings"][0]


def test_tiers_that_add_up_are_warned_of(admin, write):
    limit = {"name": "one", "per": ["user"], "rate": "100/d", "algorithm": "fixed_window"}
    document = {"id": "q", "resource": "/q", "limits": [limit], "tiers": {"trial": {"one": {"rate": "10/h"}}}}
    done = sluice("policy", "validate", write(json.dumps({"policies": [document]}), "q.json"))
    assert done.returncode == 0 and '"trial" (fixed_window by 1h)' in done.stderr
    written = expect(admin().request("PUT", "/v1/policies/q", document), 201)
    assert "up to the sum of them" in written["warnings"][0]
