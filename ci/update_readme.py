"""Write the README's transcript and its numbers again, from what patchkit prints now.

``python ci/update_readme.py`` in an environment that has patchkit. The numbers of the real releases are only written
where PATCHKIT_TREES names the folder that ci/fetch-debian-trees.sh and ci/unpack-trees.sh filled.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RELEASES = ("1.13.1", "2.6.0")
TRANSCRIPT = (
    "patchkit demo --into demo >/dev/null; cd demo; patchkit apply patches tree --reverse",
    "patchkit scan tree --op addcmul",
    "patchkit fix tree --output fixes | tail -n 1",
    "sed -n '/^@@/,/^-- /p' fixes/*-mps-pointwise-ops.patch",
    "patchkit apply fixes tree",
    "patchkit scan tree",
)


def block(text: str, name: str) -> str:
    """Return what the README holds between the comments of a generated block."""
    return _block(name).search(text).group("body")  # type: ignore[union-attr]


def transcript() -> str:
    """Run the commands of the transcript in a temporary folder and return them with their output as Markdown."""
    shown = [f"printf '$ %s\\n' {_quoted(command)}\n{command}\n" for command in TRANSCRIPT]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "patchkit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m patchkit "$@"\n', encoding="utf-8")
        Path(folder, "patchkit").chmod(0o755)
        environment = {
            **os.environ,
            "PATH": os.pathsep.join((folder, os.environ["PATH"])),
            "PATCHKIT_CACHE": str(Path(folder, "cache")),
            "PYTHONPATH": str(ROOT / "tools"),
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-c", "".join(shown)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    if done.stderr:
        raise SystemExit(f"the transcript's commands complain: {done.stderr}")
    lines = (line.rstrip() for line in done.stdout.splitlines())
    return "```console\n" + "\n".join(lines).strip("\n") + "\n```\n"


def releases_table(trees: Path) -> str:
    """Scan and fix the real trees under ``trees/src`` and return the numbers as a Markdown table."""
    heads = ("torch", "files", "findings", "cleared", "undecided", "fixed by a patch", "judged", "precision", "recall")
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    rows += [_row(version, trees / "src" / version) for version in RELEASES]
    return "\n".join(rows) + "\n"


def _row(version: str, tree: Path) -> str:
    sys.path.insert(0, str(ROOT / "tests" / "scan"))
    kit = importlib.import_module("verdict_kit")
    from patchkit.scan import scan_tree
    from patchkit.source.tree import open_tree

    report = scan_tree(open_tree(tree, version=version))
    facts = kit.load_facts(version)
    score = kit.score(facts, report)
    fixed = sum(len(patch["findings"]) for patch in _fix(tree)["patches"])
    counts = (report.files, *map(len, (report.findings, report.cleared, report.undecided)), fixed, len(facts))
    cells = [version, *map(str, counts), f"{score.precision:.3f}", f"{score.recall:.3f}"]
    return f"| {' | '.join(cells)} |"


def _fix(tree: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "patchkit", "fix", str(tree), "--check", "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def _quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


def _block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<start><!-- {name}: [^>]*-->\n)(?P<body>.*?)(?P<end><!-- end -->)", re.S)


def main() -> None:
    """Rewrite the generated blocks of README.md in place."""
    blocks = {"transcript": transcript()}
    if "PATCHKIT_TREES" in os.environ:
        blocks["releases"] = releases_table(Path(os.environ["PATCHKIT_TREES"]))
    text = README.read_text(encoding="utf-8")
    for name, body in blocks.items():
        text, count = _block(name).subn(lambda match, body=body: match["start"] + body + match["end"], text)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"README.md has {count} blocks named {name}")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
