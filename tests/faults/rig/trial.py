"""A trial: load on a server while something goes wrong, and the promises that hold whatever it is.

Three kinds of load run at once:

    exact    checks with request ids, each asked again until the store has decided it; a deadline that a busy machine
             meets. Each key has a cost of its own, so that an answer given to the wrong question shows.
    quick    checks with a short deadline, no ids: these show that nobody waits for a store that does not answer.
    scarce   one key with a small limit that is soon used up: this shows how much passes in all.

All fail closed, so that nothing is admitted that the store has not admitted.
"""

import collections
import dataclasses
import time

from harness.server import wait_until

from rig import patience
from rig.load import Report, now

# Limits that gain nothing while a test runs: the first unit comes back after minutes.
EXACT_LIMIT = 40_000
SCARCE_LIMIT = 60
EXACT_DEADLINE_S = 1.0
QUICK_DEADLINE_S = 0.03
KEYS = 16

POLICIES = f"""
policies:
  - id: exact
    resource: /exact
    limits: [{{ name: units, per: [tenant, key], rate: {EXACT_LIMIT}/366d }}]
    on_failure: closed
    deadline: 1s
  - id: quick
    resource: /quick
    limits: [{{ name: units, per: [tenant, key], rate: {EXACT_LIMIT}/366d }}]
    on_failure: closed
    deadline: 30ms
  - id: scarce
    resource: /scarce
    limits: [{{ name: units, per: [tenant, key], rate: {SCARCE_LIMIT}/366d }}]
    on_failure: closed
    deadline: 1s
"""

WARM_UP_S = 0.7
CALM_S = 0.5     # goes on after the recovery, to see that it lasts
RESIGN_S = 1.0   # so long after its end a master may still get writes from us
OUTAGE_S = 1.2   # how long a fault usually lasts


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the three loads saw, and when the fault began and when it was over."""
    exact: Report
    quick: Report
    scarce: Report
    began: float
    returned: float
    quick_deadline_s: float = QUICK_DEADLINE_S

    @property
    def reports(self):
        return [self.exact, self.quick, self.scarce]

    def summary(self):
        """In one line, for people."""
        answers = sum(len(report.answers) for report in self.reports)
        degraded = sum(len(report.degraded()) for report in self.reports)
        last = max((answer.began for report in self.reports for answer in report.degraded()), default=0)
        recovery = f"{max(0, last - self.returned):5.2f} s" if degraded else "      –"
        admitted = sum(self.scarce.granted().values())
        return (f"{answers:6} answers, {degraded:5} degraded, recovered in {recovery}, admitted {admitted:3} of "
                f"{SCARCE_LIMIT} (and {self.units_at_risk(self.scarce)} if state is lost), longest "
                f"{self.quick.longest_s() * 1000:4.0f} of {self.quick_deadline_s * 1000:.0f} ms, "
                f"stall {max(report.longest_stall_s for report in self.reports) * 1000:4.0f} ms, "
                f"slowdown {max(report.slowdown for report in self.reports):.1f}")

    def assert_promises(self, counters_kept=True, recovery_s=patience.RECOVERY_S):
        """Whatever happens: every check gets a decision, its own, by its deadline, and soon after the store's return
        from the store."""
        for report, deadline_s in ((self.exact, EXACT_DEADLINE_S), (self.quick, self.quick_deadline_s),
                                   (self.scarce, EXACT_DEADLINE_S)):
            report.assert_all_answered()
            report.assert_in_time(deadline_s)
            report.assert_recovered(self.returned, recovery_s)
        self.exact.assert_one_answer_each()
        self.exact.assert_answers_fit_their_questions(EXACT_LIMIT, counters_kept)

    def assert_was_felt(self):
        """The fault reached the checks; else the test would prove nothing. Not asked of the scarce load: once its limit
        is used up, the server remembers the denials, and they stand without the store."""
        for report in (self.exact, self.quick):
            assert report.degraded(after=self.began), f"nothing was degraded: {report.counts()}"

    def assert_not_felt(self):
        """No check noticed. REQUIRES: Trial.run(patient=True)"""
        assert self.quick_deadline_s == EXACT_DEADLINE_S
        for report in self.reports:
            report.assert_not_felt(EXACT_DEADLINE_S)

    def assert_exact(self, client):
        """Every allowed id was charged once, and nothing else was: the fault kept the store's state."""
        granted = self.granted_by_key()
        assert {where: charged(client, "exact", *where) for where in granted} == granted
        self.assert_admitted_at_most(0)

    def assert_little_was_lost(self, client):
        """Replication is not waited for: what was decided while the master changed may be forgotten, and nothing else.
        Nothing is charged that was not granted, or twice."""
        granted = self.granted_by_key()
        kept = {where: charged(client, "exact", *where) for where in granted}
        assert all(kept[where] <= granted[where] for where in granted)
        assert sum(granted.values()) - sum(kept.values()) <= self.units_at_risk(self.exact)
        self.assert_admitted_at_most(self.units_at_risk(self.scarce))

    def units_at_risk(self, report):
        """Granted from the beginning of the fault until the new master had taken over."""
        begin, end = self.began - report.slack_s, self.returned + RESIGN_S + report.slack_s
        return sum(answer.cost for answer in report.granted_answers() if begin <= answer.ended <= end)

    def granted_by_key(self):
        """{(key, tenant): units that the store allowed} of the exact load."""
        units = collections.Counter()
        for answer in self.exact.granted_answers():
            units[answer.key, answer.tenant] += answer.cost
        return dict(units)

    def assert_admitted_at_most(self, beyond):
        """The limit, and no more than `beyond` above it; and it was reached, so that there was something to exceed."""
        admitted = sum(self.scarce.granted().values())
        assert admitted <= SCARCE_LIMIT + beyond, f"{admitted} were admitted, {admitted - SCARCE_LIMIT} too many"
        assert self.scarce.counts()["denied"] > 0, "the limit was never reached"


def charged(client, policy_id, key, tenant, limit=EXACT_LIMIT):
    """How many units a key has used, as the store knows it. Asked until the store itself says it: how soon it does is
    judged by the loads, not here."""
    def answer():
        decision = client.check(policy_id=policy_id, tenant_id=tenant, key=key, tokens=0)
        return None if decision["degraded"] else decision
    return limit - wait_until(answer, "an answer of the store")["remaining"]


class Trial:
    """Runs trials, one after the other. `load` starts a load, as the fixture of that name does."""

    def __init__(self, load):
        self._load = load
        self._running, self._degraded_before = [], []

    def run(self, node, client, fault, tenants=1, patient=False):
        """Loads the node, calls fault() (which does the harm and returns when it is undone), waits for the recovery, and
        returns the Outcome.

        patient: for faults that nobody may feel; the quick load, too, has the deadline that a busy machine meets. Else
        its misses could make the breaker open for all.
        """
        load, servers = self._load, node if isinstance(node, list) else [node]
        running = [load(servers, policy_id="exact", ids="e", keys=KEYS, costs=KEYS, tenants=tenants, per_second=200),
                   load(servers, policy_id="exact" if patient else "quick", key="q", keys=50, tenants=tenants,
                        per_second=200),
                   load(servers, policy_id="scarce", per_second=100, connections=8)]
        time.sleep(WARM_UP_S)
        wait_until(lambda: used_scarce(client) != 0, "the load to begin")
        self._running, self._degraded_before = running, [one.degraded_so_far() for one in running]
        began = now()
        fault()
        returned = now()
        # Stop when all is well again and the small limit is used up; if that never comes, the reports say so.
        give_up = now() + patience.WAIT_S
        while used_scarce(client) != SCARCE_LIMIT and now() < give_up:
            time.sleep(0.05)
        time.sleep(CALM_S)
        return Outcome(*(one.stop() for one in running), began, returned,
                       quick_deadline_s=EXACT_DEADLINE_S if patient else QUICK_DEADLINE_S)

    def is_felt(self, quick_only=False):
        """Whether the exact and the quick load have had degraded answers since the fault began; or the quick one alone."""
        felt = [one.degraded_so_far() > before for one, before in zip(self._running, self._degraded_before)]
        return felt[1] and (quick_only or felt[0])

    def hold(self, seconds=OUTAGE_S, quick_only=False):
        """Lets a fault last: for so long, and on a busy machine until it is felt. A fault that nobody feels is not waited
        for without end: then the report says so."""
        time.sleep(seconds)
        give_up = now() + patience.WAIT_S
        while not self.is_felt(quick_only) and now() < give_up:
            time.sleep(0.05)


def used_scarce(client):
    """How much of the small limit is used; None while the store does not say."""
    decision = client.check(policy_id="scarce", tenant_id="t0", key="k0", tokens=0)
    return None if decision["degraded"] else SCARCE_LIMIT - decision["remaining"]
