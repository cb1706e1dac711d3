"""The trial itself, on the memory store, where nothing can fail: it must see that, and see what is made up."""

import dataclasses

import pytest

from rig.load import Report
from rig.trial import POLICIES


@pytest.fixture
def outcome(server, trial):
    """(what a trial without a fault came to, the node)"""
    node = server(POLICIES)
    return trial(node, lambda: None, patient=True), node


def test_nothing_happened(outcome, server, http):
    seen, node = outcome
    seen.assert_promises()
    seen.assert_not_felt()
    seen.assert_exact(http(node))
    with pytest.raises(AssertionError, match="nothing was degraded"):
        seen.assert_was_felt()

    with pytest.raises(AssertionError):
        seen.assert_exact(http(server(POLICIES)))  # a node that knows nothing of what was granted
    with pytest.raises(AssertionError, match="too many"):
        seen.assert_admitted_at_most(-1)
    for planted in (swapped_answers, lost_answer, degraded_answer):
        with pytest.raises(AssertionError):
            changed = dataclasses.replace(seen, exact=planted(seen.exact))
            changed.assert_promises()
            changed.assert_not_felt()


def replaced(report, number, **fields):
    answers = list(report.answers)
    answers[number] = dataclasses.replace(answers[number], **fields)
    return Report(answers, [])  # judged as on a machine that has time for us


def swapped_answers(report):
    """Two neighbours, on keys of different costs, got each other's answer."""
    one, two = report.answers[20:22]
    return replaced(replaced(report, 20, body=two.body), 21, body=one.body)


def lost_answer(report):
    return replaced(report, 20, status=0)


def degraded_answer(report):
    return replaced(report, 20, body={**report.answers[20].body, "degraded": True, "reason": "store_unavailable"})
