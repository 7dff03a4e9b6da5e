"""The user's git settings and environment, which must neither break a checkout nor run anything of theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from source_kit import KERNEL, Upstream, shell_git

from patchkit.errors import SourceError
from patchkit.source import resolve
from patchkit.source.git import NoNetworkError, failure, git


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\tautocrlf = true\n\teol = crlf\n",
        "[safe]\n\tbareRepository = explicit\n",
        "[transfer]\n\tfsckObjects = true\n",
        "[protocol]\n\tversion = 0\n",
        "[fetch]\n\tprune = true\n\trecurseSubmodules = true\n",
        "[submodule]\n\trecurse = true\n",
        "[core]\n\tsparseCheckoutCone = true\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "[color]\n\tui = always\n[log]\n\tshowSignature = true\n",
        "[checkout]\n\tworkers = 4\n\tdefaultRemote = other\n",
    ],
    ids=lambda text: text.split("\n\t")[0].strip("[]") + "." + text.split("\t")[1].split(" ")[0],
)
def test_a_setting_changes_nothing(upstream: Upstream, own_settings: Path, settings: str) -> None:
    own_settings.write_text(own_settings.read_text() + settings)
    tree = resolve(None, version="2.2.1", remote=upstream.url)
    assert (tree.root / KERNEL).read_bytes() == b"// the kernel of 2.2.1\n"
    assert resolve(None, version="2.1.0", remote=upstream.url).version == "2.1.0"


def test_attributes_of_the_user_do_not_change_line_ends(upstream: Upstream, own_settings: Path) -> None:
    attributes = own_settings.with_name("attributes")
    attributes.write_text("* text eol=crlf\n")
    own_settings.write_text(own_settings.read_text() + f"[core]\n\tattributesFile = {attributes}\n")
    tree = resolve(None, version="2.2.1", remote=upstream.url)
    assert (tree.root / KERNEL).read_bytes() == b"// the kernel of 2.2.1\n"


@pytest.mark.parametrize("into", [True, False])
def test_no_hook_of_the_user_runs(upstream: Upstream, own_settings: Path, tmp_path: Path, into: bool) -> None:
    for hooks in (tmp_path / "hooks", tmp_path / "template/hooks"):
        hooks.mkdir(parents=True)
        for name in ("post-checkout", "reference-transaction", "fsmonitor"):
            (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\nexit 1\n")
            (hooks / name).chmod(0o755)
    own_settings.write_text(
        own_settings.read_text()
        + f"[core]\n\thooksPath = {tmp_path}/hooks\n\tfsmonitor = {tmp_path}/hooks/fsmonitor\n"
        + f"[init]\n\ttemplateDir = {tmp_path}/template\n"
    )
    resolve(None, version="2.2.1", remote=upstream.url, into=tmp_path / "mine" if into else None)
    assert not (tmp_path / "hook-ran").exists()


def test_it_works_inside_a_git_hook(upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell_git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    tree = resolve(None, version="2.2.1", remote=upstream.url)
    assert (tree.root / KERNEL).exists()
    assert os.environ["GIT_DIR"] == str(tmp_path / "other/.git")
    assert [path.name for path in (tmp_path / "other").iterdir()] == [".git"]


def test_git_never_asks(own_settings: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    asker = tmp_path / "askpass"
    asker.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    asker.chmod(0o755)
    own_settings.write_text(own_settings.read_text() + f"[core]\n\taskPass = {asker}\n")
    with pytest.raises(SourceError):
        git(["-c", "credential.helper=", "credential", "fill"], folder=tmp_path)
    answer = git(["var", "GIT_COMMITTER_IDENT"], folder=tmp_path)
    assert answer.startswith("Test <test@example.org>")
    assert not asked.exists()


@pytest.fixture
def recording_ssh(tmp_path: Path) -> Path:
    """A stand-in for ssh that writes its arguments to the file ``called`` beside it and fails."""
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {program.parent}/called\nexit 255\n')
    program.chmod(0o755)
    return program


SSH_REMOTE = "ssh://git@example.invalid/pytorch.git"


def test_ssh_is_told_not_to_ask(recording_ssh: Path, start_patchkit: Callable[..., subprocess.Popen[str]]) -> None:
    path = f"{recording_ssh.parent}{os.pathsep}{os.environ['PATH']}"
    assert start_patchkit("checkout", "2.2.1", "--remote", SSH_REMOTE, PATH=path).wait() == 2
    assert "BatchMode=yes" in (recording_ssh.parent / "called").read_text()


@pytest.mark.parametrize("place", ["variable", "setting"])
def test_an_ssh_command_of_the_user_is_kept(
    recording_ssh: Path, own_settings: Path, place: str, start_patchkit: Callable[..., subprocess.Popen[str]]
) -> None:
    variables = {"GIT_SSH_COMMAND": str(recording_ssh)} if place == "variable" else {}
    if place == "setting":
        own_settings.write_text(own_settings.read_text() + f"[core]\n\tsshCommand = {recording_ssh}\n")
    assert start_patchkit("checkout", "2.2.1", "--remote", SSH_REMOTE, **variables).wait() == 2
    called = (recording_ssh.parent / "called").read_text()
    assert "example.invalid" in called
    assert "BatchMode" not in called


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("fatal: unable to access 'u': Could not resolve host: github.com", "cannot be reached"),
        ("fatal: unable to access 'u': Failed to connect to x port 443", "cannot be reached"),
        ("error: RPC failed; curl 56\nfatal: early EOF", "cannot be reached"),
        ("fatal: Authentication failed for 'u'", "does not let this user in"),
        ("fatal: could not read Username for 'u': terminal prompts disabled", "does not let this user in"),
        (
            "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            "let this user in",
        ),
        ("remote: Repository not found.\nfatal: repository 'u' not found", "no git repository at"),
        ("fatal: detected dubious ownership in repository at 'x'", "safe.directory"),
        ("fatal: write error: No space left on device", "is full"),
        ("fatal: sideways", "git failed on REMOTE: sideways."),
    ],
)
def test_what_git_says_becomes_one_sentence(said: str, sentence: str, tmp_path: Path) -> None:
    error = failure(said, 128, tmp_path, "REMOTE")
    assert sentence in str(error)
    assert "\n" not in str(error)


def test_a_full_disk_is_noticed_where_git_does_not_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "error: unable to write file aten/src/ATen/Context.h"
    assert "is full" not in str(failure(said, 1, tmp_path, "REMOTE"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))  # type: ignore[attr-defined]
    assert "is full" in str(failure(said, 1, tmp_path, "REMOTE"))


def test_a_stopped_network_is_told_from_other_failures(tmp_path: Path) -> None:
    assert isinstance(failure("fatal: Could not resolve host: x", 128, tmp_path, "r"), NoNetworkError)
    assert not isinstance(failure("fatal: sideways", 128, tmp_path, "r"), NoNetworkError)
