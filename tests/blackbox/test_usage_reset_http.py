"""GET /v1/usage and POST /v1/reset, and the audit of resets over HTTP and gRPC."""

import grpc
import pytest
from harness.admin import QUICK_END, bearer, expect, expect_problem, sqlite
from harness.server import wait_until

POLICIES = """
policies:
  - id: api
    deadline: 5s  # however busy the machine is
    limits:
      - { name: hour, per: [tenant, key], rate: 10/h }
      - { name: day, per: [tenant], rate: 100/d, algorithm: fixed_window }
"""
WHO = {"tenant_id": "shop", "resource": "/r", "key": "ann"}
QUERY = "?tenant_id=shop&resource=/r&key=ann"


def usages(client, query=QUERY):
    return {usage["quota"]["name"]: usage for usage in expect(client.get("/v1/usage" + query), 200)["usages"]}


def resets(client):
    return expect(client.get("/v1/audit?kind=event&action=reset"), 200)["entries"]


def test_usage_tells_every_limit_and_charges_nothing(admin):
    client = admin(POLICIES)
    client.check(**WHO, tokens=9)
    for _ in range(3):
        found = usages(client)
        assert found["hour"]["quota"] == {"name": "hour", "per": ["key", "tenant"], "limit": 10, "period_ms": 3_600_000,
                                          "algorithm": "gcra"}
        assert (found["hour"]["current"], found["hour"]["remaining"], found["hour"]["state"]) == (9, 1, "warning")
        assert (found["day"]["current"], found["day"]["remaining"], found["day"]["state"]) == (9, 91, "normal")
        assert found["day"]["reset_unix_ms"] % 86_400_000 == 0
    assert usages(client, "?policy_id=api&tenant_id=shop&key=bob")["hour"]["current"] == 0
    assert expect(client.get("/v1/usage?tenant_id=t&resource=/r&key=k&user=u"), 200)["usages"]


def test_a_window_that_is_used_beyond_its_limit_denies_looks(admin):
    """What requests cost may be charged afterwards, if denials count."""
    client = admin(POLICIES + "      - { name: tokens, per: [key], rate: 20/d, algorithm: fixed_window, count_denied: true }\n")
    who = {**WHO, "tokens": 6}
    assert [client.check(**who)["allowed"] for _ in range(4)] == [True, False, False, False], "by the limit per hour"
    assert usages(client)["tokens"]["remaining"] == 0
    assert usages(client)["tokens"]["state"] == "throttled"
    look = client.check(**{**WHO, "tokens": 0})
    assert (look["allowed"], look["limiting"], look["remaining"]) == (False, "tokens", 0)
    assert 0 < look["retry_after_ms"] <= 86_400_000
    assert client.check(**{**WHO, "key": "bob", "tokens": 0})["allowed"]


def test_usage_is_what_grpc_says(server, http, grpc_stub, tmp_path):
    node = server(POLICIES, args=sqlite(tmp_path))
    client, stub = http(node), grpc_stub(node)
    client.check(**WHO, tokens=3)
    ours = usages(client)
    for theirs in stub.GetUsage(tenant_id="shop", resource="/r", dimensions={"key": "ann"}).usages:
        mine = ours.pop(theirs.quota.name)
        assert mine["quota"] == {"name": theirs.quota.name, "per": list(theirs.quota.per), "limit": theirs.quota.limit,
                                 "period_ms": theirs.quota.period_ms, "algorithm": theirs.quota.algorithm}
        assert (mine["current"], mine["remaining"]) == (theirs.current, theirs.remaining)
        assert abs(mine["reset_unix_ms"] - theirs.reset_unix_ms) <= 1
    assert not ours


def test_a_reset_forgets_and_is_audited(server, http, grpc_stub, tmp_path):
    node = server(POLICIES, args=sqlite(tmp_path))
    client, stub = http(node), grpc_stub(node)
    client.check(**WHO, tokens=10)
    assert client.check(**WHO)["allowed"] is False
    assert expect(client.post("/v1/reset", {**WHO, "shared": True, "reason": "wrong deploy"}), 200) == {"reset": 2}
    assert client.check(**WHO, tokens=10)["allowed"] is True
    assert expect(client.post("/v1/reset", {"policy_id": "api", "tenant_id": "shop", "key": "ann"}), 200) == {"reset": 1}
    assert usages(client)["day"]["current"] == 10, "others count in it"
    assert stub.ResetKey(policy_id="api", tenant_id="shop", dimensions={"key": "ann"}, own_only=True, reason="by gRPC").reset == 0
    wait_until(lambda: len(resets(client)) == 3, "three entries")
    by_grpc, named, first = resets(client)
    assert (first["name"], first["actor"], first["reason"]) == ("shop", "loopback", "wrong deploy")
    assert first["after"] == {"tenant_id": "shop", "resource": "/r", "counters": 2, "address": "127.0.0.1"}
    assert (named["name"], named["after"]["policy_id"]) == ("api", "api")
    assert (by_grpc["reason"], by_grpc["after"]["counters"]) == ("by gRPC", 0)
    assert "ann" not in node.log() and "ann" not in str(resets(client)), "never a raw key"


def test_a_reset_does_not_wait_for_the_database_but_is_audited_when_it_is_back(server, http, postgres):
    node = server(POLICIES, args=["--policy-db", postgres.url, *QUICK_END])
    client = http(node)
    client.check(**WHO, tokens=10)
    postgres.stop()
    assert expect(client.post("/v1/reset", {**WHO, "shared": True, "reason": "now"}), 200) == {"reset": 2}
    assert client.check(**WHO)["allowed"] is True
    node.wait_for_log("the audit log entry will be written when the policy database is back.*reset of shop by loopback")
    postgres.start()
    wait_until(lambda: client.get("/v1/audit").status == 200 and resets(client), "the entry")
    assert resets(client)[0]["reason"] == "now"


def test_without_the_store_both_are_unavailable(server, http, redis, tmp_path):
    client = http(server(POLICIES, args=[*sqlite(tmp_path), "--store", redis.url]))
    wait_until(lambda: client.get("/readyz").status == 200, "the store")
    client.check(**WHO, tokens=4)
    assert usages(client)["hour"]["current"] == 4
    redis.stop()
    for answer in (client.get("/v1/usage" + QUERY), client.post("/v1/reset", WHO)):
        expect_problem(answer, 503)
        assert answer.headers["retry-after"] == "1"
    assert resets(client) == []


def test_roles(server, http, tmp_path):
    node = server(POLICIES, args=[*sqlite(tmp_path), "--require-token"])
    root, client = bearer(node.wait_for_log(r"(sluice_\w{38})")[1]), http(node)
    headers = {}
    for name, role, tenants in (("reader", "read", None), ("op", "operator", None), ("other", "operator", ["bank"])):
        body = {"name": name, "roles": [role], **({"tenants": tenants} if tenants else {})}
        headers[name] = bearer(expect(client.post("/v1/tokens", body, root), 201)["token"])
    expect_problem(client.get("/v1/usage" + QUERY), 401, "authorization")
    expect_problem(client.post("/v1/reset", WHO), 401, "authorization")
    expect(client.get("/v1/usage" + QUERY, headers["reader"]), 200)
    expect_problem(client.post("/v1/reset", WHO, headers["reader"]), 403)
    expect_problem(client.get("/v1/usage" + QUERY, headers["other"]), 403)
    expect_problem(client.post("/v1/reset", WHO, headers["other"]), 403)
    expect(client.post("/v1/reset", WHO, headers["op"]), 200)
    wait_until(lambda: expect(client.get("/v1/audit?actor=token%20op", root), 200)["entries"], "an entry")


def test_an_operator_of_one_tenant_leaves_alone_what_others_share(server, http, grpc_stub, tmp_path):
    policies = """
policies:
  - {id: cap, always: true, limits: [{name: all, per: [], rate: 10/h}]}
  - {id: each, always: true, limits: [{name: user, per: [user], rate: 10/h}]}
  - {id: own, tenant: shop-a, limits: [{name: sum, per: [], rate: 10/h}]}
"""
    node = server(policies, args=[*sqlite(tmp_path), "--require-token"])
    root, client = bearer(node.wait_for_log(r"(sluice_\w{38})")[1]), http(node)
    body = {"name": "op", "roles": ["operator", "check"], "tenants": ["shop-*"]}
    operator = bearer(expect(client.post("/v1/tokens", body, root), 201)["token"])
    who = {"tenant_id": "shop-a", "resource": "/any", "key": "z"}
    for tenant in ("shop-a", "bank"):
        expect(client.post("/v1/ratelimit/check", {**who, "tenant_id": tenant, "tokens": 3}, root), 200)

    def used():
        answer = expect(client.get("/v1/usage?tenant_id=shop-a&resource=/any&key=z", operator), 200)
        return {each["quota"]["name"]: each["current"] for each in answer["usages"]}
    assert used() == {"all": 6, "user": 6, "sum": 3}
    assert expect(client.post("/v1/reset", who, operator), 200) == {"reset": 0}
    who = {**who, "shared": True}
    assert expect(client.post("/v1/reset", who, operator), 200) == {"reset": 1}
    assert used() == {"all": 6, "user": 6, "sum": 0}
    for policy in ("cap", "each"):
        problem = expect_problem(client.post("/v1/reset", {**who, "policy_id": policy}, operator), 403)
        assert "several tenants" in problem["detail"]
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub(node).ResetKey(policy_id="cap", tenant_id="shop-a", dimensions={"key": "z"},
                                 metadata=[("authorization", operator["Authorization"])])
    assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
    assert used() == {"all": 6, "user": 6, "sum": 0}
    assert expect(client.post("/v1/reset", who, root), 200) == {"reset": 2}
    assert used() == {"all": 0, "user": 0, "sum": 0}


@pytest.mark.parametrize("query,field", [
    ("", "tenant_id"), ("?tenant_id=shop&resource=/r", "key"), ("?policy_id=none", "policy_id"),
    ("?policy_id=api&key=a&key=b", "key"), ("?policy_id=api&key=" + "k" * 257, "key"), ("?policy_id=api&key=%f", None),
])
def test_bad_queries(admin, query, field):
    expect_problem(admin(POLICIES).get("/v1/usage" + query), 400, field)


@pytest.mark.parametrize("body,field", [
    ({}, "tenant_id"), ({"policy_id": "none"}, "policy_id"), ({"policy_id": "api", "key": 7}, "key"),
    ({**WHO, "reason": 7}, "reason"), ({**WHO, "reason": "x" * 257}, "reason"), ({**WHO, "reason": "\0"}, "reason"),
    ("[]", None), ("{", None), ("", None),
])
def test_bad_bodies_reset_nothing(admin, body, field):
    client = admin(POLICIES)
    client.check(**WHO, tokens=10)
    expect_problem(client.post("/v1/reset", body), 400, field)
    assert usages(client)["hour"]["current"] == 10
    expect_problem(client.get("/v1/reset"), 405)
    expect_problem(client.post("/v1/usage", {}), 405)
