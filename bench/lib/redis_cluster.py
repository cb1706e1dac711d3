"""A Redis Cluster of our own, some milliseconds away."""

import contextlib
import time

from lib.processes import READY_SECONDS, BenchError, free_port
from lib.redis_server import ask, redis
from lib.slow_network import far_away

SLOTS = 16_384


@contextlib.contextmanager
def distant_cluster(masters, one_way_s):
    """Yields the URL. The nodes tell the proxy's ports to clients, and reach each other directly."""
    with contextlib.ExitStack() as stack:
        nodes, announced = [], []
        for _ in range(masters):
            announced.append(free_port())
            bus = free_port()
            nodes.append(stack.enter_context(redis(cluster_enabled="yes", cluster_port=bus, cluster_announce_ip="127.0.0.1",
                                                   cluster_announce_port=announced[-1], cluster_announce_bus_port=bus)))
            nodes[-1].bus = bus
        join(nodes)
        stack.enter_context(far_away({port: node.port for port, node in zip(announced, nodes)}, one_way_s))
        yield f"redis+cluster://127.0.0.1:{announced[0]}"


def join(nodes):
    for i, node in enumerate(nodes):
        ask(node, "CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        ask(node, "CLUSTER", "ADDSLOTSRANGE", i * SLOTS // len(nodes), (i + 1) * SLOTS // len(nodes) - 1)
        ask(nodes[0], "CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)
    give_up = time.monotonic() + READY_SECONDS
    for node in nodes:
        while True:
            info = ask(node, "CLUSTER", "INFO")
            if "cluster_state:ok" in info and f"cluster_known_nodes:{len(nodes)}\r" in info:
                break
            if time.monotonic() > give_up:
                raise BenchError("the nodes of the cluster do not find each other")
            time.sleep(0.05)
