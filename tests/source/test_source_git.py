"""Trees from a git remote: what names them, what is fetched, and what is kept for the next run."""

from __future__ import annotations

import base64
import http.server
import shutil
import threading
from pathlib import Path

import pytest
from source_kit import FILES, KERNEL, UNNEEDED, Upstream, shell_git

from patchkit.errors import NotATreeError, OutputError, SourceError, UnknownVersionError, UsageError
from patchkit.source import Tree, resolve
from patchkit.source.remote import open_remote

UNREACHABLE = "http://127.0.0.1:9/pytorch.git"


def checkout(upstream: Upstream, version: str, into: Path | None = None, full: bool = False) -> Tree:
    return resolve(None, version=version, remote=upstream.url, into=into, full=full)


def kernel_of(tree: Tree) -> str:
    return (tree.root / KERNEL).read_text()


def blobs_missing_from(repository: Path, revision: str) -> set[str]:
    listed = shell_git(repository, "rev-list", "--objects", "--missing=print", "--no-walk", revision)
    return {line[1:] for line in listed.splitlines() if line.startswith("?")}


@pytest.mark.parametrize("version", ["2.2.1", "v2.2.1", "torch==2.2.1"])
def test_a_release_is_checked_out_by_its_tag(upstream: Upstream, version: str) -> None:
    tree = checkout(upstream, version)
    assert kernel_of(tree) == "// the kernel of 2.2.1\n"
    assert (tree.commit, tree.given, tree.cached) == (upstream.revision("v2.2.1"), version, True)


def test_the_tag_tells_the_patch_release_that_version_txt_does_not(upstream: Upstream) -> None:
    tree = checkout(upstream, "2.2.1")
    assert (tree.root / "version.txt").read_text() == "2.2.0a0\n"
    assert tree.version == "2.2.1"


def test_a_release_candidate_is_checked_out_by_its_tag(upstream: Upstream) -> None:
    assert checkout(upstream, "2.3.0rc1").commit == upstream.revision("v2.3.0-rc1")


def test_a_branch_takes_its_version_from_version_txt(upstream: Upstream) -> None:
    tree = checkout(upstream, "main")
    assert (kernel_of(tree), tree.version) == ("// the kernel of main\n", "2.3.0")


def test_a_full_commit_is_checked_out_and_its_tag_tells_the_version(upstream: Upstream) -> None:
    commit = upstream.revision("v2.1.0")
    checkout(upstream, "2.1.0")
    tree = checkout(upstream, commit)
    assert (tree.commit, tree.version) == (commit, "2.1.0")


def test_a_commit_that_no_ref_names_is_fetched(upstream: Upstream) -> None:
    commit = upstream.revision("main")
    shell_git(upstream.folder, "reset", "--quiet", "--hard", "v2.2.1")
    assert checkout(upstream, commit).commit == commit


def test_a_short_commit_is_completed_from_the_remote_s_refs(upstream: Upstream) -> None:
    commit = upstream.revision("v2.2.0")
    assert checkout(upstream, commit[:9]).commit == commit


def test_a_short_commit_is_completed_from_what_was_fetched(upstream: Upstream) -> None:
    commit = upstream.revision("main")
    checkout(upstream, "main")
    upstream.commit({}, "next")
    assert checkout(upstream, commit[:9]).commit == commit


def test_a_pull_request_is_checked_out_by_its_full_ref(upstream: Upstream) -> None:
    shell_git(upstream.folder, "update-ref", "refs/pull/7/head", "v2.2.0")
    assert checkout(upstream, "refs/pull/7/head").commit == upstream.revision("v2.2.0")


def test_source_takes_the_default_branch_of_a_repository(upstream: Upstream) -> None:
    assert resolve(None, source=upstream.url).commit == upstream.revision("main")


def test_source_takes_a_bare_local_repository(upstream: Upstream, tmp_path: Path) -> None:
    shell_git(tmp_path, "clone", "--quiet", "--bare", upstream.url, "bare.git")
    assert resolve(None, source=str(tmp_path / "bare.git")).commit == upstream.revision("main")


def test_remote_takes_the_path_of_a_local_repository(upstream: Upstream) -> None:
    tree = resolve(None, version="2.2.0", remote=str(upstream.folder))
    assert tree.commit == upstream.revision("v2.2.0")


def test_the_environment_can_name_the_remote(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHKIT_REMOTE", upstream.url)
    assert resolve(None, version="2.2.0").commit == upstream.revision("v2.2.0")


def test_only_what_scanning_reads_is_written_and_fetched(upstream: Upstream) -> None:
    tree = checkout(upstream, "2.2.1")
    assert (tree.root / "aten/src/ATen/native/sparse/mps/Scale.mm").exists()
    assert not (tree.root / UNNEEDED).exists()
    unneeded = shell_git(upstream.folder, "rev-parse", f"v2.2.1:{UNNEEDED}")
    assert unneeded in blobs_missing_from(tree.root, "HEAD")


def test_only_one_commit_is_fetched(upstream: Upstream) -> None:
    assert shell_git(checkout(upstream, "2.2.1").root, "rev-list", "--count", "HEAD") == "1"


def test_a_remote_that_cannot_filter_serves_all_the_same(upstream: Upstream, own_settings: Path) -> None:
    own_settings.write_text(own_settings.read_text().replace("allowFilter = true", "allowFilter = false"))
    assert checkout(upstream, "2.2.1").version == "2.2.1"


def test_versions_share_one_repository_and_have_a_worktree_each(upstream: Upstream) -> None:
    one, two = checkout(upstream, "2.2.1"), checkout(upstream, "2.1.0")
    assert one.root != two.root
    common = {shell_git(tree.root, "rev-parse", "--git-common-dir") for tree in (one, two)}
    assert len(common) == 1


def test_a_release_fetched_before_needs_no_remote(upstream: Upstream) -> None:
    first = checkout(upstream, "2.2.1")
    shutil.rmtree(upstream.folder)
    assert checkout(upstream, "v2.2.1").root == first.root


def test_a_commit_fetched_before_needs_no_remote(upstream: Upstream) -> None:
    first = checkout(upstream, "main")
    shutil.rmtree(upstream.folder)
    assert first.commit is not None
    assert checkout(upstream, first.commit).root == first.root


def test_a_branch_that_moved_is_fetched_anew(upstream: Upstream) -> None:
    old = checkout(upstream, "main")
    upstream.commit({KERNEL: "// moved\n"}, "moved")
    assert kernel_of(checkout(upstream, "main")) == "// moved\n"
    assert kernel_of(old) == "// the kernel of main\n"


def test_a_branch_that_was_rewritten_is_fetched_anew(upstream: Upstream) -> None:
    checkout(upstream, "main")
    shell_git(upstream.folder, "reset", "--quiet", "--hard", "v2.1.0")
    assert checkout(upstream, "main").commit == upstream.revision("v2.1.0")


def test_without_network_the_branch_of_the_last_time_is_used_with_a_warning(
    upstream: Upstream, own_settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    online = own_settings.read_text()
    own_settings.write_text(f'{online}[url "{upstream.url}"]\n\tinsteadOf = {UNREACHABLE}\n')
    first = resolve(None, version="main", remote=UNREACHABLE)
    own_settings.write_text(online)
    assert resolve(None, version="main", remote=UNREACHABLE).root == first.root
    warning = capsys.readouterr().err
    assert "cannot be reached" in warning
    assert f"fetched earlier is used ({str(first.commit)[:12]})" in warning


def test_without_network_a_new_version_is_refused_and_the_cached_ones_are_named(
    upstream: Upstream, own_settings: Path
) -> None:
    online = own_settings.read_text()
    own_settings.write_text(f'{online}[url "{upstream.url}"]\n\tinsteadOf = {UNREACHABLE}\n')
    resolve(None, version="2.1.0", remote=UNREACHABLE)
    own_settings.write_text(online)
    with pytest.raises(SourceError, match=r"cannot be reached.*The cache holds v2\.1\.0\."):
        resolve(None, version="2.2.1", remote=UNREACHABLE)


def test_an_unknown_version_suggests_the_nearest(upstream: Upstream) -> None:
    with pytest.raises(UnknownVersionError, match=r"'2\.2\.7'; did you mean v2\.2\.1 or v2\.2\.0"):
        checkout(upstream, "2.2.7")


def test_a_misspelt_branch_suggests_the_nearest(upstream: Upstream) -> None:
    with pytest.raises(UnknownVersionError, match=r"did you mean main\?"):
        checkout(upstream, "mian")


@pytest.mark.parametrize("version", ["feature-x", "0" * 40, "abcdef1", "-x", "a b", "a..b", "--upload-pack=x"])
def test_what_the_remote_does_not_have_is_unknown(upstream: Upstream, version: str) -> None:
    with pytest.raises(UnknownVersionError) as error:
        checkout(upstream, version)
    assert error.value.exit_code == 2


def test_a_remote_that_is_no_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no git repository at"):
        resolve(None, version="2.2.1", remote=str(tmp_path))


@pytest.mark.parametrize("remote", ["nowhere", "", "--upload-pack=touch x", "ext::sh -c true"])
def test_a_remote_must_be_a_url_or_a_folder(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATCHKIT_REMOTE", UNREACHABLE)
    with pytest.raises(SourceError):
        resolve(None, version="2.2.1", remote=remote)


def test_a_repository_that_is_not_pytorch_is_refused_each_time(tmp_path: Path) -> None:
    shell_git(tmp_path, "init", "--quiet", "other")
    other = Upstream(tmp_path / "other")
    (other.folder / "README").write_text("other\n")
    shell_git(other.folder, "add", "README")
    shell_git(other.folder, "commit", "--quiet", "-m", "other")
    for _ in range(2):
        with pytest.raises(NotATreeError, match="is not a PyTorch source tree"):
            checkout(other, "main")


def test_an_archive_on_the_network_is_to_be_downloaded_first() -> None:
    with pytest.raises(UsageError, match="download it and give the file"):
        resolve(None, source="https://example.org/pytorch-v2.2.1.tar.gz")


def test_a_password_in_the_url_is_neither_shown_nor_written() -> None:
    remote = open_remote("https://me:secret@example.org/fork/pytorch.git")
    assert "secret" in remote.url
    assert "secret" not in remote.shown
    assert remote.folder == open_remote("https://example.org/fork/pytorch.git").folder


def test_a_password_in_the_url_reaches_the_server_and_no_file(tmp_path: Path) -> None:
    sent: list[str | None] = []

    class Locked(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers["Authorization"])
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(SourceError, match="does not let this user in") as error:
            resolve(None, version="2.2.1", remote=f"http://me:secret@127.0.0.1:{server.server_port}/pytorch.git")
        server.shutdown()
    assert f"Basic {base64.b64encode(b'me:secret').decode()}" in sent
    assert "secret" not in str(error.value)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"secret" in path.read_bytes()]


def test_a_changed_tree_in_the_cache_is_kept_aside_and_made_anew(
    upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = checkout(upstream, "2.2.1")
    (tree.root / KERNEL).write_text("// changed by hand, at length\n")
    again = checkout(upstream, "2.2.1")
    assert kernel_of(again) == "// the kernel of 2.2.1\n"
    assert "had been changed" in capsys.readouterr().err
    aside = [path for path in tree.root.parent.iterdir() if ".changed-" in path.name]
    assert [(path / KERNEL).read_text() for path in aside] == ["// changed by hand, at length\n"]


def test_a_file_added_to_a_tree_in_the_cache_is_noticed(upstream: Upstream) -> None:
    tree = checkout(upstream, "2.2.1")
    (tree.root / KERNEL).with_name("Extra.mm").write_text("// extra\n")
    assert not (checkout(upstream, "2.2.1").root / KERNEL).with_name("Extra.mm").exists()


def test_the_path_of_a_cached_tree_is_known_for_what_it_is(upstream: Upstream) -> None:
    tree = checkout(upstream, "2.2.1")
    again = resolve(str(tree.root))
    assert (again.version, again.commit, again.cached) == ("2.2.1", tree.commit, True)


def test_full_writes_every_file(upstream: Upstream) -> None:
    tree = checkout(upstream, "2.2.1", full=True)
    assert {path for path in FILES if (tree.root / path).exists()} == set(FILES)
    assert tree.root != checkout(upstream, "2.2.1").root


def add_submodule(upstream: Upstream, tmp_path: Path, settings: Path) -> None:
    settings.write_text(settings.read_text() + '[protocol "file"]\n\tallow = always\n')
    for name, inside in (("inner", None), ("outer", "inner")):
        shell_git(tmp_path, "init", "--quiet", name)
        (tmp_path / name / f"{name}.h").write_text(f"// {name}\n")
        if inside is not None:
            shell_git(tmp_path / name, "submodule", "--quiet", "add", (tmp_path / inside).as_uri(), inside)
        shell_git(tmp_path / name, "add", "--all")
        shell_git(tmp_path / name, "commit", "--quiet", "-m", name)
    outer = (tmp_path / "outer").as_uri()
    shell_git(upstream.folder, "submodule", "--quiet", "add", outer, "third_party/outer")
    upstream.commit({}, "with submodules")


def test_full_fetches_submodules_and_theirs(upstream: Upstream, own_settings: Path, tmp_path: Path) -> None:
    add_submodule(upstream, tmp_path, own_settings)
    tree = checkout(upstream, "main", full=True)
    assert (tree.root / "third_party/outer/inner/inner.h").read_text() == "// inner\n"


def test_full_into_a_folder_has_submodules_that_work_there(
    upstream: Upstream, own_settings: Path, tmp_path: Path
) -> None:
    add_submodule(upstream, tmp_path, own_settings)
    tree = checkout(upstream, "main", full=True, into=tmp_path / "mine")
    assert shell_git(tree.root / "third_party/outer/inner", "status", "--porcelain") == ""
    assert shell_git(tree.root, "submodule", "status", "--recursive").count("\n") == 1


def test_a_submodule_that_git_refuses_is_explained(upstream: Upstream, own_settings: Path, tmp_path: Path) -> None:
    add_submodule(upstream, tmp_path, own_settings)
    own_settings.write_text(own_settings.read_text().replace("allow = always", "allow = never"))
    own_settings.write_text(own_settings.read_text() + '[protocol "file"]\n\tallow = user\n')
    with pytest.raises(SourceError, match=r"protocol\.file\.allow always"):
        checkout(upstream, "main", full=True)


def test_into_makes_a_repository_that_needs_no_cache(upstream: Upstream, tmp_path: Path) -> None:
    tree = checkout(upstream, "2.2.1", into=tmp_path / "deep/mine")
    shutil.rmtree(tmp_path / "cache")
    assert (tree.root, tree.cached) == (tmp_path / "deep/mine", False)
    assert shell_git(tree.root, "status", "--porcelain") == ""
    assert shell_git(tree.root, "describe", "--exact-match") == "v2.2.1"
    assert sorted(path.name for path in tree.root.iterdir() if path.name.startswith(".")) == [
        ".clang-format",
        ".git",
    ]
    again = resolve(str(tree.root))
    assert (again.version, again.commit) == ("2.2.1", tree.commit)


def test_into_remembers_the_branch_it_came_from(upstream: Upstream, tmp_path: Path) -> None:
    tree = checkout(upstream, "main", into=tmp_path / "mine")
    assert shell_git(tree.root, "rev-parse", "origin/main") == tree.commit


def test_the_rest_of_a_tree_can_be_fetched_later(upstream: Upstream, tmp_path: Path) -> None:
    tree = checkout(upstream, "2.2.1", into=tmp_path / "mine")
    shell_git(tree.root, "sparse-checkout", "disable")
    assert (tree.root / UNNEEDED).exists()


def test_into_takes_an_empty_folder(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert checkout(upstream, "2.2.1", into=tmp_path / "mine").version == "2.2.1"


def test_into_refuses_a_folder_that_holds_something(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("mine\n")
    with pytest.raises(OutputError, match=r"is not empty \(it holds 'notes'\)"):
        checkout(upstream, "2.2.1", into=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


def test_into_refuses_a_file(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine\n")
    with pytest.raises(OutputError, match="is a file"):
        checkout(upstream, "2.2.1", into=tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine\n"


@pytest.mark.parametrize("existing", [True, False])
def test_into_is_as_before_after_a_failure(upstream: Upstream, tmp_path: Path, existing: bool) -> None:
    if existing:
        (tmp_path / "deep/mine").mkdir(parents=True)
    with pytest.raises(UnknownVersionError):
        checkout(upstream, "2.9.9", into=tmp_path / "deep/mine")
    assert (tmp_path / "deep").exists() == existing
    assert not existing or list((tmp_path / "deep/mine").iterdir()) == []
