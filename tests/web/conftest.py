"""Fixtures of the tests in a browser: a server on a free port, and a connection to it, as in tests/blackbox."""

import importlib.util
import pathlib
import sys

BLACKBOX = pathlib.Path(__file__).resolve().parents[1] / "blackbox"
sys.path.insert(0, str(BLACKBOX))

_spec = importlib.util.spec_from_file_location("blackbox_fixtures", BLACKBOX / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
server, http, redis, redis_server = _fixtures.server, _fixtures.http, _fixtures.redis, _fixtures.redis_server
