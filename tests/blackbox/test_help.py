"""Every --help fits a screen and shows an example; --help-all has the rest; a wrong command line is told in a sentence."""

import subprocess

import pytest
from harness.server import binary


def said(*arguments):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, check=True).stdout


COMMANDS = ["", "serve", "check", "policy", "policy validate", "policy apply", "policy list", "policy show", "policy diff",
            "policy rollback", "policy rollout", "policy rollout start", "policy rollout status", "policy rollout advance",
            "policy rollout abort", "policy import-envoy", "plan", "switch", "switch open", "switch normal", "switch status",
            "lease", "lease list", "hotkeys", "why", "audit", "audit verify", "audit list", "bench", "key", "usage", "reset", "user",
            "user list", "user limits", "user tier", "user override", "user override add", "user override remove", "token",
            "token create", "token list", "token revoke", "help", "version"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_shows_an_example(command):
    text = said(*command.split(), "--help")
    assert len(text.splitlines()) <= 45, text
    assert "Example:" in text


def test_help_leaves_rare_settings_to_help_all():
    text = said("serve", "--help")
    assert "--listen" in text and "--help-all" in text and "--drain-seconds" not in text
    assert "--replay" in said("bench", "--help") and "--payload-hex" not in said("bench", "--help")
    assert "--payload-hex" in said("bench", "--help-all")


@pytest.mark.parametrize("words, sentence", [
    ("policy", "name a command; the commands of `sluice policy` are validate, apply, "),
    ("help polcy", "there is no command polcy; did you mean policy?"),
    ("sreve", "there is no command sreve; did you mean serve?"),
    ("policy lst", "there is no command lst; did you mean list?"),
    ("serve --listn 127.0.0.1:0", "there is no option --listn; did you mean --listen?"),
    ("serve --threads many", '--threads: must be a number from 0 to 1024, not "many"'),
    ("serve --before-policies ajar", '--before-policies: must be one of open, closed, not "ajar"'),
    ("serve now", '"now" is one argument too many'),
    ("check --tokens x", '--tokens: must be a number, not "x"'),
    ("check --key", "--key needs a value"),
    ("policy show", "ID is missing"),
    ("policy show p --version 0", '--version: must be positive, not "0"'),
    ("policy diff missing.yaml", "missing.yaml is not valid (1 problem)"),
    ("key", "--policies is missing"),
    ("bench --connections 0", '--connections: must be a number from 1 to 10000, not "0"'),
])
def test_a_wrong_command_line_is_told_in_a_sentence(words, sentence, tmp_path):
    run = subprocess.run([binary(), *words.split()], capture_output=True, text=True, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, ""), run
    assert "sluice: " + sentence in run.stderr, run.stderr


def test_help_all_shows_every_setting():
    text = said("serve", "--help-all")
    for name in ("--listen", "--drain-seconds", "--key-secrets", "--identities", "Example:"):
        assert name in text


@pytest.mark.parametrize("words, sentence", [
    ("--headers some", '--headers: "some" is not a header dialect'),
    ("--trusted-proxies 10.0.0.0/99", '--trusted-proxies: "10.0.0.0/99" is not an address or network'),
    ("--deprecate /nowhere", '--deprecate: the API has no path "/nowhere"'),
    ("--key-secrets no.yaml", "--key-secrets: no.yaml: can't be read"),
    ("--key-secret one --key-secrets no.yaml", "--key-secret and --key-secrets exclude each other"),
    ("--staged-rollouts 5%", "--staged-rollouts: "),
    ("--listen nowhere", "--listen nowhere: write HOST:PORT"),
])
def test_a_wrong_setting_is_told_before_anything_is_opened(words, sentence, tmp_path):
    run = subprocess.run([binary(), "serve", *words.split()], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 2, run
    assert run.stderr.startswith("sluice: " + sentence) and len(run.stderr.splitlines()) == 1, run.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_in_every_way_to_ask():
    assert said() == said("help") == said("--help")
    assert "Usage: sluice [OPTIONS] SUBCOMMAND" in said()
    assert said("help", "policy", "apply") == said("policy", "apply", "--help")
    assert said("version") == said("--version") + "" and said("version").startswith("sluice ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_its_help(command):
    assert said("help", *command.split()) == said(*command.split(), "--help")
