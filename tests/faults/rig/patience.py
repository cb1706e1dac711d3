"""How long a fault test waits, and how late an answer may be. Every bound on time in these tests comes from here.

The promise is made for a machine that has time for us: an answer by the policy's deadline, and the usual answers again
within two seconds of the store's return. On a busy machine a process that is due may not run for a while, and neither
we nor the server can help it. So the load client keeps a metronome beside its requests: it sleeps for ten milliseconds,
again and again, and notes by how much it overslept. The longest of these is the machine's own share, measured at
the very time of the test. A process that has much to do waits for a core again and again, though never for long: so the
client also asks the kernel how many times longer its work took than it would have alone (the slowdown, 1 on an idle
machine). What a test allows is

    the promised time + (GRACE_S + STALLS × the longest stall) × the slowdown

and for a recovery, which takes many steps, the promised time is multiplied as well.

GRACE_S is what sanitizers and a Python client add. STALLS: a request passes through four processes in a row (client,
server, Redis, and the proxy where there is one), and through the client twice; each may be the one that has to wait.

A fault that nobody may feel is judged alike: an answer that is degraded although the store was there all the time is
forgiven if the machine stood still shortly before, for so long that STALLS such stalls, times the slowdown, fill the
deadline.

The bounds are wide and still tell right from wrong: faults last for seconds, and a server that waits for a lost reply,
or does not come back by itself, misses them by far. No test asserts that anything is fast.
"""

from harness.server import WAIT_SECONDS

GRACE_S = 0.5
STALLS = 5

RECOVERY_S = 2.0      # within this, the usual answers are back
# A server that refuses us is left alone for two seconds at a time. On a busy machine an attempt may fail for other reasons.
REFUSED_RECOVERY_S = 6.0
WAIT_S = WAIT_SECONDS  # for what must happen, but has no promise about when
HANG_S = 60           # an answer that has not come by then never will


def slack_s(longest_stall_s, slowdown=1.0):
    return (GRACE_S + STALLS * longest_stall_s) * slowdown


def explains_a_missed_deadline(stall_s, deadline_s, slowdown=1.0):
    return STALLS * stall_s * slowdown >= deadline_s
