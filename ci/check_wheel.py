"""Compare a built wheel with the checkout: every template, recipe, reproducer and demo file must be inside."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def expected() -> dict[str, Path]:
    """Return each file the wheel must hold: its name there and where it lies in the checkout."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = dict(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"])
    folders["tools/patchkit"] = "patchkit"
    return {
        f"{inside}/{path.relative_to(ROOT / folder).as_posix()}": path
        for folder, inside in folders.items()
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and not any(part in SKIPPED for part in path.parts)
    }


def main(wheel: str) -> int:
    """Print what differs; return 1 if anything does."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
        licensed = any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    wanted = expected()
    problems = [f"missing: {name}" for name in wanted if name not in held]
    problems += [f"not of the checkout: {name}" for name in held if name not in wanted]
    problems += [
        f"differs: {name}" for name, path in wanted.items() if name in held and held[name] != path.read_bytes()
    ]
    problems += [] if licensed else ["missing: the license"]
    print("\n".join(problems) or f"all {len(wanted)} files of the checkout are in the wheel")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
