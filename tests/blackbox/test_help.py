"""`sluice serve --help` and `sluice bench --help` fit a screen; --help-all has the rest."""

import subprocess

from harness.server import binary


def said(*arguments):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, check=True).stdout


def test_help_fits_a_screen_and_shows_an_example():
    text = said("serve", "--help")
    assert len(text.splitlines()) <= 45, text
    assert "Example:" in text and "--listen" in text and "--help-all" in text
    assert "--drain-seconds" not in text


def test_the_help_of_bench_fits_a_screen():
    text = said("bench", "--help")
    assert len(text.splitlines()) <= 45, text
    assert "Example:" in text and "--replay" in text and "--payload-hex" not in text
    assert "--payload-hex" in said("bench", "--help-all")


def test_help_all_shows_every_setting():
    text = said("serve", "--help-all")
    for name in ("--listen", "--drain-seconds", "--key-secrets", "--identities", "Example:"):
        assert name in text
