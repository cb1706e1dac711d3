"""`sluice bench --replay`: the requests of a log against a server, or in process."""

import gzip
import json

import pytest
from harness.cli import fails, sluice

POLICIES = """
policies:
  - id: users
    resource: /a
    limits: [{ name: day, per: [user], rate: 2/d }]
"""
LINE = '192.0.2.7 - {user} [10/Oct/2026:13:55:{second:02} +0000] "GET /a HTTP/1.1" 200 12\n'


@pytest.fixture
def log(tmp_path):
    """Three requests of ann and one of bob, in three seconds."""
    path = tmp_path / "access.log.gz"
    lines = [LINE.format(user=user, second=second) for second, user in enumerate(["ann", "bob", "ann", "ann"], 36)]
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def replay(tmp_path, *arguments):
    result = tmp_path / "result.json"
    done = sluice("bench", *arguments, "--json", result)
    assert done.returncode == 0, done
    return json.loads(result.read_text()), done.stdout


@pytest.mark.parametrize("door", [["--grpc"], ["--http"], ["--direct"]], ids=["grpc", "http", "direct"])
def test_each_request_is_sent_once(server, tmp_path, log, door):
    one = server(POLICIES)
    where = ["--policies", one.policy_file] if door == ["--direct"] else [one.address]
    result, table = replay(tmp_path, *where, *door, "--replay", log, "--speed", "0", "--tenant", "shop")
    assert (result["allowed"], result["denied"], result["errors"], result["unanswered"]) == (3, 1, 0, 0)
    assert str(log) in table


def test_the_pace_is_that_of_the_log(server, tmp_path, log):
    result, table = replay(tmp_path, server(POLICIES).address, "--replay", log, "--speed", "30", "--tenant", "shop")
    assert result["allowed"] == 3 and result["speed"] == 30
    assert result["elapsed_us"] >= 3_000_000 / 30
    assert "30 × the log's pace" in table


def test_what_makes_no_sense_is_said(tmp_path, log):
    assert "--speed" in fails("bench", "--replay", log, "--rate", "5")
    assert "--replay" in fails("bench", "--replay", log, "--envoy")
    (tmp_path / "empty.log").write_text("")
    done = sluice("bench", "--direct", "--policies", tmp_path / "p.yaml", "--replay", tmp_path / "empty.log")
    assert done.returncode == 2 and "no requests found" in done.stderr
