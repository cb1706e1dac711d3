"""A Redis server as a child process, for tests."""

import subprocess

import redis

from harness.ports import free_port
from harness.server import DIE_WITH_PARENT, WAIT_SECONDS, wait_until


class Redis:
    """A redis-server on a free port of the loopback, answering when the constructor returns.

    Durable: what it has answered is there again after stop() and start().
    """

    def __init__(self, directory, durable=False):
        directory.mkdir()
        self.port = free_port()
        self.directory = directory
        self.persistence = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no"]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.client = redis.Redis(port=self.port, socket_timeout=WAIT_SECONDS)
        self.start()

    def start(self):
        """Again after stop(), on the same port; without data, unless it is durable."""
        self.process = subprocess.Popen(
            [*DIE_WITH_PARENT, "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory),
             "--save", "", *self.persistence], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        wait_until(self._answers, f"redis-server on port {self.port}")

    def _answers(self):
        assert self.process.poll() is None, "redis-server ended"
        try:
            return self.client.ping()
        except redis.ConnectionError:
            return False

    def counters(self):
        """How many keys count something: without the record of tenants that have moved."""
        return len(self.keys()) - self.client.exists("rl:moves")

    def keys(self):
        """All keys but those by which nodes meet."""
        return [key for key in self.client.keys() if b"{nodes}:" not in key]

    def stop(self):
        self.client.close()
        self.process.kill()
        self.process.wait()
