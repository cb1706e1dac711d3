"""/v1/policies: policy documents, their versions, and the way back to an older one."""

import json

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, expect, expect_problem, pages

FILED = """
policies:
  - id: filed
    resource: /filed
    limits: [{ name: one, per: [key], rate: 10/h }]
"""


def policy(policy_id="p", rate="10/h", **more):
    return {"id": policy_id, "resource": f"/{policy_id}", "limits": [{"name": "one", "per": ["key"], "rate": rate}], **more}


@pytest.fixture
def client(admin):
    return admin(FILED)


def put(client, rate="10/h", policy_id="p", **headers):
    return client.request("PUT", f"/v1/policies/{policy_id}", policy(policy_id, rate), headers)


def limit(client, policy_id="p"):
    return client.check(policy_id=policy_id, key="k", tokens=0)["limit"]


def test_put_creates_and_then_makes_versions(client):
    answer = put(client)
    assert expect(answer, 201) == {"id": "p", "version": 1, "source": "api", "document": policy()}
    assert answer.headers["etag"] == '"1"'
    answer = put(client, "20/h")
    assert expect(answer, 200)["version"] == 2
    assert answer.headers["etag"] == '"2"'
    assert expect(client.get("/v1/policies/p"), 200)["document"] == policy(rate="20/h")


def test_a_change_is_in_force_when_the_answer_comes(client):
    for number in range(1, 30):
        put(client, f"{number}/h")
        decision = client.check(policy_id="p", key="k", tokens=0)
        assert (decision["limit"], decision["policy_version"]) == (number, number)


def test_what_was_used_stays_used(client):
    put(client, "10/h")
    client.check(policy_id="p", key="k", tokens=10)
    assert client.check(policy_id="p", key="k")["allowed"] is False
    put(client, "15/h")
    assert client.check(policy_id="p", key="k", tokens=0)["remaining"] == 5


@pytest.mark.parametrize("on_change, remaining", [("keep", 14), ("proportional", 8), ("reset", 20)])
def test_what_becomes_of_consumption_is_the_limits_choice(client, on_change, remaining):
    def put_rate(rate):
        changed = policy(rate=rate)
        changed["limits"][0]["on_change"] = on_change
        assert client.request("PUT", "/v1/policies/p", changed).status in (200, 201)

    def left():
        return client.check(policy_id="p", key="k", tokens=0)["remaining"]

    put_rate("10/h")
    client.check(policy_id="p", key="k", tokens=6)
    put_rate("20/h")
    assert left() == remaining
    for _ in range(3):  # going to and fro gives nothing back
        put_rate("10/h")
        assert left() == 4
        put_rate("20/h")
        assert left() == remaining


def test_if_match_prevents_lost_updates(client):
    put(client, "10/h")
    expect(put(client, "20/h", **{"If-Match": '"1"'}), 200)
    problem = expect_problem(put(client, "30/h", **{"If-Match": '"1"'}), 412, "if-match")
    assert "version 2" in problem["detail"]
    assert limit(client) == 20
    expect_problem(client.request("DELETE", "/v1/policies/p", headers={"If-Match": '"1"'}), 412, "if-match")
    for any_version in ('W/"2"', "*"):
        expect(put(client, "20/h", **{"If-Match": any_version}), 200)
    for nonsense in ("1", '"one"', '""', '"-1"'):
        expect_problem(put(client, "30/h", **{"If-Match": nonsense}), 400, "if-match")


def test_if_match_of_zero_only_creates(client):
    expect(put(client, **{"If-Match": '"0"'}), 201)
    expect_problem(put(client, **{"If-Match": '"0"'}), 412, "if-match")


def test_an_idempotency_key_gives_the_same_answer_twice(client):
    first = put(client, "20/h", **{"Idempotency-Key": "once"})
    again = put(client, "20/h", **{"Idempotency-Key": "once"})
    assert (again.status, again.body) == (first.status, first.body)
    assert len(expect(client.get("/v1/policies/p/versions"), 200)["versions"]) == 1
    expect_problem(put(client, "30/h", **{"Idempotency-Key": "once"}), 422, "idempotency-key")
    assert limit(client) == 20
    expect(put(client, "40/h"), 200)
    later = put(client, "20/h", **{"Idempotency-Key": "once"})
    assert (later.status, later.body) == (first.status, first.body) and limit(client) == 40
    expect_problem(put(client, "20/h", **{"Idempotency-Key": "k" * 129}), 400, "idempotency-key")


def test_delete(client):
    put(client)
    answer = client.request("DELETE", "/v1/policies/p")
    assert (answer.status, answer.body) == (204, b"")
    expect_problem(client.get("/v1/policies/p"), 404)
    expect_problem(client.request("DELETE", "/v1/policies/p"), 404)
    assert client.post("/v1/ratelimit/check", {"policy_id": "p", "key": "k"}).status == 400


def test_a_delete_with_an_idempotency_key_can_be_sent_again(client):
    put(client)
    for _ in range(2):
        expect(client.request("DELETE", "/v1/policies/p", headers={"Idempotency-Key": "gone"}), 204)
    expect_problem(client.request("DELETE", "/v1/policies/p", headers={"Idempotency-Key": "other"}), 404)


def test_what_comes_back_goes_on_from_its_last_version(client):
    put(client)
    client.request("DELETE", "/v1/policies/p")
    assert expect(put(client), 200)["version"] == 3


def test_versions_tell_who_when_and_what(client):
    put(client, "10/h", **{"X-Reason": "first try"})
    put(client, "20/h")
    client.request("DELETE", "/v1/policies/p")
    versions = expect(client.get("/v1/policies/p/versions"), 200)["versions"]
    assert [one["version"] for one in versions] == [3, 2, 1]
    assert [one["action"] for one in versions] == ["delete", "put", "put"]
    assert [one["document"] for one in versions] == [None, policy(rate="20/h"), policy(rate="10/h")]
    assert versions[2]["reason"] == "first try"
    assert versions[2]["actor"] == "loopback"
    by_page = pages(client, "/v1/policies/p/versions?limit=1", "versions", cursor="below")
    assert [one["version"] for page in by_page for one in page] == [3, 2, 1]
    expect_problem(client.get("/v1/policies/nobody/versions"), 404)


def test_a_rollback_is_a_new_version_equal_to_the_old_one(client):
    put(client, "10/h")
    put(client, "20/h")
    answer = client.post("/v1/policies/p/rollback", {"version": 1}, {"X-Reason": "too generous"})
    assert expect(answer, 200) == {"id": "p", "version": 3, "source": "api", "document": policy(rate="10/h")}
    assert limit(client) == 10
    newest = client.get("/v1/policies/p/versions").json["versions"][0]
    assert (newest["action"], newest["reason"]) == ("rollback", "too generous")


def test_a_rollback_brings_back_what_was_deleted(client):
    put(client)
    client.request("DELETE", "/v1/policies/p")
    assert expect(client.post("/v1/policies/p/rollback", {"version": 1}), 200)["version"] == 3
    assert limit(client) == 10


@pytest.mark.parametrize("body,status", [({"version": 99}, 404), ({}, 400), ({"version": 0}, 400), ({"version": "1"}, 400),
                                         ({"version": 2**63}, 400), ({"version": None}, 400)])
def test_a_bad_rollback(client, body, status):
    put(client)
    expect_problem(client.post("/v1/policies/p/rollback", body), status, "version")
    assert limit(client) == 10


def test_policies_of_files_are_shown_and_not_changed(client):
    shown = expect(client.get("/v1/policies/filed"), 200)
    assert (shown["source"], shown["version"]) == ("file", 1)
    assert "file" in expect_problem(put(client, policy_id="filed"), 409, "id")["detail"]
    expect_problem(client.request("DELETE", "/v1/policies/filed"), 409)
    assert limit(client, "filed") == 10


def test_the_list_has_pages(client):
    for number in range(5):
        put(client, policy_id=f"p{number}")
    by_page = list(pages(client, "/v1/policies?limit=2", "policies"))
    assert [len(page) for page in by_page] == [2, 2, 2]
    assert [one["id"] for page in by_page for one in page] == ["filed", "p0", "p1", "p2", "p3", "p4"]
    for bad in ("0", "1001", "x", "-1", "9223372036854775808"):
        expect_problem(client.get(f"/v1/policies?limit={bad}"), 400, "limit")


def test_the_list_of_a_tenant(client):
    client.request("PUT", "/v1/policies/p", policy(tenant="shop"))
    assert [one["id"] for one in client.get("/v1/policies?tenant_id=shop").json["policies"]] == ["p"]
    assert client.get("/v1/policies?tenant_id=bank").json["policies"] == []


def test_many_policies_are_one_change(client):
    put(client)
    body = {"policies": [policy("p"), policy("a"), policy("b")]}
    assert expect(client.post("/v1/policies", body), 200) == {"changed": ["a#1", "b#1"], "unchanged": 1}
    bad = {"policies": [policy("c"), {**policy("d"), "resource": "/c"}]}
    expect_problem(client.post("/v1/policies", bad), 400, "policies[1].resource")
    expect_problem(client.get("/v1/policies/c"), 404)


def test_yaml_is_taken_too(client):
    expect(client.post("/v1/policies", "policies:\n  - { id: y, resource: /y, limits: [{ per: [key], rate: 7/h }] }\n"), 200)
    assert limit(client, "y") == 7


def test_a_dry_run_changes_nothing(client):
    answer = client.post("/v1/policies?dry_run=true", {"policies": [policy("a")]})
    assert expect(answer, 200)["changed"] == ["a"]
    expect_problem(client.get("/v1/policies/a"), 404)
    taken = {"policies": [{**policy("a"), "resource": "/filed"}]}
    expect_problem(client.post("/v1/policies?dry_run=true", taken), 409, "policies[0].resource")


def test_a_position_is_that_of_the_request_although_some_policies_are_unchanged(client):
    put(client)
    body = {"policies": [policy("p"), policy("a"), policy("p2"), {**policy("b"), "resource": "/filed"}]}
    for path in ("/v1/policies", "/v1/policies?dry_run=true"):
        expect_problem(client.post(path, body), 409, "policies[3].resource")


def test_two_policies_for_the_same_requests_are_a_conflict(client):
    put(client)
    problem = expect_problem(client.request("PUT", "/v1/policies/q", {**policy("q"), "resource": "/p"}), 409, "resource")
    assert '"p"' in problem["detail"]


def test_a_policy_that_denies_everyone_must_be_meant(client):
    never = {"id": "never", "limits": [{"name": "one", "rate": "0/s"}]}
    problem = expect_problem(client.request("PUT", "/v1/policies/never", never), 400, "limits")
    assert "confirm=deny-everyone" in problem["detail"]
    assert client.check(tenant_id="t", resource="/anything", key="k")["allowed"] is True
    expect(client.request("PUT", "/v1/policies/never?confirm=deny-everyone", never), 201)
    assert client.check(tenant_id="t", resource="/anything", key="k")["reason"] == "never"


def changed_limit(**fields):
    return {**policy(), "limits": [{"name": "one", "per": ["key"], "rate": "1/h", **fields}]}


BAD_DOCUMENTS = {
    "no id": ({"limits": [{"rate": "1/s"}]}, "id"),
    "blank id": ({**policy(), "id": ""}, "id"),
    "another id": (policy("q"), "id"),
    "no limits": ({"id": "p"}, "limits"),
    "empty limits": ({**policy(), "limits": []}, "limits"),
    "limits a text": ({**policy(), "limits": "10/s"}, "limits"),
    "too many limits": ({**policy(), "limits": [{"rate": "1/s"}] * 17}, "limits"),
    "blank rate": (changed_limit(rate=""), "limits[0].rate"),
    "negative rate": (changed_limit(rate="-1/s"), "limits[0].rate"),
    "rate of 2^63": (changed_limit(rate=f"{2**63}/s"), "limits[0].rate"),
    "rate NaN": (changed_limit(rate="NaN/s"), "limits[0].rate"),
    "rate a number": (changed_limit(rate=10), "limits[0].rate"),
    "rate null": (changed_limit(rate=None), "limits[0].rate"),
    "burst zero": (changed_limit(burst=0), "limits[0].burst"),
    "burst negative": (changed_limit(burst=-1), "limits[0].burst"),
    "burst of 2^63": (changed_limit(burst=2**63), "limits[0].burst"),
    "burst a text": (changed_limit(burst="1"), "limits[0].burst"),
    "burst of a window": (changed_limit(burst=2, algorithm="fixed_window"), "limits[0].burst"),
    "unknown algorithm": (changed_limit(algorithm="magic"), "limits[0].algorithm"),
    "shadow a text": ({**policy(), "shadow": "yes"}, "shadow"),
    "percent over 100": ({**policy(), "rollout": {"percent": 101}}, "rollout.percent"),
    "unknown tier limit": ({**policy(), "tiers": {"gold": {"two": {"rate": "1/s"}}}}, "tiers.gold.two"),
}


@pytest.mark.parametrize("name", BAD_DOCUMENTS)
def test_a_bad_document_changes_nothing(client, name):
    put(client)
    document, field = BAD_DOCUMENTS[name]
    expect_problem(client.request("PUT", "/v1/policies/p", document), 400, field)
    assert limit(client) == 10
    assert client.get("/v1/policies/p").json["version"] == 1


@pytest.mark.parametrize("where", ["policy", "limit"])
def test_an_unknown_field_is_named(client, where):
    bad = {**policy(), "limts": []} if where == "policy" else changed_limit(brust=1)
    answer = client.request("PUT", "/v1/policies/p", bad)
    name = "limts" if where == "policy" else "brust"
    problem = expect_problem(answer, 400, name if where == "policy" else f"limits[0].{name}")
    assert f'"{name}"' in problem["detail"]


@pytest.mark.parametrize("name", BODIES_THAT_ARE_NO_OBJECT)
@pytest.mark.parametrize("method,path", [("PUT", "/v1/policies/p"), ("POST", "/v1/policies"), ("POST", "/v1/policies/p/rollback")])
def test_a_body_that_is_no_object(client, method, path, name):
    put(client)
    answer = client.request(method, path, BODIES_THAT_ARE_NO_OBJECT[name])
    assert answer.status == 400, answer
    assert answer.json["detail"]
    assert client.get("/v1/policies/p").json["version"] == 1


def test_a_body_over_one_mebibyte(client, admin):
    put(client)
    answer = client.request("PUT", "/v1/policies/p", json.dumps(policy(rate="20/h")) + " " * (1 << 20))
    assert answer.status == 413


def test_other_paths_and_methods(client):
    answer = client.request("PATCH", "/v1/policies/p", {})
    expect_problem(answer, 405)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "PUT", "DELETE"}
    expect_problem(client.get("/v1/policies/p/nothing"), 404)
    expect_problem(client.get("/v1/policies/%zz"), 400, "path")


def test_headers_that_say_whether_it_may_be_there(admin):
    client = admin()
    expect_problem(put(client, **{"If-Match": "*"}), 412, "if-match")
    expect(put(client, **{"If-None-Match": "*"}), 201)
    expect_problem(put(client, "20/h", **{"If-None-Match": "*"}), 412, "if-none-match")
    expect(put(client, "20/h", **{"If-Match": "*"}), 200)
