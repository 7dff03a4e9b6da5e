"""Reports are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchkit.errors import OutputError
from patchkit.output._file import write_whole


def test_a_new_file_holds_the_text(tmp_path):
    write_whole(tmp_path / "report.json", "{}\n")
    assert (tmp_path / "report.json").read_text() == "{}\n"


def test_the_mode_of_a_replaced_file_stays(tmp_path):
    target = tmp_path / "report.json"
    target.write_text("old")
    target.chmod(0o640)
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link_to_the_new_text(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_whole(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_a_failed_write_leaves_the_old_text_and_no_litter(tmp_path, monkeypatch):
    target = tmp_path / "report.json"
    target.write_text("old")

    def full_disk(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match=r"cannot write .*report\.json: No space left on device\."):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(OutputError, match="No such file or directory"):
        write_whole(tmp_path / "missing" / "report.json", "x")


def test_a_device_is_written_to_and_not_replaced():
    write_whole(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()
