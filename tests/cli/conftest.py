"""Command lines keep nothing in the user's cache."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("patchkit-cache")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, shared_cache):
    monkeypatch.setenv("PATCHKIT_CACHE", str(shared_cache))
