"""/v1/tokens: who may use the API. Tokens are shown once, have roles, and may be limited to tenants."""

import datetime

import pytest
from harness.admin import bearer, expect, expect_problem, sqlite
from harness.cli import fails
from harness.server import wait_until


def rule(tenant="shop-1", resource="/orders"):
    return {"tenant_id": tenant, "resource": resource, "limit": 10, "window_sec": 60}


def make_token(client, name, headers=None, **rights):
    return expect(client.post("/v1/tokens", {"name": name, **rights}, headers), 201)["token"]


def from_now(**time):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_short_token(client, name, headers=None, **rights):
    """A token that expires in a few seconds. On a busy machine that may have passed when it is asked for; then a longer one."""
    for seconds in (3, 15, 60):
        made = client.post("/v1/tokens", {"name": name, "expires_at": from_now(seconds=seconds), **rights}, headers)
        if made.status == 201:
            break
    return expect(made, 201)["token"]


@pytest.fixture
def guarded(server, http, tmp_path):
    """A connection to a server that asks everybody for a token, and headers with one of an administrator."""
    first = server(args=sqlite(tmp_path))
    root = bearer(make_token(http(first), "root", roles=["admin"]))
    assert first.stop() == 0
    return http(server(args=[*sqlite(tmp_path), "--require-token"])), root


def test_a_token_is_shown_once(admin):
    client = admin()
    answer = client.post("/v1/tokens", {"name": "ops-1", "roles": ["write"], "tenants": ["shop-*"]})
    made = expect(answer, 201)
    token = made.pop("token")
    assert token.startswith("sluice_") and len(token) == len("sluice_") + 38
    assert made == {"name": "ops-1", "roles": ["write"], "tenants": ["shop-*"], "expires_at": None}
    listed = client.get("/v1/tokens")
    assert expect(listed, 200) == {"tokens": [made], "next": None}
    secret = token.removeprefix("sluice_").encode()
    for place in (listed, client.get("/v1/audit"), client.get("/metrics")):
        assert secret not in place.body


def test_a_token_is_neither_in_the_database_nor_in_the_log(server, http, tmp_path):
    running = server(args=sqlite(tmp_path))
    secret = make_token(http(running), "ops-1", roles=["read"]).removeprefix("sluice_")
    assert running.stop() == 0
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("policies.db*"))
    assert b"ops-1" in kept and secret.encode() not in kept
    assert secret not in running.log()


def test_no_token_no_answer(guarded):
    client, root = guarded
    expect(client.get("/v1/policies", root), 200)
    valid = root["Authorization"]
    for wrong in (None, "", "Basic cm9vdDo=", "Bearer", "Bearer ", "Bearer sluice_wrong", valid[:-1], valid + "x",
                  valid.replace("Bearer", "Token")):
        answer = client.get("/v1/policies", {"Authorization": wrong} if wrong is not None else None)
        expect_problem(answer, 401, "authorization")
        assert answer.headers["www-authenticate"] == "Bearer"
    expect(client.get("/v1/policies", {"Authorization": valid.replace("Bearer", "bearer")}), 200)


def test_health_and_metrics_need_no_token(guarded):
    client, _ = guarded
    assert [client.get(path).status for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]


CALLS = {  # what a caller needs at least
    "read": [("GET", "/v1/policies", None), ("GET", "/v1/rules", None), ("GET", "/v1/rules/shop-1", None), ("GET", "/api/v1/rules", None),
             ("GET", "/api/v1/users/u1/limits", None), ("GET", "/v1/audit", None)],
    "write": [("POST", "/v1/rules", rule()), ("PUT", "/api/v1/users/u1/tier", {"tier": "gold"}),
              ("POST", "/api/v1/rules", {"endpoint_pattern": "/x", "limit": 1, "window_seconds": 1})],
    "admin": [("GET", "/v1/tokens", None), ("POST", "/v1/tokens", {"name": "n", "roles": ["read"]}), ("DELETE", "/v1/tokens/n", None)],
}
INCLUDED = {"check": [], "read": ["read"], "write": ["read", "write"], "operator": ["read"], "admin": ["read", "write", "admin"]}


@pytest.mark.parametrize("role", INCLUDED)
def test_roles(guarded, role):
    client, root = guarded
    token = bearer(make_token(client, "tried", root, roles=[role]))
    for needed, calls in CALLS.items():
        for method, path, body in calls:
            answer = client.request(method, path, body, token)
            if needed in INCLUDED[role]:
                assert answer.status in (200, 201, 204), (needed, path, answer)
            else:
                assert f'"{needed}"' in expect_problem(answer, 403)["detail"], (needed, path)


def test_a_reader_sees_the_tier_of_a_user_where_its_policies_have_it(guarded):
    client, root = guarded
    shop = bearer(make_token(client, "shop", root, roles=["read", "write"], tenants=["shop-1"]))
    expect(client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"}, root), 200)
    policy = {"id": "s", "tenant": "shop-1", "limits": [{"name": "hour", "per": ["user"], "rate": "10/h"}]}
    expect(client.request("PUT", "/v1/policies/s", policy, root), 201)
    def tiers():
        return [expect(client.get("/api/v1/users/u1/limits", token), 200)["tier"] for token in (root, shop)]
    assert tiers() == ["gold", None]
    override = {"policy_id": "s", "limit": 20, "window_seconds": 3600}
    assert "tier" not in expect(client.post("/api/v1/users/u1/override", override, shop), 201)["agreed"]
    policy["tiers"] = {"gold": {"hour": {"rate": "100/h"}}}
    expect(client.request("PUT", "/v1/policies/s", policy, root), 200)
    assert tiers() == ["gold", "gold"]
    assert expect(client.post("/api/v1/users/u1/override", override, shop), 201)["agreed"]["tier"] == "gold"


def test_a_writer_is_limited_to_its_tenants(guarded):
    client, root = guarded
    shop = bearer(make_token(client, "shop", root, roles=["write"], tenants=["shop-*", "cafe"]))
    for tenant in ("shop-1", "shop-2", "cafe"):
        expect(client.post("/v1/rules", rule(tenant), shop), 201)
    for tenant in ("bank", "shop", "cafe-2", "*"):
        expect_problem(client.post("/v1/rules", rule(tenant), shop), 403)
    bank = expect(client.post("/v1/rules", rule("bank"), root), 201)["rule_id"]
    expect_problem(client.request("DELETE", f"/v1/rules/{bank}", headers=shop), 404)
    stolen = {"id": bank, "tenant": "shop-1", "resource": "/stolen", "limits": [{"rate": "1/s"}]}
    expect_problem(client.request("PUT", f"/v1/policies/{bank}", stolen, shop), 403)
    expect_problem(client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"}, shop), 403)
    assert client.get("/v1/rules/bank", root).json["rules"][0]["resource"] == "/orders"


def test_a_rule_of_another_tenant_is_forbidden_whether_it_is_there_or_not(guarded):
    client, root = guarded
    writer = bearer(make_token(client, "shop", root, roles=["write"], tenants=["shop-*"]))
    expect_problem(client.post("/v1/rules", rule("bank"), writer), 403)
    expect(client.post("/v1/rules", rule("bank"), root), 201)
    expect_problem(client.post("/v1/rules", rule("bank"), writer), 403)


def test_a_reader_sees_its_tenants_only(guarded):
    client, root = guarded
    for tenant in ("shop-1", "bank"):
        client.post("/v1/rules", rule(tenant), root)
    bank = client.get("/v1/rules/bank", root).json["rules"][0]["rule_id"]
    shop = bearer(make_token(client, "shop", root, roles=["read"], tenants=["shop-*"]))
    assert [one["tenant_id"] for one in client.get("/v1/rules", shop).json["rules"]] == ["shop-1"]
    assert client.get("/v1/rules/bank", shop).json["rules"] == []
    expect_problem(client.get(f"/v1/policies/{bank}", shop), 404)
    expect_problem(client.get(f"/v1/policies/{bank}/versions", shop), 404)


def test_a_token_ends_when_it_expires(guarded):
    client, root = guarded
    token = bearer(make_short_token(client, "short", root, roles=["read"]))
    wait_until(lambda: client.get("/v1/policies", token).status == 401, "the end of the token")
    token = bearer(make_token(client, "long", root, roles=["read"], expires_at=from_now(days=1)))
    expect(client.get("/v1/policies", token), 200)


def test_a_deleted_token_opens_nothing(guarded):
    client, root = guarded
    old = bearer(make_token(client, "old", root, roles=["read"]))
    new = bearer(make_token(client, "new", root, roles=["read"]))
    assert [client.get("/v1/policies", one).status for one in (old, new)] == [200, 200], "two may overlap"
    expect(client.request("DELETE", "/v1/tokens/old", headers=root), 204)
    assert [client.get("/v1/policies", one).status for one in (old, new)] == [401, 200]
    expect_problem(client.request("DELETE", "/v1/tokens/old", headers=root), 404)


def test_the_last_token_that_can_make_others_does_not_take_itself_away(guarded):
    client, root = guarded
    make_token(client, "reader", root, roles=["read"])
    problem = expect_problem(client.request("DELETE", "/v1/tokens/root", headers=root), 409)
    assert "last token" in problem["detail"]
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    make_token(client, "short", root, roles=["admin"], expires_at=end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    expect_problem(client.request("DELETE", "/v1/tokens/root", headers=root), 409)
    other = bearer(make_token(client, "other", root, roles=["admin"]))
    expect(client.request("DELETE", "/v1/tokens/root", headers=root), 204)
    expect_problem(client.get("/v1/tokens", root), 401, "authorization")
    expect(client.get("/v1/tokens", other), 200)


def test_tokens_survive_a_restart(server, http, tmp_path):
    first = server(args=sqlite(tmp_path))
    token = bearer(make_token(http(first), "ops-1", roles=["read"]))
    first.kill()
    client = http(server(args=[*sqlite(tmp_path), "--require-token"]))
    expect(client.get("/v1/policies", token), 200)
    expect_problem(client.post("/v1/rules", rule(), token), 403)


def test_a_name_is_used_once(admin):
    client = admin()
    make_token(client, "ops-1", roles=["read"])
    expect_problem(client.post("/v1/tokens", {"name": "ops-1", "roles": ["read"]}), 409, "name")


def test_a_delete_with_an_idempotency_key_can_be_sent_again(admin):
    client = admin()
    make_token(client, "ops-1", roles=["read"])
    for _ in range(2):
        expect(client.request("DELETE", "/v1/tokens/ops-1", headers={"Idempotency-Key": "gone"}), 204)
    expect_problem(client.request("DELETE", "/v1/tokens/ops-1", headers={"Idempotency-Key": "new"}), 404)


def test_a_token_cannot_be_told_twice(admin):
    answer = admin().post("/v1/tokens", {"name": "a", "roles": ["read"]}, {"Idempotency-Key": "once"})
    expect_problem(answer, 400, "idempotency-key")


BAD_TOKENS = {
    "nothing": ({}, "name"),
    "no name": ({"roles": ["read"]}, "name"),
    "blank name": ({"name": "", "roles": ["read"]}, "name"),
    "name a number": ({"name": 1, "roles": ["read"]}, "name"),
    "no roles": ({"name": "a"}, "roles"),
    "empty roles": ({"name": "a", "roles": []}, "roles"),
    "roles a text": ({"name": "a", "roles": "read"}, "roles"),
    "roles null": ({"name": "a", "roles": None}, "roles"),
    "unknown role": ({"name": "a", "roles": ["read", "god"]}, "roles[1]"),
    "blank tenant": ({"name": "a", "roles": ["read"], "tenants": [""]}, "tenants[0]"),
    "tenants a text": ({"name": "a", "roles": ["read"], "tenants": "shop"}, "tenants"),
    "in the past": ({"name": "a", "roles": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    "no instant": ({"name": "a", "roles": ["read"], "expires_at": 1}, "expires_at"),
}


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_bad_token_is_refused_by_name(admin, name):
    client = admin()
    body, field = BAD_TOKENS[name]
    expect_problem(client.post("/v1/tokens", body), 400, field)
    assert client.get("/v1/tokens").json["tokens"] == []


def test_checks_need_a_token_with_the_role_where_that_is_asked_for(guarded):
    client, root = guarded
    check = {"tenant_id": "shop-1", "resource": "/orders", "key": "ann"}
    expect(client.post("/v1/rules", rule(), root), 201)
    caller = bearer(make_token(client, "gateway", root, roles=["check"], tenants=["shop-*"]))
    expect_problem(client.post("/v1/ratelimit/check", check), 401, "authorization")
    expect_problem(client.post("/v1/ratelimit/check-batch", {"checks": [check]}), 401, "authorization")
    expect_problem(client.get("/v1/authorize?tenant_id=shop-1&resource=/orders&key=ann"), 401, "authorization")
    assert expect(client.post("/v1/ratelimit/check", check, caller), 200)["remaining"] == 9, "nothing was charged"
    expect_problem(client.post("/v1/ratelimit/check", check | {"tenant_id": "bank"}, caller), 403)
    batch = {"checks": [check, check | {"tenant_id": "bank"}]}
    expect_problem(client.post("/v1/ratelimit/check-batch", batch, caller), 403)
    reader = bearer(make_token(client, "reader", root, roles=["read"]))
    expect_problem(client.post("/v1/ratelimit/check", check, reader), 403)
    assert expect(client.post("/v1/ratelimit/check", check, caller), 200)["remaining"] == 8


def test_when_the_last_admin_has_expired_a_new_first_token_is_printed(server, http, tmp_path):
    first = server(args=sqlite(tmp_path))
    old = make_short_token(http(first), "bootstrap", roles=["admin"])
    first.kill()
    again = server(args=[*sqlite(tmp_path), "--require-token"])
    token = again.wait_for_log(r"(sluice_\w{38})")[1]
    tokens = expect(http(again).get("/v1/tokens", bearer(token)), 200)["tokens"]
    assert [one["name"] for one in tokens] == ["bootstrap", "bootstrap-2"]
    expect_problem(http(again).get("/v1/tokens", bearer(old)), 401, "authorization")


def test_the_first_token_is_printed_once(server, http, tmp_path):
    first = server(args=[*sqlite(tmp_path), "--require-token"])
    wait_until(lambda: "\nsluice_" in first.log(), "the first token is printed")
    token = next(line for line in first.log().splitlines() if line.startswith("sluice_"))
    expect(http(first).get("/v1/tokens", bearer(token)), 200)
    assert first.stop() == 0
    again = server(args=[*sqlite(tmp_path), "--require-token"])
    expect(http(again).get("/v1/tokens", bearer(token)), 200)
    assert again.stop() == 0
    assert "sluice_" not in again.log()


def test_a_token_of_one_tenant_does_nothing_to_the_counters_of_another(guarded):
    client, root = guarded
    for tenant in ("shop", "acme"):
        document = {"id": tenant, "tenant": tenant, "limits": [{"name": "hour", "per": ["key"], "rate": "3/h"}]}
        expect(client.request("PUT", f"/v1/policies/{tenant}", document, root), 201)
    mine = bearer(make_token(client, "mine", root, roles=["check", "operator"], tenants=["shop"]))
    expect(client.post("/v1/ratelimit/check", {"policy_id": "shop", "tenant_id": "shop", "key": "k"}, mine), 200)
    theirs = {"policy_id": "acme", "tenant_id": "shop", "key": "victim"}
    expect_problem(client.post("/v1/ratelimit/check", theirs, mine), 400, "policy_id")
    expect_problem(client.post("/v1/reset", theirs, mine), 400, "policy_id")
    expect_problem(client.get("/v1/usage?policy_id=acme&tenant_id=shop&key=victim", mine), 400, "policy_id")
    expect_problem(client.post("/v1/ratelimit/check", {**theirs, "tenant_id": "acme"}, mine), 403)
    looked = client.get("/v1/usage?policy_id=acme&tenant_id=acme&key=victim", root)
    assert expect(looked, 200)["usages"][0]["remaining"] == 3


@pytest.mark.parametrize("tenants, field", [([], "tenants"), (["a*b"], "tenants[0]"), (["shop", "*-eu"], "tenants[1]")])
def test_tenants_that_would_surprise_are_refused(admin, tenants, field):
    expect_problem(admin().post("/v1/tokens", {"name": "t", "roles": ["read"], "tenants": tenants}), 400, field)


def test_a_star_is_all_tenants(guarded):
    client, root = guarded
    everywhere = bearer(make_token(client, "everywhere", root, roles=["write"], tenants=["*"]))
    document = {"id": "any", "limits": [{"rate": "3/h"}]}
    expect(client.request("PUT", "/v1/policies/any", document, everywhere), 201)
    expect(client.get("/v1/policies/any", everywhere), 200)


def test_who_may_not_write_learns_nothing_from_writing(guarded):
    client, root = guarded
    document = {"id": "acme", "tenant": "acme", "limits": [{"name": "hour", "rate": "3/h"}]}
    expect(client.request("PUT", "/v1/policies/acme", document, root), 201)
    for rights in ({"roles": ["check"]}, {"roles": ["write"], "tenants": ["shop"]}):
        spy = bearer(make_token(client, "spy-" + rights["roles"][0], root, **rights))
        for guess in (document, {**document, "tenant": "shop"}):
            for path in ("/v1/policies", "/v1/policies?dry_run=true"):
                expect_problem(client.post(path, {"policies": [guess]}, spy), 403)


@pytest.mark.parametrize("headers", [
    {"Host": "evil.example:8080"}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_is_not_trusted_on_loopback(admin, headers):
    client = admin()
    headers["Content-Type"] = "text/plain"
    expect_problem(client.post("/v1/tokens", {"name": "evil", "roles": ["admin"]}, headers), 401, "authorization")
    expect_problem(client.post("/v1/reset", {"policy_id": "p", "key": "k"}, headers), 401, "authorization")
    made = make_token(client, "good", roles=["read"])
    expect(client.get("/v1/policies", {**headers, **bearer(made)}), 200)


def start_with_file(server, tmp_path, file):
    return server(args=[*sqlite(tmp_path), "--require-token", "--bootstrap-token-file", str(file)])


def test_the_first_token_is_written_to_a_file_that_only_its_owner_reads(server, http, tmp_path):
    file = tmp_path / "first.token"
    first = start_with_file(server, tmp_path, file)
    first.wait_for_log("the first token, with the role admin, was written to .*first.token")
    assert file.stat().st_mode & 0o777 == 0o600
    token = file.read_text().strip()
    assert token not in first.log()
    expect(http(first).get("/v1/tokens", bearer(token)), 200)
    assert first.stop() == 0
    again = start_with_file(server, tmp_path, file)
    tokens = expect(http(again).get("/v1/tokens", bearer(token)), 200)["tokens"]
    assert [one["name"] for one in tokens] == ["bootstrap"], "nothing is made at the second start"
    assert file.read_text().strip() == token
    assert again.stop() == 0
    file.unlink()
    expect(http(start_with_file(server, tmp_path, file)).get("/v1/tokens", bearer(token)), 200)
    assert not file.exists()


def test_the_first_token_may_be_the_operators(server, http, tmp_path):
    other = server(args=["--policy-db", f"sqlite:{tmp_path}/other.db"])
    token = make_token(http(other), "any", roles=["check"])
    file = tmp_path / "first.token"
    file.write_text(token + "\n")
    file.chmod(0o400)
    node = start_with_file(server, tmp_path, file)
    node.wait_for_log("the first token, with the role admin, is that in .*first.token")
    assert expect(http(node).get("/v1/tokens", bearer(token)), 200)["tokens"][0]["roles"] == ["admin"]
    assert token not in node.log()


def test_a_bootstrap_token_that_may_have_been_revoked_does_not_come_back(server, http, tmp_path):
    first = server(args=sqlite(tmp_path))
    file = tmp_path / "first.token"
    file.write_text(make_short_token(http(first), "bootstrap", roles=["admin"]))
    file.chmod(0o600)
    first.kill()
    again = start_with_file(server, tmp_path, file)
    again.wait_for_log("that in .*first.token was used before and may have been revoked")
    expect_problem(http(again).get("/v1/tokens", bearer(file.read_text())), 401, "authorization")
    file.unlink()
    again.wait_for_log("was written to .*first.token")
    tokens = expect(http(again).get("/v1/tokens", bearer(file.read_text().strip())), 200)["tokens"]
    assert [one["name"] for one in tokens] == ["bootstrap", "bootstrap-2"]


@pytest.mark.parametrize("text, mode, sentence", [
    ("GOOD", 0o640, "can be read or written by others"), ("GOOD", 0o606, "can be read or written by others"),
    ("sluice_short", 0o600, "holds no token"), ("", 0o600, "holds no token"), ("x" * 5000, 0o600, "holds no token")])
def test_a_bootstrap_file_that_is_no_secret_stops_the_start(tmp_path, text, mode, sentence):
    file = tmp_path / "first.token"
    file.write_text(text)
    file.chmod(mode)
    said = fails("serve", "--listen", "127.0.0.1:0", "--bootstrap-token-file", file, cwd=tmp_path)
    assert said.startswith("sluice: --bootstrap-token-file: ") and sentence in said and "x" * 50 not in said


def test_a_tenant_reads_its_own_audit_entries_and_nothing_of_others(guarded):
    client, root = guarded
    numbers = {"limits": [{"name": "hour", "per": ["user"], "rate": "10/h"}], "tiers": {"gold": {"hour": {"rate": "99/h"}}}}
    for tenant in ("shop", "bank"):
        expect(client.request("PUT", f"/v1/policies/{tenant}", {"id": tenant, "tenant": tenant, **numbers}, root), 201)
        override = {"policy_id": tenant, "limit": 50, "window_seconds": 3600}
        expect(client.post("/api/v1/users/u1/override", override, {**root, "X-Reason": f"for {tenant}"}), 201)
        expect(client.post("/v1/reset", {"policy_id": tenant, "tenant_id": tenant, "key": "u1"}, root), 200)
        expect(client.request("DELETE", f"/v1/policies/{tenant}", headers=root), 204)
        expect(client.request("PUT", f"/v1/policies/{tenant}", {"id": tenant, "tenant": tenant, **numbers}, root), 200)
    expect(client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"}, root), 200)
    expect(client.request("PUT", "/v1/policies/all", {"id": "all", **numbers}, root), 201)
    shop = bearer(make_token(client, "shop", root, roles=["write"], tenants=["shop"]))
    everything = client.get("/v1/audit", root).body
    assert b"bank" in everything and b"127.0.0.1" in everything
    answer = client.get("/v1/audit", shop)
    seen = expect(answer, 200)["entries"]
    assert [(one["kind"], one["action"]) for one in seen] == [
        ("policy", "put"), ("policy", "delete"), ("event", "reset"), ("user", "override"), ("policy", "put")]
    assert seen[3]["after"] == {"overrides": [{"policy_id": "shop", "limit": "hour", "rate": "50/h"}]}
    assert seen[1]["before"]["tenant"] == "shop" and seen[1]["after"] is None
    for theirs in (b"bank", b"127.0.0.1", b"hash", b"gold\"}", b"sluice_"):
        assert theirs not in answer.body, theirs
    for query in ("?kind=token", "?kind=switch", "?name=bank", "?kind=policy&name=all"):
        assert expect(client.get("/v1/audit" + query, shop), 200)["entries"] == [], query
    checker = bearer(make_token(client, "checker", root, roles=["check"], tenants=["shop"]))
    expect_problem(client.get("/v1/audit", checker), 403)


def test_the_list_of_users_shows_a_tenant_what_is_theirs(guarded):
    client, root = guarded
    for tenant in ("shop", "bank"):
        document = {"id": tenant, "tenant": tenant, "limits": [{"name": "hour", "per": ["user"], "rate": "10/h"}]}
        expect(client.request("PUT", f"/v1/policies/{tenant}", document, root), 201)
    for user, policy in (("u1", "shop"), ("u1", "bank"), ("u2", "bank"), ("u3", "shop")):
        override = {"policy_id": policy, "limit": 50, "window_seconds": 3600}
        expect(client.post(f"/api/v1/users/{user}/override", override, root), 201)
    expect(client.request("PUT", "/api/v1/users/u4/tier", {"tier": "gold"}, root), 200)
    expect(client.request("DELETE", "/api/v1/users/u3/override/shop", headers=root), 204)

    def users(query="", who=root):
        answer = expect(client.get("/api/v1/users" + query, who), 200)
        return [(one["user_id"], [each["policy_id"] for each in one["agreed"].get("overrides", [])]) for one in answer["users"]]

    assert users() == [("u1", ["shop", "bank"]), ("u2", ["bank"]), ("u4", [])]
    assert users("?tenant_id=bank") == users("?policy_id=bank") == [("u1", ["bank"]), ("u2", ["bank"])]
    assert users("?tier=gold") == [("u4", [])]
    shop = bearer(make_token(client, "shop", root, roles=["read"], tenants=["shop"]))
    assert users(who=shop) == [("u1", ["shop"])]
    assert users("?tenant_id=bank", shop) == users("?policy_id=bank", shop) == users("?tier=gold", shop) == []
    page = expect(client.get("/api/v1/users?limit=1", root), 200)
    assert ([one["user_id"] for one in page["users"]], page["next"]) == (["u1"], "u1")
    assert users("?limit=2&after=u1") == [("u2", ["bank"]), ("u4", [])]
    expect_problem(client.get("/api/v1/users?limit=1001", root), 400, "limit")
    expect_problem(client.get("/api/v1/users", bearer(make_token(client, "c", root, roles=["check"]))), 403)
