"""A real redis-server that a test can kill, freeze and bring back."""

import shutil

import redis
from harness.server import wait_until
from redis.backoff import NoBackoff
from redis.retry import Retry

from rig.patience import WAIT_S
from harness.ports import free_port
from rig.process import Process


class RedisServer(Process):
    """redis-server on a port of the loopback and on a unix socket, answering when start() returns.

    config: settings as keyword arguments, with _ for -, such as maxmemory_policy="allkeys-lru"; they hold for every
    start. The port stays the same for life.
    """

    def __init__(self, directory, password=None, **config):
        super().__init__(directory)
        self.port = None
        self.password = password
        self.unix_path = self.directory / "redis.sock"
        self.config = {"save": "", "appendonly": "no", "enable-debug-command": "yes", "repl-diskless-sync-delay": "0",
                       "repl-ping-replica-period": "1"}
        self.config |= {name.replace("_", "-"): value for name, value in config.items()}
        self._client = None

    @property
    def host(self):
        return "127.0.0.1"

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def url(self):
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}{self.address}"

    @property
    def unix_url(self):
        return f"unix://{self.unix_path}"

    def connect(self, **options):
        """A client of its own: not shared with other threads, its timeouts not those of `cli`."""
        return redis.Redis(port=self.port, password=self.password, decode_responses=True, **options)

    @property
    def cli(self):
        """A client for the test's own questions. A frozen server makes it fail, not hang; that somebody cuts its
        connection (Sentinels do, when a master becomes a replica) does not."""
        if self._client is None:
            self._client = self.connect(socket_timeout=WAIT_S, retry=Retry(NoBackoff(), 2),
                                        retry_on_error=[redis.ConnectionError])
        return self._client

    def start(self):
        """Starts it, or starts it again on the same port; returns self."""
        if self.port is not None:
            self._launch()
            return self
        for _ in range(5):
            self.port = free_port()
            try:
                self._launch()
                return self
            except RuntimeError as failure:
                if "Address already in use" not in str(failure) and "Failed listening" not in str(failure):
                    raise
        raise RuntimeError("no free port in five attempts")

    def command(self):
        words = ["redis-server", "--port", self.port, "--bind", self.host, "--dir", self.directory,
                 "--unixsocket", self.unix_path]
        for name, value in self.config.items():
            words += ["--" + name, value]
        if self.password:
            words += ["--requirepass", self.password, "--masterauth", self.password]
        return words

    def _launch(self):
        self.forget_client()
        self.run(self.command())
        wait_until(self._answers, f"redis-server on port {self.port}")

    def _answers(self):
        if not self.running:
            raise RuntimeError(f"redis-server ended with {self.process.returncode}:\n{self.log()}")
        try:
            return self.cli.ping()
        except (redis.ConnectionError, redis.TimeoutError):  # BusyLoadingError is a ConnectionError
            self.forget_client()
            return False

    def forget_data(self):
        """What it wrote to disk is gone. REQUIRES: it does not run."""
        assert not self.running
        for path in self.directory.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != self.log_file:
                path.unlink()

    def forget_client(self):
        if self._client is not None:
            self._client.connection_pool.disconnect()
            self._client = None

    def kill(self):
        self.forget_client()
        super().kill()

    def connections_received(self):
        """How many connections it has accepted since it was started, our own included."""
        return self.cli.info("stats")["total_connections_received"]

    def script_calls(self):
        """How often a script was called since the start."""
        stats = self.cli.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("evalsha", "eval"))
