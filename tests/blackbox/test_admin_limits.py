"""The limiter limits itself: calls of the admin API by admin, checks by node."""

import re

import grpc
import pytest
from harness.admin import bearer, expect, expect_problem

POLICIES = "policies: [{ id: api, limits: [{ name: hour, per: [key], rate: 1000/h }] }]"


def database(folder):
    """As harness.admin.sqlite(), but with the limits that a server has by itself."""
    return ["--policy-db", f"sqlite:{folder}/policies.db", "--drain-notice-ms", "0"]


def metric(client, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").body.decode(), re.MULTILINE)[1])


def first_refused(ask, most):
    """How many calls went well before the first 429, and that answer."""
    for number in range(most):
        answer = ask()
        if answer.status == 429:
            return number, answer
    raise AssertionError(f"{most} calls in a row were taken")


def test_a_hundred_writes_and_a_thousand_reads_a_minute(server, http, tmp_path):
    client = http(server(POLICIES, args=database(tmp_path)))
    body = {"tier": "gold"}
    taken, answer = first_refused(lambda: client.request("PUT", "/api/v1/users/u/tier", body), 300)
    assert taken == 100
    problem = expect_problem(answer, 429)
    assert problem["policy_id"] == "admin.write" and 0 < problem["retry_after_ms"] <= 60_000
    assert 1 <= int(answer.headers["retry-after"]) <= 120
    assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("100", "0")
    assert 'q=100;w=60' in answer.headers["ratelimit-policy"]
    expect(client.get("/v1/policies"), 200)
    taken, answer = first_refused(lambda: client.get("/v1/policies/api"), 1500)
    assert taken == 999, "one was the list"
    assert expect_problem(answer, 429)["policy_id"] == "admin.read"
    assert metric(client, 'rate_limiter_admin_denied_total{kind="write"}') == 1
    assert metric(client, 'rate_limiter_admin_denied_total{kind="read"}') == 1

    expect(client.request("PUT", "/v1/switch", {"mode": "open"}), 200)
    expect(client.request("PUT", "/v1/switch", {"mode": "normal"}), 200)
    assert client.check(policy_id="api", key="k")["allowed"] is True, "checks are no admin calls"
    expect(client.get("/v1/usage?policy_id=api&key=k"), 200)
    expect(client.post("/v1/reset", {"policy_id": "api", "key": "k"}), 200)


def test_each_admin_has_a_limit_of_his_own(server, http, tmp_path):
    node = server(POLICIES, args=[*database(tmp_path), "--require-token", "--admin-writes-per-minute", "5", "--threads", "2"])
    root, client = bearer(node.wait_for_log(r"(sluice_\w{38})")[1]), http(node)
    one, other = (bearer(expect(client.post("/v1/tokens", {"name": name, "roles": ["write"]}, root), 201)["token"])
                  for name in ("one", "other"))
    connections = [http(node) for _ in range(4)]  # on whatever loop
    put = [client.request("PUT", "/api/v1/users/u/tier", {"tier": "gold"}, one).status
           for client in connections for _ in range(5)]
    assert put.count(200) == 5 and put.count(429) == 15
    expect(client.request("PUT", "/api/v1/users/u/tier", {"tier": "gold"}, other), 200)
    expect_problem(client.request("PUT", "/api/v1/users/u/tier", {"tier": "gold"}), 401, "authorization")


def test_the_admins_of_a_tenant_reset_as_often_as_an_admin_writes(server, http, tmp_path):
    node = server(POLICIES.replace("[key]", "[key, tenant]"), args=[*database(tmp_path), "--require-token", "--admin-writes-per-minute", "5", "--threads", "2"])
    root, client = bearer(node.wait_for_log(r"(sluice_\w{38})")[1]), http(node)
    one, two, other = (bearer(expect(client.post("/v1/tokens", {"name": name, "roles": ["operator"], "tenants": [tenant]}, root), 201)["token"])
                       for name, tenant in (("one", "shop"), ("two", "shop"), ("other", "bank")))
    def reset(headers, tenant="shop"):
        return client.post("/v1/reset", {"tenant_id": tenant, "policy_id": "api", "key": "k"}, headers)
    answers = []
    while not answers or answers[-1].status == 200:
        answers.append(reset((one, two)[len(answers) % 2]))
        assert len(answers) < 300, "none was refused"
    assert len(answers) >= 6
    assert "too many resets" in expect_problem(answers[-1], 503)["detail"]
    assert metric(client, 'rate_limiter_admin_denied_total{kind="reset"}') >= 1
    expect(reset(other, "bank"), 200)
    expect(reset(root), 200)


def test_a_node_takes_so_many_checks_a_second(server, http, grpc_stub, tmp_path):
    node = server(POLICIES, args=[*database(tmp_path), "--max-checks-per-second", "2"])
    client, stub = http(node), grpc_stub(node)
    statuses = [client.post("/v1/ratelimit/check", {"policy_id": "api", "key": "k"}).status for _ in range(2000)]
    assert statuses.count(200) + statuses.count(503) == 2000 and statuses.count(503) > 0
    assert statuses[:2] == [200, 200]
    refused = next(answer for answer in iter(lambda: client.post("/v1/ratelimit/check", {"policy_id": "api", "key": "k"}), None)
                   if answer.status == 503)
    assert "max-checks-per-second" in expect_problem(refused, 503)["detail"]
    assert refused.headers["retry-after"] == "1"
    with pytest.raises(grpc.RpcError) as error:
        for _ in range(2000):
            stub.CheckAndIncrement(policy_id="api", dimensions={"key": "k"})
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert metric(client, "rate_limiter_overload_refused_total") >= statuses.count(503)
    assert client.get("/readyz").status == 200
    expect(client.request("PUT", "/v1/switch", {"mode": "open"}), 200)
    assert {client.post("/v1/ratelimit/check", {"policy_id": "api", "key": "k"}).status for _ in range(100)} == {200}


def test_wrong_numbers_are_refused_at_the_start(server):
    for flag, value in (("--max-checks-per-second", "-1"), ("--max-checks-per-second", "many"),
                        ("--admin-writes-per-minute", "0"), ("--admin-reads-per-minute", "4097")):
        with pytest.raises(RuntimeError, match=flag):
            server(POLICIES, args=[flag, value])
