"""Child processes that a test can freeze and kill, and that never outlive it."""

import os
import pathlib
import signal
import subprocess

from harness.server import DIE_WITH_PARENT

class Process:
    """A program with a directory and a log of its own. Not thread-safe."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.log_file = self.directory / "log"
        self.process = None

    def run(self, command):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *map(str, command)], cwd=self.directory,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        return self.log_file.read_text(errors="replace")

    def freeze(self):
        """Still there, its sockets open, but silent."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """Ends it at once, frozen or not. Safe to call at any time."""
        if self.process is None:
            return
        if self.running:
            self.process.kill()
        self.process.wait()


def children():
    """The living child processes of this one: {pid: command}."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            command = stat.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if int(parent) == os.getpid() and state != "Z":
            found[int(stat.parent.name)] = command.strip()
    return found
