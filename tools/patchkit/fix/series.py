"""A patch series on disk: numbered mails, quilt's ``series`` file, and a manifest of what it was made for."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.errors import InputError, PatchError
from patchkit.fix.diff import FileChange, FileDiff
from patchkit.fix.folder import replace_folder
from patchkit.fix.mail import format_mail, parse_mail
from patchkit.fix.paths import check_distinct

SCHEMA = "patchkit-series/1"
MANIFEST = "manifest.json"
SERIES = "series"
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}\Z")
_PATCH_NAME = re.compile(r"\d{4}-[a-z0-9][a-z0-9._-]{0,79}\.patch\Z")
_LARGEST_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Base:
    """The tree a series was made for.

    Args:
        kind: ``git`` if the tree is a clean checkout of ``commit``, ``hash`` otherwise.
        commit: full commit hash, for ``git``.
        tree_hash: SHA-256 over the MPS sources (see :func:`patchkit.fix.base.describe_base`).
        torch_version: release the tree is of.
    """

    kind: str
    commit: str | None
    tree_hash: str
    torch_version: str

    def __str__(self) -> str:
        if self.commit is not None:
            return f"torch {self.torch_version}, commit {self.commit[:12]}"
        return f"torch {self.torch_version}, tree {self.tree_hash[:12]}"


@dataclass(frozen=True)
class Patch:
    """One patch to write.

    Args:
        slug: file name without number and suffix: lower case letters, digits, ``.``, ``_``, ``-``.
        subject, body: the commit message.
        changes: files with their bytes before and after this patch, on top of the patches before it.
        template: name of the edit template that made it.
        recipe: name of the recipe, where one was asked for.
        findings: fingerprints of the findings it fixes.
    """

    slug: str
    subject: str
    body: str
    changes: tuple[FileChange, ...]
    template: str
    recipe: str | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeriesPatch:
    """One patch of a series on disk.

    Args:
        name: file name in the folder.
        diffs: what it changes, by path.
        versions: SHA-256 of each file before and after, by path.
    """

    name: str
    subject: str
    template: str
    recipe: str | None
    findings: tuple[str, ...]
    diffs: Mapping[str, FileDiff]
    versions: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Series:
    """A series on disk; ``patches`` are in the order they are applied in."""

    folder: Path
    base: Base
    tool_version: str
    patches: tuple[SeriesPatch, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file the series touches, sorted."""
        return tuple(sorted({path for patch in self.patches for path in patch.diffs}))


def write_series(folder: Path, base: Base, patches: Sequence[Patch], *, tool_version: str) -> Series:
    """Write ``patches`` to ``folder``, whole or not at all, the same bytes on every run.

    Args:
        folder: an earlier series that patchkit wrote there, unedited, is replaced; anything else is not.
        base: the tree the patches were made for.
        patches: in order; a file may be touched by several, each starting from what the one before left.
        tool_version: of patchkit.

    Returns:
        The series as :func:`read_series` reads it back.

    Raises:
        PatchError: the patches do not follow from one another, or a diff does not reproduce its edit.
        InputError: a file name or content that cannot be in a patch.
        OutputError: the folder cannot be written, or holds something that patchkit did not write.
    """
    _check_patches(patches)
    files: dict[str, bytes] = {}
    rows = []
    for number, patch in enumerate(patches, 1):
        name = f"{number:04d}-{patch.slug}.patch"
        files[name] = format_mail(
            subject=patch.subject,
            body=patch.body,
            changes=patch.changes,
            number=number,
            total=len(patches),
            tool_version=tool_version,
        )
        rows.append(_manifest_row(name, files[name], patch))
    files[SERIES] = "".join(f"{name}\n" for name in files).encode()
    manifest = {
        "schema": SCHEMA,
        "tool": "patchkit",
        "tool_version": tool_version,
        "base": {**vars(base), "files": _base_files(patches)},
        "patches": rows,
    }
    files[MANIFEST] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    replace_folder(folder, files, refuse=_why_not_ours)
    return read_series(folder)


def _check_patches(patches: Sequence[Patch]) -> None:
    if len(patches) > 9999:
        raise PatchError(f"A series holds at most 9999 patches; this one would have {len(patches)}.")
    current: dict[str, bytes] = {}
    for patch in patches:
        if not _SLUG.match(patch.slug):
            raise PatchError(f"{patch.slug!r} cannot be the name of a patch.")
        paths = [change.path for change in patch.changes]
        if not paths or len(set(paths)) != len(paths):
            raise PatchError(f"Patch {patch.slug} must change at least one file, and each only once.")
        if not " ".join(patch.subject.split()):
            raise PatchError(f"Patch {patch.slug} has no subject.")
        for change in patch.changes:
            if change.before == change.after:
                raise PatchError(f"Patch {patch.slug} leaves {change.path} as it is.")
            if current.get(change.path, change.before) != change.before:
                raise PatchError(f"Patch {patch.slug} does not start from what the patch before left in {change.path}.")
            current[change.path] = change.after
    check_distinct(tuple(current), where="The series")


def _manifest_row(name: str, content: bytes, patch: Patch) -> dict[str, Any]:
    return {
        "file": name,
        "sha256": _digest(content),
        "subject": patch.subject,
        "template": patch.template,
        "recipe": patch.recipe,
        "findings": list(patch.findings),
        "changes": [
            {"path": change.path, "before": _digest(change.before), "after": _digest(change.after)}
            for change in patch.changes
        ],
    }


def _base_files(patches: Sequence[Patch]) -> dict[str, str]:
    first: dict[str, str] = {}
    for patch in patches:
        for change in patch.changes:
            first.setdefault(change.path, _digest(change.before))
    return dict(sorted(first.items()))


def _why_not_ours(folder: Path) -> str | None:
    """Return why an existing folder is not an unedited series of patchkit's, or None if it is one."""
    try:
        manifest = _read_manifest(folder)
        known = {str(row["file"]): str(row["sha256"]) for row in manifest["patches"]}
    except (InputError, KeyError, TypeError):
        return "it holds files but no series that patchkit wrote"
    for path in sorted(folder.iterdir()):
        if path.name == MANIFEST:
            continue
        if path.name not in known and path.name != SERIES:
            return f"it holds {path.name}, which patchkit did not write"
        if path.is_symlink() or not path.is_file():
            return f"its {path.name} is not a regular file"
        content = path.read_bytes()
        expected = _digest("".join(f"{name}\n" for name in known).encode())
        if _digest(content) != known.get(path.name, expected):
            return f"its {path.name} was edited since patchkit wrote it"
    return None


def read_series(folder: Path) -> Series:
    """Read a series and check that it is whole and as patchkit wrote it.

    Raises:
        InputError: not a series, cut short, edited, or a patch that asks for more than new text in files.
    """
    manifest = _read_manifest(folder)
    try:
        base = manifest["base"]
        series = Series(
            folder,
            _base(base),
            str(manifest["tool_version"]),
            tuple(_read_patch(folder, row) for row in manifest["patches"]),
        )
        names = [str(row["file"]) for row in manifest["patches"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise _bad_manifest(folder) from error
    listed = _read(folder, SERIES).decode("utf-8", "replace").split("\n")
    if [line for line in listed if line] != names:
        raise InputError(
            f"{folder / SERIES} does not list the patches of {MANIFEST}; apply an edited series with git am "
            "or quilt, or write it again with 'patchkit fix'."
        )
    check_distinct(series.paths, where=str(folder))
    _check_chain(series)
    return series


def _read_manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what}; give the folder that 'patchkit fix' wrote.")
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a patch series: it has no {MANIFEST}; give the folder 'patchkit fix' wrote.")
    try:
        manifest = json.loads(_read(folder, MANIFEST))
    except (ValueError, RecursionError) as error:
        raise _bad_manifest(folder) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("patches"), list):
        raise _bad_manifest(folder)
    if manifest.get("schema") != SCHEMA:
        raise InputError(
            f"{folder / MANIFEST} has the schema {manifest.get('schema')!r}; this patchkit reads {SCHEMA}."
        )
    return manifest


def _bad_manifest(folder: Path) -> InputError:
    return InputError(f"{folder / MANIFEST} is damaged; write the series again with 'patchkit fix'.")


def _read_patch(folder: Path, row: Mapping[str, Any]) -> SeriesPatch:
    name = str(row["file"])
    if not _PATCH_NAME.match(name):
        raise InputError(f"{folder / MANIFEST} names the patch {name!r}, which is not a name patchkit writes.")
    content = _read(folder, name)
    if _digest(content) != row["sha256"]:
        raise InputError(
            f"{folder / name} is not as patchkit wrote it (cut short or edited); apply an edited patch with "
            "git am, or write the series again with 'patchkit fix'."
        )
    diffs = {diff.path: diff for diff in parse_mail(content, name=name)}
    versions = {str(c["path"]): (str(c["before"]), str(c["after"])) for c in row["changes"]}
    if set(diffs) != set(versions):
        raise InputError(f"{folder / MANIFEST} and {name} do not name the same files.")
    return SeriesPatch(
        name,
        str(row["subject"]),
        str(row["template"]),
        _text(row["recipe"]),
        tuple(str(finding) for finding in row["findings"]),
        diffs,
        versions,
    )


def _check_chain(series: Series) -> None:
    last: dict[str, str] = {}
    for patch in series.patches:
        for path, (before, after) in patch.versions.items():
            if last.get(path, before) != before:
                raise InputError(f"{series.folder / MANIFEST} does not chain: {patch.name} starts from another {path}.")
            last[path] = after


def _read(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{path} is missing or not a regular file; the series is not whole.")
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            raise InputError(f"{path} is larger than {_LARGEST_FILE_BYTES >> 20} MiB: no patch of kernels is.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _base(row: Mapping[str, Any]) -> Base:
    base = Base(str(row["kind"]), _text(row["commit"]), str(row["tree_hash"]), str(row["torch_version"]))
    if not f"{base} {base.kind}".isprintable():
        raise TypeError("the base is not text that can be shown")
    return base


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
