"""The header of an op that an edit calls: kernel files of 2.x include each op by itself."""

from __future__ import annotations

import re

from patchkit.fix.edits.text import TextEdit, newline_of

_OP = re.compile(rb"^([ \t]*#[ \t]*include[ \t]*<ATen/ops/)(\w+)(\.h>)", re.MULTILINE)


def include_op(source: bytes, op: str) -> list[TextEdit]:
    """Return the edit that includes ``ATen/ops/<op>.h`` among the includes of ops, in their order.

    A file that includes no op by itself sees all of them through ``ATen/ATen.h`` and needs none.
    """
    found = list(_OP.finditer(source))
    if not found or any(match.group(2).decode() == op for match in found):
        return []
    line = found[0].group(1) + op.encode() + found[0].group(3) + newline_of(source).encode()
    later = next((match for match in found if match.group(2).decode() > op), None)
    if later is not None:
        return [TextEdit(later.start(), later.start(), line)]
    end = source.find(b"\n", found[-1].end()) + 1
    return [TextEdit(end, end, line)]
