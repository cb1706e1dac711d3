"""/api/v1/rules: {name, dimension, endpoint_pattern, limit, window_seconds, algorithm, tier}.

All rules on one pattern are the limits of one policy: a request is charged to all of them or to none.
"""

import json

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, expect, expect_problem, number_out_of_bounds, pages

RULE = {"name": "per-user", "dimension": "user", "endpoint_pattern": "/api/*", "limit": 100, "window_seconds": 3600,
        "algorithm": "sliding_window"}


@pytest.fixture
def client(admin):
    return admin()


def create(client, headers=None, **changes):
    return client.post("/api/v1/rules", {**RULE, **changes}, headers)


def check(client, user="u1", **more):
    return client.check(tenant_id="t", resource="/api/x", key=user, **{"tokens": 0, **more})


def test_a_rule_is_created_and_in_force(client):
    answer = create(client)
    rule = expect(answer, 201)
    assert {name: rule[name] for name in RULE} == RULE
    assert answer.headers["location"] == f"/api/v1/rules/{rule['rule_id']}"
    assert expect(client.get(answer.headers["location"]), 200) == rule
    assert check(client)["limit"] == 100


@pytest.mark.parametrize("algorithm", ["gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"])
def test_every_algorithm(client, algorithm):
    assert expect(create(client, algorithm=algorithm), 201)["algorithm"] == algorithm
    assert check(client, tokens=1)["remaining"] == 99


def test_what_may_be_left_out(client):
    body = {"endpoint_pattern": "/login", "limit": 5, "window_seconds": 60}
    rule = expect(client.post("/api/v1/rules", body), 201)
    assert (rule["dimension"], rule["algorithm"], rule["tier"]) == ("user", "token_bucket", None)


def test_rules_on_one_pattern_are_charged_together_or_not_at_all(client):
    create(client)
    create(client, name="per-ip", dimension="ip", limit=3)
    rules = client.get("/api/v1/rules").json["rules"]
    assert len({rule["policy_id"] for rule in rules}) == 1
    from_one_address = {"dimensions": {"ip": "192.0.2.7"}, "tokens": 1}
    assert [check(client, **from_one_address)["allowed"] for _ in range(5)] == [True, True, True, False, False]
    assert check(client)["remaining"] == 97, "what the address was denied did not charge the user"


def test_a_rule_of_a_tier_is_for_users_of_that_tier(client):
    create(client)
    premium = expect(create(client, tier="premium", limit=1000), 201)
    assert premium["tier"] == "premium"
    assert check(client)["limit"] == 100
    assert check(client, dimensions={"tier": "premium"})["limit"] == 1000
    client.request("PUT", "/api/v1/users/u1/tier", {"tier": "premium"})
    assert check(client)["limit"] == 1000
    assert check(client, "u2")["limit"] == 100


def test_a_rule_for_one_tier_only_leaves_the_others_alone(client):
    create(client, tier="free", limit=5)
    assert [rule["tier"] for rule in client.get("/api/v1/rules").json["rules"]] == ["free"]
    others = check(client, tokens=10**9)
    assert (others["allowed"], others["reason"], others["limit"], others["remaining"]) == (True, "no_limit", -1, -1)
    assert expect(client.get("/api/v1/users/u1/limits"), 200)["limits"] == []
    client.request("PUT", "/api/v1/users/u2/tier", {"tier": "free"})
    assert [limit["limit"] for limit in expect(client.get("/api/v1/users/u2/limits"), 200)["limits"]] == [5]
    assert check(client, tokens=1000)["allowed"] is True
    assert check(client, tokens=6, dimensions={"tier": "free"})["allowed"] is False


def test_the_same_rule_again_is_a_conflict_that_names_it(client):
    rule_id = create(client).json["rule_id"]
    assert rule_id in expect_problem(create(client, limit=7), 409, "name")["detail"]
    assert rule_id in expect_problem(create(client, {"Idempotency-Key": "new"}, limit=7), 409, "name")["detail"]
    assert check(client)["limit"] == 100


def test_an_idempotency_key_gives_the_same_answer_twice(client):
    once = {"Idempotency-Key": "once"}
    first = create(client, once)
    create(client, name="per-ip", dimension="ip")  # another rule on the same pattern comes between
    again = create(client, once)
    assert (again.status, again.body) == (first.status, first.body) and first.status == 201
    expect_problem(create(client, once, limit=7), 422, "idempotency-key")
    expect_problem(create(client, once, endpoint_pattern="/other"), 422, "idempotency-key")
    assert len(client.get("/api/v1/rules").json["rules"]) == 2


def test_put_changes_the_numbers(client):
    rule_id = create(client).json["rule_id"]
    client.check(tenant_id="t", resource="/api/x", key="u1", tokens=40)
    answer = client.request("PUT", f"/api/v1/rules/{rule_id}", {"limit": 50, "window_seconds": 3600})
    assert expect(answer, 200)["limit"] == 50
    assert expect(client.get(f"/api/v1/rules/{rule_id}"), 200)["algorithm"] == "sliding_window"
    assert (check(client)["limit"], check(client)["remaining"]) == (50, 10)


def test_an_update_with_an_idempotency_key_can_be_sent_again(client):
    rule_id = create(client).json["rule_id"]
    once, body = {"Idempotency-Key": "once"}, {"limit": 50, "window_seconds": 3600}
    first = client.request("PUT", f"/api/v1/rules/{rule_id}", body, once)
    create(client, name="per-ip", dimension="ip")
    again = client.request("PUT", f"/api/v1/rules/{rule_id}", body, once)
    assert (again.status, again.body) == (first.status, first.body)
    expect_problem(client.request("PUT", f"/api/v1/rules/{rule_id}", {**body, "limit": 51}, once), 422, "idempotency-key")


def test_a_delete_with_an_idempotency_key_can_be_sent_again(client):
    first, second = (create(client, name=name).json["rule_id"] for name in ("one", "two"))
    for rule_id, key in [(first, "k1"), (first, "k1"), (second, "k2"), (second, "k2"), (first, "k1")]:
        expect(client.request("DELETE", f"/api/v1/rules/{rule_id}", headers={"Idempotency-Key": key}), 204)
    answer = client.request("DELETE", f"/api/v1/rules/{second}", headers={"Idempotency-Key": "k1"})
    expect_problem(answer, 422, "idempotency-key")
    expect_problem(client.request("DELETE", f"/api/v1/rules/{first}", headers={"Idempotency-Key": "new"}), 404)
    create(client, name="one")
    expect(client.request("DELETE", f"/api/v1/rules/{first}", headers={"Idempotency-Key": "k1"}), 204)
    expect(client.get(f"/api/v1/rules/{first}"), 200)  # that answer is about the deletion before


@pytest.mark.parametrize("algorithm", ["token_bucket", "fixed_window"])
@pytest.mark.parametrize("tier", [None, "premium"])
def test_what_was_read_can_be_sent_back(client, algorithm, tier):
    rule = create(client, algorithm=algorithm, tier=tier).json
    answer = client.request("PUT", f"/api/v1/rules/{rule['rule_id']}", {**rule, "limit": 70})
    assert expect(answer, 200)["limit"] == 70


def test_if_match_prevents_lost_updates(client):
    rule_id = create(client).json["rule_id"]
    path, body = f"/api/v1/rules/{rule_id}", {"limit": 50, "window_seconds": 3600}
    expect(client.request("PUT", path, body, {"If-Match": '"1"'}), 200)
    expect_problem(client.request("PUT", path, body, {"If-Match": '"1"'}), 412, "if-match")
    expect_problem(client.request("DELETE", path, headers={"If-Match": '"1"'}), 412, "if-match")
    expect(client.request("DELETE", path, headers={"If-Match": '"2"'}), 204)


@pytest.mark.parametrize("change", [{"name": "other"}, {"tier": "gold"}, {"endpoint_pattern": "/other"}])
def test_what_makes_the_id_cannot_change(client, change):
    rule_id = create(client).json["rule_id"]
    expect_problem(client.request("PUT", f"/api/v1/rules/{rule_id}", {**RULE, **change}), 400, "name")


def test_delete_takes_one_rule_and_with_the_last_one_the_policy(client):
    first = create(client).json["rule_id"]
    second = create(client, name="per-ip", dimension="ip").json["rule_id"]
    expect(client.request("DELETE", f"/api/v1/rules/{first}"), 204)
    expect_problem(client.get(f"/api/v1/rules/{first}"), 404)
    expect_problem(client.request("DELETE", f"/api/v1/rules/{first}"), 404)
    assert check(client, dimensions={"ip": "192.0.2.7"})["limiting"] == "per-ip"
    expect(client.request("DELETE", f"/api/v1/rules/{second}"), 204)
    assert client.get("/api/v1/rules").json["rules"] == []
    assert check(client)["reason"] == "no_policy"


def test_the_list_has_pages(client):
    for number in range(5):
        create(client, endpoint_pattern=f"/{number}")
    by_page = list(pages(client, "/api/v1/rules?limit=2", "rules"))
    assert [len(page) for page in by_page] == [2, 2, 1]
    assert len({rule["rule_id"] for page in by_page for rule in page}) == 5


@pytest.mark.parametrize("rule_id", ["nonsense", "endpoint-aaaa~x", "endpoint-~", "a%2Fb"])
def test_unknown_ids(client, rule_id):
    expect_problem(client.get(f"/api/v1/rules/{rule_id}"), 404)
    expect_problem(client.request("PUT", f"/api/v1/rules/{rule_id}", RULE), 404)
    expect_problem(client.request("DELETE", f"/api/v1/rules/{rule_id}"), 404)


BAD_VALUES = [("dimension", "planet"), ("dimension", ""), ("dimension", 1), ("algorithm", "magic"), ("algorithm", None),
              ("endpoint_pattern", ""), ("endpoint_pattern", None), ("endpoint_pattern", "/a*b"), ("endpoint_pattern", "x" * 3000),
              ("tier", ""), ("tier", "a~b"), ("tier", 1), ("name", ""), ("name", "a~b"), ("name", "a b"), ("name", "n" * 200),
              ("burst", 5), ("burst", 0), ("burst", -1)]


@pytest.mark.parametrize("field,value", BAD_VALUES)
def test_bad_values_are_refused_by_name(client, field, value):
    expect_problem(create(client, **{field: value}), 400, field)
    assert client.get("/api/v1/rules").json["rules"] == []


@pytest.mark.parametrize("field", ["limit", "window_seconds"])
def test_bad_numbers_are_refused_by_name(client, field):
    for body in number_out_of_bounds(RULE, field, least_is_one=field == "window_seconds"):
        expect_problem(client.post("/api/v1/rules", body), 400, field)
    body = {name: value for name, value in RULE.items() if name != field}
    expect_problem(client.post("/api/v1/rules", body), 400, field)


def test_unknown_fields_are_named(client):
    assert '"limt"' in expect_problem(create(client, limt=1), 400, "limt")["detail"]


@pytest.mark.parametrize("name", BODIES_THAT_ARE_NO_OBJECT)
def test_a_body_that_is_no_object(client, name):
    answer = client.post("/api/v1/rules", BODIES_THAT_ARE_NO_OBJECT[name])
    assert answer.status == 400 and answer.json["detail"], answer


def test_a_body_over_one_mebibyte(client):
    assert client.post("/api/v1/rules", json.dumps(RULE) + " " * (1 << 20)).status == 413


def test_a_rule_tells_when_it_was_made_and_changed(admin):
    client = admin()
    made = expect(create(client), 201)
    assert made["created_at"] == made["updated_at"] and made["created_at"].endswith("Z")
    changed = expect(client.request("PUT", f"/api/v1/rules/{made['rule_id']}", {"limit": 50, "window_seconds": 3600}), 200)
    assert changed["created_at"] == made["created_at"] < changed["updated_at"]
    assert expect(client.get(f"/api/v1/rules/{made['rule_id']}"), 200) == changed
