"""/api/v1/users/{id}: the tier that a user has, numbers of his own, and what comes out of it all."""

import datetime
import json

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, expect, expect_problem, number_out_of_bounds, pages
from harness.server import wait_until

POLICIES = """
policies:
  - id: api
    resource: /api
    limits:
      - { name: hour, per: [user], rate: 10/h }
      - { name: all,  rate: 1000000/h }
    tiers: { premium: { hour: { rate: 100/h } } }
  - id: two
    resource: /two
    limits:
      - { name: hour, per: [user], rate: 10/h }
      - { name: day,  per: [user], rate: 50/d }
  - id: nobody
    resource: /nobody
    limits: [{ name: all, rate: 10/h }]
"""
OVERRIDE = {"policy_id": "api", "limit": 500, "window_seconds": 3600}


@pytest.fixture
def client(admin):
    return admin(POLICIES)


def set_tier(client, tier, user="u1", **headers):
    return client.request("PUT", f"/api/v1/users/{user}/tier", {"tier": tier}, headers)


def add_override(client, headers=None, **changes):
    return client.post("/api/v1/users/u1/override", {**OVERRIDE, **changes}, headers)


def check(client, user="u1", **more):
    return client.check(policy_id="api", key=user, **{"tokens": 0, **more})


def hour_of(client, user="u1"):
    """The limit `hour` of policy `api` as GET …/limits tells it."""
    answer = expect(client.get(f"/api/v1/users/{user}/limits?policy_id=api"), 200)
    (one,) = answer["limits"]
    return one


def from_now(seconds):
    instant = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_tier_changes_what_checks_get(client):
    check(client, tokens=10)
    assert check(client, tokens=1)["allowed"] is False
    answer = set_tier(client, "premium")
    assert expect(answer, 200) == {"user_id": "u1", "agreed": {"tier": "premium"}}
    assert answer.headers["etag"] == '"1"'
    assert (check(client)["limit"], check(client)["remaining"]) == (100, 90), "what was used stays used"
    assert check(client, "u2")["limit"] == 10


def test_the_agreed_tier_wins_over_that_of_the_request(client):
    set_tier(client, "premium")
    assert check(client, dimensions={"tier": "free"})["limit"] == 100
    assert check(client, "u2", dimensions={"tier": "premium"})["limit"] == 100


def test_an_empty_tier_takes_it_away(client):
    set_tier(client, "premium")
    expect(set_tier(client, ""), 200)
    assert check(client)["limit"] == 10
    assert client.get("/api/v1/users/u1/limits").json["tier"] is None


def test_a_tier_that_a_policy_does_not_know_changes_nothing(client):
    expect(set_tier(client, "unheard-of"), 200)
    assert check(client)["limit"] == 10
    assert hour_of(client)["source"] == "policy"


def test_an_override_wins_over_the_tier(client):
    set_tier(client, "premium")
    assert expect(add_override(client), 201)["agreed"]["overrides"][0]["rate"] == "500/h"
    assert check(client)["limit"] == 500
    assert check(client, "u2")["limit"] == 10


def test_an_override_replaces_the_one_before(client):
    add_override(client)
    assert len(expect(add_override(client, limit=600), 201)["agreed"]["overrides"]) == 1
    assert check(client)["limit"] == 600


def test_an_override_ends_when_it_expires(client):
    set_tier(client, "premium")
    until = from_now(3)
    expect(add_override(client, expires_at=until), 201)
    told = hour_of(client)
    if told["source"] == "override":  # else the machine was too slow to look in time
        assert told["expires_at"] == until and told["limit"] == 500
    wait_until(lambda: check(client)["limit"] == 100, "the end of the override")
    assert hour_of(client)["source"] == "tier premium"


def test_an_override_holds_until_it_expires(client):
    until = from_now(3600)
    expect(add_override(client, expires_at=until), 201)
    assert check(client)["limit"] == 500
    assert (hour_of(client)["source"], hour_of(client)["expires_at"]) == ("override", until)


def test_an_override_can_be_removed(client):
    add_override(client)
    assert client.request("DELETE", "/api/v1/users/u1/override/api").status == 204
    assert check(client)["limit"] == 10
    expect_problem(client.request("DELETE", "/api/v1/users/u1/override/api"), 404)


def test_limits_say_where_each_number_comes_from(client):
    assert {name: hour_of(client)[name] for name in ("limit", "window_seconds", "rate", "burst", "algorithm", "source", "per")} == {
        "limit": 10, "window_seconds": 3600, "rate": "10/h", "burst": 10, "algorithm": "gcra", "source": "policy", "per": ["user"]}
    set_tier(client, "premium")
    assert (hour_of(client)["limit"], hour_of(client)["source"]) == (100, "tier premium")
    add_override(client)
    assert (hour_of(client)["limit"], hour_of(client)["source"]) == (500, "override")
    assert "expires_at" not in hour_of(client)


def test_all_limits_that_count_a_user(client):
    told = expect(client.get("/api/v1/users/u1/limits"), 200)
    assert [(one["policy_id"], one["limit_name"]) for one in told["limits"]] == [("api", "hour"), ("two", "hour"), ("two", "day")]
    by_page = list(pages(client, "/api/v1/users/u1/limits?limit=1", "limits"))
    assert [len(page) for page in by_page] == [1, 2], "a page is a number of policies"


def test_limits_are_those_of_the_version_that_decides(admin):
    client = admin()
    def document(rate):
        return {"id": "r", "limits": [{"name": "hour", "per": ["user"], "rate": f"{rate}/h"}],
                "tiers": {"gold": {"hour": {"rate": f"{rate * 10}/h"}}}}
    expect(client.request("PUT", "/v1/policies/r", document(10)), 201)
    stages = [{"percent": 50, "hold": "1h"}, {"percent": 100, "hold": "1h"}]
    expect(client.post("/v1/policies/r/rollout", {"policy": document(20), "stages": stages}), 201)
    seen = set()
    for user in (f"u{i}" for i in range(16)):
        (told,) = expect(client.get(f"/api/v1/users/{user}/limits"), 200)["limits"]
        assert told["limit"] == client.check(policy_id="r", key=user, tokens=0)["limit"], user
        assert told["source"] == {10: "policy", 20: "candidate of r#1"}[told["limit"]]
        assert (told["applies"], told["shadow"], told["candidate_percent"]) == (True, False, 50)
        seen.add(told["limit"])
        set_tier(client, "gold", user)
        (told,) = expect(client.get(f"/api/v1/users/{user}/limits"), 200)["limits"]
        assert told["source"] == {100: "tier gold", 200: "tier gold, candidate of r#1"}[told["limit"]]
    assert seen == {10, 20}, "both versions decide for somebody"


def test_limits_say_whether_they_apply(admin):
    client = admin("""
policies:
  - {id: later, resource: /later, rollout: {valid_from: "2099-01-01T00:00:00Z"}, limits: [{name: l, per: [user], rate: 1/h}]}
  - {id: quiet, resource: /quiet, shadow: true, limits: [{name: l, per: [user], rate: 1/h}]}
  - {id: some, resource: /some, rollout: {percent: 50}, limits: [{name: l, per: [user], rate: 1/h}]}
  - {id: some.more, resource: /more, rollout: {percent: 50}, limits: [{name: l, per: [tenant, user], rate: 1/h}]}
""")
    def told(user, query=""):
        return {one["policy_id"]: one for one in expect(client.get(f"/api/v1/users/{user}/limits{query}"), 200)["limits"]}
    here = told("u1")
    assert (here["later"]["applies"], here["later"]["valid_from"]) == (False, "2099-01-01T00:00:00Z")
    assert (here["quiet"]["applies"], here["quiet"]["shadow"]) == (True, True)
    assert (here["some.more"]["applies"], here["some.more"]["percent"]) == (None, 50)
    for policy, resource in (("some", "/some"), ("some.more", "/more")):
        seen = set()
        for user in (f"u{i}" for i in range(16)):
            applies = told(user, "?tenant_id=t")[policy]["applies"]
            decided = client.check(tenant_id="t", resource=resource, key=user, tokens=0)
            assert applies == (decided.get("policy_id") == policy), (user, decided)
            seen.add(applies)
        assert seen == {True, False}


def test_a_policy_with_several_limits_needs_a_name(client):
    problem = expect_problem(add_override(client, policy_id="two"), 400, "limit_name")
    assert "hour, day" in problem["detail"]
    expect(add_override(client, policy_id="two", limit_name="day", window_seconds=86_400), 201)
    told = {one["limit_name"]: one["source"] for one in client.get("/api/v1/users/u1/limits?policy_id=two").json["limits"]}
    assert told == {"hour": "policy", "day": "override"}


def test_a_burst_of_his_own(client):
    add_override(client, burst=7)
    assert check(client)["limit"] == 7


def test_a_user_with_any_id(client):
    expect(client.request("PUT", "/api/v1/users/a%2Fb%20%C3%A9/tier", {"tier": "premium"}), 200)
    assert check(client, "a/b é")["limit"] == 100
    expect_problem(set_tier(client, "premium", "u" * 257), 400, "user_id")
    for user in ("a%00b", "a%0Ab", "%7F"):
        expect_problem(set_tier(client, "premium", user), 400, "user_id")
        expect_problem(client.get(f"/api/v1/users/{user}/limits"), 400, "user_id")
        expect_problem(client.post(f"/api/v1/users/{user}/override", OVERRIDE), 400, "user_id")
        expect_problem(client.request("DELETE", f"/api/v1/users/{user}/override/api"), 400, "user_id")


def test_if_match_of_any_version_needs_an_agreement(client):
    expect_problem(set_tier(client, "premium", **{"If-Match": "*"}), 412, "if-match")
    expect_problem(add_override(client, {"If-Match": "*"}), 412, "if-match")
    expect(set_tier(client, "premium"), 200)
    expect(set_tier(client, "", **{"If-Match": "*"}), 200)


def test_if_match_prevents_lost_updates(client):
    set_tier(client, "premium")
    expect(set_tier(client, "free", **{"If-Match": '"1"'}), 200)
    expect_problem(set_tier(client, "premium", **{"If-Match": '"1"'}), 412, "if-match")
    expect_problem(add_override(client, {"If-Match": '"1"'}), 412, "if-match")
    assert check(client)["limit"] == 10


def test_an_idempotency_key_gives_the_same_answer_twice(client):
    tier = set_tier(client, "premium", **{"Idempotency-Key": "tier"})
    override = add_override(client, {"Idempotency-Key": "override"})
    add_override(client, policy_id="two", limit_name="day")  # something else comes between
    for first, again in [(tier, set_tier(client, "premium", **{"Idempotency-Key": "tier"})),
                         (override, add_override(client, {"Idempotency-Key": "override"}))]:
        assert (again.status, again.body, again.headers["etag"]) == (first.status, first.body, first.headers["etag"])
    expect_problem(set_tier(client, "free", **{"Idempotency-Key": "tier"}), 422, "idempotency-key")
    expect_problem(add_override(client, {"Idempotency-Key": "override"}, limit=1), 422, "idempotency-key")
    assert check(client)["limit"] == 500


def test_a_removal_with_an_idempotency_key_can_be_sent_again(client):
    path, once = "/api/v1/users/u1/override/", {"Idempotency-Key": "gone"}
    add_override(client)
    add_override(client, policy_id="two", limit_name="day")
    first = client.request("DELETE", path + "api", headers=once)
    set_tier(client, "premium")  # something else comes between
    again = client.request("DELETE", path + "api", headers=once)
    assert (first.status, again.status) == (204, 204) and again.headers["etag"] == first.headers["etag"]
    expect_problem(client.request("DELETE", path + "two", headers=once), 422, "idempotency-key")
    expect_problem(client.request("DELETE", path + "api", headers={"Idempotency-Key": "new"}), 404)


BAD_OVERRIDES = [("policy_id", "unknown"), ("policy_id", ""), ("policy_id", 1), ("policy_id", "nobody"), ("policy_id", None),
                 ("limit_name", "all"), ("limit_name", "unknown"), ("limit_name", ""), ("expires_at", "2020-01-01T00:00:00Z"),
                 ("expires_at", "soon"), ("expires_at", ""), ("expires_at", 1700000000), ("expires_at", "2030-01-01T00:00:00"),
                 ("burst", 0), ("burst", -1), ("burst", 2**63)]


@pytest.mark.parametrize("field,value", BAD_OVERRIDES)
def test_a_bad_override_is_refused_by_name(client, field, value):
    expect_problem(add_override(client, **{field: value}), 400, field)
    assert check(client)["limit"] == 10


@pytest.mark.parametrize("field", ["limit", "window_seconds"])
def test_bad_numbers_are_refused_by_name(client, field):
    for body in number_out_of_bounds(OVERRIDE, field, least_is_one=field == "window_seconds"):
        expect_problem(client.post("/api/v1/users/u1/override", body), 400, field)
    assert check(client)["limit"] == 10


@pytest.mark.parametrize("field", OVERRIDE)
def test_missing_fields_are_named(client, field):
    body = {name: value for name, value in OVERRIDE.items() if name != field}
    expect_problem(client.post("/api/v1/users/u1/override", body), 400, field)


@pytest.mark.parametrize("tier", [None, 1, ["premium"], "two words", "t" * 200])
def test_a_bad_tier(client, tier):
    expect_problem(set_tier(client, tier), 400, "tier")
    assert check(client)["limit"] == 10


def test_unknown_and_missing_fields_of_a_tier(client):
    expect_problem(client.request("PUT", "/api/v1/users/u1/tier", {}), 400, "tier")
    answer = client.request("PUT", "/api/v1/users/u1/tier", {"tier": "premium", "teir": "x"})
    assert '"teir"' in expect_problem(answer, 400, "teir")["detail"]


@pytest.mark.parametrize("name", BODIES_THAT_ARE_NO_OBJECT)
def test_a_body_that_is_no_object(client, name):
    for answer in (client.request("PUT", "/api/v1/users/u1/tier", BODIES_THAT_ARE_NO_OBJECT[name]),
                   client.post("/api/v1/users/u1/override", BODIES_THAT_ARE_NO_OBJECT[name])):
        assert answer.status == 400 and answer.json["detail"], answer


def test_a_body_over_one_mebibyte(client):
    assert client.post("/api/v1/users/u1/override", json.dumps(OVERRIDE) + " " * (1 << 20)).status == 413


def test_the_logs_of_all_overrides_of_a_user_are_bounded_together(admin):
    """One check can use them all, and long logs cost everybody the store's time."""
    client = admin("""
policies:
  - id: logs
    limits:
      - { name: hour, per: [user], rate: 10/h, algorithm: sliding_log }
      - { name: day,  per: [user], rate: 50/d, algorithm: sliding_log }
""")
    override = {"policy_id": "logs", "limit": 4000, "limit_name": "hour", "window_seconds": 3600}
    expect(client.post("/api/v1/users/u1/override", override), 201)
    problem = expect_problem(client.post("/api/v1/users/u1/override", {**override, "limit_name": "day"}), 400, "limit")
    assert "8000 entries of sliding_logs together" in problem["detail"]
    expect(client.post("/api/v1/users/u1/override", {**override, "limit_name": "day", "limit": 90}), 201)


def test_a_tenant_does_not_use_up_the_logs_of_a_user_for_others(admin):
    client = admin("".join(["policies:"] + [f"""
  - id: {tenant}-logs
    tenant: {tenant}
    limits: [{{ name: hour, per: [user], rate: 10/h, algorithm: sliding_log }}]""" for tenant in ("acme", "beta")]) + "\n")
    for tenant in ("acme", "beta"):
        override = {"policy_id": f"{tenant}-logs", "limit": 4096, "limit_name": "hour", "window_seconds": 3600}
        expect(client.post("/api/v1/users/u1/override", override), 201)
