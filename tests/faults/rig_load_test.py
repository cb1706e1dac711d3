"""The load client and its report: a client that miscounts makes every other test worthless."""

import http.server
import json
import threading
import time

import pytest
from harness.server import wait_until

from rig.load import Answer, Report, now
from rig.patience import RECOVERY_S, slack_s


class Decider(http.server.BaseHTTPRequestHandler):
    """Stands in for Sluice. The test says which answer the n-th request gets."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.seen.append(body)
            number = len(self.server.seen)
        status, answer = self.server.decide(number, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def answer(allowed=True, degraded=False):
    return 200, {"allowed": allowed, "degraded": degraded, "reason": "store_unavailable" if degraded else "ok"}


@pytest.fixture
def decider(cleanup):
    one = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Decider)
    one.daemon_threads = True
    one.host, one.port = one.server_address
    one.seen, one.lock, one.decide = [], threading.Lock(), lambda number, body: answer()
    threading.Thread(target=one.serve_forever, daemon=True).start()
    cleanup.callback(one.server_close)
    cleanup.callback(one.shutdown)
    return one


def run_until_seen(decider, running, count):
    wait_until(lambda: len(decider.seen) >= count, f"{count} requests")
    return running.stop()


def test_checks_take_keys_tenants_and_costs_in_turn(decider, load):
    report = run_until_seen(decider, load(decider, policy_id="p", keys=2, tenants=3, costs=4), 24)
    assert len(report.answers) == len(decider.seen)
    assert {(one["key"], one["tenant_id"], one["tokens"]) for one in decider.seen} == {
        (f"k{i % 2}", f"t{i % 3}", 1 + i % 4) for i in range(12)}
    assert "request_id" not in decider.seen[0]
    assert report.counts() == {"allowed": len(decider.seen)}
    report.assert_all_answered()


def test_several_servers_share_the_load(decider, load):
    report = run_until_seen(decider, load([decider, decider], policy_id="p", connections=2), 4)
    assert len(report.answers) == len(decider.seen)


def test_the_rate_is_kept_from_above(decider, load):
    began = now()
    report = run_until_seen(decider, load(decider, policy_id="p", per_second=50, connections=4), 20)
    assert len(report.answers) <= (now() - began) * 50 + 2 * 4  # each lane may be one ahead


def test_an_id_is_asked_for_until_its_answer_is_not_degraded(decider, load):
    decider.decide = lambda number, body: answer(allowed=True, degraded=number % 3 != 0)
    report = run_until_seen(decider, load(decider, policy_id="p", ids="a", costs=3, connections=2), 30)
    report.assert_one_answer_each()
    ids = {one["request_id"] for one in decider.seen}
    assert len(report.granted()) == len(ids) < len(report.answers)
    assert {one["request_id"]: one["tokens"] for one in decider.seen} == {
        f"a{number}": cost for number, cost in report.granted().items()}


def test_what_is_degraded_is_told_while_the_load_runs(decider, load):
    decider.decide = lambda number, body: answer(degraded=number == 2)
    running = load(decider, policy_id="p", connections=1)
    wait_until(lambda: running.degraded_so_far(), "the degraded answer")
    assert len(running.stop().degraded()) == 1


def test_ids_without_a_decision_are_given_up_and_reported(decider, load):
    decider.decide = lambda number, body: answer(degraded=True)
    report = run_until_seen(decider, load(decider, policy_id="p", ids="a", connections=1, settle_s=0.1), 3)
    with pytest.raises(AssertionError, match="without exactly one decision"):
        report.assert_one_answer_each()


def test_errors_and_closed_connections_are_no_answers(decider, load):
    decider.decide = lambda number, body: (503, {}) if number == 2 else answer()
    report = run_until_seen(decider, load(decider, policy_id="p", connections=1), 5)
    assert report.counts()["status 503"] == 1
    with pytest.raises(AssertionError, match="got no decision"):
        report.assert_all_answered()


def test_silence_is_no_answer(decider, load):
    decider.decide = lambda number, body: time.sleep(2) or answer()
    running = load(decider, policy_id="p", connections=1, hang_s=0.1)
    report = run_until_seen(decider, running, 2)
    assert report.answers[0].body == "no answer"


def test_a_client_that_died_is_reported(decider, load):
    running = load(decider, policy_id="p")
    running.process.kill()
    with pytest.raises(AssertionError, match="ended with -9"):
        running.stop()


def made(began, ended, number=0, **body):
    _, decision = answer(**body)
    return Answer(number, 1, "k0", "t0", began, ended, 200, decision)


def test_what_is_late_and_what_the_machine_is_to_blame_for():
    Report([made(0, 0.9)], [(0, 0.1)]).assert_in_time(0.01)
    with pytest.raises(AssertionError, match="later than"):
        Report([made(0, 1.1)], [(0, 0.1)]).assert_in_time(0.01)
    assert slack_s(0.1) == pytest.approx(1.0)
    Report([made(0, 1.9)], [(0, 0.1)], slowdown=2).assert_in_time(0.01)
    with pytest.raises(AssertionError, match="later than"):
        Report([made(0, 2.1)], [(0, 0.1)], slowdown=2).assert_in_time(0.01)


def test_the_slowdown_is_measured(decider, load):
    assert run_until_seen(decider, load(decider, policy_id="p"), 5).slowdown >= 1


def test_what_is_felt():
    one = made(10, 10.1, degraded=True)
    Report([one], [(5, 0.5), (10, 0.5)]).assert_not_felt(1)
    Report([one], [(8.5, 0.3)]).assert_not_felt(1)  # the breaker may have opened then
    for stalls in ([], [(10, 0.1)], [(5, 0.5)], [(11, 0.5)]):
        with pytest.raises(AssertionError, match="were degraded"):
            Report([one], stalls).assert_not_felt(1)


def test_what_is_recovered():
    returned, soon, late = 10, 10.5, 10 + RECOVERY_S + slack_s(0) + 0.1
    good = made(late, late)
    Report([made(soon, soon, degraded=True), good], []).assert_recovered(returned)
    with pytest.raises(AssertionError, match="after the return"):
        Report([made(late, late, degraded=True), good], []).assert_recovered(returned)
    with pytest.raises(AssertionError):
        Report([made(5, 5)], []).assert_recovered(returned)  # nobody asked since


def test_two_decisions_for_one_id_are_seen():
    with pytest.raises(AssertionError, match="without exactly one decision"):
        Report([made(0, 1, allowed=True), made(1, 2, allowed=False)], []).assert_one_answer_each()


def test_a_reason_that_contradicts_is_seen():
    one = made(0, 1)
    one.body["reason"] = "store_unavailable"
    with pytest.raises(AssertionError, match="contradict"):
        Report([one], []).assert_all_answered()
