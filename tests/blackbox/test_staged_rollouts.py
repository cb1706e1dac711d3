"""--staged-rollouts: no change of a policy is in force for everybody at once."""

import json

import pytest
from harness.admin import expect, expect_problem, sqlite

STAGES = ["--staged-rollouts", "0%:1h,50%:1h,100%:1h"]


def policy(rate, policy_id="p"):
    return {"id": policy_id, "resource": f"/{policy_id}", "limits": [{"name": "one", "per": ["key"], "rate": rate}]}


def put(client, rate, policy_id="p", **headers):
    return client.request("PUT", f"/v1/policies/{policy_id}", policy(rate, policy_id), headers)


def limit(client, policy_id="p"):
    return client.check(policy_id=policy_id, key="k", tokens=0)["limit"]


def rate_of(rollout):
    return rollout["policy"]["limits"][0]["rate"]


def test_a_change_begins_a_rollout_and_ends_with_the_version(admin):
    client = admin(args=STAGES)
    assert expect(put(client, "10/h"), 201)["version"] == 1, "what is new replaces nothing"
    answer = put(client, "20/h", **{"X-Reason": "noon peak"})
    assert expect(answer, 202)["version"] == 1
    assert answer.headers["location"] == "/v1/policies/p/rollout" and answer.headers["etag"] == '"1"'
    rollout = expect(client.get("/v1/policies/p/rollout"), 200)
    assert (rollout["state"], rollout["percent"], rate_of(rollout), rollout["base_version"]) == ("running", 0, "20/h", 1)
    assert [stage["percent"] for stage in rollout["stages"]] == [0, 50, 100]
    assert limit(client) == 10
    expect_problem(put(client, "30/h"), 409, "id")
    for _ in range(3):
        expect(client.post("/v1/policies/p/rollout/advance", {}), 200)
    assert limit(client) == 20
    assert expect(client.get("/v1/policies/p"), 200)["version"] == 2
    assert expect(client.get("/v1/audit?kind=rollout"), 200)["entries"][-1]["reason"] == "noon peak"


def test_what_the_caller_saw_is_compared(admin):
    client = admin(args=STAGES)
    expect(put(client, "10/h"), 201)
    expect_problem(put(client, "20/h", **{"If-Match": '"9"'}), 412, "if-match")
    assert client.get("/v1/policies/p/rollout").status == 404
    expect(put(client, "20/h", **{"If-Match": '"1"'}), 202)


def test_the_same_request_again_gets_the_same_answer(admin):
    client = admin(args=STAGES)
    expect(put(client, "10/h"), 201)
    first = put(client, "20/h", **{"Idempotency-Key": "once"})
    again = put(client, "20/h", **{"Idempotency-Key": "once"})
    assert (first.status, first.body) == (again.status, again.body) and first.status == 202
    expect_problem(put(client, "30/h", **{"Idempotency-Key": "once"}), 422, "idempotency-key")
    assert expect(client.get("/v1/policies/p/rollout"), 200)["version"] == 1


def test_going_back_is_a_rescue_and_waits_for_nothing(admin):
    client = admin(args=STAGES)
    expect(put(client, "10/h"), 201)
    expect(put(client, "20/h"), 202)
    for _ in range(3):
        expect(client.post("/v1/policies/p/rollout/advance", {}), 200)
    expect(client.post("/v1/policies/p/rollback", {"version": 1}), 200)
    assert limit(client) == 10
    expect(client.request("DELETE", "/v1/policies/p"), 204)


def test_many_at_once(admin):
    client = admin(args=STAGES)
    expect(put(client, "10/h", "a"), 201)
    expect(put(client, "10/h", "b"), 201)
    wanted = {"policies": [policy("20/h", "a"), policy("10/h", "b"), policy("5/h", "c")]}
    once = {"Idempotency-Key": "once"}
    answer = expect(client.post("/v1/policies", wanted, once), 200)
    assert answer == {"changed": ["c#1"], "rolling_out": ["a"], "unchanged": 1}
    assert [limit(client, name) for name in "abc"] == [10, 10, 5]
    assert expect(client.post("/v1/policies", wanted, once), 200) == answer


def test_rules_and_grpc_go_the_same_way(server, http, grpc_stub, tmp_path):
    running = server(args=[*sqlite(tmp_path), *STAGES])
    client = http(running)
    rule = {"name": "per-user", "dimension": "user", "endpoint_pattern": "/api/*", "limit": 100, "window_seconds": 3600}
    made = expect(client.post("/api/v1/rules", rule), 201)
    changed = client.request("PUT", f"/api/v1/rules/{made['rule_id']}", {"limit": 50, "window_seconds": 3600})
    assert expect(changed, 202)["version"] == 1
    assert changed.headers["location"] == f"/v1/policies/{made['policy_id']}/rollout"
    stub = grpc_stub(running)
    assert stub.ConfigurePolicy(document=json.dumps(policy("10/h"))).policy_version == "p#1"
    assert stub.ConfigurePolicy(document=json.dumps(policy("20/h"))).policy_version == "p#1", "it stays in force meanwhile"
    assert rate_of(expect(client.get("/v1/policies/p/rollout"), 200)) == "20/h"


def test_deleting_a_rule_again_gets_the_same_answer(admin):
    client = admin(args=STAGES)
    rule = {"name": "per-user", "dimension": "user", "endpoint_pattern": "/api/*", "limit": 100, "window_seconds": 3600}
    made = expect(client.post("/api/v1/rules", rule), 201)
    expect(client.post("/api/v1/rules", {**rule, "name": "per-address", "dimension": "ip"}), 202)
    rollout = f"/v1/policies/{made['policy_id']}/rollout"
    for _ in range(3):
        expect(client.post(f"{rollout}/advance", {}), 200)
    for _ in range(2):
        expect(client.request("DELETE", f"/api/v1/rules/{made['rule_id']}", None, {"Idempotency-Key": "once"}), 204)
    assert expect(client.get(rollout), 200)["state"] == "running"


@pytest.mark.parametrize("stages", ["10", "10%", "101%:1m", "10%:1m,5%:1m", "1%:0s", ","])
def test_wrong_stages_are_refused_at_the_start(server, stages):
    with pytest.raises(RuntimeError, match="--staged-rollouts"):
        server(args=["--staged-rollouts", stages])
