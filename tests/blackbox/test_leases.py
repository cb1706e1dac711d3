"""Leases over HTTP and gRPC, on memory and on Redis: units that a holder spends without asking."""

import concurrent.futures

import grpc
import pytest
from harness.admin import expect, expect_problem
from harness.server import binary

POLICIES = """
policies:
  - id: api
    deadline: 5s  # however busy the machine is
    limits:
      - { name: hour, per: [tenant, key], rate: 100/h }
      - { name: day, per: [tenant], rate: 150/d, algorithm: fixed_window }
"""
WHO = {"tenant_id": "shop", "resource": "/r", "key": "ann"}


@pytest.fixture(params=["memory", "redis"])
def node(request, server, redis_server):
    return server(POLICIES, args=["--store", redis_server().url] if request.param == "redis" else [])


def used(client, name="hour", **who):
    query = "&".join(f"{field}={value}" for field, value in {**WHO, **who}.items())
    usages = expect(client.get("/v1/usage?" + query), 200)["usages"]
    return next(usage["current"] for usage in usages if usage["quota"]["name"] == name)


def lease(client, want, **more):
    return expect(client.post("/v1/lease", {**WHO, "want": want, **more}), 200)


def test_units_are_charged_to_every_limit_seen_and_returned(node, http):
    client = http(node)
    granted = lease(client, 60)
    assert (granted["granted"], granted["policy_version"], granted["replayed"]) == (60, "api#1", False)
    assert 0 < granted["expires_after_ms"] <= 10_000
    assert (used(client), used(client, "day")) == (60, 60)
    listed = expect(client.get("/v1/leases?tenant_id=shop"), 200)["leases"]
    assert [(one["policy_id"], one["granted"]) for one in listed] == [("api", 60)]
    assert granted["lease_id"].endswith(listed[0]["lease_id"]) and granted["lease_id"] != listed[0]["lease_id"]
    assert 'rate_limiter_leased_units{policy="api"} 60' in client.get("/metrics").body.decode()
    assert expect(client.post("/v1/lease/return", {"lease_id": granted["lease_id"], "unused": 25}), 200) == {}
    assert (used(client), used(client, "day")) == (35, 35)
    problem = expect_problem(client.post("/v1/lease/return", {"lease_id": granted["lease_id"], "unused": 25}), 404, "lease_id")
    assert "no such lease" in problem["detail"]
    assert used(client) == 35


def test_the_command_lists_them(server, http, tool):
    node = server(POLICIES)
    lease(http(node), 60)
    listed = tool(binary(), "lease", "list", "--server", f"http://{node.address}", "--tenant", "shop")
    assert listed.returncode == 0, listed.stderr
    heading, row = listed.stdout.splitlines()
    assert heading.split()[:3] == ["LEASE", "TENANT", "POLICY"]
    assert row.split()[1:5] == ["shop", "api#1", "/r", "60"]
    other = tool(binary(), "lease", "list", "--server", f"http://{node.address}", "--policy", "other", "--output", "json")
    assert other.stdout.strip() == '{"leases": []}' or other.stdout.strip() == '{"leases":[]}'


def test_what_is_left_is_granted_and_then_nothing(node, http):
    client = http(node)
    assert lease(client, 70)["granted"] == 70
    assert lease(client, 1000)["granted"] == 30
    none = lease(client, 10)
    assert (none["granted"], none["lease_id"]) == (0, "")
    assert 0 < none["retry_after_ms"] <= 36_000
    assert lease(client, 1000, key="bob")["granted"] == 50, "the day's limit has no more"


def test_a_request_id_is_granted_once_and_means_one_request(node, http):
    client = http(node)
    first, again = lease(client, 10, request_id="r"), lease(client, 10, request_id="r")
    assert again["replayed"] and again["lease_id"] == first["lease_id"] and used(client) == 10
    expect_problem(client.post("/v1/lease", {**WHO, "want": 11, "request_id": "r"}), 422, "request_id")
    assert client.check(**WHO, tokens=10, request_id="r")["replayed"] is False, "a check of that id is another request"
    assert used(client) == 20


def test_checks_and_leases_together_never_exceed_the_limit(node, http):
    def work(number):
        client = http(node)
        sum_ = 0
        for round_ in range(20):
            sum_ += lease(client, 7, key="whale")["granted"] if (number + round_) % 2 else \
                int(client.check(**{**WHO, "key": "whale"})["allowed"])
        return sum_

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) in (100, 101), "101: a unit comes back every 36 seconds"


def test_over_grpc(node, grpc_stub):
    stub = grpc_stub(node)
    granted = stub.Lease(tenant_id="shop", resource="/r", dimensions={"key": "ann"}, want=40)
    assert (granted.granted, granted.policy_version, granted.refresh_after_ms) == (40, "api#1", 1000)
    stub.ReturnLease(lease_id=granted.lease_id, unused=40)
    assert stub.GetUsage(tenant_id="shop", resource="/r", dimensions={"key": "ann"}).usages[0].current == 0
    for refused, code in [(lambda: stub.ReturnLease(lease_id=granted.lease_id, unused=1), grpc.StatusCode.NOT_FOUND),
                          (lambda: stub.Lease(tenant_id="shop", resource="/r", dimensions={"key": "ann"}),
                           grpc.StatusCode.INVALID_ARGUMENT)]:
        with pytest.raises(grpc.RpcError) as error:
            refused()
        assert error.value.code() == code


def test_a_request_without_limits_has_nothing_to_lease(server, http):
    client = http(server(POLICIES.replace("  - id: api", "  - id: api\n    tenant: shop")))
    problem = expect_problem(client.post("/v1/lease", {**WHO, "tenant_id": "other", "want": 1}), 422)
    assert "nothing to lease" in problem["detail"]
