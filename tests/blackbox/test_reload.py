"""Policies change while the server runs: however the file is replaced, and never for the worse."""

import os
import signal

import pytest
from harness.server import wait_until

POLICY = """
policies:
  - id: p
    limits: [{{ name: one, per: [key], rate: {limit}/d }}]
"""


def limit(client):
    return client.check(policy_id="p", key="k", tokens=0)["limit"]


def wait_for_limit(client, expected):
    wait_until(lambda: limit(client) == expected, f"a limit of {expected}")


def test_written_in_place(server, http):
    running = server(POLICY.format(limit=10))
    client = http(running)
    assert limit(client) == 10
    running.write_policies(POLICY.format(limit=20), in_place=True)
    wait_for_limit(client, 20)


def test_replaced_by_rename(server, http):
    running = server(POLICY.format(limit=10))
    client = http(running)
    for limit_now in (20, 30, 40):  # each time a new file under the old name
        running.write_policies(POLICY.format(limit=limit_now))
        wait_for_limit(client, limit_now)


def test_a_symlink_swapped_as_kubernetes_does(server, http, tmp_path):
    """policies.yaml -> ..data/policies.yaml, ..data -> version-1: only ..data is replaced."""
    for version, limit_of_version in (("version-1", 10), ("version-2", 20)):
        (tmp_path / "mount" / version).mkdir(parents=True)
        (tmp_path / "mount" / version / "policies.yaml").write_text(POLICY.format(limit=limit_of_version))
    data = tmp_path / "mount" / "..data"
    data.symlink_to("version-1")
    link = tmp_path / "mount" / "policies.yaml"
    link.symlink_to("..data/policies.yaml")
    client = http(server(link))
    assert limit(client) == 10
    fresh = tmp_path / "mount" / "..data_tmp"
    fresh.symlink_to("version-2")
    os.replace(fresh, data)
    wait_for_limit(client, 20)


def test_the_log_names_the_versions(server, http):
    running = server(POLICY.format(limit=10))
    running.wait_for_log(r"loaded 1 policy from 1 file, 1 new or changed: p#1 event=policies.loaded\n")
    running.write_policies(POLICY.format(limit=20))
    running.wait_for_log(r"loaded 1 policy from 1 file, 1 new or changed: p#2 event=policies.loaded\n")


def test_sighup_rereads(server, http):
    running = server(POLICY.format(limit=10))
    client = http(running)
    running.write_policies(POLICY.format(limit=20), in_place=True)
    running.signal(signal.SIGHUP)
    wait_for_limit(client, 20)


@pytest.mark.parametrize("bad", ["policies: [", "policies:\n  - id: p\n    limits: [{ name: one, rate: -1/s }]\n", "typo: []\n"],
                         ids=["not YAML", "negative rate", "unknown field"])
def test_a_bad_file_changes_nothing_and_everybody_hears_of_it(server, http, bad):
    running = server(POLICY.format(limit=10))
    client = http(running)
    running.write_policies(bad)
    problems = wait_until(lambda: client.get("/readyz").json["problems"], "a problem in /readyz")
    assert "policies.yaml" in problems[0], problems
    assert client.get("/readyz").status == 200, "the last good policies still serve"
    assert limit(client) == 10
    assert "policies.yaml" in running.log()
    failures = [line for line in client.get("/metrics").body.decode().splitlines()
                if not line.startswith("#") and "reload" in line and "fail" in line]
    assert failures and float(failures[0].rpartition(" ")[2]) >= 1, failures

    running.write_policies(POLICY.format(limit=30))
    wait_for_limit(client, 30)
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "no more problems")


def test_what_was_used_stays_used(server, http):
    running = server(POLICY.format(limit=10))
    client = http(running)
    client.check(policy_id="p", key="k", tokens=10)
    assert client.check(policy_id="p", key="k")["allowed"] is False
    running.write_policies(POLICY.format(limit=15))
    wait_for_limit(client, 15)
    assert client.check(policy_id="p", key="k", tokens=0)["remaining"] == 5, "a raised limit helps at once"


NOBODY = "policies: [{ id: p, limits: [{ name: one, per: [key], rate: 0/s }] }]"


def test_a_file_that_denies_everyone_is_refused_unless_that_is_meant(server, http):
    running = server(POLICY.format(limit=10))
    client = http(running)
    running.write_policies(NOBODY)
    running.wait_for_log("would deny every request from every caller; if that is intended, start with --allow-deny-everyone")
    assert limit(client) == 10, "the old policy still answers"
    assert http(server(NOBODY, ["--allow-deny-everyone"])).check(policy_id="p", key="k")["allowed"] is False
