"""/v1/policies/{id}/rollout: a new version of a policy goes into force in stages, is compared, taken back or aborted."""

import re

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, QUICK_END, bearer, expect, expect_problem, number_out_of_bounds, pages, sqlite
from harness.server import wait_until

KEYS = [f"user-{number}" for number in range(500)]
FILED = "policies: [{ id: filed, resource: /filed, limits: [{ name: one, per: [key], rate: 10/h }] }]"
LONG = [{"percent": 10, "hold": "1h"}, {"percent": 100, "hold": "1h"}]
QUICK = [{"percent": 10, "hold": "1s"}, {"percent": 50, "hold": "1s"}, {"percent": 100, "hold": "1s"}]


def policy(rate="1000/h", policy_id="p", **more):
    return {"id": policy_id, "tenant": "t", "resource": f"/{policy_id}", "limits": [{"name": "one", "per": ["key"], "rate": rate}], **more}


def put(client, rate="1000/h", policy_id="p"):
    return client.request("PUT", f"/v1/policies/{policy_id}", policy(rate, policy_id))


def start(client, rate="500/h", headers=None, **more):
    return client.request("POST", "/v1/policies/p/rollout", {"policy": policy(rate), "stages": LONG, **more}, headers)


def rollout(client):
    return expect(client.get("/v1/policies/p/rollout"), 200)


def wait_for(client, **expected):
    """Waits until the rollout is so, and returns it."""
    def is_so():
        return all(rollout(client)[name] == value for name, value in expected.items())
    wait_until(is_so, f"a rollout with {expected}")
    return rollout(client)


def limits_of(client, keys=KEYS):
    """The limit that holds for each key, without charging."""
    checks = [{"policy_id": "p", "key": key, "tokens": 0} for key in keys]
    return [one["limit"] for one in expect(client.post("/v1/ratelimit/check-batch", {"checks": checks}), 200)["results"]]


def ask(client, times=2, keys=KEYS):
    """Asks for every key that many times; returns how many were allowed."""
    checks = [{"policy_id": "p", "key": key} for key in keys] * times
    return sum(one["allowed"] for one in expect(client.post("/v1/ratelimit/check-batch", {"checks": checks}), 200)["results"])


def metrics(client):
    """{name: value} of everything that is said about policy p."""
    text = client.get("/metrics").body.decode()
    return {name: float(value) for name, value in re.findall(r'^rate_limiter_(\w+)\{policy="p"\} (\S+)$', text, re.MULTILINE)}


@pytest.fixture
def client(admin):
    one = admin(FILED)
    expect(put(one), 201)
    return one


def test_it_goes_through_its_stages_by_itself(client):
    answer = start(client, stages=QUICK)
    body = expect(answer, 201)
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["location"] == "/v1/policies/p/rollout"
    assert (body["state"], body["stage"], body["percent"], body["base_version"]) == ("running", 1, 10, 1)
    assert body["next"]["step"] == "advance" and body["next"]["percent"] == 50 and body["next"]["at"] > body["since"]
    seen = set()

    def finished():
        now = rollout(client)
        seen.add((now["stage"], now["percent"]))
        return now["state"] == "finished"
    wait_until(finished, "the end of the rollout")
    assert seen == {(1, 10), (2, 50), (3, 100)}
    assert set(limits_of(client)) == {500}
    assert expect(client.get("/v1/policies/p"), 200) == {"id": "p", "version": 2, "source": "api", "document": policy("500/h")}
    assert client.check(policy_id="p", key="k")["policy_version"] == 2
    versions = client.get("/v1/policies/p/versions").json["versions"]
    assert [(one["action"], one["actor"]) for one in versions] == [("rollout", "sluice"), ("put", "loopback")]
    audit = [one for one in client.get("/v1/audit?limit=100").json["entries"] if one["kind"] == "rollout"]
    assert [one["action"] for one in audit] == ["finish", "advance", "advance", "start"]


def test_the_share_of_keys_grows_and_no_key_flips_back(client):
    start(client, stages=[{"percent": percent, "hold": "1h"} for percent in (0, 10, 40, 100)])
    before = limits_of(client)
    assert set(before) == {1000}
    for percent in (10, 40, 100):
        body = expect(client.post("/v1/policies/p/rollout/advance", {}), 200)
        assert (body["state"], body["percent"]) == ("running", percent)
        now = limits_of(client)
        assert all(new == 500 for new, old in zip(now, before, strict=True) if old == 500)
        assert abs(now.count(500) - 5 * percent) < 60
        assert now == limits_of(client)
        before = now
    assert expect(client.post("/v1/policies/p/rollout/advance", {}), 200)["state"] == "finished"
    expect_problem(client.post("/v1/policies/p/rollout/advance", {}), 409)


def test_what_was_used_stays_used(client):
    client.check(policy_id="p", key="k", tokens=400)
    start(client, stages=[{"percent": 100, "hold": "1h"}])
    decision = client.check(policy_id="p", key="k", tokens=50)
    assert (decision["limit"], decision["remaining"], decision["policy_version"]) == (500, 50, 2)
    expect(client.request("DELETE", "/v1/policies/p/rollout"), 200)
    decision = client.check(policy_id="p", key="k", tokens=0)
    assert (decision["limit"], decision["remaining"]) == (1000, 550)


def test_grpc_tells_which_version_decided(server, http, grpc_stub, api, tmp_path):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    put(client)
    stub = grpc_stub(running)
    request = api.message("sluice.v1.CheckRequest")(policy_id="p", dimensions={"key": "k"})
    assert stub.CheckAndIncrement(request).policy_version == "p#1"
    start(client, stages=[{"percent": 100, "hold": "1h"}])
    assert stub.CheckAndIncrement(request).policy_version == "p#1+candidate"
    client.post("/v1/policies/p/rollout/advance", {})
    assert stub.CheckAndIncrement(request).policy_version == "p#2"


def test_a_bad_candidate_is_rolled_back_by_itself(client):
    start(client, "0/h", stages=[{"percent": 50, "hold": "1h"}, {"percent": 100, "hold": "1h"}])
    allowed = []

    def rolled_back():
        allowed.append(ask(client))
        return rollout(client)["state"] == "rolled_back"
    wait_until(rolled_back, "a rollback")
    assert 300 < allowed[0] < 700, "about half of the keys were denied"
    body = rollout(client)
    assert "the candidate denied" in body["note"] and "sigmas" in body["note"]
    assert body["next"] is None
    assert ask(client, 1) == len(KEYS)
    assert expect(client.get("/v1/policies/p"), 200)["version"] == 1
    wait_until(lambda: metrics(client).get("rollout_rollbacks_total") == 1, "the metric")
    assert metrics(client)["rollout_candidate_denied_total"] > 500
    assert "rollout_stage" not in metrics(client)
    entry = client.get("/v1/audit?limit=1").json["entries"][0]
    assert (entry["action"], entry["actor"], entry["reason"]) == ("roll back", "sluice", body["note"])


def test_a_good_candidate_is_not_rolled_back(client):
    start(client, "900/h", stages=[{"percent": 50, "hold": "1h"}], min_samples=100)
    for _ in range(5):
        assert ask(client) == 2 * len(KEYS)
    body = rollout(client)
    assert body["samples"]["live"]["denied"] == body["samples"]["candidate"]["denied"] == 0
    assert body["samples"]["live"]["allowed"] + body["samples"]["candidate"]["allowed"] == 10 * len(KEYS)
    assert body["samples"]["candidate"]["denial_rate"] == 0 and body["excess_sigmas"] == 0
    assert (body["state"], body["next"]) == ("running", {"step": "wait"}), "below 100 % the last stage waits for an operator"
    wait_until(lambda: metrics(client).get("rollout_percent") == 50, "the metric")
    assert metrics(client)["requests_allowed_total"] == 10 * len(KEYS), "of both versions"


def test_without_enough_samples_nothing_is_rolled_back(client):
    start(client, "0/h", min_samples=100_000, stages=[{"percent": 50, "hold": "2s"}, {"percent": 100, "hold": "1h"}])
    ask(client)
    assert wait_for(client, stage=2)["state"] == "running"


def test_comparing_counts_differences_and_changes_nothing(client):
    expect(put(client, "4/h"), 200)
    start(client, "2/h", stages=[{"percent": 0, "hold": "1h"}], compare=True)
    assert ask(client, 6, KEYS[:100]) == 400
    body = rollout(client)
    assert body["differences"] == {"compared": 600, "newly_denied": 200, "newly_allowed": 0}
    assert body["samples"]["candidate"] == {"allowed": 0, "denied": 0, "denial_rate": 0}
    expect(client.request("DELETE", "/v1/policies/p/rollout"), 200)
    start(client, "9/h", stages=[{"percent": 0, "hold": "1h"}], compare=True)
    ask(client, 6, KEYS[100:200])
    assert rollout(client)["differences"] == {"compared": 600, "newly_denied": 0, "newly_allowed": 200}
    assert metrics(client)["rollout_newly_denied_total"] == metrics(client)["rollout_newly_allowed_total"] == 200
    assert metrics(client)["rollout_compared_total"] == 1200


def test_abort(client):
    start(client, stages=[{"percent": 100, "hold": "1h"}])
    assert set(limits_of(client)) == {500}
    answer = client.request("DELETE", "/v1/policies/p/rollout", headers={"X-Reason": "not today"})
    body = expect(answer, 200)
    assert (body["state"], body["note"], body["version"]) == ("aborted", "not today", 2)
    assert set(limits_of(client)) == {1000}
    assert rollout(client) == body
    expect_problem(client.request("DELETE", "/v1/policies/p/rollout"), 409)
    assert expect(start(client), 201)["version"] == 3, "and another may begin"


def test_a_policy_under_way_is_changed_by_nothing_else(client):
    put(client, "800/h")
    start(client)
    assert "rollout" in expect_problem(put(client, "700/h"), 409, "id")["detail"]
    expect_problem(client.request("DELETE", "/v1/policies/p"), 409)
    expect_problem(client.post("/v1/policies/p/rollback", {"version": 1}), 409, "id")
    expect_problem(client.post("/v1/policies", {"policies": [policy("700/h")]}), 409, "id")
    expect_problem(client.post("/v1/policies?dry_run=true", {"policies": [policy("700/h")]}), 409, "policies[0].id")
    expect_problem(start(client, "600/h"), 409)
    client.request("DELETE", "/v1/policies/p/rollout")
    expect(put(client, "700/h"), 200)


def test_if_match(client):
    put(client, "800/h")
    expect_problem(start(client, headers={"If-Match": '"1"'}), 412, "if-match")
    expect(start(client, headers={"If-Match": '"2"'}), 201)
    expect_problem(client.post("/v1/policies/p/rollout/advance", {}, {"If-Match": '"7"'}), 412, "if-match")
    expect(client.post("/v1/policies/p/rollout/advance", {}, {"If-Match": '"1"'}), 200)
    expect_problem(client.request("DELETE", "/v1/policies/p/rollout", headers={"If-Match": '"1"'}), 412, "if-match")
    expect(client.request("DELETE", "/v1/policies/p/rollout", headers={"If-Match": '"2"'}), 200)


def test_idempotency_keys(client):
    begin, on, stop = ({"Idempotency-Key": key} for key in ("begin", "on", "stop"))
    assert [expect(start(client, headers=begin), 201)["version"] for _ in range(2)] == [1, 1]
    assert [expect(client.post("/v1/policies/p/rollout/advance", {}, on), 200)["stage"] for _ in range(2)] == [2, 2]
    assert expect(start(client, headers=begin), 201)["stage"] == 1, "as it was then"
    expect_problem(start(client, "400/h", headers=begin), 422, "idempotency-key")
    expect_problem(client.post("/v1/policies/p/rollout/advance", {}, begin), 422, "idempotency-key")
    for _ in range(2):
        assert expect(client.request("DELETE", "/v1/policies/p/rollout", headers=stop), 200)["version"] == 3


def test_list(client):
    assert client.get("/v1/rollouts").json == {"rollouts": [], "next": None}
    for name in ("a", "b", "c"):
        put(client, "10/h", name)
        expect(client.request("POST", f"/v1/policies/{name}/rollout", {"policy": policy("5/h", name)}), 201)
    client.request("DELETE", "/v1/policies/b/rollout")
    assert [one["policy_id"] for page in pages(client, "/v1/rollouts?limit=1", "rollouts") for one in page] == ["a", "b", "c"]
    running = client.get("/v1/rollouts?state=running").json["rollouts"]
    assert [one["policy_id"] for one in running] == ["a", "c"]
    assert [stage["percent"] for stage in running[0]["stages"]] == [1, 10, 100]
    assert {stage["hold"] for stage in running[0]["stages"]} == {"10m"}
    assert (running[0]["min_samples"], running[0]["sigmas"], running[0]["compare"]) == (1000, 2, False)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_nodes_on_one_database(server, http, tmp_path, request, kind):
    place = sqlite(tmp_path) if kind == "sqlite" else ["--policy-db", request.getfixturevalue("postgres").url, *QUICK_END]
    one, other = http(server(args=place)), http(server(args=place))
    put(one)
    start(one)
    wait_until(lambda: other.get("/v1/policies/p").status == 200, "the policy on the other node")
    wait_until(lambda: 500 in limits_of(other), "the rollout on the other node")
    assert limits_of(one) == limits_of(other), "the same keys"
    expect(other.post("/v1/policies/p/rollout/advance", {}), 200)
    wait_until(lambda: set(limits_of(one)) == {500}, "the next stage on the first node")
    other.request("DELETE", "/v1/policies/p/rollout")
    wait_for(one, state="aborted")
    start(one, "0/h", stages=[{"percent": 50, "hold": "1h"}])
    wait_until(lambda: 0 in limits_of(other), "the rollout on the other node")

    def rolled_back():
        ask(other)
        return rollout(one)["state"] == "rolled_back"
    wait_until(rolled_back, "a rollback by the node that has the traffic")
    assert rollout(other)["version"] == rollout(one)["version"]
    start(one, stages=QUICK)
    for node in (one, other):
        wait_for(node, state="finished")
        assert set(limits_of(node)) == {500}
    assert len(one.get("/v1/policies/p/versions").json["versions"]) == 2, "both nodes flew it, one wrote"


def test_a_restart_in_the_middle_keeps_the_stage(server, http, tmp_path):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    put(client)
    start(client)
    before = limits_of(client)
    running.kill()
    client = http(server(args=sqlite(tmp_path)))
    assert limits_of(client) == before
    assert rollout(client)["stage"] == 1
    expect_problem(put(client, "700/h"), 409, "id")
    assert expect(client.post("/v1/policies/p/rollout/advance", {}), 200)["stage"] == 2


def test_without_the_database_nothing_moves_and_then_it_goes_on(server, http, postgres):
    client = http(server(args=["--policy-db", postgres.url, *QUICK_END]))
    put(client)
    start(client, stages=[{"percent": 10, "hold": "1s"}, {"percent": 100, "hold": "1h"}])
    before = limits_of(client)
    postgres.stop()
    wait_until(lambda: client.get("/readyz").json["problems"], "the database to be missed")
    assert limits_of(client) in (before, [500] * len(KEYS))  # the second may have been over before
    expect_problem(client.request("DELETE", "/v1/policies/p/rollout"), 503)
    postgres.start()
    wait_for(client, stage=2)
    assert set(limits_of(client)) == {500}


def test_roles(server, http, tmp_path):
    running = server(args=[*sqlite(tmp_path), "--require-token"])
    first = running.wait_for_log(r"\n(sluice_\w+)")[1]
    client = http(running)

    def token(name, *roles, tenants=("*",)):
        body = {"name": name, "roles": list(roles), "tenants": list(tenants)}
        return bearer(expect(client.post("/v1/tokens", body, bearer(first)), 201)["token"])
    writer, reader, operator = token("w", "write"), token("r", "read"), token("o", "operator")
    stranger = token("s", "write", tenants=["other"])
    expect(client.request("PUT", "/v1/policies/p", policy(), writer), 201)
    expect_problem(start(client, headers=reader), 403)
    expect_problem(start(client, headers=stranger), 404)
    expect(start(client, headers=writer), 201)
    expect(client.get("/v1/policies/p/rollout", reader), 200)
    expect_problem(client.get("/v1/policies/p/rollout", stranger), 404)
    assert client.get("/v1/rollouts", stranger).json["rollouts"] == []
    expect_problem(client.get("/v1/rollouts"), 401, "authorization")
    expect_problem(client.post("/v1/policies/p/rollout/advance", {}, operator), 403)
    expect_problem(client.request("DELETE", "/v1/policies/p/rollout", headers=reader), 403)
    expect(client.request("DELETE", "/v1/policies/p/rollout", headers=operator), 200)


def test_what_cannot_be_rolled_out(client):
    body = {"policy": policy("500/h")}
    expect_problem(client.post("/v1/policies/nobody/rollout", {"policy": policy(policy_id="nobody")}), 404)
    expect_problem(client.get("/v1/policies/p/rollout"), 404)
    expect_problem(client.request("DELETE", "/v1/policies/p/rollout"), 404)
    filed = {"id": "filed", "resource": "/filed", "limits": [{"name": "one", "per": ["key"], "rate": "5/h"}]}
    expect_problem(client.post("/v1/policies/filed/rollout", {"policy": filed}), 409, "id")
    wrong = [
        ("policy", {}),
        ("policy", {"policy": policy()}),
        ("policy.id", {"policy": policy(policy_id="q")}),
        ("policy.tenant", {"policy": policy("5/h", tenant="u")}),
        ("policy.resource", {"policy": policy("5/h", resource="/q")}),
        ("policy.always", {"policy": policy("5/h", always=True)}),
        ("policy.rollout", {"policy": policy("5/h", rollout={"percent": 3})}),
        ("policy.limits[0].rate", {"policy": policy("often")}),
        ("stages", {**body, "stages": []}),
        ("stages", {**body, "stages": "all"}),
        ("stages", {**body, "stages": [{"percent": 1, "hold": "1s"}] * 33}),
        ("stages[1].percent", {**body, "stages": [{"percent": 5, "hold": "1s"}, {"percent": 5, "hold": "1s"}]}),
        ("stages[0].percent", {**body, "stages": [{"percent": 101, "hold": "1s"}]}),
        ("stages[0].hold", {**body, "stages": [{"percent": 1}]}),
        ("stages[0].hold", {**body, "stages": [{"percent": 1, "hold": "10ms"}]}),
        ("stages[0].hold", {**body, "stages": [{"percent": 1, "hold": "soon"}]}),
        ("stages[0]", {**body, "stages": [7]}),
        ("compare", {**body, "compare": "perhaps"}),
        ("quantum", {**body, "quantum": 1}),
    ]
    for field, bad in wrong:
        expect_problem(client.post("/v1/policies/p/rollout", bad), 400, field)
    for name in ("min_samples", "sigmas"):
        for bad in number_out_of_bounds(body, name, least_is_one=True):
            answer = client.request("POST", "/v1/policies/p/rollout", bad.encode())
            assert answer.status == 400, (bad, answer)
    for name, bad in BODIES_THAT_ARE_NO_OBJECT.items():
        assert client.request("POST", "/v1/policies/p/rollout", bad).status == 400, name
    assert client.get("/v1/rollouts").json["rollouts"] == []
    assert set(limits_of(client)) == {1000}


def test_a_candidate_that_denies_everyone_needs_a_word(client):
    everyone = {"id": "all", "limits": [{"name": "one", "per": ["key"], "rate": "10/h"}]}
    nobody = {"id": "all", "limits": [{"name": "one", "per": [], "rate": "0/h"}]}
    expect(client.request("PUT", "/v1/policies/all", everyone), 201)
    expect_problem(client.post("/v1/policies/all/rollout", {"policy": nobody}), 400, "policy.limits")
    expect(client.post("/v1/policies/all/rollout?confirm=deny-everyone", {"policy": nobody}), 201)
