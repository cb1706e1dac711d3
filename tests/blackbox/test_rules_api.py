"""/v1/rules: a rule is {tenant_id, resource, limit, window_sec, burst}, one token bucket per tenant and key."""

import json

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, expect, expect_problem, number_out_of_bounds, pages

FILED = """
policies:
  - id: filed
    resource: /filed
    limits: [{ name: one, per: [key], rate: 10/h }]
"""
RULE = {"tenant_id": "shop", "resource": "/orders", "limit": 10, "window_sec": 3600, "burst": 20}


@pytest.fixture
def client(admin):
    return admin(FILED)


def create(client, headers=None, **changes):
    return client.post("/v1/rules", {**RULE, **changes}, headers)


def check(client, tokens=0, **changes):
    return client.check(**{"tenant_id": "shop", "resource": "/orders", "key": "u1", "tokens": tokens, **changes})


def test_a_rule_is_created_and_in_force(client):
    answer = create(client)
    rule = expect(answer, 201)
    assert {name: rule[name] for name in RULE} == RULE
    assert rule["rule_id"] and all(c.isalnum() or c in "-._~" for c in rule["rule_id"]), "fit for a URL as it is"
    assert answer.headers["etag"] == '"1"'
    assert expect(client.get(answer.headers["location"]), 200)["id"] == rule["rule_id"]
    decision = check(client, tokens=5)
    assert (decision["limit"], decision["remaining"], decision["policy_id"]) == (20, 15, rule["rule_id"])


def test_every_key_of_the_tenant_has_its_own_bucket(client):
    create(client)
    assert check(client, tokens=20)["allowed"] is True
    assert check(client, tokens=1)["allowed"] is False
    assert check(client, tokens=20, key="u2")["allowed"] is True
    assert check(client, tenant_id="bank")["reason"] == "no_policy"


@pytest.mark.parametrize("burst", [{}, {"burst": 0}], ids=["absent", "zero"])
def test_without_a_burst_the_capacity_is_the_limit(client, burst):
    body = {name: value for name, value in RULE.items() if name != "burst"}
    assert expect(client.post("/v1/rules", {**body, **burst}), 201)["burst"] == 10
    assert check(client)["limit"] == 10


def test_the_same_tenant_and_resource_again_is_a_conflict_that_names_the_rule(client):
    rule_id = create(client).json["rule_id"]
    assert rule_id in expect_problem(create(client, limit=99), 409, "resource")["detail"]
    assert rule_id in expect_problem(create(client, {"Idempotency-Key": "another request"}), 409, "resource")["detail"]
    assert check(client)["limit"] == 20
    assert "filed" in expect_problem(create(client, tenant_id="*", resource="/filed"), 409, "resource")["detail"]


def test_an_idempotency_key_gives_the_same_answer_twice(client):
    once = {"Idempotency-Key": "once"}
    first, again = create(client, once), create(client, once)
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    expect_problem(create(client, once, limit=11), 422, "idempotency-key")
    expect_problem(create(client, once, resource="/other"), 422, "idempotency-key")


def test_lists(client):
    create(client)
    create(client, resource="/carts")
    create(client, tenant_id="bank")
    rules = expect(client.get("/v1/rules/shop"), 200)
    assert sorted(rule["resource"] for rule in rules["rules"]) == ["/carts", "/orders"]
    assert rules["next"] is None
    assert expect(client.get("/v1/rules/nobody"), 200) == {"rules": [], "next": None}
    by_page = list(pages(client, "/v1/rules?limit=3", "rules"))
    assert [len(page) for page in by_page] == [3, 1]
    assert {rule["source"] for page in by_page for rule in page} == {"file", "api"}
    assert len({rule["rule_id"] for page in by_page for rule in page}) == 4
    expect_problem(client.get("/v1/rules/shop?limit=0"), 400, "limit")


def test_a_tenant_with_any_name(client):
    create(client, tenant_id="a/b c")
    assert [rule["tenant_id"] for rule in client.get("/v1/rules/a%2Fb%20c").json["rules"]] == ["a/b c"]


def test_delete(client):
    rule_id = create(client).json["rule_id"]
    assert client.request("DELETE", f"/v1/rules/{rule_id}").status == 204
    assert check(client)["reason"] == "no_policy"
    expect_problem(client.request("DELETE", f"/v1/rules/{rule_id}"), 404)
    again = expect(create(client), 201)
    assert (again["rule_id"], again["version"]) == (rule_id, 3)


def test_delete_only_what_one_has_seen(client):
    rule_id = create(client).json["rule_id"]
    expect_problem(client.request("DELETE", f"/v1/rules/{rule_id}", headers={"If-Match": '"7"'}), 412, "if-match")
    expect(client.request("DELETE", f"/v1/rules/{rule_id}", headers={"If-Match": '"1"'}), 204)


def test_rules_of_files_are_not_deleted(client):
    expect_problem(client.request("DELETE", "/v1/rules/filed"), 409)
    assert client.check(policy_id="filed", key="k")["limit"] == 10


def test_a_limit_of_zero_never_admits(client):
    create(client, limit=0)
    assert check(client, tokens=1)["reason"] == "never"


def test_a_rule_that_denies_everyone_must_be_meant(client):
    everyone = {**RULE, "tenant_id": "*", "resource": "*", "limit": 0}
    expect_problem(client.post("/v1/rules", everyone), 400, "limits")
    assert check(client, tokens=1)["allowed"] is True
    expect(client.post("/v1/rules?confirm=deny-everyone", everyone), 201)
    assert check(client, tokens=1)["allowed"] is False


BAD_TEXTS = ["", 0, -1, 1.5, True, None, [], {}, "x" * 3000]


@pytest.mark.parametrize("field", RULE)
def test_bad_values_are_refused_by_name(client, field):
    if isinstance(RULE[field], str):
        bodies = [json.dumps({**RULE, field: value}) for value in BAD_TEXTS]
    else:
        bodies = list(number_out_of_bounds(RULE, field, least_is_one=field == "window_sec"))
    for body in bodies:
        expect_problem(client.post("/v1/rules", body), 400, field)
    assert [rule["rule_id"] for rule in client.get("/v1/rules").json["rules"]] == ["filed"]


@pytest.mark.parametrize("field", ["tenant_id", "resource", "limit", "window_sec"])
def test_missing_fields_are_named(client, field):
    body = {name: value for name, value in RULE.items() if name != field}
    expect_problem(client.post("/v1/rules", body), 400, field)


def test_numbers_that_cannot_be_exact_are_refused(client):
    assert client.post("/v1/rules", {**RULE, "limit": 10**9 + 1}).json["field"] == "limit"
    assert client.post("/v1/rules", {**RULE, "window_sec": 367 * 86_400}).json["field"] == "window_sec"


def test_unknown_fields_are_named(client):
    assert '"brust"' in expect_problem(create(client, brust=1), 400, "brust")["detail"]


@pytest.mark.parametrize("name", BODIES_THAT_ARE_NO_OBJECT)
def test_a_body_that_is_no_object(client, name):
    answer = client.post("/v1/rules", BODIES_THAT_ARE_NO_OBJECT[name])
    assert answer.status == 400 and answer.json["detail"], answer


def test_a_body_over_one_mebibyte(client):
    assert client.post("/v1/rules", json.dumps(RULE) + " " * (1 << 20)).status == 413


def test_other_methods(client):
    answer = client.request("PUT", "/v1/rules", RULE)
    expect_problem(answer, 405)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}


def test_a_rule_tells_when_it_was_made_and_changed(admin):
    client = admin("policies: [{ id: filed, tenant: f, resource: /f, limits: [{ name: one, rate: 1/s }] }]")
    body = {"tenant_id": "t", "resource": "/r", "limit": 1, "window_sec": 1}
    made = expect(client.post("/v1/rules", body), 201)
    assert made["created_at"] == made["updated_at"] and made["created_at"].endswith("Z")
    assert expect(client.get("/v1/rules/t"), 200)["rules"] == [made]
    document = client.get(f"/v1/policies/{made['rule_id']}").json["document"]
    document["limits"][0]["rate"] = "2/s"
    expect(client.request("PUT", f"/v1/policies/{made['rule_id']}", document), 200)
    (changed,) = expect(client.get("/v1/rules/t"), 200)["rules"]
    assert changed["created_at"] == made["created_at"] < changed["updated_at"]
    expect(client.request("DELETE", f"/v1/rules/{made['rule_id']}"), 204)
    again = expect(client.post("/v1/rules", body), 201)
    assert again["created_at"] == again["updated_at"] > changed["updated_at"]
    (filed,) = expect(client.get("/v1/rules/f"), 200)["rules"]
    assert filed["created_at"] is None and filed["updated_at"] is None
