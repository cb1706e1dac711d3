"""GET /v1/hotkeys and `sluice hotkeys`: which keys are busiest, on memory and on Redis, and who may see them."""

import json
import subprocess

import pytest
from harness.admin import expect, expect_problem
from harness.server import binary, wait_until

POLICIES = """
policies:
  - id: api
    deadline: 5s  # however busy the machine is
    limits:
      - { name: second, per: [tenant, key], rate: 1000000/s }
  - id: tight
    resource: /tight
    deadline: 5s
    limits:
      - { name: hour, per: [tenant, key], rate: 1/h }
"""


@pytest.fixture(params=["memory", "redis"])
def node(request, server, redis_server):
    return server(POLICIES, args=["--store", redis_server().url] if request.param == "redis" else [])


def check(client, key, times=1, tenant="shop", resource="/r"):
    for _ in range(times):
        answer = client.check(tenant_id=tenant, resource=resource, key=key)
    return answer


def hot(client, query="", headers=None):
    return expect(client.get("/v1/hotkeys" + query, headers), 200)["hotkeys"]


def test_the_busiest_and_the_most_denied(node, http):
    client = http(node)
    check(client, "ann", 30)
    check(client, "bob", 3)
    check(client, "eve", 10, resource="/tight")
    listed = hot(client)
    assert [one["key"] for one in listed] == ["ann", "eve", "bob"]
    assert listed[0]["rate"] > listed[1]["rate"] > 0 and listed[0]["denied_rate"] == 0
    assert listed[0] | {"rate": 0} == {
        "policy_id": "api", "limit": "second", "key": "ann", "rate": 0, "denied_rate": 0, "leased": False,
        "tenant_id": "shop", "dimensions": {"tenant": "shop", "key": "ann"}}
    denied = hot(client, "?by=denied")
    assert [one["key"] for one in denied] == ["eve"] and 0 < denied[0]["denied_rate"] <= denied[0]["rate"]
    assert [one["key"] for one in hot(client, "?policy_id=api&limit=1")] == ["ann"]


def test_the_command_lists_them(server, http, tool):
    node = server(POLICIES)
    check(http(node), "ann", 3)
    expect(http(node).post("/v1/lease", {"tenant_id": "shop", "resource": "/r", "key": "bob", "want": 5}), 200)
    listed = tool(binary(), "hotkeys", "--server", f"http://{node.address}", "--tenant", "shop")
    assert listed.returncode == 0, listed.stderr
    heading, first, second = [line.split() for line in listed.stdout.splitlines()]
    assert heading == ["KEY", "TENANT", "POLICY", "LIMIT", "CHECKS/S", "DENIED/S", "LEASED"]
    assert (first[:4], first[-1]) == (["bob", "shop", "api", "second"], "yes")
    assert (second[:4], second[-1]) == (["ann", "shop", "api", "second"], "no")
    wrong = tool(binary(), "hotkeys", "--server", f"http://{node.address}", "--policy", "nowhere")
    assert wrong.returncode == 2 and "nowhere" in wrong.stderr


def test_with_key_secrets_no_key_is_named(server, http, tmp_path):
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("secrets: [{version: 1, secret: 0123456789abcdef0123456789abcdef}]\n")
    secrets.chmod(0o600)
    client = http(server(POLICIES, args=["--key-secrets", str(secrets)]))
    check(client, "ann@example.com", 5)
    [only] = hot(client)
    assert only["key"].startswith("~") and only["dimensions"] == {} and "ann" not in json.dumps(only)


def test_a_whale_among_many_keys_is_found_and_promoted(server, http, tmp_path):
    """The real program under load, of which one key is a small part. Nothing here depends on how fast that is."""
    node = server(POLICIES, args=["--hot-key-rate", "20"])
    with subprocess.Popen([str(binary()), "bench", node.address, "--tenant", "shop", "--resource", "/r",
                           "--keys", "1000000", "--duration", "600", "--connections", "2", "--streams", "8"],
                          cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as flood:
        try:
            client = http(node)
            wait_until(lambda: check(client, "whale", 20).get("lease_advised"), "the promotion of the whale")
            assert hot(client, "?limit=1")[0]["key"] == "whale"
        finally:
            flood.kill()
    quiet = lambda: sum(one["rate"] for one in hot(client) if one["key"] == "whale") < 1  # noqa: E731
    wait_until(lambda: quiet() and "lease_advised" not in check(client, "whale"), "the end of the promotion")


def test_bad_questions_are_refused(server, http):
    client = http(server(POLICIES))
    for query, field in [("?by=size", "by"), ("?limit=0", "limit"), ("?limit=many", "limit"), ("?policy_id=no", "policy_id"),
                         ("?policyid=api", "policyid"), ("?limit=1&limit=2", "limit")]:
        expect_problem(client.get("/v1/hotkeys" + query), 400, field)
