"""The fast reader of native_functions.yaml agrees with PyYAML, and hands it what is unusual."""

import subprocess
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.errors import InputError
from patchkit.scan.registry import yaml_entries
from patchkit.scan.registry.yaml_entries import parse_entries, read_entries

USUAL = """\
# a comment above

- func: blend(Tensor self, Tensor other) -> Tensor
  device_check: NoCheck   # why
  structured_delegate: blend.out
  variants: function, method
  tags: [core, pointwise]

- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  device_guard: false
  cpp_no_default_args: ['other', "more"]
  dispatch:
    CPU, CUDA: blend_out
    # not yet: blend_mps
    MPS: blend_out_mps  # Metal
  autogen: blend.x_out, blend.y_out

- func: seam.out(Tensor[] parts, *, Tensor(a!) out) -> Tensor(a!)
  precomputed:
  - dim -> int dim, bool same
  - int extra
  dispatch: {}
  ufunc_inner_loop:
    Generic: seam (AllAndComplex, Half)

- func: plain(Tensor self) -> Tensor
  dispatch: # only one
    CPU: plain_cpu
"""

UNUSUAL = [
    '- func: "quoted(Tensor self) -> Tensor"\n  variants: function\n',
    "- func: >-\n    folded(Tensor self)\n    -> Tensor\n  variants: function\n",
    "- func: long(Tensor self,\n    Tensor other) -> Tensor\n",
    "- func: nulls(Tensor self) -> Tensor\n  python_module: ~\n",
    "- func: yes(Tensor self) -> Tensor\n  structured: yes\n",
    "- {func: flow(Tensor self) -> Tensor, variants: method}\n",
    "- func: deep(Tensor self) -> Tensor\n  dispatch:\n      CPU: deep_cpu\n      MPS: deep_mps\n",
    "- func: quotedkey(Tensor self) -> Tensor\n  dispatch:\n    'CPU': a\n",
    "---\n- func: marked(Tensor self) -> Tensor\n",
    "  - func: indented(Tensor self) -> Tensor\n    variants: method\n",
    "- func: tagged(Tensor self) -> Tensor\n  tags: [a,\n    b]\n",
]


def read_with_pyyaml(text):
    # The loader that the reader falls back on: libyaml and PyYAML differ on malformed text.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def test_usual_entries_read_as_pyyaml_reads_them():
    assert [entry.fields for entry in parse_entries(USUAL, "x.yaml")] == read_with_pyyaml(USUAL)


def test_usual_entries_need_no_yaml_parser(monkeypatch):
    def refuse(*_):
        raise AssertionError("PyYAML was called")

    monkeypatch.setattr(yaml_entries, "_load_yaml", refuse)
    assert len(parse_entries(USUAL, "x.yaml")) == 4


@pytest.mark.parametrize("text", UNUSUAL)
def test_unusual_entries_read_as_pyyaml_reads_them(text):
    assert [entry.fields for entry in parse_entries(text, "x.yaml")] == read_with_pyyaml(text)


PIECES = st.sampled_from(
    [
        *(
            "\n",
            " ",
            "  ",
            "\t",
            "\r",
            "\u2028",
            "é",
            "#",
            " # c",
            ":",
            ": ",
            "- ",
            "'",
            '"',
            "[",
            "]",
            "{",
            "}",
        ),
        *(",", "|", ">", "&a", "*a", "!", "%", "?", "~", "yes", "1", "true"),
        *("---\n", "  dispatch:\n", "    MPS: x\n", "  - a\n"),
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, len(USUAL)), st.integers(0, 3), PIECES), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(EDITS)
def test_whatever_is_edited_the_fast_reader_never_disagrees_with_pyyaml(edits):
    text = USUAL
    for place, dropped, piece in edits:
        text = text[:place] + piece + text[place + dropped :]
    try:
        entries = parse_entries(text, "x.yaml")
    except InputError:
        return
    assert [entry.fields for entry in entries] == (read_with_pyyaml(text) or [])


def test_an_unusual_entry_does_not_disturb_its_neighbours():
    text = USUAL + UNUSUAL[0] + USUAL.replace("blend", "mix").replace("seam", "hem").replace("plain", "bare")
    assert [entry.fields for entry in parse_entries(text, "x.yaml")] == read_with_pyyaml(text)


def test_entries_know_their_line():
    assert [entry.line for entry in parse_entries(USUAL, "x.yaml")] == [3, 9, 20, 28]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- variants: function\n", "line 1: the entry has no 'func:' schema"),
        ("- func: f(Tensor self) -> Tensor\n  tags: [a\n", "line .* is not valid YAML"),
        ("- func: f(Tensor self) -> Tensor\n  dispatch:\n\tCPU: x\n", "line .* is not valid YAML"),
        ("key: value\n", "is not a list of operator entries"),
        ("- func: 3\n", "has no 'func:' schema"),
        ("- a\n", "must be a mapping"),
        (
            "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: 3}\n",
            "'dispatch' holds something that is not text",
        ),
    ],
)
def test_bad_yaml_is_refused_with_file_and_line(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_entries(text, "native_functions.yaml")
    assert str(caught.value).startswith("native_functions.yaml")


def test_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="is missing"):
        read_entries(tmp_path / "none.yaml", "none.yaml")


def test_file_without_operators_is_refused(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing\n")
    with pytest.raises(InputError, match="lists no operator"):
        read_entries(path, "empty.yaml")


def test_binary_file_is_refused(tmp_path):
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"- func: \xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_entries(path, "binary.yaml")


def test_folder_in_place_of_the_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_entries(tmp_path, "folder")


def test_importing_the_registry_does_not_import_yaml():
    code = "import sys, patchkit.scan.registry; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
