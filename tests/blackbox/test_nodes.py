"""GET /v1/nodes: the nodes that share a Redis see each other; who may see what."""

import signal

import pytest
from harness.admin import bearer, expect, expect_problem, sqlite
from harness.server import wait_until

POLICIES = """
policies:
  - {id: shop.cart, tenant: shop, resource: /cart, deadline: 30s, limits: [{name: cart, per: [user], rate: 2/d}]}
  - {id: bank.pay, tenant: bank, resource: /pay, deadline: 30s, limits: [{name: pay, per: [user], rate: 2/d}]}
"""


def nodes_of(client, query="", headers=None):
    return expect(client.get("/v1/nodes" + query, headers), 200)


def names(client):
    return [one["name"] for one in nodes_of(client)["nodes"]]


def buy(client, tenant, resource, times):
    for _ in range(times):
        client.check(tenant_id=tenant, resource=resource, key="ann")


def of_policy(node, policy):
    return next((one for one in node["policies"] if one["policy_id"] == policy), None)


@pytest.fixture
def three(server, http, redis):
    """Three nodes on one Redis, and clients of them."""
    def start(args=()):
        running = [server(POLICIES, args=["--store", redis.url, *args]) for _ in range(3)]
        return running, [http(one) for one in running]
    return start


def test_nodes_see_each_other_until_one_is_killed(three):
    running, clients = three()
    for client in clients:
        wait_until(lambda client=client: len(names(client)) == 3, "all nodes")
    seen = nodes_of(clients[0])
    assert seen["problem"] == "" and [one["is_self"] for one in seen["nodes"]] == [True, False, False]
    assert {one["name"].rsplit(":")[-1] for one in seen["nodes"]} == {str(one.port) for one in running}
    wait_until(lambda: all(one["ready"] and one["version"] for one in nodes_of(clients[0])["nodes"]), "readiness")
    buy(clients[1], "shop", "/cart", 3)
    def counted():
        counts = [of_policy(one, "shop.cart") for one in nodes_of(clients[0])["nodes"]]
        return [one for one in counts if one] == [{"policy_id": "shop.cart", "allowed": 2, "denied": 1, "degraded": 0}]
    wait_until(counted, "the other node's checks")
    assert sum(sum(one["latency"]["counts"]) for one in nodes_of(clients[2])["nodes"]) >= 3
    running[2].kill()
    wait_until(lambda: len(names(clients[0])) == 2, "the end of a node")


def test_a_frozen_redis_is_said_and_ends(three, redis):
    _, clients = three()
    wait_until(lambda: len(names(clients[0])) == 3, "all nodes")
    redis.process.send_signal(signal.SIGSTOP)
    seen = nodes_of(clients[0])
    assert seen["nodes"][0]["is_self"]
    wait_until(lambda: nodes_of(clients[0])["problem"] and len(names(clients[0])) == 1, "the problem")
    redis.process.send_signal(signal.SIGCONT)
    wait_until(lambda: len(names(clients[0])) == 3, "all nodes again")
    assert nodes_of(clients[0])["problem"] == ""


def test_nodes_with_other_secrets_do_not_read_each_other(server, http, redis):
    one, other = (http(server(POLICIES, args=["--store", redis.url, "--key-secret", secret])) for secret in ("one secret", "two"))
    wait_until(lambda: "same key secrets" in nodes_of(one)["problem"], "the problem")
    assert len(names(one)) == len(names(other)) == 1
    assert not any(b"shop" in redis.client.get(key) for key in redis.client.keys("rl:{nodes}:*"))


def test_broken_reports_of_others_are_tolerated(server, http, redis):
    client = http(server(POLICIES, args=["--store", redis.url]))
    wait_until(lambda: redis.client.keys("rl:{nodes}:*"), "the first report")
    for number in range(128):
        redis.client.set(f"rl:{{nodes}}:{number}", b"x" * number * 100, nx=True)
    for number in range(16):
        redis.client.set(f"rl:{{nodes}}:ask:{number}", b"y" * number * 100)
    assert len(names(client)) == 1
    assert client.check(tenant_id="shop", resource="/cart", key="ann")["allowed"]


def test_memory_has_one_node(server, http):
    client = http(server(POLICIES))
    buy(client, "shop", "/cart", 3)
    wait_until(lambda: of_policy(nodes_of(client)["nodes"][0], "shop.cart"), "the counts")
    [only] = nodes_of(client)["nodes"]
    assert only["checks"] == {"allowed": 2, "denied": 1, "degraded": 0, "no_policy": 0}
    assert nodes_of(client, "?tenant_id=bank")["nodes"][0]["policies"] == []
    assert [one["policy_id"] for one in nodes_of(client, "?policy_id=shop.cart")["nodes"][0]["policies"]] == ["shop.cart"]
    expect_problem(client.get("/v1/nodes?tenant=x"), 400, "tenant")
    expect_problem(client.get("/v1/nodes?policy_id=nowhere"), 400, "policy_id")


def test_a_token_of_a_tenant_sees_its_own_numbers_only(server, http, tmp_path):
    first = server(POLICIES, args=sqlite(tmp_path))
    admin = http(first)
    secrets = {name: expect(admin.request("POST", "/v1/tokens", {"name": name, "roles": roles, **scope}), 201)["token"]
               for name, roles, scope in (("shop", ["read"], {"tenants": ["shop"]}), ("all", ["read"], {}), ("checks", ["check"], {}))}
    assert first.stop() == 0
    client = http(server(POLICIES, args=[*sqlite(tmp_path), "--require-token"]))
    assert client.get("/v1/nodes").status == 401
    assert client.get("/v1/nodes", bearer(secrets["checks"])).status == 403
    assert client.get("/v1/nodes?tenant_id=bank", bearer(secrets["shop"])).status == 403
    for tenant, resource in (("shop", "/cart"), ("bank", "/pay")):
        client.request("POST", "/v1/ratelimit/check", {"tenant_id": tenant, "resource": resource, "key": "ann"}, bearer(secrets["checks"]))

    def policies(name):
        return [one["policy_id"] for one in nodes_of(client, headers=bearer(secrets[name]))["nodes"][0]["policies"]]
    wait_until(lambda: sorted(policies("all")) == ["bank.pay", "shop.cart"], "the counts")
    assert policies("shop") == ["shop.cart"]
    [only] = nodes_of(client, headers=bearer(secrets["shop"]))["nodes"]
    assert "checks" not in only and "latency" not in only and "admin" not in only
