"""A Redis Cluster, of three masters unless told otherwise, whose slots can be moved and whose nodes can be lost, or cut
off from each other."""

import functools

import redis
from harness.server import wait_until
from redis.crc import key_slot

from harness.ports import free_port
from rig.proxy import FaultProxy
from rig.redis_server import RedisServer

SLOTS = 16_384
MASTERS = 3
NODE_TIMEOUT_MS = 1_000


class ClusterNode(RedisServer):
    def __init__(self, directory, has_proxy=False, **config):
        super().__init__(directory, cluster_enabled="yes", cluster_node_timeout=NODE_TIMEOUT_MS,
                         cluster_require_full_coverage="no", cluster_replica_validity_factor="0",
                         cluster_migration_barrier="100", **config)
        self.bus_port = free_port()
        self.bus = FaultProxy(self.host, self.bus_port) if has_proxy else None  # how others reach it, from start() on

    @property
    def announced_bus_port(self):
        return self.bus.port if self.bus else self.bus_port

    def command(self):
        return [*super().command(), "--cluster-port", self.bus_port,
                "--cluster-announce-bus-port", self.announced_bus_port]

    def start(self):
        if self.bus and self.bus.port is None:
            self.bus.start()
        return super().start()

    def kill(self):
        super().kill()
        if self.bus:
            self.bus.stop()

    def cluster(self, *words):
        return self.cli.execute_command("CLUSTER", *words)

    @functools.cached_property
    def id(self):
        return self.cluster("MYID")

    def state(self):
        """CLUSTER INFO as a dictionary."""
        return dict(line.split(":", 1) for line in self.cluster("INFO").splitlines() if ":" in line)

    def slot_ranges(self):
        """Who serves what, as this node sees it: (first, last, port of the master)."""
        return [(first, last, master[1]) for first, last, master, *_ in self.cluster("SLOTS")]

    def used_slots(self):
        """The slots of the keys that it holds."""
        return {key_slot(key.encode()) for key in self.counters()}

    def counters(self):
        """The keys that it holds, without those by which nodes meet."""
        return [key for key in self.cli.scan_iter(count=1000) if "{nodes}:" not in key]


class RedisCluster:
    """Formed and agreed when start() returns. .masters[i] serves its share of the slots; .replicas[i], if asked for,
    copies it."""

    def __init__(self, directory, with_replicas=False, masters=MASTERS, **config):
        self.masters = [ClusterNode(directory / f"master{i}", **config) for i in range(masters)]
        self.replicas = [ClusterNode(directory / f"replica{i}", **config)
                         for i in range(masters if with_replicas else 0)]
        self.nodes = [*self.masters, *self.replicas]

    @property
    def url(self):
        return "redis+cluster://" + ",".join(one.address for one in self.masters)

    def start(self):
        for number, node in enumerate(self.nodes, 1):
            node.start()
            node.cluster("SET-CONFIG-EPOCH", number)
        bounds = [SLOTS * i // len(self.masters) for i in range(len(self.masters) + 1)]
        for master, first, end in zip(self.masters, bounds, bounds[1:]):
            master.cluster("ADDSLOTSRANGE", first, end - 1)
        first, *others = self.nodes
        for node in others:
            first.cluster("MEET", node.host, node.port, node.announced_bus_port)
        for node in self.nodes:
            wait_until(lambda: int(node.state()["cluster_known_nodes"]) == len(self.nodes), "the nodes to meet")
        for master, replica in zip(self.masters, self.replicas):
            wait_until(lambda: self._try(replica.cluster, "REPLICATE", master.id), "replicas to know masters")
        for node in self.nodes:
            wait_until(lambda: self._complete(node), "every node to know every slot")
        for replica in self.replicas:
            wait_until(lambda: replica.cli.info("replication")["master_link_status"] == "up", "replication")
        return self

    def _complete(self, node):
        served = sum(last - first + 1 for first, last, _ in node.slot_ranges())
        return served == SLOTS and node.state()["cluster_state"] == "ok"

    @staticmethod
    def _try(function, *arguments):
        try:
            function(*arguments)
            return True
        except redis.ResponseError:
            return False

    def running_nodes(self):
        return [node for node in self.nodes if node.running]

    def owner(self, slot):
        """The running node that itself says it serves the slot."""
        for node in self.running_nodes():
            for first, last, port in node.slot_ranges():
                if first <= slot <= last and port == node.port:
                    return node
        raise LookupError(f"nobody serves slot {slot}")

    def wait_for_other_owner(self, slot, before):
        """The node that took the slot over, once every running node agrees."""
        def agreed():
            ports = {port for node in self.running_nodes() for first, last, port in node.slot_ranges()
                     if first <= slot <= last}
            return len(ports) == 1 and before.port not in ports
        wait_until(agreed, f"another owner of slot {slot} than port {before.port}")
        return self.owner(slot)

    def begin_move(self, slot, to):
        """Half of a move: from now on keys that are not at the old owner are asked for at the new one."""
        source = self.owner(slot)
        assert source is not to
        to.cluster("SETSLOT", slot, "IMPORTING", source.id)
        source.cluster("SETSLOT", slot, "MIGRATING", to.id)
        return source

    def move_keys(self, slot, source, to, at_most=None):
        """Moves what is there, or some of it."""
        while keys := source.cluster("GETKEYSINSLOT", slot, at_most or 100):
            source.cli.execute_command("MIGRATE", to.host, to.port, "", 0, 5000, "KEYS", *keys)
            if at_most is not None:
                return

    def end_move(self, slot, source, to):
        """The other half, once the last key is over."""
        to.cluster("SETSLOT", slot, "NODE", to.id)
        for node in [source, *(one for one in self.running_nodes() if one is not source and one is not to)]:
            self._try(node.cluster, "SETSLOT", slot, "NODE", to.id)  # a replica refuses, and hears it from its master

    def move_slot(self, slot, to):
        """What `redis-cli --cluster reshard` does for one slot."""
        source = self.begin_move(slot, to)
        self.move_keys(slot, source, to)
        self.end_move(slot, source, to)

    def cut_links(self):
        """Cuts all nodes off from each other, but not from clients. They need has_proxy=True."""
        for one in self.nodes:
            one.bus.refuse()

    def kill(self):
        for one in self.nodes:
            one.kill()
