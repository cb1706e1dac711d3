"""`sluice audit verify`: nobody changes the audit log unseen."""

import hashlib
import re
import sqlite3
import time

import pytest
from harness.admin import QUICK_END, expect, sqlite
from harness.cli import fails, sluice, works
from harness.server import wait_until


def put(client, number):
    body = {"id": "p", "resource": "/p", "limits": [{"name": "one", "rate": f"{number}/h"}]}
    expect(client.request("PUT", "/v1/policies/p", body), 201 if number == 1 else 200)


@pytest.fixture
def written(server, http, tmp_path):
    """A database with five versions of a policy and a token, whose server has ended."""
    node = server(args=sqlite(tmp_path))
    client = http(node)
    for number in range(1, 6):
        put(client, number)
    expect(client.post("/v1/tokens", {"name": "ops", "roles": ["read"]}), 201)
    node.stop()
    return tmp_path / "policies.db"


def verify(path, *arguments):
    return sluice("audit", "verify", "--policy-db", f"sqlite:{path}", *arguments)


def noted(done):
    """The two options that a good verification prints."""
    return re.search(r"keep in a safe place: (.+)\n", done.stdout)[1].split()


def tamper(path, *statements):
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_a_whole_log(written):
    done = verify(written)
    assert (done.returncode, done.stderr) == (0, ""), done
    first, oldest, newest, note = done.stdout.splitlines()
    assert first == f"sqlite:{written}: 6 records, no tampering found"
    assert re.fullmatch(r"first: revision 1 at 20\S+Z", oldest) and re.fullmatch(r"last: revision 6 at 20\S+Z", newest)
    with sqlite3.connect(written) as database:
        (head,) = database.execute("SELECT hex(hash) FROM records WHERE revision = 6").fetchone()
    assert note == f"keep in a safe place: --expect-revision 6 --expect-hash {head.lower()}"


SWAP = ("UPDATE records SET revision = -1 WHERE revision = 2", "UPDATE records SET revision = 2 WHERE revision = 3",
        "UPDATE records SET revision = 3 WHERE revision = -1")


@pytest.mark.parametrize("statements, sentence", [
    (["UPDATE records SET body = replace(body, '3/h', '9/h') WHERE revision = 3"], "revision 3: its body is not what was written"),
    (["UPDATE records SET actor = 'nobody' WHERE revision = 4"], "revision 4: its hash does not match"),
    (["UPDATE records SET at_us = at_us + 1 WHERE revision = 1"], "revision 1: its hash does not match"),
    (["DELETE FROM records WHERE revision = 3"], "revision 3: it is missing; revision 4 follows"),
    (SWAP, "revision 2: its hash does not match"),
    (["UPDATE records SET kind = 'x' WHERE revision = 2"], "revision 2: unknown kind 'x'"),
    (["UPDATE documents SET revision = 2, version = 2 WHERE name = 'p'"], "revision 2: the list of documents calls it the newest version of policy 'p', which it is not"),
    (["UPDATE documents SET version = 4 WHERE name = 'p'"], "revision 5: the list of documents calls it version 4 of policy 'p', which it is not"),
    (["UPDATE documents SET withdrawn = 1 WHERE name = 'ops'"], "revision 6: the list of documents calls it version 1 of token 'ops', withdrawn, which it is not"),
    (["DELETE FROM documents WHERE name = 'ops'"], "revision 6: the list of documents has lost token 'ops'"),
])
def test_tampering_is_found_where_it_was_done(written, statements, sentence):
    tamper(written, *statements)
    done = verify(written)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith(f"sqlite:{written} was tampered with: {sentence}"), done.stderr


def test_an_event_keeps_its_body(server, http, tmp_path):
    node = server("policies: [{id: api, limits: [{per: [key], rate: 10/h}]}]", args=sqlite(tmp_path))
    expect(http(node).post("/v1/reset", {"policy_id": "api", "key": "k"}), 200)
    wait_until(lambda: expect(http(node).get("/v1/audit?kind=event"), 200)["entries"], "an entry of the reset")
    node.stop()
    path = tmp_path / "policies.db"
    assert verify(path).returncode == 0
    tamper(path, "UPDATE records SET body = ''")
    done = verify(path)
    assert done.returncode == 1 and "revision 1: its body is not what was written" in done.stderr, done


DAY_US = 86_400 * 1_000_000


def chain_hash(previous, record):
    """As docs/decisions/0007 and chain.h have it, done once more."""
    def field(value):
        data = value if isinstance(value, bytes) else str(value).encode()
        return len(data).to_bytes(8, "big") + data
    fields = [previous, *(record[name] for name in ("revision", "kind", "name", "version", "action", "actor", "at_us", "request_id", "reason",
                                                    "body_hash"))]
    return hashlib.sha256(b"".join(field(value) for value in fields)).digest()


def write_of_old(path, days, events):
    """Appends that many events that were written so many days ago, as a server would have then."""
    with sqlite3.connect(path) as database:
        revision, previous = database.execute("SELECT revision, hash FROM records ORDER BY revision DESC LIMIT 1").fetchone()
        for _ in range(events):
            revision += 1
            body = '{"address":"192.0.2.7"}'
            record = {"revision": revision, "kind": "event", "name": "api", "version": 0, "action": "reset", "body": body, "actor": "token ops",
                      "reason": "", "at_us": int(time.time() * 1e6) - days * DAY_US, "request_id": f"r{revision}",
                      "body_hash": hashlib.sha256(body.encode()).digest()}
            previous = record["hash"] = chain_hash(previous, record)
            database.execute(f"INSERT INTO records VALUES ({','.join('?' * len(record))})", tuple(record.values()))
    database.close()


def entries(client, **query):
    return expect(client.get("/v1/audit?" + "&".join(f"{name}={value}" for name, value in query.items())), 200)["entries"]


def test_entries_go_after_their_days_and_the_rest_verifies(written, server, http, tmp_path):
    write_of_old(written, 92, 6000)
    write_of_old(written, 89, 3)
    note = noted(verify(written))
    client = http(server(args=sqlite(tmp_path)))
    wait_until(lambda: len(entries(client, kind="event", limit=1000)) == 3, "old entries to go")
    assert [(entry["name"], entry["actor"]) for entry in entries(client, kind="retention")] == [("audit", "retention")] * 2, "in two steps"
    assert len(entries(client, kind="policy")) == 5, "any version can be restored"
    every, below = [], ""
    while below is not None:
        page = expect(client.get(f"/v1/audit?limit=4&below={below}" if below else "/v1/audit?limit=4"), 200)
        every, below = every + [entry["revision"] for entry in page["entries"]], page["next"]
    assert every == [6011, 6010, 6009, 6008, 6007, 6, 5, 4, 3, 2, 1], "each once, whatever is missing in between"
    put(client, 6)
    done = verify(written, *note)
    assert done.returncode == 0 and "12 records, no tampering found\nexpired and removed: all but 6 of the records up to revision 6006, from before 20" in done.stdout, done
    old = verify(written, "--expect-revision", "100", "--expect-hash", "0" * 64)
    assert old.returncode == 2 and "revision 100 was pruned" in old.stderr, old
    assert "removed records that were only 90 days old" in verify(written, "--audit-days", "91").stderr
    tamper(written, "DELETE FROM records WHERE revision = 3")
    assert "revision 6006: the records kept up to it are not those that revision 6011 states" in verify(written).stderr


@pytest.mark.parametrize("days, left", [("0", 13), ("365", 13), ("100", 13), ("92", 13), ("30", 0)])
def test_how_long_entries_stay_is_the_operators_choice(written, server, http, tmp_path, days, left):
    write_of_old(written, 92, 10)
    write_of_old(written, 32, 3)
    node = server(args=[*sqlite(tmp_path), "--audit-days", days])
    if left == 0:
        node.wait_for_log("the audit log: removed 13 entries older than 30 days")
    put(http(node), 6)
    assert len(entries(http(node), kind="event")) == left


CUT = ["DELETE FROM records WHERE revision > 4", "DELETE FROM documents WHERE name = 'ops'", "UPDATE documents SET revision = 4, version = 4 WHERE name = 'p'"]


def test_an_end_that_was_cut_off_is_found_by_what_was_noted(written):
    note = noted(verify(written))
    assert verify(written, *note).returncode == 0
    tamper(written, *CUT)
    assert verify(written).returncode == 0, "whole in itself: nobody can see it without the note"
    done = verify(written, *note)
    assert done.returncode == 1
    assert "revision 5: it is missing; the ledger was noted to reach revision 6, and its end was cut off" in done.stderr


def test_a_rewritten_end_is_found_by_what_was_noted(written, server, http, tmp_path):
    note = noted(verify(written))
    tamper(written, *CUT)
    client = http(server(args=sqlite(tmp_path)))
    for number in (70, 80, 90):
        put(client, number)
    assert verify(written).returncode == 0
    done = verify(written, *note)
    assert done.returncode == 1 and "revision 6: its hash is not the one that was noted" in done.stderr


def test_what_was_noted_holds_when_more_is_written(written, server, http, tmp_path):
    note = noted(verify(written))
    put(http(server(args=sqlite(tmp_path))), 6)
    done = verify(written, *note)
    assert done.returncode == 0 and "7 records" in done.stdout


def test_a_running_server_writes_on(server, http, tmp_path):
    client = http(server(args=sqlite(tmp_path)))
    put(client, 1)
    for number in range(2, 12):
        done = verify(tmp_path / "policies.db")
        assert (done.returncode, done.stderr) == (0, "") and f"{number - 1} records" in done.stdout
        put(client, number)


def test_what_cannot_be_verified_is_an_error(tmp_path):
    assert "does not exist; name the file that the server uses" in fails("audit", "verify", "--policy-db", f"sqlite:{tmp_path}/none.db")
    assert not list(tmp_path.iterdir()), "looking makes nothing"
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at as one" * 50)
    assert "is not a database" in fails("audit", "verify", "--policy-db", f"sqlite:{tmp_path}/text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (a)")
    assert "another application" in fails("audit", "verify", "--policy-db", f"sqlite:{tmp_path}/other.db")
    assert "write sqlite:FILE, postgres://" in fails("audit", "verify", "--policy-db", "mysql://x")
    assert "64 hexadecimal digits" in fails("audit", "verify", "--expect-revision", "1", "--expect-hash", "xyz")
    assert "64 hexadecimal digits" in fails("audit", "verify", "--expect-revision", "1", "--expect-hash", "g" * 64)
    assert sluice("audit", "verify", "--expect-revision", "1").returncode == 2, "one without the other proves nothing"


def test_postgresql(postgres, server, http):
    client = http(server(args=["--policy-db", postgres.url, *QUICK_END]))
    for number in range(1, 4):
        put(client, number)
    done = sluice("audit", "verify", "--policy-db", postgres.url)
    assert done.returncode == 0 and "3 records" in done.stdout
    note = noted(done)
    postgres.sql("DELETE FROM sluice_records WHERE revision = 3")
    done = sluice("audit", "verify", env={"SLUICE_POLICY_DB": postgres.url})
    assert done.returncode == 1 and "revision 3: it is missing, with everything after it" in done.stderr
    postgres.sql("UPDATE sluice_records SET body = '{}' WHERE revision = 2")
    done = sluice("audit", "verify", "--policy-db", postgres.url, *note)
    assert done.returncode == 1 and "revision 2: its body is not what was written" in done.stderr


def test_looking_at_postgresql_makes_no_tables(postgres):
    assert "has no Sluice tables" in fails("audit", "verify", "--policy-db", postgres.url)
    assert "has no Sluice tables" in fails("audit", "verify", "--policy-db", postgres.url)


def test_redis(durable_redis, server, http):
    place = ["--policy-db", durable_redis.url, "--key-prefix", "mine:"]
    assert "has no Sluice policies under the prefix 'mine:'" in fails("audit", "verify", *place)
    client = http(server(args=[*place, *QUICK_END]))
    for number in range(1, 4):
        put(client, number)
    done = sluice("audit", "verify", *place)
    assert done.returncode == 0 and "3 records" in done.stdout
    durable_redis.client.hdel("mine:{ledger}", "r2")
    done = sluice("audit", "verify", *place)
    assert done.returncode == 1 and "revision 2: it is missing" in done.stderr


@pytest.mark.parametrize("command", [[], ["verify"]])
def test_help_fits_a_screen_and_shows_an_example(command):
    text = works("audit", *command, "--help")
    assert len(text.splitlines()) <= 24 and "Example:" in text and "\n  sluice audit verify" in text
