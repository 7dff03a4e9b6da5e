"""Every operator of torch's own OpInfo database with a non-contiguous output: ``out=``, in place, fresh
result."""

import pytest
from repro import opinfo

REPRODUCER = {
    "group": "sweep",
    "title": "all operators of the OpInfo database",
    "ops": ["*"],
    "references": ["pytorch#169018"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "all",
    "faults": ["lost", "misplaced", "garbage"],
}


@pytest.mark.parametrize("entry", opinfo.ENTRIES)
@pytest.mark.parametrize("name", opinfo.names())
def test_operator(name, entry, device):
    opinfo.check(name, entry, device)
