"""`sluice token`, `user`, `usage`, `reset` and `audit list`: what an operator does from the shell."""

import json

import pytest
from harness.admin import bearer, expect, sqlite
from harness.cli import fails, sluice, works
from harness.server import binary

POLICIES = """
policies:
  - id: orders
    tenant: shop
    resource: /orders
    limits:
      - { name: minute, per: [user], rate: 60/m }
      - { name: total, per: [tenant], rate: 1000/h, algorithm: fixed_window }
    tiers: { gold: { minute: { rate: 600/m } } }
"""
WHO = ("--tenant", "shop", "--resource", "/orders", "--key", "ann")
ORDER = {"tenant_id": "shop", "resource": "/orders", "key": "ann"}


@pytest.fixture
def node(server, tmp_path):
    return server(POLICIES, args=sqlite(tmp_path))


def told(*arguments, **options):
    return json.loads(works(*arguments, "--output", "json", **options))


def test_a_token_is_printed_alone_and_opens_what_it_should(server, http, node, tmp_path):
    done = sluice("token", "create", "shop-ci", "--role", "read,write", "--tenant", "shop,cafe-*", "--expires", "30d", server=node)
    assert done.returncode == 0 and done.stdout.startswith("sluice_") and done.stdout.count("\n") == 1, done
    secret = done.stdout.strip()
    assert secret not in done.stderr and "token shop-ci: roles read, write; tenants shop, cafe-*; expires 2" in done.stderr
    heading, row = works("token", "list", server=node).splitlines()
    assert heading.split() == ["NAME", "ROLES", "TENANTS", "EXPIRES"] and row.startswith("shop-ci  read, write  shop, cafe-*  2")
    assert secret not in works("token", "list", "--output", "json", server=node)
    assert node.stop() == 0
    again = server(POLICIES, args=[*sqlite(tmp_path), "--require-token"])
    (tmp_path / "token").write_text(secret + "\n")
    assert "orders#1" in works("policy", "list", "--token-file", tmp_path / "token", server=again)
    assert "role \"admin\"" in fails("token", "list", env={"SLUICE_TOKEN": secret}, server=again)


def test_a_revoked_token_opens_nothing(node, http):
    made = told("token", "create", "gone", "--role", "check", server=node)
    assert made["roles"] == ["check"] and made["expires_at"] is None
    assert works("token", "revoke", "gone", "--reason", "it was in a log", server=node) == "gone is revoked\n"
    assert http(node).get("/v1/policies", bearer(made["token"])).status == 401
    assert fails("token", "revoke", "gone", server=node) == 'sluice: the server answers 404: there is no token "gone"'
    assert expect(http(node).get("/v1/audit?kind=token"), 200)["entries"][0]["reason"] == "it was in a log"


@pytest.mark.parametrize("words, sentence", [
    (["create", "x"], "--role is missing"),
    (["create", "x", "--role", "god"], '--role: must be one of check, read, write, operator, admin, not "god"'),
    (["create", "x", "--role", "read", "--expires", "soon"], '--expires: "soon" is neither a duration, such as 30d, nor a time'),
])
def test_a_bad_token_is_refused_before_anything_is_sent(words, sentence):
    done = sluice("token", *words)
    assert done.returncode == 2 and sentence in done.stderr, done


def test_a_user_is_given_a_tier_and_an_override(node, http):
    assert works("user", "tier", "ann", "gold", server=node) == "ann: tier gold\n"
    assert http(node).check(**ORDER, tokens=0)["limit"] == 600
    out = works("user", "override", "add", "ann", "--policy", "orders", "--rate", "900/m", "--burst", "90", "--expires", "1h",
                "--reason", "import", server=node)
    assert out.startswith("ann: tier gold\n  orders/minute 900/minute until 2"), out
    assert http(node).check(**ORDER, tokens=0)["limit"] == 90
    rows = works("user", "limits", "ann", server=node).splitlines()
    assert rows[0].split() == ["POLICY", "LIMIT", "PER", "RATE", "BURST", "FROM", "UNTIL", "APPLIES"]
    assert rows[1].split()[:6] == ["orders", "minute", "user", "900/minute", "90", "override"]
    assert works("user", "override", "remove", "ann", "--policy", "orders", server=node) == "ann: the override of orders has ended\n"
    assert works("user", "tier", "ann", "--remove", server=node).startswith("ann: tier -\n")
    assert http(node).check(**ORDER, tokens=0)["limit"] == 60
    assert "has no override" in fails("user", "override", "remove", "ann", "--policy", "orders", server=node)
    for wrong in (["tier", "ann"], ["override", "add", "ann", "--policy", "orders", "--rate", "5/ms"]):
        assert sluice("user", *wrong, server=node).returncode == 2


def test_the_users_with_overrides_are_listed(node):
    for user in ("ann", "bob", "eve"):
        works("user", "override", "add", user, "--policy", "orders", "--rate", "90/m", server=node)
    works("user", "tier", "ann", "gold", server=node)
    works("user", "override", "remove", "eve", "--policy", "orders", server=node)
    assert works("user", "list", server=node) == """\
USER  TIER  POLICY  LIMIT   RATE       UNTIL
ann   gold  orders  minute  90/minute  -
bob   -     orders  minute  90/minute  -
"""
    assert [one["user_id"] for one in told("user", "list", "--tier", "gold", server=node)["users"]] == ["ann"]
    assert told("user", "list", "--tenant", "bank", server=node)["users"] == []


def test_usage_and_reset_of_one_user_leave_the_cap_of_the_tenant(node, http):
    http(node).check(**ORDER, tokens=50)
    heading, minute, total = works("usage", *WHO, server=node).splitlines()
    assert heading.split()[:6] == ["LIMIT", "PER", "RATE", "USED", "LEFT", "STATE"]
    assert minute.split()[:3] == ["minute", "user", "60/minute"] and total.split()[:5] == ["total", "tenant", "1,000/hour", "50", "950"]
    assert works("reset", *WHO, "--reason", "wrong deploy", server=node) == "1 counter reset\n"
    used = {one["quota"]["name"]: one["current"] for one in told("usage", *WHO, server=node)["usages"]}
    assert used == {"minute": 0, "total": 50}, "the tenant's cap is not one user's"
    assert works("reset", *WHO, "--shared", server=node) == "1 counter reset\n"
    assert told("usage", *WHO, server=node)["usages"][1]["current"] == 0
    assert works("reset", *WHO, server=node) == "nothing was used, so nothing was reset\n"
    assert told("reset", *WHO, server=node) == {"reset": 0}


def test_the_audit_log_is_listed(node):
    works("user", "tier", "ann", "gold", "--reason", "a friend", server=node)
    works("user", "tier", "bob", "gold", server=node)
    heading, newest, oldest = works("audit", "list", "--kind", "user", server=node).splitlines()
    assert heading.split() == ["REVISION", "AT", "ACTOR", "ACTION", "WHAT", "REASON"]
    assert newest.startswith("2 ") and newest.endswith("loopback  tier    user bob")
    assert oldest.endswith("loopback  tier    user ann  a friend")
    paged = sluice("audit", "list", "--limit", "1", server=node)
    assert paged.stderr == "There are older ones: --below 2\n" and paged.stdout.count("\n") == 2
    assert [one["name"] for one in told("audit", "list", "--below", "2", server=node)["entries"]] == ["ann"]


def test_tables_fit_80_columns_in_a_pipe_and_columns_can_say_more(node):
    for i in range(3):
        works("user", "override", "add", "x" * 60 + str(i), "--policy", "orders", "--rate", "90/m", "--expires", "90d", server=node)
    assert max(map(len, works("user", "list", server=node).splitlines())) <= 80
    wide = works("user", "list", env={"COLUMNS": "200"}, server=node)
    assert "x" * 60 + "1" in wide and "\x1b" not in wide


@pytest.mark.parametrize("no_color, bold", [("", True), ("1", False)])
def test_colour_is_for_terminals_without_no_color(node, no_color, bold, tool):
    words = f"{binary()} token list --server {node.url}"
    seen = tool("script", "-qec", words, "/dev/null", env={"NO_COLOR": no_color, "TERM": "xterm", "PATH": "/usr/bin:/bin"}).stdout
    assert ("\x1b[1mNAME" in seen) is bold, seen
