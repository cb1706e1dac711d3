"""Ports for servers that tests start, side by side in any number of processes (src/base/testing/port.h keeps the same rules)."""

import collections
import fcntl
import os
import pathlib
import random
import socket
import tempfile

# Below the ports that the kernel gives to outgoing connections. So nobody takes the port of a server that is
# down for a moment, and no client that tries to reach it meets itself there.
PORTS = range(12_000, 30_000)
CLAIMS = pathlib.Path(tempfile.gettempdir()) / f"sluice-test-ports-{os.getuid()}"

# The newest claims of this process. An older one is given up: its server listens by now, and that shows.
_claims = collections.deque(maxlen=256)


def free_port():
    """A port that nobody listens on, and that no other test is about to use."""
    CLAIMS.mkdir(exist_ok=True)
    while True:
        port = random.SystemRandom().choice(PORTS)
        claim = open(CLAIMS / str(port), "w")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
