"""The big red switch: by REST, CLI, signal and file; with every database and store down; on every node."""

import re
import signal
import subprocess
import time

import pytest
from harness.admin import BODIES_THAT_ARE_NO_OBJECT, QUICK_END, bearer, expect, expect_problem, metric, sqlite
from harness.server import binary, wait_until

POLICIES = """
policies:
  - { id: never, resource: /never, limits: [{ name: none, per: [key], rate: 0/s }] }
  - { id: hour, resource: /hour, limits: [{ name: hour, per: [key], rate: 10/h }] }
  - { id: closed, resource: /closed, on_failure: closed, limits: [{ name: hour, per: [key], rate: 10/h }] }
"""


def turn(client, mode, headers=None, **more):
    return client.request("PUT", "/v1/switch", {"mode": mode, **more}, headers)


def state(client, policy="never"):
    """"switch", or what the check says with the switch closed."""
    return client.check(policy_id=policy, key="k")["reason"]


def wait_for(client, reason, policy="never"):
    begin = time.monotonic()
    wait_until(lambda: state(client, policy) == reason, f"checks to say {reason!r}")
    print(f"{reason!r} after {(time.monotonic() - begin) * 1000:.0f} ms")


def entries(client, **choice):
    query = "&".join(f"{name}={value}" for name, value in choice.items())
    return expect(client.get(f"/v1/audit?{query}"), 200)["entries"]


def run_switch(*arguments):
    return subprocess.run([binary(), "switch", *arguments], capture_output=True, text=True, timeout=60)


def test_open_allows_everything_charges_nothing_and_normal_decides_again(admin):
    client = admin(POLICIES)
    assert client.check(policy_id="hour", key="k", tokens=9)["remaining"] == 1
    opened = expect(turn(client, "open", reason="store is slow"), 200)
    assert (opened["mode"], opened["reason"], opened["ttl_seconds"], opened["actor"]) == ("open", "store is slow", 3600, "loopback")
    assert expect(client.get("/v1/switch"), 200)["mode"] == "open"
    for body in ({"policy_id": "never", "key": "k"}, {"policy_id": "hour", "key": "k", "tokens": 9}, {"policy_id": "no such"}):
        answer = client.check(**body)
        assert (answer["allowed"], answer["degraded"], answer["reason"]) == (True, True, "switch")
        assert (answer["limit"], answer["remaining"], answer["retry_after_ms"]) == (-1, -1, 0)
    assert client.get("/v1/authorize?policy_id=never&key=k").status == 200
    batch = expect(client.post("/v1/ratelimit/check-batch", {"checks": [{"policy_id": "never", "key": "k"}] * 3}), 200)
    assert [one["reason"] for one in batch["results"]] == ["switch"] * 3
    expect_problem(client.post("/v1/ratelimit/check", {"policy_id": "hour", "tokens": -1}), 400, "tokens")
    assert metric(client, "rate_limiter_switch_open") == 1
    assert metric(client, "rate_limiter_switch_checks_total") == 7
    assert "big red switch is open" in client.get("/readyz").json["problems"][0]

    assert expect(turn(client, "normal", reason="store is back"), 200)["mode"] == "normal"
    assert state(client) == "never"
    assert client.check(policy_id="hour", key="k", tokens=0)["remaining"] == 1, "nothing was charged"
    assert client.get("/readyz").json["problems"] == []
    assert metric(client, "rate_limiter_switch_open") == 0


def test_every_turn_is_audited(admin):
    client = admin(POLICIES)
    turn(client, "open", reason="store is slow", ttl_seconds=60)
    turn(client, "normal", {"X-Reason": "store is back"})
    wait_until(lambda: len(entries(client, kind="switch")) == 2, "two entries")
    newest, oldest = entries(client, kind="switch")
    assert (oldest["action"], oldest["actor"], oldest["reason"], oldest["version"]) == ("open", "loopback", "store is slow", 1)
    assert oldest["after"]["mode"] == "open" and oldest["after"]["until"]
    assert (newest["action"], newest["reason"], newest["before"]["mode"]) == ("normal", "store is back", "open")


def test_it_reverts_by_itself(admin):
    client = admin(POLICIES)
    assert expect(turn(client, "open", ttl_seconds=1), 200)["mode"] == "open"  # by now it may be over
    wait_for(client, "never")
    assert client.get("/v1/switch").json["mode"] == "normal"


def test_grpc_is_open_too_but_looks_and_resets_are_not_affected(server, grpc_stub, tmp_path, http):
    node = server(POLICIES, args=sqlite(tmp_path))
    client, stub, who = http(node), grpc_stub(node), {"key": "k"}
    client.check(policy_id="hour", key="k", tokens=4)
    turn(client, "open")
    answer = stub.CheckAndIncrement(policy_id="never", dimensions=who)
    assert (answer.allowed, answer.degraded, answer.reason) == (True, True, "switch")
    assert stub.GetUsage(policy_id="hour", dimensions=who).usages[0].current == 4
    assert stub.ResetKey(policy_id="hour", dimensions=who, reason="test").reset == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_other_nodes_follow(server, http, database, kind):
    place = database.args
    one, other = http(server(POLICIES, args=place)), http(server(POLICIES, args=place))
    turn(one, "open", reason="everywhere")
    wait_for(other, "switch")
    assert other.get("/v1/switch").json["reason"] == "everywhere"
    started = http(server(POLICIES, args=place))
    assert state(started) == "switch", "a node that starts meanwhile is open, too"
    turn(other, "normal")
    wait_for(one, "never")
    wait_for(started, "never")


def test_works_with_the_store_and_the_database_down_and_is_audited_later(server, http, postgres, redis):
    place = ["--policy-db", postgres.url, "--store", redis.url, *QUICK_END]
    one, other = http(server(POLICIES, args=place)), http(server(POLICIES, args=place))
    for client in (one, other):
        wait_until(lambda client=client: client.get("/readyz").status == 200, "the store")
    postgres.stop()
    redis.stop()
    wait_for(one, "store_unavailable", "closed")
    begin = time.monotonic()
    assert expect(turn(one, "open", reason="all is down"), 200)["mode"] == "open"
    answer = one.check(policy_id="closed", key="k")
    print(f"open after {(time.monotonic() - begin) * 1000:.0f} ms with everything down")
    assert (answer["allowed"], answer["reason"], answer["degraded"]) == (True, "switch", True)
    assert one.get("/v1/switch").json["mode"] == "open"
    assert other.check(policy_id="closed", key="k")["allowed"] is False, "it cannot have heard of it"

    postgres.start()
    wait_for(other, "switch", "closed")
    wait_until(lambda: entries(one, kind="switch"), "the record")
    entry, = entries(one, kind="switch")
    assert (entry["action"], entry["actor"], entry["reason"]) == ("open", "loopback", "all is down")
    wait_until(lambda: metric(one, "rate_limiter_audit_records_waiting") == 0, "an empty outbox")


def test_a_turn_that_waited_for_the_database_does_not_undo_a_newer_one(server, http, postgres):
    place = ["--policy-db", postgres.url, *QUICK_END]
    late, other = server(POLICIES, args=place), server(POLICIES, args=place)
    postgres.stop()
    expect(turn(http(late), "open", reason="an old word"), 200)
    late.wait_for_log("the audit log entry will be written when")  # it is tried again seconds later
    expect(turn(http(other), "normal", reason="a new word"), 200)
    postgres.start()
    for node in (late, other):
        wait_until(lambda node=node: metric(http(node), "rate_limiter_audit_records_waiting") == 0, "an empty outbox")
        wait_for(http(node), "never")
    started = http(server(POLICIES, args=place))
    assert state(started) == "never", "it reads the newest record only"
    assert started.get("/v1/switch").json["reason"] == "a new word"
    assert {entry["reason"] for kind in ("switch", "event") for entry in entries(started, kind=kind)} == {
        "an old word", "a new word"}


@pytest.mark.parametrize("mode", ["open", "normal"])
def test_a_turn_that_was_answered_without_the_database_survives_kill_9(server, http, tmp_path, postgres, mode):
    place = ["--policy-db", postgres.url, "--state-dir", str(tmp_path / "state"), *QUICK_END]
    node = server(POLICIES, args=place)
    if mode == "normal":
        expect(turn(http(node), "open", reason="before"), 200)
    postgres.stop()
    expect(turn(http(node), mode, reason="answered"), 200)
    node.kill()  # at once
    postgres.start()
    client = http(server(POLICIES, args=place))
    wait_for(client, "switch" if mode == "open" else "never")
    wait_until(lambda: entries(client, kind="switch")[0]["reason"] == "answered", "the record")
    wait_until(lambda: metric(client, "rate_limiter_audit_records_waiting") == 0, "an empty outbox")


def test_a_reset_that_was_answered_without_the_database_survives_kill_9(server, http, tmp_path, postgres):
    place = ["--policy-db", postgres.url, "--state-dir", str(tmp_path / "state"), *QUICK_END]
    node = server(POLICIES, args=place)
    client = http(node)
    postgres.stop()
    wait_until(lambda: metric(client, "rate_limiter_policy_database_up") == 0, "the loss to be noticed")
    for number in range(3):
        expect(client.post("/v1/reset", {"policy_id": "hour", "key": "k", "reason": f"reset {number}"}), 200)
    node.kill()
    postgres.start()
    client = http(server(POLICIES, args=place))
    wait_until(lambda: len(entries(client, kind="event", actor="loopback")) == 3, "the records")
    assert [entry["reason"] for entry in entries(client, kind="event", actor="loopback")] == ["reset 2", "reset 1", "reset 0"]


def test_a_start_from_a_copy_is_normal_and_says_what_the_copy_knows(server, http, tmp_path, postgres):
    place = ["--policy-db", postgres.url, "--state-dir", str(tmp_path / "state"), *QUICK_END]
    node = server(POLICIES, args=place)
    expect(turn(http(node), "open", reason="store is slow"), 200)
    wait_until(lambda: list((tmp_path / "state").glob("database-" + 16 * "?")), "the copy")
    node.kill()
    postgres.stop()
    started = server(POLICIES, args=place)
    client = http(started)
    assert state(client) == "never", "somebody may have closed it since"
    problems = client.get("/readyz").json["problems"]
    assert any("was open until" in each and "store is slow" in each for each in problems), problems
    postgres.start()
    wait_for(client, "switch")


def test_signals_turn_it_for_all_nodes(server, http, tmp_path):
    node, other = server(POLICIES, args=sqlite(tmp_path)), http(server(POLICIES, args=sqlite(tmp_path)))
    client = http(node)
    node.signal(signal.SIGUSR1)
    wait_for(client, "switch")
    assert client.get("/v1/switch").json["actor"] == "signal"
    assert client.get("/v1/switch").json["ttl_seconds"] <= 3600
    wait_for(other, "switch")
    node.signal(signal.SIGUSR2)
    wait_for(client, "never")
    wait_for(other, "never")
    wait_until(lambda: len(entries(client, kind="switch", actor="signal")) == 2, "two entries")
    assert re.search(r"big red switch is open until .* \(signal: SIGUSR1\)", node.log())


def test_a_file_opens_this_node_while_it_exists(server, http, tmp_path):
    file = tmp_path / "open"
    node = server(POLICIES, args=[*sqlite(tmp_path), "--switch-file", str(file)])
    other = http(server(POLICIES, args=sqlite(tmp_path)))
    client = http(node)
    assert state(client) == "never"
    file.write_text("from the runbook\n")
    wait_for(client, "switch")
    status = client.get("/v1/switch").json
    assert (status["actor"], status["reason"]) == ("file", "from the runbook") and 3500 < status["ttl_seconds"] <= 3600
    assert expect(turn(client, "normal"), 200)["mode"] == "open", "the file is still there"
    wait_until(lambda: entries(client, kind="event", actor="file"), "an entry")
    assert state(other) == "never"
    file.unlink()
    wait_for(client, "never")
    file.write_text("x")
    wait_for(client, "switch")


def test_a_file_that_is_there_at_the_start(server, http, tmp_path):
    (tmp_path / "open").touch()
    client = http(server(POLICIES, args=sqlite(tmp_path), env={"SLUICE_SWITCH_FILE": str(tmp_path / "open")}))
    wait_for(client, "switch")


def test_the_command(server, http, tmp_path):
    one, other = (server(POLICIES, args=["--policy-db", f"sqlite:{tmp_path}/{name}.db", *QUICK_END]) for name in "ab")
    both = f"{one.address},{other.address}"
    opened = run_switch("open", "--server", both, "--reason", "store is slow", "--ttl", "30m")
    assert opened.returncode == 0, opened
    assert re.fullmatch(rf"{one.address}: open until \S+ \(loopback: store is slow\)\n"
                        rf"{other.address}: open until \S+ \(loopback: store is slow\)\n", opened.stdout)
    assert state(http(one)) == state(http(other)) == "switch"
    assert 1700 < http(one).get("/v1/switch").json["ttl_seconds"] <= 1800
    assert "open until" in run_switch("status", "--server", one.address).stdout
    assert run_switch("normal", "--server", one.address).stdout == f"{one.address}: normal (loopback)\n"
    assert state(http(one)) == "never"
    half = run_switch("open", "--server", f"127.0.0.1:1,{one.address}")
    assert half.returncode == 2 and "127.0.0.1:1" in half.stderr
    assert state(http(one)) == "switch", "the others hear it all the same"
    for wrong in ("0s", "8d", "1500ms", "soon", "-1"):
        refused = run_switch("open", "--server", other.address, f"--ttl={wrong}")
        assert refused.returncode == 2 and "--ttl" in refused.stderr, refused


def test_needs_the_role_operator(server, http, tmp_path):
    node = server(POLICIES, args=[*sqlite(tmp_path), "--require-token"])
    found = node.wait_for_log(r"(sluice_\w{38})")
    root, client = bearer(found[1]), http(node)
    tokens = {}
    for name, roles, tenants in (("op", ["operator"], None), ("some", ["operator"], ["shop-*"]), ("writer", ["write"], None)):
        body = {"name": name, "roles": roles, **({"tenants": tenants} if tenants else {})}
        tokens[name] = expect(client.post("/v1/tokens", body, root), 201)["token"]
    expect_problem(turn(client, "open"), 401, "authorization")
    expect_problem(turn(client, "open", bearer(tokens["writer"])), 403)
    expect_problem(turn(client, "open", bearer(tokens["some"])), 403)
    refused = run_switch("open", "--server", node.address, "--token", tokens["writer"])
    assert refused.returncode == 2 and tokens["writer"] not in refused.stderr
    opened = run_switch("open", "--server", node.address, "--token", tokens["op"])
    assert opened.returncode == 0 and "(token op)" in opened.stdout
    assert tokens["op"] not in node.log()


@pytest.mark.parametrize("name", BODIES_THAT_ARE_NO_OBJECT)
def test_bodies_that_are_no_object(admin, name):
    client = admin(POLICIES)
    expect_problem(client.request("PUT", "/v1/switch", BODIES_THAT_ARE_NO_OBJECT[name]), 400)
    assert state(client) == "never"


@pytest.mark.parametrize("field,value", [
    ("mode", "ajar"), ("mode", ""), ("mode", None), ("mode", 1), ("mode", ["open"]),
    ("ttl_seconds", 0), ("ttl_seconds", -1), ("ttl_seconds", 604801), ("ttl_seconds", 2**63), ("ttl_seconds", 1.5),
    ("ttl_seconds", "60"), ("ttl_seconds", None), ("reason", 7), ("reason", "x" * 1025),
])
def test_bad_fields(admin, field, value):
    client = admin(POLICIES)
    expect_problem(client.request("PUT", "/v1/switch", {"mode": "open", field: value}), 400, field)
    assert state(client) == "never"


def test_other_fields_and_methods(admin):
    client = admin(POLICIES)
    assert '"for"' in expect_problem(client.request("PUT", "/v1/switch", {"mode": "open", "for": "ever"}), 400, "for")["detail"]
    assert state(client) == "never"
    answer = client.request("DELETE", "/v1/switch")
    expect_problem(answer, 405)
    assert answer.headers["allow"] == "GET, PUT"
