"""What a Metal source says of its kernel functions."""

from __future__ import annotations

from patchkit.scan.shaders import matches, parse_shaders


def kernel(text: str):
    (found,) = parse_shaders(text)
    return found


def test_a_store_at_the_thread_index_depends_on_no_argument():
    found = kernel("""
        kernel void twice(constant float* a [[buffer(0)]], device float* out [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) { out[i] = 2 * a[i]; }
    """)
    assert found.stores == {1: frozenset()}
    assert found.elementwise


def test_a_kernel_that_reads_elsewhere_is_not_elementwise():
    found = kernel("""
        kernel void shift(constant float* a [[buffer(0)]], device float* out [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) { out[i] = a[i + 1]; }
    """)
    assert not found.elementwise


def test_the_place_of_a_store_is_followed_through_locals_and_a_helper():
    found = kernel("""
        uint place(uint i, constant long* strides) { return i * strides[0]; }
        kernel void spread(constant float* a [[buffer(0)]], device float* out [[buffer(1)]],
                           constant long* strides [[buffer(2)]], constant uint& length [[buffer(3)]],
                           uint i [[thread_position_in_grid]]) {
          if (i >= length) { return; }
          const auto where = place(i, strides);
          out[where] = a[i];
        }
    """)
    assert found.stores == {1: frozenset({2})}


def test_a_pointer_made_from_an_argument_carries_its_offsets():
    found = kernel("""
        kernel void add(device void* out_ [[buffer(0)]], constant uint2* offsets [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
          device float* out = (device float*)((device char*)out_ + offsets[i].x);
          *out = 1;
        }
    """)
    assert found.stores == {0: frozenset({1})}


def test_an_atomic_operation_stores():
    found = kernel("""
        kernel void count(device atomic_int* bins [[buffer(0)]], constant int* a [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
          atomic_fetch_add_explicit(&bins[i], a[i], memory_order_relaxed);
        }
    """)
    assert set(found.stores) == {0}


def test_what_is_only_read_is_not_stored_to_even_where_it_could_be():
    found = kernel("""
        kernel void same(device float* a [[buffer(0)]], device float* out [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) { if (a[i] == 0) { out[i] = a[i]; } }
    """)
    assert set(found.stores) == {1}


def test_arguments_without_attributes_are_numbered_in_order():
    found = kernel("""
        kernel void fill(constant float& value, device float* out, uint i [[thread_position_in_grid]]) {
          out[i] = value;
        }
    """)
    assert [(a.name, a.index) for a in found.arguments] == [("value", 0), ("out", 1)]


def test_a_format_template_is_read_as_what_it_becomes():
    found = kernel("""
        kernel void cast(device {0}* out [[buffer(0)]], device {1}* a [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {{ out[i] = static_cast<{0}>(a[i]); }}
    """)
    assert found.stores == {0: frozenset()}


def test_instantiations_give_the_names_the_host_asks_for():
    first, second = parse_shaders("""
        template <typename T>
        kernel void sinc(device T* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 1; }
        template <typename T>
        kernel void sinc_backward(device T* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 0; }
        #define REGISTER(T)                                      \\
          template [[host_name("sinc_" #T)]] kernel void sinc<T>(device T*, uint); \\
          template [[host_name("sinc_backward_" #T)]] kernel void sinc_backward<T>(device T*, uint)
        REGISTER(float);
    """)
    assert first.hosts == ("sinc_*",)
    assert second.hosts == ("sinc_backward_*",)


def test_names_with_unknown_parts_match_where_they_can_be_the_same():
    assert matches("sinc_*", "sinc_float")
    assert matches("sinc_float", "sinc_*")
    assert matches("fmax_*", "*_float")
    assert not matches("cos_*", "sinc_*")
    assert not matches("sinc", "sinc_float")


def test_text_that_is_no_shader_has_no_kernels():
    assert parse_shaders("kernel void (") == []
    assert parse_shaders("{{{ kernel void x(device float* a) {") != []
    assert parse_shaders("") == []
