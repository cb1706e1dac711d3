"""`sluice completion`: what bash offers, generated from the commands themselves."""

import pytest
from harness.cli import works
from harness.server import binary


@pytest.fixture
def offers(tool, tmp_path):
    """offers("policy", "li") is what bash completes the last of these words to."""
    script = tmp_path / "sluice.bash"
    script.write_text(works("completion", "bash"))

    def ask(*words):
        quoted = " ".join(f"'{word}'" for word in ("sluice", *words))
        done = tool("bash", "-uc", f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _sluice; printf '%s\n' \"${{COMPREPLY[@]}}\"",
                    cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout.split()
    return ask


def test_commands_options_and_values_are_offered(offers):
    assert {"serve", "check", "policy", "token", "completion", "help"} <= set(offers(""))
    assert offers("pol") == ["policy"]
    assert sorted(offers("policy", "roll")) == ["rollback", "rollout"]
    assert sorted(offers("policy", "rollout", "a")) == ["abort", "advance"]
    assert offers("check", "--ten") == ["--tenant"]
    assert sorted(offers("policy", "list", "--output", "")) == ["json", "table", "yaml"]
    assert offers("policy", "list", "--output", "=", "js") == ["json"], "--output=js"
    assert sorted(offers("token", "create", "x", "--role", "r")) == ["read"]
    assert offers("check", "--key", "") == [], "any value"
    assert offers("check", "--tenant", "shop", "--res") == ["--resource"], "after other options"


def test_files_are_offered_where_files_are_taken(offers, tmp_path):
    (tmp_path / "new.yaml").touch()
    assert offers("policy", "apply", "ne") == ["new.yaml"]
    assert offers("serve", "--config", "ne") == ["new.yaml"]
    assert offers("policy", "apply", "--dry") == ["--dry-run"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_knows_every_command(shell):
    script = works("completion", shell)
    for name in ("policy", "rollout", "override", "bootstrap-token-file", "json"):
        assert name in script


def test_an_unknown_shell_is_refused(tool):
    done = tool(binary(), "completion", "csh")
    assert done.returncode == 2 and 'shell: must be one of bash, zsh, fish, not "csh"' in done.stderr
