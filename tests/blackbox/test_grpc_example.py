"""examples/grpc/call.py; docs/compat.md, whose commands are run, shows what it answers."""

import subprocess
import sys

import pytest
from harness.server import ROOT, WAIT_SECONDS

ALLOW = "sluice.compat.v1.Allow/Allow"


@pytest.mark.parametrize("arguments, says", [
    (["127.0.0.1:1"], "usage: "),
    (["127.0.0.1:1", "sluice.compat.v1.Allow/Allo"], "there is no method"),
    (["127.0.0.1:1", "nothing"], "there is no method"),
    (["127.0.0.1:1", ALLOW, '{"kex": "k"}'], 'no field named "kex"'),
    (["127.0.0.1:1", ALLOW, "{"], "the fields are not"),
])
def test_it_says_in_one_sentence_what_is_wrong(arguments, says):
    done = subprocess.run([sys.executable, ROOT / "examples/grpc/call.py", *arguments], capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode == 1 and says in done.stderr and len(done.stderr.splitlines()) == 1
