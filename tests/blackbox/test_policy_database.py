"""Where policies live: they survive any end of the process, reach every node, and outlive their database."""

import pathlib
import resource
import shutil
import sqlite3
import subprocess

import pytest
from harness.admin import QUICK_END, expect, expect_problem, metric, sqlite
from harness.one_policy import limit, policy, put, wait_for_limit
from harness.server import binary, wait_until


@pytest.mark.parametrize("times", range(5))
def test_an_answered_change_survives_kill_9(server, http, tmp_path, times):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    for number in range(1, times + 2):
        expect(put(client, f"{number}/h"), 201 if number == 1 else 200)
    running.kill()
    client = http(server(args=sqlite(tmp_path)))
    decision = client.check(policy_id="p", key="k", tokens=0)
    assert (decision["limit"], decision["policy_version"]) == (times + 1, times + 1)
    assert len(client.get("/v1/policies/p/versions").json["versions"]) == times + 1
    assert expect(put(client, "50/h"), 200)["version"] == times + 2


def test_users_survive_kill_9(server, http, tmp_path):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    body = {"id": "p", "limits": [{"name": "one", "per": ["user"], "rate": "1/h"}], "tiers": {"gold": {"one": {"rate": "9/h"}}}}
    client.request("PUT", "/v1/policies/p", body)
    expect(client.request("PUT", "/api/v1/users/u1/tier", {"tier": "gold"}), 200)
    running.kill()
    client = http(server(args=sqlite(tmp_path)))
    assert client.check(policy_id="p", key="u1", tokens=0)["limit"] == 9


def test_an_idempotency_key_is_known_after_a_restart(server, http, tmp_path):
    once = {"Idempotency-Key": "once"}
    running = server(args=sqlite(tmp_path))
    first = http(running).request("PUT", "/v1/policies/p", policy("10/h"), once)
    running.kill()
    client = http(server(args=sqlite(tmp_path)))
    again = client.request("PUT", "/v1/policies/p", policy("10/h"), once)
    assert (again.status, again.body) == (first.status, first.body)


def test_the_file_is_made_at_the_first_write(server, http, tmp_path):
    client = http(server(args=sqlite(tmp_path)))
    client.get("/v1/policies")
    assert not (tmp_path / "policies.db").exists()
    put(client, "10/h")
    assert (tmp_path / "policies.db").exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_a_change_reaches_the_other_server(server, http, database, kind):
    one, other = http(server(args=database.args)), http(server(args=database.args))
    for number in range(1, 6):
        put(one, f"{number}/h")
        wait_for_limit(other, number)
    assert other.get("/v1/policies/p").json["version"] == 5
    expect(put(other, "9/h"), 200)
    wait_for_limit(one, 9)
    expect(one.request("DELETE", "/v1/policies/p"), 204)
    wait_for_limit(other, None)


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_servers_do_not_overwrite_each_other(server, http, database, kind):
    one, other = http(server(args=database.args)), http(server(args=database.args))
    rule = {"tenant_id": "t", "resource": "/r", "limit": 1, "window_sec": 1}
    rule_id = expect(one.post("/v1/rules", rule), 201)["rule_id"]
    assert rule_id in expect_problem(other.post("/v1/rules", rule), 409, "resource")["detail"], "at once, before any push"
    put(one, "1/h")
    stale = other.request("PUT", "/v1/policies/p", policy("2/h"), {"If-Match": '"0"'})
    expect_problem(stale, 412, "if-match")


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_policies_survive_kill_9_of_the_server(server, http, database, kind):
    running = server(args=database.args)
    expect(put(http(running), "10/h"), 201)
    running.kill()
    assert limit(http(server(args=database.args))) == 10


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_checks_go_on_without_the_database_and_writes_come_back_with_it(server, http, database, kind):
    running = server(args=database.args)
    client = http(running)
    expect(put(client, "10/h"), 201)
    client.check(policy_id="p", key="k", tokens=4)
    assert metric(client, "rate_limiter_policy_database_up") == 1

    database.stop()
    expect_problem(put(client, "20/h"), 503)
    wait_until(lambda: client.get("/readyz").json["problems"], "a problem in /readyz")
    ready = client.get("/readyz")
    assert ready.status == 200, "it serves as before"
    assert "policy database" in ready.json["problems"][0] and "s3cret" not in ready.body.decode()
    assert metric(client, "rate_limiter_policy_database_up") == 0
    decision = client.check(policy_id="p", key="k", tokens=1)
    assert (decision["allowed"], decision["remaining"], decision["degraded"]) == (True, 5, False)
    assert expect(client.get("/v1/policies/p"), 200)["version"] == 1
    assert "s3cret" not in running.log()

    database.start()
    wait_until(lambda: put(client, "20/h").status == 200, "writes to work again")
    assert limit(client) == 20
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "no more problems")
    assert metric(client, "rate_limiter_policy_database_up") == 1


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_a_server_starts_without_its_database_and_follows_when_it_comes(server, http, database, kind):
    put(http(server(args=database.args)), "10/h")
    database.stop()
    filed = "policies: [{ id: filed, resource: /f, limits: [{ name: one, per: [key], rate: 7/h }] }]"
    client = http(server(filed, args=database.args))
    assert limit(client, "filed") == 7
    assert client.get("/readyz").json["problems"]
    database.start()
    wait_for_limit(client, 10)


@pytest.mark.parametrize("taken", ["{ id: filed, resource: /p", "{ id: p, resource: /filed"], ids=["pattern", "id"])
def test_what_cannot_be_in_force_beside_a_file_is_told_and_left_out(server, http, tmp_path, taken):
    running = server(args=sqlite(tmp_path))
    put(http(running), "10/h")
    put(http(running), "30/h", "q")
    assert running.stop() == 0
    client = http(server(f"policies: [{taken}, limits: [{{ name: one, per: [key], rate: 7/h }}] }}]", args=sqlite(tmp_path)))
    by_files = client.get("/v1/policies").json["policies"][0]
    assert (by_files["source"], by_files["document"]["limits"][0]["rate"]) == ("file", "7/h")
    assert [one["id"] for one in client.get("/v1/policies").json["policies"][1:]] == ["q"]
    (problem,) = client.get("/readyz").json["problems"]
    assert '"p"' in problem


def test_what_a_file_stood_in_the_way_of_comes_when_it_is_gone(server, http, tmp_path):
    def filed(resource):
        return f"policies: [{{ id: filed, resource: {resource}, limits: [{{ name: one, per: [key], rate: 7/h }}] }}]"
    running = server(args=sqlite(tmp_path))
    expect(put(http(running), "9/h"), 201)
    assert running.stop() == 0
    running = server(filed("/p"), sqlite(tmp_path))
    client = http(running)
    wait_until(lambda: client.get("/readyz").json["problems"], "the conflict in /readyz")
    assert limit(client) is None
    running.write_policies(filed("/elsewhere"))
    wait_for_limit(client, 9)
    wait_until(lambda: not client.get("/readyz").json["problems"], "no conflict in /readyz")


@pytest.mark.parametrize("taken", ["{ id: filed, resource: /p", "{ id: p, resource: /filed"], ids=["pattern", "id"])
def test_a_file_wins_over_a_policy_of_the_api_that_is_in_its_way(server, http, tmp_path, taken):
    running = server("policies: []", args=sqlite(tmp_path))
    client = http(running)
    put(client, "10/h")
    put(client, "30/h", "q")
    running.write_policies(f"policies: [{taken}, limits: [{{ name: one, per: [key], rate: 7/h }}] }}]")
    running.wait_for_log('policy "p" of the API is not in force while the files are: ')
    (problem,) = wait_until(lambda: client.get("/readyz").json["problems"], "a problem in /readyz")
    assert '"p" from the database is not in force' in problem
    by_files = client.get("/v1/policies").json["policies"][0]
    assert (by_files["source"], by_files["document"]["limits"][0]["rate"]) == ("file", "7/h")
    assert limit(client, "q") == 30, "nobody else is affected"
    running.write_policies("policies: []")
    wait_for_limit(client, 10)
    wait_until(lambda: not client.get("/readyz").json["problems"], "no problem in /readyz")


def test_one_redis_is_enough_for_counters_and_policies(server, http, durable_redis):
    place = ["--store", durable_redis.url, "--policy-db", "redis", "--key-prefix", "mine:", *QUICK_END]
    running, other = server(args=place), http(server(args=place))
    client = http(running)
    expect(put(client, "10/h"), 201)
    wait_for_limit(other, 10)
    wait_until(lambda: client.check(policy_id="p", key="k", tokens=4)["degraded"] is False, "the store")
    used = 10 - client.check(policy_id="p", key="k", tokens=0)["remaining"]
    assert 10 - other.check(policy_id="p", key="k", tokens=0)["remaining"] == used > 0
    names = [name.decode() for name in durable_redis.client.keys()]
    assert "mine:{ledger}" in names and all(name.startswith("mine:") for name in names)
    running.kill()
    durable_redis.stop()
    durable_redis.start()
    wait_for_limit(http(server(args=place)), 10)


def test_a_redis_that_has_forgotten_is_told_and_not_written_to(server, http, redis):
    running = server(args=["--policy-db", redis.url, *QUICK_END])
    client = http(running)
    assert "nothing is persisted" in running.log()
    expect(put(client, "10/h"), 201)
    redis.stop()
    redis.start()
    (problem,) = wait_until(lambda: [one for one in client.get("/readyz").json["problems"] if "has lost policies" in one],
                            "a problem in /readyz")
    assert "restart every Sluice" in problem
    assert "does not answer" not in problem, "it does"
    expect_problem(put(client, "20/h"), 503)
    assert limit(client) == 10, "what was in force stays"
    anew = http(server(args=["--policy-db", redis.url, *QUICK_END]))
    assert limit(anew) is None
    expect(put(anew, "20/h"), 201)


@pytest.mark.parametrize("url", ["mysql://x", "sqlite:", "sqlite:/no/such/folder/x.db", "sqlite:/dev/null", "sqlite:/proc/x.db", "postgres", "", "redis", "redis://a,b", "redis+sentinel://a"])
def test_an_impossible_database_is_told_at_the_start(server, url):
    with pytest.raises(RuntimeError, match="--policy-db"):
        server(args=["--policy-db", url])


def test_a_database_that_takes_no_changes_is_told(server, http, tmp_path):
    client = http(server(args=sqlite(tmp_path)))
    expect(put(client, "1/h"), 201)
    assert metric(client, "rate_limiter_policy_database_writable") == 1
    lock = sqlite3.connect(tmp_path / "policies.db", isolation_level=None)
    try:
        lock.execute("BEGIN IMMEDIATE")  # readers go on, nobody else writes
        expect_problem(put(client, "2/h"), 503)
        ready = client.get("/readyz")
        assert ready.status == 200 and any("refuses writes" in problem for problem in ready.json["problems"]), ready
        assert metric(client, "rate_limiter_policy_database_writable") == 0
        assert limit(client) == 1
    finally:
        lock.close()
    expect(put(client, "3/h"), 200)
    assert client.get("/readyz").json["problems"] == []
    assert metric(client, "rate_limiter_policy_database_writable") == 1


MOUNTED = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"']
MAY_MOUNT = subprocess.run([*MOUNTED, "/mnt", "true"], check=False, capture_output=True).returncode == 0
# Either a file system of its own that fills up, for who may mount one; or no file may grow beyond what it is.
FULL_DISKS = ["file size", *(["file system"] if MAY_MOUNT else [])]


class FullDisk:
    """Where the policies of a running server lie, and no byte more fits."""

    def __init__(self, kind, running, folder):
        self.limits_size, self.pid = kind == "file size", running.pid
        self.folder = pathlib.Path(f"/proc/{running.pid}/root") / folder.relative_to("/")

    def fill(self):
        if self.limits_size:
            size = max(file.stat().st_size for file in self.folder.glob("policies.db*"))
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            return
        with open(self.folder / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
            while True:
                filler.write(b"x" * 512)

    def make_room(self):
        if self.limits_size:
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        else:
            (self.folder / "filler").unlink()


@pytest.mark.parametrize("kind", FULL_DISKS)
def test_a_full_disk_is_told_until_there_is_room_and_leaves_nothing_in_half(server, http, tmp_path, kind):
    folder = tmp_path / "disk"
    folder.mkdir()
    wrap = [*MOUNTED, str(folder)] if kind == "file system" else []
    running = server(args=[*sqlite(folder), "--state-dir", str(tmp_path / "state")], wrap=wrap)
    client = http(running)
    large = {**policy("1/h"), "costs": {f"/{i:0200}": 1 for i in range(100)}}  # more than what is left of a page
    expect(put(client, "1/h"), 201)
    disk = FullDisk(kind, running, folder)
    disk.fill()
    expect_problem(client.request("PUT", "/v1/policies/p", large), 503)
    ready = client.get("/readyz")
    assert ready.status == 200 and any("refuses writes" in problem and "disk" in problem for problem in ready.json["problems"]), ready.json
    assert metric(client, "rate_limiter_policy_database_writable") == 0
    assert (limit(client), client.get("/v1/policies/p").json["version"]) == (1, 1), "what is in force stays, and can be read"
    disk.make_room()
    # Nobody changes anything, and still it is over.
    wait_until(lambda: metric(client, "rate_limiter_policy_database_writable") == 1, "room on the disk to be noticed")
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "no problems")
    entries = client.get("/v1/audit").json["entries"]
    assert [(entry["kind"], entry["name"], entry["action"]) for entry in entries] == [
        ("event", "policy-database", "refused"), ("policy", "p", "put")]
    assert expect(client.request("PUT", "/v1/policies/p", large), 200)["version"] == 2
    for file in disk.folder.glob("policies.db*"):
        shutil.copy(file, tmp_path)
    whole = subprocess.run([str(binary()), "audit", "verify", "--policy-db", f"sqlite:{tmp_path}/policies.db"],
                           check=False, capture_output=True, text=True)
    assert whole.returncode == 0 and "3 records" in whole.stdout, whole


def test_a_redis_that_takes_no_changes_is_told(server, http, durable_redis):
    client = http(server(args=["--policy-db", durable_redis.url, *QUICK_END]))
    expect(put(client, "1/h"), 201)
    durable_redis.client.config_set("min-replicas-to-write", 1)
    expect_problem(put(client, "2/h"), 503)
    assert any("refuses writes" in problem for problem in client.get("/readyz").json["problems"])
    durable_redis.client.config_set("min-replicas-to-write", 0)
    expect(put(client, "3/h"), 200)
    assert client.get("/readyz").json["problems"] == []
