"""Print the command lines of the README, one a line: ``ci/readme_commands.py [--only WORD]``.

With ``--only WORD`` it prints the one command that WORD is part of, and fails unless there is exactly one.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def commands(text: str) -> list[str]:
    """Return every command line of the ```` ```sh ```` blocks of a Markdown text, comments left out."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def main(arguments: list[str]) -> int:
    """Print the commands; return 2 where ``--only`` does not name exactly one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="WORD")
    word = parser.parse_args(arguments).only
    found = [line for line in commands(README.read_text(encoding="utf-8")) if word is None or word in line]
    if word is not None and len(found) != 1:
        print(f"the README has {len(found)} commands with {word!r} in them", file=sys.stderr)
        return 2
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
