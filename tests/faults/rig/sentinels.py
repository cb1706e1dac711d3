"""A master, its replicas, and three Sentinels that watch them."""

import redis
from harness.server import wait_until

from rig.redis_server import RedisServer

DOWN_AFTER_MS = 700
QUORUM = 2


class Sentinel(RedisServer):
    """redis-server --sentinel that watches one master."""

    def __init__(self, directory, master_name, master):
        super().__init__(directory)
        self.master_name = master_name
        self.master = master

    def command(self):
        config = self.directory / "sentinel.conf"
        if not config.exists():  # it keeps what it learns there
            config.write_text(f"sentinel monitor {self.master_name} {self.master.host} {self.master.port} {QUORUM}\n"
                              f"sentinel down-after-milliseconds {self.master_name} {DOWN_AFTER_MS}\n"
                              f"sentinel failover-timeout {self.master_name} 3000\n"
                              f"sentinel parallel-syncs {self.master_name} 1\n")
        return ["redis-server", config, "--sentinel", "--port", self.port, "--bind", self.host, "--dir", self.directory]

    def start(self):
        super().start()
        # The usual periods are made for networks: it would take them seconds to know each other. Four times the
        # publish period must be longer than a promotion takes, or a Sentinel that has not heard of it undoes it. The
        # ping period stays: a replica whose news are older than five of them is not chosen, and they come every second.
        self.cli.execute_command("SENTINEL", "DEBUG", "INFO-PERIOD", 300, "PUBLISH-PERIOD", 1000, "ASK-PERIOD", 100)
        # One that had to wait for the processor would think its clock had jumped, and do nothing for 30 seconds.
        self.cli.execute_command("SENTINEL", "DEBUG", "TILT-TRIGGER", 20_000, "TILT-PERIOD", 1000)
        return self

    def master_port(self):
        return int(self.cli.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.master_name)[1])

    def knows(self, sentinels, replicas):
        state = self.cli.sentinel_master(self.master_name)
        return state["num-other-sentinels"] == sentinels - 1 and state["num-slaves"] == replicas


class SentinelSet:
    """Up, connected and in agreement when start() returns: Redis servers in .servers, Sentinels in .sentinels."""

    def __init__(self, directory, replicas=1, name="mymaster", **config):
        self.name = name
        self.servers = [RedisServer(directory / f"redis{i}", **config) for i in range(1 + replicas)]
        self.sentinels = [Sentinel(directory / f"sentinel{i}", name, self.servers[0]) for i in range(3)]

    @property
    def url(self):
        return "redis+sentinel://" + ",".join(one.address for one in self.sentinels) + "/" + self.name

    def start(self):
        master, *replicas = self.servers
        master.start()
        for replica in replicas:
            replica.start()
            replica.cli.replicaof(master.host, master.port)
        wait_until(lambda: master.cli.info("replication")["connected_slaves"] == len(replicas), "the replicas")
        for one in self.sentinels:
            one.start()
        for one in self.sentinels:
            wait_until(lambda: one.knows(len(self.sentinels), len(replicas)), "the Sentinels to meet")
        return self

    def master(self):
        """The server that most Sentinels hold for the master."""
        ports = [one.master_port() for one in self.sentinels if one.running]
        agreed = max(set(ports), key=ports.count)
        return next(one for one in self.servers if one.port == agreed)

    def failover(self):
        """Asks for one, and returns when the new master has taken over: it."""
        before = self.master()
        self.sentinels[0].cli.execute_command("SENTINEL", "FAILOVER", self.name)
        return self.wait_for_other_master(before)

    def wait_for_other_master(self, before):
        """The new master, once all Sentinels name it and it takes writes."""
        def promoted():
            ports = {one.master_port() for one in self.sentinels if one.running}
            if len(ports) != 1 or ports == {before.port}:
                return None
            after = self.master()
            try:
                return after if after.cli.role()[0] == "master" else None
            except (redis.ConnectionError, redis.TimeoutError):
                return None
        return wait_until(promoted, f"another master than port {before.port}")

    def kill(self):
        for one in [*self.sentinels, *self.servers]:
            one.kill()
