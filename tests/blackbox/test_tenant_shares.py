"""One tenant's admins have a share of what the control plane holds, and take nobody else's."""

import json
import time

import pytest
from harness.admin import bearer, expect, expect_problem, pages, sqlite


def policy(policy_id, tenant, limits=1, **more):
    return {"id": policy_id, "tenant": tenant, "resource": f"/{policy_id}",
            "limits": [{"name": f"l{number}", "rate": "5/s"} for number in range(limits)], **more}


def put(client, document, headers=None):
    return client.request("PUT", f"/v1/policies/{document['id']}", document, headers)


@pytest.fixture
def writer(server, http, tmp_path):
    """A factory: a connection to a server that asks for tokens, headers of an administrator, and of shop's writer."""
    def start(*args):
        first = server(args=sqlite(tmp_path))
        client = http(first)
        root = bearer(expect(client.post("/v1/tokens", {"name": "root", "roles": ["admin"]}), 201)["token"])
        shop = bearer(expect(client.post("/v1/tokens", {"name": "shop", "roles": ["write"], "tenants": ["shop"]}), 201)["token"])
        assert first.stop() == 0
        return http(server(args=[*sqlite(tmp_path), "--require-token", *args])), root, shop
    return start


def test_always_policies_of_one_tenant_stop_nobody_else(writer):
    client, root, shop = writer()
    expect(put(client, policy("greedy", "shop", 16, always=True), shop), 201)
    problem = expect_problem(put(client, policy("greedier", "shop", 15, always=True), shop), 400, "limits")
    assert "the limit per tenant is 16;" in problem["detail"]
    expect(put(client, policy("other", "bank", 16), root), 201)
    expect(put(client, policy("all", "*", 16), root), 201)
    answer = client.post("/v1/ratelimit/check", {"tenant_id": "bank", "resource": "/other", "key": "k"}, root)
    assert expect(answer, 200)["allowed"] is True
    decision = expect(client.post("/v1/ratelimit/check", {"tenant_id": "shop", "resource": "/greedy", "policy_id": "all", "key": "k"}, root), 200)
    assert decision["allowed"] is True, "32 limits apply, as many as a check may have"


def test_long_logs_of_one_tenant_leave_room_for_those_of_any(writer):
    client, root, shop = writer()
    def logs(id, tenant, *sizes):
        limits = [{"name": f"l{i}", "per": ["key"], "rate": f"{size}/h", "algorithm": "sliding_log"} for i, size in enumerate(sizes)]
        return {**policy(id, tenant), "limits": limits}
    expect(put(client, logs("one", "shop", 4096), shop), 201)
    problem = expect_problem(put(client, logs("two", "shop", 4096, 1), shop), 400, "limits")
    assert "the limit per tenant is 4096;" in problem["detail"]
    expect(put(client, {**logs("all", "*", 4096), "always": True}, root), 201)
    problem = expect_problem(put(client, {**logs("more", "*", 1), "always": True}, root), 400, "limits")
    assert "up to 8193 entries of sliding_logs could apply" in problem["detail"]


def test_files_may_have_more_than_the_api_takes(server, http, tmp_path):
    files = {"policies": [policy("a", "shop", 16, always=True), policy("b", "shop", 15, always=True, resource="/a")]}
    client = http(server(json.dumps(files), sqlite(tmp_path)))
    assert client.get("/readyz").status == 200
    expect(put(client, policy("c", "bank", 16)), 201)


def test_a_tenant_has_so_many_policies(writer):
    client, root, shop = writer("--policies-per-tenant", "3")
    for number in range(3):
        expect(put(client, policy(f"p{number}", "shop"), shop), 201)
    problem = expect_problem(put(client, policy("p3", "shop"), shop), 400, "tenant")
    assert "--policies-per-tenant" in problem["detail"]
    expect_problem(client.post("/v1/policies", {"policies": [policy("p3", "shop"), policy("p4", "shop")]}, shop), 400, "tenant")
    expect(put(client, policy("p2", "shop", 2), shop), 200), "a change is none more"
    expect(client.request("DELETE", "/v1/policies/p0", headers=shop), 204)
    expect(put(client, policy("p3", "shop"), shop), 201)
    expect(put(client, policy("q0", "bank"), root), 201), "each tenant has its own share"


def big(policy_id, number):
    """A document of nearly a mebibyte: costs of many resources."""
    return policy(policy_id, "shop", costs={f"/{number}/{cost}/{'x' * 900}": 1 for cost in range(1000)})


def test_a_page_of_versions_is_bounded_in_bytes(admin):
    client = admin()
    for number in range(6):
        expect(put(client, big("p", number)), 200 if number else 201)
    path = "/v1/policies/p/versions?limit=1000"
    first = client.get(path)
    assert len(first.body) < 5 << 20
    assert 1 <= len(first.json["versions"]) < 6
    assert [one["version"] for page in pages(client, path, "versions", cursor="below") for one in page] == [6, 5, 4, 3, 2, 1]


def test_pages_of_policies_and_of_the_audit_log_are_bounded_too(admin):
    client = admin()
    for number in range(6):
        expect(put(client, big(f"p{number}", number)), 201)
    for path, name, cursor, found in (("/v1/policies?limit=1000", "policies", "after", lambda one: one["id"]),
                                      ("/v1/audit?limit=1000", "entries", "below", lambda one: one["name"])):
        assert len(client.get(path).body) < 5 << 20
        assert sorted(found(one) for page in pages(client, path, name, cursor=cursor) for one in page) == [f"p{n}" for n in range(6)]


def test_a_tenants_writer_sends_so_many_bytes_an_hour(writer):
    client, root, shop = writer()
    began = time.monotonic()
    answers = [put(client, big("p", number), shop) for number in range(90)]
    refused = [answer for answer in answers if answer.status == 429]
    more = 64 * (time.monotonic() - began) / 3600  # may be sent since the first, on a slow machine
    assert refused and all(int(answer.headers["retry-after"]) > 0 for answer in refused), [answer.status for answer in answers]
    assert len(answers) - len(refused) <= 75 + 2 * more, "64 MiB"
    expect(put(client, policy("q", "bank"), root), 201)
