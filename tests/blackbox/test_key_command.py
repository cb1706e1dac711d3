"""`sluice key`: which keys in Redis a check would charge."""

import json

import pytest
from harness.cli import fails, works

POLICIES = """
policies:
  - id: api
    tenant: shop
    resource: /search
    deadline: 1m
    limits:
      - { name: minute, per: [tenant, user], rate: 10/m }
      - { name: logins, per: [ip], rate: 5/h, algorithm: sliding_log }
  - id: cap
    always: true
    limits: [{ name: all, rate: 1000/d }]
    deadline: 1m
"""
REQUEST = ["--tenant", "shop", "--resource", "/search", "--key", "ann", "--dimension", "ip=192.0.2.7"]


def rows(*arguments):
    return [line.split("\t") for line in works("key", *arguments).splitlines()]


@pytest.mark.parametrize("settings", [[], ["--key-prefix", "other:"], ["--key-secret", "a secret of ours"], ["--key-secrets"]],
                         ids=["by default", "a prefix", "a secret", "versions of secrets"])
def test_the_keys_are_those_that_a_check_makes(server, http, redis, tmp_path, settings):
    if settings == ["--key-secrets"]:
        secrets = tmp_path / "secrets.yaml"
        secrets.write_text('secrets: [{ version: 1, secret: "long enough to be a secret" }]')
        secrets.chmod(0o600)
        settings = ["--key-secrets", str(secrets)]
    one = server(POLICIES, args=["--store", redis.url, *settings])
    found = rows("--policies", one.policy_file, *settings, *REQUEST)
    assert [(policy, limit) for policy, limit, _, _ in found] == [("api", "minute"), ("api", "logins"), ("cap", "all")]
    names = {key for _, _, key, _ in found}
    assert redis.client.exists(*names) == 0
    assert http(one).check(tenant_id="shop", resource="/search", key="ann", dimensions={"ip": "192.0.2.7"})["allowed"]
    assert redis.client.exists(*names) == 3
    assert all(0 <= int(slot.removeprefix("slot ")) < 16384 for _, _, _, slot in found)


def test_json_and_errors(tmp_path):
    policies = tmp_path / "policies.yaml"
    policies.write_text(POLICIES)
    one = ["key", "--policies", policies]
    printed = [json.loads(line) for line in works(*one, "--json", *REQUEST).splitlines()]
    assert [set(row) for row in printed] == [{"policy_id", "limit", "key", "slot"}] * 3
    assert printed[0]["key"].startswith("rl:{")
    assert "nobody" in fails(*one, "--policy", "nobody", "--key", "ann")
    assert "name=value" in fails(*one, "--dimension", "ip")
    assert "can't be read" in fails("key", "--policies", tmp_path / "absent.yaml", "--key", "ann")
    policies.write_text(POLICIES.split("  - id: cap")[0])
    assert "no policy matches" in fails(*one, "--tenant", "else", "--key", "ann")
