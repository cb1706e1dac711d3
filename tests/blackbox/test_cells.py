"""Several stores in one server: who counts where, and what becomes of counters when a tenant moves."""

import re
import signal

import pytest
from harness.server import wait_until

POLICY = """
policies:
  - id: p
    deadline: 30s  # however busy the machine is
    limits: [{ name: day, per: [tenant], rate: 100/d }]
"""


class Rig:
    """A server whose --store is `home`, with a cell `eu`, and a client."""

    def __init__(self, server, http, two_redis, path):
        self.home, self.eu = two_redis
        self.file = path / "cells.yaml"
        self.write("tenants: [acme], tiers: [gold]")
        self.server = server(POLICY, ["--store", self.home.url, "--cells", str(self.file), "--threads", "2"])
        self.http = http(self.server)
        wait_until(lambda: self.http.get("/readyz").status == 200, "readiness")
        # To be placed there for the first time is a move as any other: it may have been counted at home.
        self.wait_for_end_of_move("moved tenant acme from default to eu")

    def write(self, who, more=""):
        self.file.write_text(f"cells:\n  - {{ name: eu, store: '{self.eu.url}', {who} {more} }}\n")

    def change(self, who, more=""):
        self.write(who, more)
        self.server.signal(signal.SIGHUP)

    def remaining(self, tenant, tokens=0, **more):
        answer = self.http.check(policy_id="p", tenant_id=tenant, tokens=tokens, **more)
        assert answer["allowed"] and not answer.get("degraded"), answer
        return answer["remaining"]

    def metric(self, line):
        found = re.search(rf"^{re.escape(line)} (\d+)$", self.http.get("/metrics").body.decode(), re.MULTILINE)
        return int(found[1])

    def wait_for_metric(self, line, expected):
        """What a loop knows is seen a moment later."""
        wait_until(lambda: self.metric(line) == expected, f"{line} {expected}")

    def wait_for_remaining(self, tenant, expected):
        """Every thread follows a change at its next tick; until then a tenant that has moved is denied."""
        def look():
            answer = self.http.check(policy_id="p", tenant_id=tenant, tokens=0)
            assert answer["allowed"] and not answer.get("degraded") or answer["reason"] == "tenant_moving", answer
            return answer["remaining"] == expected
        wait_until(look, f"{expected} left for {tenant}")

    def wait_for_end_of_move(self, which):
        self.server.wait_for_log(rf"{which}: \d+ leftover counters deleted")


@pytest.fixture
def rig(server, http, two_redis, tmp_path):
    return Rig(server, http, two_redis, tmp_path)


def test_a_cell_for_tiers_is_warned_of(rig):
    rig.server.wait_for_log(r'--cells: cell "eu" has `tiers`, which count by themselves in each cell')


def test_requests_are_counted_where_they_are_placed(rig):
    assert rig.remaining("other", tokens=1) == 99
    assert (rig.home.counters(), rig.eu.counters()) == (1, 0)
    assert rig.remaining("acme", tokens=1) == 99
    assert (rig.home.counters(), rig.eu.counters()) == (1, 1)
    assert rig.remaining("other", tokens=2, dimensions={"tier": "gold"}) == 98
    assert (rig.home.counters(), rig.eu.counters()) == (1, 2)
    assert rig.remaining("other") == 99


def test_a_moved_tenant_keeps_its_counters(rig):
    assert rig.remaining("bank", tokens=30) == 70
    assert rig.remaining("other", tokens=1) == 99
    rig.change("tenants: [acme, bank], tiers: [gold]")
    rig.server.wait_for_log("moved tenant bank from default to eu: 1 counters moved")
    rig.wait_for_remaining("bank", 70)
    assert rig.remaining("bank", tokens=1) == 69
    rig.wait_for_end_of_move("moved tenant bank from default to eu")
    assert (rig.home.counters(), rig.eu.counters()) == (1, 1)
    rig.wait_for_metric('rate_limiter_tenant_moves_total{result="done"}', 2)
    assert rig.metric("rate_limiter_tenant_moved_keys_total") == 1

    rig.change("tenants: [acme], tiers: [gold]")
    rig.server.wait_for_log("moved tenant bank from eu to default: 1 counters moved")
    rig.wait_for_remaining("bank", 69)


def test_a_move_is_audited(rig):
    def moves():
        entries = rig.http.get("/v1/audit?action=move&name=bank").json["entries"]
        return [(one["kind"], one["name"], one["actor"], one["after"]) for one in entries][::-1]
    rig.change("tenants: [acme, bank], tiers: [gold]", ", when_moved: reset")
    there = ("event", "bank", "cells file", {"from": "default", "to": "eu", "counters": "reset"})
    wait_until(lambda: moves() == [there], "the entry")
    rig.change("tenants: [acme], tiers: [gold]")
    back = ("event", "bank", "cells file", {"from": "eu", "to": "default", "counters": "keep"})
    wait_until(lambda: moves() == [there, back], "both entries")


def test_a_moved_tenant_starts_anew_if_so_asked(rig):
    assert rig.remaining("bank", tokens=30) == 70
    rig.change("tenants: [acme, bank], tiers: [gold]", ", when_moved: reset")
    rig.server.wait_for_log("moved tenant bank from default to eu: its counters start from zero, as configured")
    rig.wait_for_remaining("bank", 100)
    rig.wait_for_end_of_move("moved tenant bank from default to eu")
    assert rig.home.counters() == 0, "and is forgotten where it was"
    rig.wait_for_metric('rate_limiter_tenant_moves_total{result="done"}', 2)


def test_a_move_is_seen_while_it_goes_on(rig):
    """The new server says nothing for a while: the move waits for it."""
    rig.remaining("bank", tokens=30)
    rig.eu.client.client_pause(3000)
    rig.change("tenants: [acme, bank]")
    wait_until(lambda: any("moving tenant bank from default to eu" in problem
                           for problem in rig.http.get("/readyz").json["problems"]), "the move in /readyz")
    rig.wait_for_end_of_move("moved tenant bank from default to eu")
    wait_until(lambda: not rig.http.get("/readyz").json["problems"], "the end of it in /readyz")


def test_a_tenant_waits_for_a_new_cell_that_is_gone(rig):
    assert rig.remaining("bank", tokens=30) == 70
    rig.eu.stop()
    rig.change("tenants: [acme, bank]")
    rig.server.wait_for_log("tenant bank, and 0 others, cannot move to eu yet")
    assert rig.remaining("bank", tokens=1) == 69, "it is served where it was"
    wait_until(lambda: any("the tenant stays where it is" in problem
                           for problem in rig.http.get("/readyz").json["problems"]), "it in /readyz")
    rig.eu.start()
    rig.server.wait_for_log("moved tenant bank from default to eu: 1 counters moved")
    rig.wait_for_remaining("bank", 69)


def test_a_bad_file_changes_nothing(rig):
    assert rig.remaining("bank", tokens=30) == 70
    rig.change("tenants: [bank, bank]")
    rig.server.wait_for_log(r"cells\.yaml:2: cells\[0\]\.tenants\[1\]: \"bank\" is placed by .* keeping the current settings")
    assert rig.remaining("bank") == 70
    assert rig.remaining("acme", tokens=1) == 99
    assert (rig.home.counters(), rig.eu.counters()) == (1, 1)
    rig.change("tenants: [acme, bank]")
    rig.server.wait_for_log("moved tenant bank from default to eu: 1 counters moved")
    rig.wait_for_remaining("bank", 70)
    wait_until(lambda: rig.eu.counters() == 2, "the counter in its new place")


def test_a_cell_that_cannot_be_reached_costs_only_its_own(rig):
    rig.eu.client.shutdown(nosave=True)
    wait_until(lambda: any("cell eu" in problem for problem in rig.http.get("/readyz").json["problems"]), "a problem that names the cell")
    assert rig.remaining("other", tokens=1) == 99
    assert rig.http.check(policy_id="p", tenant_id="acme", tokens=1)["degraded"] is True
