"""A policy database that went back in time, or lacks records, lifts no limit."""

import contextlib
import re
import shutil
import sqlite3

import pytest
from harness.admin import QUICK_END, expect, expect_problem, metric, sqlite
from harness.one_policy import limit, put, wait_for_limit
from harness.server import wait_until


def test_a_copy_from_yesterday_is_told_and_not_written_to(server, http, tmp_path):
    file, copy = tmp_path / "policies.db", tmp_path / "yesterday.db"
    running = server(args=sqlite(tmp_path))
    client = http(running)
    expect(put(client, "1/h"), 201)
    with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    expect(put(client, "2/h"), 200)
    for leftover in ("policies.db-wal", "policies.db-shm"):
        (tmp_path / leftover).unlink(missing_ok=True)
    copy.rename(file)
    wait_until(lambda: any("has lost policies that were there" in problem for problem in client.get("/readyz").json["problems"]),
               "it in /readyz")
    expect_problem(put(client, "3/h"), 503)
    assert limit(client) == 2, "what is in force stays"
    assert running.stop() == 0
    assert limit(http(server(args=sqlite(tmp_path)))) == 1, "a server without a copy goes on with what is there"


COPY = "state/database-" + 16 * "?"  # not the one that is being written beside it


def back_up(source, target):
    with contextlib.closing(sqlite3.connect(source)) as one, contextlib.closing(sqlite3.connect(target)) as other:
        one.backup(other)


@pytest.fixture
def after_a_loss(server, http, tmp_path):
    """A policy was lowered from 10 to 2, and its server killed. Its arguments, where its database was, that of before the change, and the last."""
    file, older, newest = tmp_path / "policies.db", tmp_path / "older.db", tmp_path / "newest.db"
    args = [*sqlite(tmp_path), "--state-dir", str(tmp_path / "state")]
    running = server(args=args)
    client = http(running)
    expect(put(client, "10/d"), 201)
    back_up(file, older)
    expect(put(client, "2/d"), 200)
    wait_until(lambda: any(b"2/d" in copy.read_bytes() for copy in tmp_path.glob(COPY)), "the copy")
    running.kill()
    back_up(file, newest)
    for part in tmp_path.glob("policies.db*"):
        part.unlink()
    return args, file, older, newest


@pytest.mark.parametrize("what", ["deleted", "an older one"])
def test_a_start_on_a_database_that_went_back_lifts_no_limit(server, http, after_a_loss, what):
    args, file, older, newest = after_a_loss
    if what == "an older one":
        shutil.copy(older, file)
    running = server(args=args)
    client = http(running)
    ready = client.get("/readyz")
    (copy,) = file.parent.glob(COPY)
    (problem,) = [one for one in ready.json["problems"] if "has lost policies that were there" in one]
    assert ready.status == 503 and str(copy) in problem and "restore the database, or remove that file and restart" in problem, ready
    assert re.search(r"error.*remove that file and restart", running.log(), re.IGNORECASE)
    assert [client.check(policy_id="p", key="k")["allowed"] for _ in range(3)] == [True, True, False], "by the copy"
    expect_problem(put(client, "50/d"), 503)
    assert file.exists() == (what == "an older one"), "nothing is written"

    for leftover in ("policies.db-wal", "policies.db-shm"):
        (file.parent / leftover).unlink(missing_ok=True)
    newest.rename(file)
    wait_until(lambda: client.get("/readyz").status == 200, "the restored database to be used")
    assert client.get("/readyz").json["problems"] == []
    expect(put(client, "3/d"), 200)


@pytest.mark.parametrize("what", ["damaged", "writable by others"])
def test_a_copy_that_cannot_be_used_is_told(server, http, after_a_loss, what):
    args, file, older, _ = after_a_loss
    shutil.copy(older, file)
    (copy,) = file.parent.glob(COPY)
    if what == "damaged":
        copy.write_bytes(copy.read_bytes()[:-1])
    else:
        copy.chmod(0o660)
    running = server(args=args)
    client = http(running)
    (problem,) = client.get("/readyz").json["problems"]
    assert str(copy) in problem and "cannot tell whether the database has lost policies" in problem
    assert metric(client, "rate_limiter_policy_copy_usable") == 0
    assert running.wait_for_log(r"error.*cannot tell whether the database has lost policies")
    assert running.stop() == 0
    assert metric(http(server(args=args)), "rate_limiter_policy_copy_usable") == 1, "there is a new copy"


def test_a_database_that_is_overwritten_in_place_is_told_and_not_written_to(server, http, tmp_path):
    file, older, newest = tmp_path / "policies.db", tmp_path / "older.db", tmp_path / "newest.db"
    client = http(server(args=[*sqlite(tmp_path), "--state-dir", str(tmp_path / "state")]))
    expect(put(client, "10/h"), 201)
    back_up(file, older)
    expect(put(client, "2/h"), 200)
    back_up(file, newest)
    log = tmp_path / "policies.db-wal"
    wait_until(lambda: b"2/h" in file.read_bytes() or not log.exists(), "the database to rest")
    shutil.copyfile(older, file)  # as `cp` does it
    wait_until(lambda: any("has lost policies that were there" in problem for problem in client.get("/readyz").json["problems"]),
               "it in /readyz")
    expect_problem(put(client, "50/h"), 503)
    assert limit(client) == 2, "what is in force stays"
    shutil.copyfile(newest, file)
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "the restored database to be used")
    expect(put(client, "3/h"), 200)


def test_who_removes_the_copy_goes_on_with_what_the_database_has(server, http, after_a_loss):
    args, file, older, _ = after_a_loss
    shutil.copy(older, file)
    for copy in file.parent.glob(COPY):
        copy.unlink()
    client = http(server(args=args))
    assert client.get("/readyz").json["problems"] == []
    assert limit(client) == 10
    expect(put(client, "3/d"), 200)


def test_another_database_is_none_that_went_back(server, http, after_a_loss):
    args, file, _, _ = after_a_loss
    client = http(server(args=[arg.replace(str(file), str(file.with_name("another.db"))) for arg in args]))
    assert client.get("/readyz").json["problems"] == []
    expect(put(client, "3/d"), 201)


def test_a_relative_path_is_another_database_in_another_folder(server, http, tmp_path):
    args = ["--policy-db", "sqlite:./policies.db", "--state-dir", str(tmp_path / "state"), *QUICK_END]
    for _ in range(2):
        client = http(server(args=args))
        expect(put(client, "3/d"), 201)
        assert client.get("/readyz").json["problems"] == []


def test_one_missing_record_takes_no_other_policy_away(server, http, tmp_path):
    running = server(args=sqlite(tmp_path))
    client = http(running)
    for name in "abc":
        expect(put(client, "5/h", name), 201)
    assert running.stop() == 0
    with sqlite3.connect(tmp_path / "policies.db") as database:
        database.execute("DELETE FROM records WHERE revision = 2")
    database.close()
    client = http(server(args=sqlite(tmp_path)))
    assert [limit(client, name) for name in "ac"] == [5, 5]
    assert client.check(policy_id="b", key="k")["reason"] == "policies_unavailable", "it is there, but what it says is not"
    ready = client.get("/readyz")
    assert ready.status == 503 and any("revision 2: it is missing" in problem for problem in ready.json["problems"])
    expect_problem(put(client, "5/h", "z"), 503)


def test_a_server_that_lacks_a_record_follows_the_others_all_the_same(server, http, tmp_path):
    first = http(server(args=sqlite(tmp_path)))
    for name in "abc":
        expect(put(first, "5/h", name), 201)
    with sqlite3.connect(tmp_path / "policies.db") as database:
        database.execute("DELETE FROM records WHERE revision = 2")
    database.close()
    second = http(server(args=sqlite(tmp_path)))
    expect(put(first, "7/h", "c"), 200)
    wait_for_limit(second, 7, "c")
    expect(first.request("PUT", "/v1/switch", {"mode": "open", "reason": "test"}), 200)
    wait_until(lambda: second.get("/v1/switch").json["mode"] == "open", "the switch on the other node")


def test_tokens_can_be_taken_away_though_a_record_is_missing(server, http, tmp_path):
    client = http(server(args=sqlite(tmp_path)))
    expect(put(client, "5/h"), 201)
    for name in ("stolen", "good"):
        expect(client.post("/v1/tokens", {"name": name, "roles": ["admin"]}), 201)
    with sqlite3.connect(tmp_path / "policies.db") as database:
        database.execute("DELETE FROM records WHERE revision = 1")
    database.close()
    assert client.request("DELETE", "/v1/tokens/stolen").status == 204
    assert [token["name"] for token in expect(client.get("/v1/tokens"), 200)["tokens"]] == ["good"]
