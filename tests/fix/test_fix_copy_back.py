"""The template upstream takes: a contiguous temporary at the output Placeholder, copied back after each run."""

from __future__ import annotations

from edits_kit import FILE, PLACEHOLDER, RUN, attempt, function, make_tree, reasons, source, unary


def fixed(tmp_path, text, functions=None, dialect="2.2"):
    cured, after, left = attempt(make_tree(tmp_path, text, functions or function("twice"), dialect))
    assert not cured.refused
    assert left == []
    return after


def test_the_temporary_is_used_at_the_placeholder_only(tmp_path):
    after = fixed(tmp_path, source(unary("twice")))
    assert after == source(
        unary(
            "twice",
            placeholder="    const bool needs_copy = !output.is_contiguous() || output.storage_offset();\n"
            "    Tensor output_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n"
            "    Placeholder result = Placeholder(graph->outputTensor_, output_);\n",
            run=RUN + "    if (needs_copy) {\n      output.copy_(output_);\n    }\n",
        )
    )


def test_each_result_of_a_kernel_has_its_own_temporary(tmp_path):
    text = source(
        unary(
            "parts",
            placeholder="    Placeholder first = Placeholder(graph->firstTensor_, values);\n"
            "    Placeholder second = Placeholder(graph->secondTensor_, indices);\n",
            results="    auto results = dictionaryFromPlaceholders(first, second);\n",
        ).replace("Tensor& output)", "Tensor& values, Tensor& indices)")
    ).replace("return output", "return values")
    after = fixed(tmp_path, text, function("parts", ("values", "indices")))
    assert "Placeholder(graph->firstTensor_, values_)" in after
    assert "Placeholder(graph->secondTensor_, indices_)" in after
    assert "if (needs_copy_values) {\n      values.copy_(values_);" in after
    assert "if (needs_copy_indices) {\n      indices.copy_(indices_);" in after


def test_every_path_that_ran_the_graph_copies_back(tmp_path):
    nested = "  " + RUN
    branches = f"    if (wide(self)) {{\n{nested}    }} else {{\n{nested}    }}\n"
    after = fixed(tmp_path, source(unary("twice", run=branches)))
    assert after.count("output.copy_(output_);") == 2
    assert after.count("      if (needs_copy) {\n        output.copy_(output_);\n      }\n") == 2


def test_a_return_after_the_run_comes_after_the_copy(tmp_path):
    after = fixed(tmp_path, source(unary("twice", run=RUN + "    if (done(self)) {\n      return output;\n    }\n")))
    assert after.index("output.copy_(output_)") < after.index("if (done(self))")


def test_new_names_are_none_that_the_function_or_a_macro_has(tmp_path):
    before = "  auto output_ = sizes_of(self);\n  auto needs_copy = 3;\n  use(output_, needs_copy);\n"
    text = source(unary("twice", before=before), includes="#define output_contiguous 1\n")
    after = fixed(tmp_path, text)
    assert "const bool needs_copy_output = " in after
    assert "Tensor output_contiguous2 = " in after


def test_a_placeholder_made_under_a_condition_has_a_temporary_only_then(tmp_path):
    functions = function("twice").replace(", *, Tensor(a!) output", ", bool keep, *, Tensor(a!) output")
    text = source(
        unary(
            "twice",
            placeholder="    auto result = Placeholder();\n    if (keep) {\n"
            "      result = Placeholder(graph->outputTensor_, output);\n    }\n",
            results="    NSMutableDictionary* results = [[NSMutableDictionary new] autorelease];\n    if (keep) {\n"
            "      results[result.getMPSGraphTensor()] = result.getMPSGraphTensorData();\n    }\n",
        ).replace("const Tensor& self,", "const Tensor& self, bool keep,")
    )
    after = fixed(tmp_path, text, functions)
    assert "    Tensor output_;\n    if (keep) {\n      output_ = !output.is_contiguous()" in after
    assert "    if (output_.defined() && !output_.is_same(output)) {\n      output.copy_(output_);\n    }\n" in after


def test_a_helper_is_fixed_once_for_all_ops_that_come_through_it(tmp_path):
    helper = unary("both").replace("Tensor& both_out_mps", "static Tensor& both_impl")
    ops = "".join(
        f"Tensor& {name}_out_mps(const Tensor& self, Tensor& output) {{\n  return both_impl(self, output);\n}}\n"
        for name in ("twice", "half")
    )
    after = fixed(tmp_path, source(helper, ops), function("twice") + function("half"))
    assert after.count("at::empty_like") == 1


def test_a_fresh_result_in_the_layout_of_an_input_is_cured_as_well(tmp_path):
    kernel = unary("twice", before="  Tensor output = at::empty_like(self);\n").replace(
        "Tensor& twice_out_mps(const Tensor& self, Tensor& output)", "Tensor twice_mps(const Tensor& self)"
    )
    kernel = kernel.replace("    return output;\n  }\n", "    return self;\n  }\n", 1)
    functions = "- func: twice(Tensor self) -> Tensor\n  dispatch:\n    MPS: twice_mps\n"
    after = fixed(tmp_path, source(kernel), functions)
    assert "output.copy_(output_);" in after


def test_line_breaks_are_those_of_the_file(tmp_path):
    text = source(unary("twice")).replace("\n", "\r\n").encode()
    cured, after, left = attempt(make_tree(tmp_path, text, function("twice")))
    assert not cured.refused and not left
    assert after.count("\n") == after.count("\r\n")


def test_a_line_that_would_be_too_long_is_broken_after_the_assignment(tmp_path):
    long = "outputTensor_"
    line = f"    Placeholder result = Placeholder(graph->{long}, output);\n"
    line = line.replace("graph->", "graph->" + "x" * (121 - len(line)))
    assert len(line.rstrip()) == 120
    after = fixed(tmp_path, source(unary("twice", placeholder=line)))
    assert max(map(len, after.splitlines())) <= 120
    assert "    Placeholder result =\n        Placeholder(graph->x" in after


def test_a_file_that_includes_ops_one_by_one_includes_empty_like(tmp_path):
    includes = "#include <ATen/ops/add.h>\n#include <ATen/ops/mul.h>\n"
    after = fixed(tmp_path, source(unary("twice"), includes=includes))
    assert "ops/add.h>\n#include <ATen/ops/empty_like.h>\n#include <ATen/ops/mul.h>" in after


def test_an_include_that_is_there_is_not_repeated(tmp_path):
    after = fixed(tmp_path, source(unary("twice"), includes="#include <ATen/ops/empty_like.h>\n"))
    assert after.count("empty_like.h") == 1


def test_gathering_switched_off_stays_so_at_the_contiguous_temporary(tmp_path):
    placeholder = "    Placeholder result = Placeholder(graph->outputTensor_, output, /*mpsShape=*/nil, false);\n"
    after = fixed(tmp_path, source(unary("twice", placeholder=placeholder)))
    assert "Placeholder(graph->outputTensor_, output_, /*mpsShape=*/nil, false)" in after


def test_a_placeholder_that_is_also_fed_is_not_given_an_empty_temporary(tmp_path):
    fed = "@{result.getMPSGraphTensor() : result."
    kernel = unary("twice", feed="").replace("@{input.getMPSGraphTensor() : input.", fed)
    cured, after, _ = attempt(make_tree(tmp_path, source(kernel), function("twice")))
    assert after == source(kernel)
    assert reasons(cured) == ["the same Placeholder is also an input of the graph"]


def test_a_statement_without_braces_is_left_alone(tmp_path):
    kernel = unary("twice", run="    if (wide(self))\n  " + RUN)
    cured, after, _ = attempt(make_tree(tmp_path, source(kernel), function("twice")))
    assert after == source(kernel)
    assert "no statement can be put after it" in reasons(cured)[0]


def test_a_result_whose_shape_follows_the_memory_format_is_refused(tmp_path):
    placeholder = "    Placeholder result = Placeholder(graph->outputTensor_, output, shape);\n"
    before = (
        "  const bool last = self.suggest_memory_format() == MemoryFormat::ChannelsLast;\n"
        "  MPSShape* shape = last ? moved(self) : getMPSShape(self);\n"
    )
    kernel = unary("twice", placeholder=placeholder, before=before)
    cured, after, _ = attempt(make_tree(tmp_path, source(kernel), function("twice")))
    assert after == source(kernel)
    assert "order of a memory format" in reasons(cured)[0]


def test_a_result_in_a_loop_before_the_run_is_refused(tmp_path):
    placeholder = (
        "    NSMutableDictionary* results = [[NSMutableDictionary new] autorelease];\n"
        "    for (const auto i : c10::irange(count)) {\n"
        "      Placeholder result = Placeholder(graph->outputTensor_[i], output);\n"
        "      results[result.getMPSGraphTensor()] = result.getMPSGraphTensorData();\n    }\n"
    )
    kernel = unary("twice", placeholder=placeholder, results="")
    cured, after, _ = attempt(make_tree(tmp_path, source(kernel), function("twice")))
    assert after == source(kernel)
    assert "made in a loop" in reasons(cured)[0]


def test_the_placeholder_is_found_in_every_form(tmp_path):
    forms = {
        "auto": "    auto result = Placeholder(graph->outputTensor_, output);\n",
        "direct": "    Placeholder result(graph->outputTensor_, output);\n",
        "qualified": "    auto result = mps::Placeholder(graph->outputTensor_, output);\n",
    }
    for number, (name, form) in enumerate(forms.items()):
        assert form != PLACEHOLDER
        after = fixed(tmp_path / str(number), source(unary("twice", placeholder=form)))
        assert "outputTensor_, output_)" in after, name


def test_only_kernel_files_with_a_finding_are_touched(tmp_path):
    cured, _, _ = attempt(make_tree(tmp_path, source(unary("twice")), function("twice")))
    assert list(cured.edits) == [FILE]
