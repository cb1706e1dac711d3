"""The admin API for tests: a server with a policy database of its own, and what every bad input has in common."""

import json
import re

# Tests call more often than admins do; the server's own limits are for test_admin_limits.py to meet.
QUICK_END = ["--drain-notice-ms", "0", "--admin-reads-per-minute", "4096", "--admin-writes-per-minute", "4096"]


def sqlite(folder):
    """Arguments for a server whose policy database is a file in `folder`."""
    return ["--policy-db", f"sqlite:{folder}/policies.db", *QUICK_END]


def expect(answer, status):
    """The answer's JSON (None if it has no body); it must have this status."""
    assert answer.status == status, answer
    return answer.json if answer.body else None


def expect_problem(answer, status, field=None):
    """An error must be problem+json with a sentence, and name the field if one is to blame."""
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json", answer
    problem = answer.json
    assert problem["status"] == status and problem["detail"], answer
    assert problem.get("field") == field, answer
    return problem


def metric(client, name):
    return float(re.search(rf"^{name} (\S+)$", client.get("/metrics").body.decode(), re.MULTILINE)[1])


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def pages(client, path, name, headers=None, cursor="after"):
    """Yields the lists of all pages of a list, as `next` leads from one to the other."""
    after = ""
    while True:
        body = expect(client.get(path + after, headers), 200)
        yield body[name]
        if body["next"] is None:
            return
        after = ("&" if "?" in path else "?") + f"{cursor}={body['next']}"


# What no call of the API takes as its body, whatever the call.
BODIES_THAT_ARE_NO_OBJECT = {
    "empty": b"",
    "text": b"hello",
    "list": b"[]",
    "cut short": b'{"limit": 1',
    "two values": b"{}{}",
    "not UTF-8": b'{"resource":"\xff"}',
    "a list nested deeply": b"[" * 10_000 + b"]" * 10_000,
    "an object nested deeply": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
}


def number_out_of_bounds(good, field, least_is_one=False):
    """Bodies equal to `good`, but for one number that is none or too large or too small."""
    bad = ["", "1", -1, 2**63, 10**30, 1.5, True, None, [1], {}]
    for value in bad + ([0] if least_is_one else []):
        yield json.dumps({**good, field: value})
    for literal in ("NaN", "Infinity", "1e3", "0x10"):
        yield json.dumps({**good, field: "HERE"}).replace('"HERE"', literal)
