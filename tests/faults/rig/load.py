"""Load that counts: checks kept in flight by rig/load_client.py, and what became of each of them."""

import collections
import contextlib
import dataclasses
import json
import pathlib
import pickle
import subprocess
import sys
import time

from harness.server import DIE_WITH_PARENT

from rig import patience


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is asked, and how. Checks take the keys, tenants and costs in turn."""
    targets: list                # (host, port) of the servers; connections are spread over them
    policy_id: str
    key: str = "k"
    keys: int = 1                # k0, k1, …
    tenant: str = "t"
    tenants: int = 1             # t0, t1, …
    costs: int = 1               # 1, 2, … this
    ids: str = ""                # not empty: each check has a request id that begins so, and is asked again with
                                 # the same id until an answer is not degraded
    fresh_ids: bool = False      # a mistake to be planted: each attempt has an id of its own
    connections: int = 16        # as many checks are in flight at most
    per_second: int = 500        # of all connections together, and no more
    settle_s: float = patience.WAIT_S  # after the end, ids are asked for this long for their answers
    hang_s: float = patience.HANG_S


@dataclasses.dataclass(frozen=True)
class Answer:
    """One check and its answer. Times are time.monotonic(), the same in every process."""
    number: int
    cost: int
    key: str
    tenant: str
    began: float
    ended: float
    status: int        # 0: none
    body: object

    @property
    def ok(self):
        return self.status == 200

    @property
    def allowed(self):
        return self.ok and self.body["allowed"]

    @property
    def degraded(self):
        return self.ok and self.body["degraded"]

    @property
    def kind(self):
        if not self.ok:
            return f"status {self.status}"
        return ("degraded " if self.degraded else "") + ("allowed" if self.allowed else "denied")

    @property
    def seconds(self):
        return self.ended - self.began


class Report:
    """Every answer, in the order of arrival, and the questions that tests put to them."""

    def __init__(self, answers, stalls, slowdown=1.0):
        self.answers = answers
        self.stalls = stalls
        self.slowdown = slowdown  # see rig/patience.py

    @property
    def longest_stall_s(self):
        return max((stall for _, stall in self.stalls), default=0)

    @property
    def slack_s(self):
        return patience.slack_s(self.longest_stall_s, self.slowdown)

    def counts(self):
        return collections.Counter(answer.kind for answer in self.answers)

    def degraded(self, after=0):
        """Those whose question came later than `after`."""
        return [answer for answer in self.answers if answer.degraded and answer.began > after]

    def between(self, begin, end):
        """A report of the answers whose question and answer both lie in this time."""
        return Report([answer for answer in self.answers if begin <= answer.began and answer.ended <= end],
                      self.stalls, self.slowdown)

    def of_tenants(self, tenants):
        return Report([answer for answer in self.answers if answer.tenant in tenants], self.stalls, self.slowdown)

    def granted_answers(self):
        """Those that the store allowed; of several with one id, the first."""
        first = {}
        for answer in self.answers:
            if answer.allowed and not answer.degraded:
                first.setdefault(answer.number, answer)
        return list(first.values())

    def granted(self):
        """{number of the check: its cost} of those that the store allowed."""
        return {answer.number: answer.cost for answer in self.granted_answers()}

    def longest_s(self):
        return max((answer.seconds for answer in self.answers), default=0)

    # Promises.

    def assert_all_answered(self):
        """No error, no closed connection, no silence, whatever happened to the store."""
        failed = [answer for answer in self.answers if not answer.ok]
        assert not failed, f"{len(failed)} of {len(self.answers)} got no decision, first {failed[0]}"
        odd = [answer for answer in self.answers
               if answer.degraded != (answer.body["reason"] == "store_unavailable")]
        assert not odd, f"degraded and its reason contradict each other: {odd[0]}"

    def assert_in_time(self, deadline_s):
        """No answer came after the deadline, but for what the machine itself took."""
        late = [answer for answer in self.answers if answer.seconds > deadline_s + self.slack_s]
        assert not late, (f"{len(late)} of {len(self.answers)} answers came later than {deadline_s} s and a slack of "
                          f"{self.slack_s:.3f} s, the last took {late[-1].seconds:.3f} s")

    def assert_not_felt(self, deadline_s):
        """Every answer came from the store, unless the machine stood still and the breaker took that for a fault."""
        blamed = [(began, began + stall) for began, stall in self.stalls
                  if patience.explains_a_missed_deadline(stall, deadline_s, self.slowdown)]
        reach_s = patience.RECOVERY_S + deadline_s
        felt = [answer for answer in self.degraded()
                if not any(began <= answer.ended and answer.began <= ended + reach_s for began, ended in blamed)]
        assert not felt, f"{len(felt)} of {len(self.answers)} answers were degraded, first {felt[0]}"

    def assert_recovered(self, returned_at, within_s=patience.RECOVERY_S):
        """Soon after the store's return nothing is degraded any more, and there was something to see it by."""
        end = returned_at + within_s * self.slowdown + self.slack_s
        late = self.degraded(after=end)
        assert not late, f"{len(late)} degraded answers, the last {late[-1].began - returned_at:.3f} s after the return"
        assert any(answer.ok and answer.began > returned_at and not answer.degraded for answer in self.answers)

    def assert_answers_fit_their_questions(self, limit, counters_kept=True):
        """No answer was given to another question: each key's answers count down in steps of its own cost and, while
        no counter starts again, never say the same twice. REQUIRES: as many costs as keys, so that each has one."""
        seen = set()
        for answer in self.answers:
            if not answer.ok or answer.degraded or not answer.allowed or answer.body["replayed"]:
                continue
            used = limit - answer.body["remaining"]
            assert used % answer.cost == 0 and used > 0, f"an answer to another question: {answer}"
            assert not counters_kept or (answer.tenant, answer.key, used) not in seen, f"given twice: {answer}"
            seen.add((answer.tenant, answer.key, used))

    def assert_one_answer_each(self):
        """Every request id has its one decision: nothing is left undecided, and no retry was told another one.
        REQUIRES: the plan has ids."""
        decisions = collections.defaultdict(set)
        for answer in self.answers:
            decisions[answer.number]  # a number without any decision has an empty set
            if answer.ok and not answer.degraded:
                decisions[answer.number].add(answer.allowed)
        undecided = [number for number, heard in decisions.items() if len(heard) != 1]
        assert not undecided, f"{len(undecided)} of {len(decisions)} ids without exactly one decision: {undecided[:5]}"


class Load:
    """A running load client. start() returns when it runs; stop() ends it and gives the Report."""

    def __init__(self, directory, plan):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.plan = plan
        self.process = None

    def start(self):
        program = pathlib.Path(__file__).with_name("load_client.py")
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, sys.executable, program, self.directory / "records",
                                             self.directory / "degraded"],
                                            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT)
        self.process.stdin.write(json.dumps(dataclasses.asdict(self.plan)).encode() + b"\n")
        self.process.stdin.flush()
        return self

    def degraded_so_far(self):
        """How many answers were degraded, while it runs."""
        file = self.directory / "degraded"
        return file.stat().st_size if file.exists() else 0

    def stop(self):
        with contextlib.suppress(BrokenPipeError):  # it is gone: the status says so
            self.process.stdin.close()
        status = self.process.wait(self.plan.settle_s + self.plan.hang_s + patience.WAIT_S)
        assert status == 0, f"the load client ended with {status}:\n{(self.directory / 'log').read_text()}"
        answers, stalls, slowdown = pickle.loads((self.directory / "records").read_bytes())
        return Report([Answer(*record) for record in answers], stalls, slowdown)

    def kill(self):
        """Safe to call at any time."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()


def now():
    """The moment, on the clock of the reports."""
    return time.monotonic()
