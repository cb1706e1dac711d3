"""GET /v1/decisions and `sluice why`: what a node remembers of its decisions, on memory and on Redis, and who may see it."""

import json

import pytest
from harness.admin import expect, expect_problem
from harness.server import binary

POLICIES = """
policies:
  - id: tight
    deadline: 5s  # however busy the machine is
    limits:
      - { name: hour, per: [tenant, key], rate: 1/h }
"""
ALL = ["--decision-sample", "1"]


@pytest.fixture(params=["memory", "redis"])
def node(request, server, redis_server):
    return server(POLICIES, args=ALL + (["--store", redis_server().url] if request.param == "redis" else []))


def check(client, key, times=1, **more):
    for _ in range(times):
        client.check(tenant_id="shop", resource="/r", key=key, **more)


def decisions(client, query=""):
    return expect(client.get("/v1/decisions" + query), 200)["decisions"]


def test_a_denial_is_remembered_with_its_rule(node, http):
    client = http(node)
    check(client, "ann", 2)
    check(client, "bob")
    [denied] = decisions(client, "?result=denied")
    assert denied | {"at": "", "node": "", "retry_after_ms": 0} == {
        "at": "", "tenant_id": "shop", "key": "ann", "policy_id": "tight", "policy_version": 1, "limit": "hour",
        "allowed": False, "reason": "limited", "cost": 1, "remaining": 0, "retry_after_ms": 0, "node": "", "capacity": 1,
        "degraded": False, "resource": "/r", "dimensions": {}, "request_id": "", "trace_id": ""}
    assert 0 < denied["retry_after_ms"] <= 3_600_000 and denied["node"]
    assert sorted((one["key"], one["allowed"]) for one in decisions(client)) == [("ann", False), ("ann", True), ("bob", True)]
    assert [one["key"] for one in decisions(client, "?key=bob")] == ["bob"]
    assert decisions(client, "?since=2100-01-01T00:00:00Z") == decisions(client, "?until=2020-01-01T00:00:00Z") == []


def test_pages(server, http):
    client = http(server(POLICIES, args=ALL))
    for key in "abcde":
        check(client, key)
    keys, query = [], "?limit=2"
    while query:
        page = expect(client.get("/v1/decisions" + query), 200)
        keys += [one["key"] for one in page["decisions"]]
        query = page["next"] and f"?limit=2&next={page['next']}"
    assert keys == list("edcba")


def test_the_command_explains(server, http, tool):
    node = server(POLICIES, args=ALL)
    check(http(node), "ann", 2)
    why = lambda *arguments: tool(binary(), "why", "--server", f"http://{node.address}", *arguments)  # noqa: E731
    told = why("--tenant", "shop", "--key", "ann")
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert lines[0].startswith("denied   ") and "policy   tight, version 1" in lines
    assert "limit    hour: 0 of 1 were left, the cost was 1" in lines
    assert any(line.startswith("helps    waiting ") for line in lines)
    assert "now      hour: 1 used, 0 left" in lines
    assert all(len(line) <= 80 for line in lines)
    document = json.loads(why("--key", "ann", "--output", "json").stdout)
    assert document["decision"]["reason"] == "limited" and document["usages_now"][0]["current"] == 1 and document["helps"]
    nothing = why("--key", "nobody")
    assert nothing.returncode == 1 and "remembered" in nothing.stderr
    assert why("--key", "ann", "--at", "2020-01-01T00:00:00Z").returncode == 1


def test_with_key_secrets_no_value_is_shown(server, http, tmp_path):
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("secrets: [{version: 1, secret: 0123456789abcdef0123456789abcdef}]\n")
    secrets.chmod(0o600)
    client = http(server(POLICIES, args=[*ALL, "--key-secrets", str(secrets)]))
    check(client, "ann@example.com", request_id="ann-1")
    [only] = decisions(client, "?key=ann%40example.com")
    assert only["key"].startswith("~") and "ann" not in json.dumps(only)


def test_a_node_may_remember_nothing(server, http):
    client = http(server(POLICIES, args=["--decisions-mib", "0"]))
    check(client, "ann", 2)
    assert decisions(client) == []


def test_bad_questions_are_refused(server, http):
    client = http(server(POLICIES))
    for query, field in [("?result=maybe", "result"), ("?limit=0", "limit"), ("?since=now", "since"), ("?until=1", "until"),
                         ("?next=x", "next"), ("?tenant=shop", "tenant"), ("?key=a&key=b", "key")]:
        expect_problem(client.get("/v1/decisions" + query), 400, field)
