"""/v1/audit: who did what, when and why, what was there before and after; and nobody can rewrite it unseen."""

import datetime
import hashlib
import sqlite3

import pytest
from harness.admin import bearer, expect, expect_problem, pages, sqlite


def policy(rate):
    return {"id": "p", "resource": "/p", "limits": [{"name": "one", "per": ["key"], "rate": rate}]}


def put(client, rate, **headers):
    return client.request("PUT", "/v1/policies/p", policy(rate), headers)


def entries(client, query=""):
    return expect(client.get(f"/v1/audit{query}"), 200)["entries"]


def test_an_entry_tells_who_what_before_after_and_why(admin):
    client = admin()
    put(client, "10/h")
    earliest = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=5)
    put(client, "20/h", **{"X-Reason": "noon peak"})
    newest, oldest = entries(client)
    assert (newest["actor"], newest["action"], newest["reason"]) == ("loopback", "put", "noon peak")
    assert (newest["kind"], newest["name"], newest["version"], newest["revision"]) == ("policy", "p", 2, 2)
    assert (newest["before"], newest["after"]) == (policy("10/h"), policy("20/h"))
    assert datetime.datetime.fromisoformat(newest["at"].replace("Z", "+00:00")[:19] + "+00:00") > earliest
    assert oldest["before"] is None and "reason" not in oldest


def test_every_kind_of_change_is_there(admin):
    client = admin("policies: [{ id: filed, resource: /f, limits: [{ name: one, per: [user], rate: 10/h }] }]")
    put(client, "10/h")
    client.post("/v1/policies/p/rollback", {"version": 1})
    client.request("DELETE", "/v1/policies/p")
    client.post("/v1/rules", {"tenant_id": "t", "resource": "/r", "limit": 1, "window_sec": 1})
    client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"})
    client.post("/api/v1/users/u1/override", {"policy_id": "filed", "limit": 1, "window_seconds": 1})
    client.post("/v1/tokens", {"name": "ops", "roles": ["read"]})
    client.request("DELETE", "/v1/tokens/ops")
    assert [(one["kind"], one["action"]) for one in reversed(entries(client))] == [
        ("policy", "put"), ("policy", "rollback"), ("policy", "delete"), ("policy", "create"), ("user", "tier"),
        ("user", "override"), ("token", "create"), ("token", "delete")]
    assert entries(client)[0]["after"] is None


def test_what_is_refused_leaves_no_entry(admin):
    client = admin()
    put(client, "10/h")
    put(client, "-1/h")
    put(client, "20/h", **{"If-Match": '"9"'})
    assert len(entries(client)) == 1


def test_a_token_is_the_actor_by_its_name(server, http, tmp_path):
    client = http(server(args=sqlite(tmp_path)))
    token = client.post("/v1/tokens", {"name": "ops-1", "roles": ["write"]}).json["token"]
    put(client, "10/h", **bearer(token))
    assert entries(client, "?kind=policy")[0]["actor"] == "token ops-1"
    assert entries(client, "?kind=token")[0]["after"]["hash"] == "…", "not even the hash of a token is told"


def test_filters_and_pages(admin):
    client = admin()
    for number in range(1, 6):
        put(client, f"{number}/h")
    client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"})
    by_page = list(pages(client, "/v1/audit?limit=4", "entries", cursor="below"))
    assert [[one["revision"] for one in page] for page in by_page] == [[6, 5, 4, 3], [2, 1]]
    assert [one["name"] for one in entries(client, "?kind=user")] == ["u1"]
    assert len(entries(client, "?name=p&action=put&actor=loopback")) == 5
    assert entries(client, "?name=p&actor=nobody") == []
    for query in ("limit=0", "limit=1001", "below=0", "below=x"):
        expect_problem(client.get(f"/v1/audit?{query}"), 400, query.partition("=")[0])


def test_a_reason_has_a_bound(admin):
    client = admin()
    expect_problem(put(client, "10/h", **{"X-Reason": "r" * 5000}), 400, "x-reason")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nobody_writes_it_over_the_api(admin, method):
    expect_problem(admin().request(method, "/v1/audit", {}), 405)


def record_hash(previous, record):
    """As src/ledger/chain.h describes it, computed from the database's rows by somebody else's program."""
    fields = [previous, *(str(record[name]) for name in ("revision", "kind", "name", "version", "action", "actor", "at_us",
                                                          "request_id", "reason")), record["body_hash"]]
    coded = [field if isinstance(field, bytes) else field.encode() for field in fields]
    return hashlib.sha256(b"".join(len(field).to_bytes(8, "big") + field for field in coded)).digest()


def test_the_hashes_are_a_chain_that_anybody_can_verify(server, http, tmp_path):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    for number in range(1, 6):
        put(client, f"{number}/h", **{"X-Reason": f"try {number}", "Idempotency-Key": f"k{number}"})
    client.post("/v1/tokens", {"name": "ops", "roles": ["read"]})
    told = [bytes.fromhex(one["hash"]) for one in reversed(entries(client))]
    assert running.stop() == 0
    with sqlite3.connect(tmp_path / "policies.db") as database:
        database.row_factory = sqlite3.Row
        rows = database.execute("SELECT * FROM records ORDER BY revision").fetchall()
    previous, computed = b"", []
    for row in rows:
        computed.append(previous := record_hash(previous, row))
    assert computed == told


def test_an_answered_reset_or_switch_is_on_record_whatever_happens_next(server, http, tmp_path, grpc_stub):
    """Killed at once after each answer: nothing is lost."""
    expected = []
    for round_number in range(3):
        running = server("policies: [{ id: filed, limits: [{ name: one, per: [key], rate: 10/h }] }]", sqlite(tmp_path))
        client = http(running)
        for number in range(10):
            reason = f"{round_number}.{number}"
            expect(client.post("/v1/reset", {"policy_id": "filed", "key": "k", "reason": reason}), 200)
            expected.append(reason)
        grpc_stub(running).ResetKey(policy_id="filed", dimensions={"key": "k"}, reason=f"{round_number}.grpc")
        expect(client.request("PUT", "/v1/switch", {"mode": "normal", "reason": f"{round_number}.switch"}), 200)
        expected += [f"{round_number}.grpc", f"{round_number}.switch"]
        running.kill()
    client = http(server(args=sqlite(tmp_path)))
    assert [one["reason"] for page in pages(client, "/v1/audit?limit=10", "entries", cursor="below") for one in page][::-1] == expected
