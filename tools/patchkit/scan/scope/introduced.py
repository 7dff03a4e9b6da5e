"""``--diff REV``: the findings that the working tree has and the commit it is compared with has not."""

from __future__ import annotations

import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from patchkit.errors import InputError, NotATreeError, PatchkitError, UsageError
from patchkit.scan.cache import read_files, scan_with_ops
from patchkit.scan.findings import Finding, ScanReport
from patchkit.scan.scope import set_aside
from patchkit.source.git import git
from patchkit.source.tree import Tree, open_tree

Identity = tuple[str, str, str, str]


def only_introduced(report: ScanReport, tree: Tree, revision: str, *, use_cache: bool = True) -> ScanReport:
    """Set aside the findings that the tree had at ``revision`` already.

    A finding is the same if rule, function, tensor and file are (a file that git sees as renamed counts as the same
    one), and new again if it hits a layout that it did not hit before.

    Args:
        revision: what git takes for a commit: ``HEAD``, ``main``, ``HEAD~3``, a hash.

    Raises:
        UsageError: the tree is no git checkout, or has no such commit.
        InputError: the commit's files cannot be read.
        NotATreeError: the commit is no PyTorch tree.
    """
    commit, prefix = _commit(tree, revision)
    with _tree_at(tree, commit, prefix) as before:
        old = scan_with_ops(before, use_cache=use_cache, keep_index=False).report
    known = _layouts(old, _renamed(tree, commit))
    same: dict[str, bool] = {}
    seen: Counter[Identity] = Counter()
    everything = [*report.findings, *(moved.finding for moved in report.set_aside)]
    for finding in sorted(everything, key=lambda one: (one.file, one.line, one.column)):
        identity = _identity(finding, {})
        layouts = known.get(identity, [])
        place = seen[identity]
        seen[identity] += 1
        same[finding.fingerprint] = place < len(layouts) and set(finding.layouts) <= layouts[place]
    return set_aside(report, lambda finding: "diff" if same[finding.fingerprint] else "")


def _identity(finding: Finding, renamed: Mapping[str, str]) -> Identity:
    file = renamed.get(finding.file, finding.file)
    return finding.rule, file, finding.function, "".join(finding.tensor.split())


def _layouts(report: ScanReport, renamed: Mapping[str, str]) -> dict[Identity, list[set[str]]]:
    known: dict[Identity, list[set[str]]] = defaultdict(list)
    for finding in report.findings:
        known[_identity(finding, renamed)].append(set(finding.layouts))
    return dict(known)


def _commit(tree: Tree, revision: str) -> tuple[str, str]:
    """Return the commit that ``revision`` names, and the tree's folder inside its repository."""
    if revision.startswith("-"):
        raise UsageError(f"'{revision}' cannot be a commit.")
    try:
        prefix = git(["rev-parse", "--show-prefix"], folder=tree.root, remote=tree.given)
    except PatchkitError as error:
        raise UsageError(f"--diff compares commits, and {tree.given} is no git checkout.") from error
    try:
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        return git(asked, folder=tree.root, remote=tree.given), prefix.strip()
    except PatchkitError as error:
        raise UsageError(f"{tree.given} has no commit '{revision}'; give a branch, a tag or a hash of it.") from error


@contextmanager
def _tree_at(tree: Tree, commit: str, prefix: str) -> Iterator[Tree]:
    """Give the files of a commit that a scan reads, in a folder that is gone after the block."""
    listed = git(["ls-tree", "-r", "-z", "--name-only", f"{commit}:{prefix}"], folder=tree.root, remote=tree.given)
    folders = ("aten/src/ATen/", "c10/metal/")
    here = dict(read_files(tree.root))
    wanted = sorted(
        {name for name in listed.split("\0") if name.startswith(folders) or name in here or name == "version.txt"}
    )
    # one argument for each top folder is enough, and keeps the command line short
    paths = sorted({folder.rstrip("/") for folder in folders if any(name.startswith(folder) for name in wanted)})
    paths += [name for name in wanted if not name.startswith(folders)]
    if not paths:
        raise NotATreeError(f"commit {commit[:12]} of {tree.given} is no PyTorch source tree.")
    with tempfile.TemporaryDirectory(prefix="patchkit-diff-") as name:
        archive = Path(name) / "files.tar"
        ask = ["archive", "--format=tar", f"--output={archive}", f"{commit}:{prefix}", "--", *paths]
        git(ask, folder=tree.root, remote=tree.given)
        root = Path(name) / "tree"
        _extract(archive, root)
        yield replace(open_tree(root, given=f"{tree.given} at {commit[:12]}"), version=tree.version, commit=commit)


def _extract(archive: Path, root: Path) -> None:
    """Write the plain files of an archive; links and names that lead outside are left out."""
    try:
        with tarfile.open(archive) as members:
            for member in members:
                path = PurePosixPath(member.name)
                if not member.isfile() or path.is_absolute() or ".." in path.parts:
                    continue
                content = members.extractfile(member)
                assert content is not None
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    except (OSError, tarfile.TarError) as error:
        raise InputError(f"the files of the commit cannot be read: {error}.") from error


def _renamed(tree: Tree, commit: str) -> dict[str, str]:
    """Return the new name of each file under its old one."""
    ask = ["diff", "-z", "--name-status", "--find-renames", "--diff-filter=R", "--relative", commit, "--", "."]
    parts = git(ask, folder=tree.root, remote=tree.given).split("\0")
    out = {}
    for place in range(0, len(parts) - 2, 3):
        out[parts[place + 1]] = parts[place + 2]
    return out
