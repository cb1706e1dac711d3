"""One policy of the database, for tests of how it gets there and stays there."""

import time

from harness.server import wait_until


def policy(rate, policy_id="p"):
    return {"id": policy_id, "resource": f"/{policy_id}", "limits": [{"name": "one", "per": ["key"], "rate": rate}]}


def put(client, rate, policy_id="p"):
    return client.request("PUT", f"/v1/policies/{policy_id}", policy(rate, policy_id))


def limit(client, policy_id="p"):
    """The limit in force; None if the policy is not."""
    answer = client.post("/v1/ratelimit/check", {"policy_id": policy_id, "key": "k", "tokens": 0})
    return answer.json["limit"] if answer.status == 200 else None


def wait_for_limit(client, expected, policy_id="p"):
    """Waits until it is in force, and prints how long that took."""
    begin = time.monotonic()
    wait_until(lambda: limit(client, policy_id) == expected, f"a limit of {expected}")
    print(f"in force on the other node after {(time.monotonic() - begin) * 1000:.0f} ms")
