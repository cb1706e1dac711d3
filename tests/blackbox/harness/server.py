"""A Sluice server as a child process, for tests."""

import os
import pathlib
import re
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SANITIZER_REPORT = re.compile(r"(Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|runtime error:")
WAIT_SECONDS = 300  # for what must happen, however busy the machine is; nobody waits this long when all is well


def binary():
    """The program under test: SLUICE_BINARY, or the sanitized build."""
    path = pathlib.Path(os.environ.get("SLUICE_BINARY", ROOT / "build/dev/sluice")).resolve()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; run `make build`, or set SLUICE_BINARY")
    return path


def wait_until(condition, what, seconds=None):
    """Returns condition()'s first true value; raises after `seconds`, or WAIT_SECONDS. The error says `what` did not come."""
    seconds = WAIT_SECONDS if seconds is None else seconds
    deadline = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.01)


# A test run that is killed leaves no server behind. (The kernel's "parent" is a thread: start servers from a
# thread that outlives them.)
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


class Server:
    """`sluice serve` on a free port of the loopback, up and listening when the constructor returns.

    directory: its working directory; the log and the policy file are kept there.
    policies: the text of a policy document, a path to one, or None to start without.
    args, env: added to the command line and the environment.
    wrap: a program that starts it, with arguments: `prlimit --nofile=64`.
    """

    def __init__(self, directory, policies=None, args=(), env=None, listen="127.0.0.1:0", wrap=()):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.policy_file = self.directory / "policies.yaml"
        self.log_file = self.directory / "server.log"
        command = [str(binary()), "serve", "--listen", listen]
        if isinstance(policies, pathlib.Path):
            self.policy_file = policies
        elif policies is not None:
            self.policy_file.write_text(policies)
        if policies is not None:
            command += ["--policies", str(self.policy_file)]
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *wrap, *command, *args], cwd=self.directory,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            env={**os.environ, **(env or {})})
        try:
            found = self.wait_for_log(r"listening on (\S+):(\d+)")
        except BaseException:
            self.kill()
            raise
        self.host, self.port = found[1].strip("[]"), int(found[2])

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def url(self):
        return f"http://{self.address}"

    @property
    def running(self):
        return self.process.poll() is None

    def log(self):
        """Everything the server has written to stdout and stderr."""
        return self.log_file.read_text(errors="replace")

    def wait_for_log(self, pattern, seconds=None):
        """Waits until the log matches, and returns the match."""
        def look():
            alive = self.running  # asked before reading: a line written just before the end must be seen
            found = re.search(pattern, self.log())
            if not found and not alive:
                status = self.process.returncode
                raise RuntimeError(f"the server ended with {status} before it logged {pattern!r}:\n{self.log()}")
            return found
        try:
            return wait_until(look, f"{pattern!r} in the log", seconds)
        except TimeoutError as late:
            raise TimeoutError(f"{late}:\n{self.log()}") from None

    def write_policies(self, text, in_place=False):
        """Replaces the policy file, by rename as editors and Kubernetes do, or in place."""
        if in_place:
            self.policy_file.write_text(text)
            return
        fresh = self.policy_file.with_name(".fresh-" + self.policy_file.name)
        fresh.write_text(text)
        fresh.rename(self.policy_file)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Asks the server to end, waits, and returns its exit status. No sanitizer may have complained."""
        if self.running:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise TimeoutError(f"SIGTERM did not end the server in {WAIT_SECONDS} s:\n{self.log()}") from None
        report = SANITIZER_REPORT.search(self.log())
        assert not report, f"a sanitizer complained:\n{self.log()}"
        return self.process.returncode

    def kill(self):
        """Ends the server at once. Safe to call at any time."""
        if self.running:
            self.process.kill()
        self.process.wait()
