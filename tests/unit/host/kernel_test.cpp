#include "kernel_fixture.h"

using namespace ouro;
using ouro::test::check_kernel;

namespace {
std::string map(const char* type, const char* leaf, const char* result) {
  return std::string("kernel(b0 in ") + type + ", b1 in " + type + ", b2 out " + result +
         "; n0;) { parallel i0 < n0 { %0 = load." + type + " b0[i0] %1 = load." + type + " b1[i0] %2 = " + leaf + "." +
         result + " %0, %1 store b2[i0] = %2 } }";
}
}  // namespace

TEST_CASE("elementwise_kernels_give_the_evaluators_bits_at_every_length") {
  for (size_t n : {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000})
    check_kernel(map("f32", "add", "f32"), {n, n, n}, {int64_t(n)});
}

TEST_CASE("basic_leaves_of_floats_give_the_evaluators_bits") {
  for (const char* t : {"f32", "f64"}) {
    for (const char* leaf : {"add", "sub", "mul", "div", "min", "max"})
      check_kernel(map(t, leaf, t), {203, 203, 203}, {203});
    for (const char* leaf : {"eq", "ne", "lt", "le", "gt", "ge"})
      check_kernel(map(t, leaf, "bool"), {203, 203, 203}, {203});
    for (const char* leaf : {"neg", "abs", "floor", "ceil", "trunc", "round", "sqrt"}) {
      std::string s = map(t, "add", t);
      s.replace(s.find("add."), 4, std::string(leaf) + ".");
      s.replace(s.find("%0, %1"), 6, "%0");
      check_kernel(s, {203, 203, 203}, {203});
    }
  }
}

TEST_CASE("basic_leaves_of_integers_give_the_evaluators_bits") {
  for (const char* t : {"u8", "i8", "i16", "i32", "i64"}) {
    for (const char* leaf : {"add", "sub", "mul", "idiv", "irem", "min", "max", "and", "or", "xor", "shl", "shr"}) {
      std::string name = leaf;
      if (name == "and" || name == "or" || name == "xor") name += "_";
      check_kernel(map(t, name.c_str(), t), {203, 203, 203}, {203});
    }
    for (const char* leaf : {"eq", "ne", "lt", "le", "gt", "ge"})
      check_kernel(map(t, leaf, "bool"), {203, 203, 203}, {203});
  }
}

TEST_CASE("casts_between_all_types_give_the_evaluators_bits") {
  const char* types[] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
  for (std::string from : types)
    for (std::string to : types) {
      std::string reg = from == "f16" || from == "bf16" ? "f32" : from,
                  target = to == "f16" || to == "bf16" ? "f32" : to;
      std::string cast = reg == target ? "store b1[i0] = %0" : "%1 = cast." + target + " %0 store b1[i0] = %1";
      check_kernel("kernel(b0 in " + from + ", b1 out " + to + "; n0;) { parallel i0 < n0 { %0 = load." + reg +
                       " b0[i0] " + cast + " } }",
                   {101, 101}, {101});
    }
}

TEST_CASE("rows_with_a_broadcast_column_and_a_ragged_width") {
  const char* text = R"(kernel(b0 in f32, b1 in f32, b2 in f32, b3 out f32; n0, n1;) {
    parallel i0 < n0 {
      %0 = ix.mul i0, n1
      %1 = load.f32 b1[i0]
      loop i1 < n1 {
        %2 = ix.add %0, i1
        %3 = load.f32 b0[%2]
        %4 = load.f32 b2[i1]
        %5 = mul.f32 %3, %1
        %6 = add.f32 %5, %4
        store b3[%2] = %6
      }
    }
  })";
  for (size_t c : {1, 5, 8, 13, 32, 70}) check_kernel(text, {7 * c, 7, c, 7 * c}, {7, int64_t(c)});
}

TEST_CASE("transposed_reads_are_gathered") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
    parallel i0 < n0 {
      %0 = ix.mul i0, n1
      loop i1 < n1 {
        %1 = ix.mul i1, n0
        %2 = ix.add %1, i0
        %3 = load.f32 b0[%2]
        %4 = ix.add %0, i1
        store b1[%4] = %3
      }
    }
  })";
  for (size_t c : {1, 5, 8, 13, 33}) check_kernel(text, {6 * c, 6 * c}, {6, int64_t(c)});
}

TEST_CASE("embedding_reads_at_indices_from_memory") {
  const char* text = R"(kernel(b0 in f32, b1 in u8, b2 out f32; n0, n1;) {
    parallel i0 < n0 {
      %0 = load.u8 b1[i0]
      %1 = cast.i64 %0
      %2 = ix.mul %1, n1
      %5 = ix.mul i0, n1
      loop i1 < n1 {
        %3 = ix.add %2, i1
        %4 = load.f32 b0[%3]
        %6 = ix.add %5, i1
        store b2[%6] = %4
      }
    }
  })";
  check_kernel(text, {256 * 13, 9, 9 * 13}, {9, 13});
}

TEST_CASE("padding_reads_only_where_the_condition_holds") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
    parallel i0 < n1 {
      %0 = ge.bool i0, 3
      %1 = ix.sub i0, 3
      %2 = lt.bool %1, n0
      %3 = and_.bool %0, %2
      %4 = load.f32 b0[%1] if %3 else 0.5:f32
      store b1[i0] = %4
    }
  })";
  for (size_t n : {1, 8, 20}) check_kernel(text, {n, n + 7}, {int64_t(n), int64_t(n + 7)});
}

TEST_CASE("last_axis_reductions_keep_the_fixed_order") {
  for (const char* type : {"f32", "f64", "i64"})
    for (const char* op : {"add", "mul", "max", "min"}) {
      std::string t = type;
      std::string text =
          "kernel(b0 in " + t + ", b1 out " + t +
          "; n0, n1;) { parallel i0 < n0 { %0 = ix.mul i0, n1 reduce fold i1 < n1 { %1 = ix.add %0, i1 %2 = load." + t +
          " b0[%1] } r0 = " + op + "." + t + " %2 store b1[i0] = r0 } }";
      for (size_t c : {0, 1, 5, 8, 63, 64, 65, 130, 4096, 4097, 9000})
        check_kernel(text, {3 * c, 3}, {3, int64_t(c)}, {}, false);
    }
}

TEST_CASE("a_long_reduction_folds_its_blocks_by_the_same_rule") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0;) {
    reduce fold i0 < n0 {
      %0 = load.f32 b0[i0]
      %1 = mul.f32 %0, %0
    } r0 = add.f32 %1, r1 = max.f32 %0
    %2 = add.f32 r0, r1
    store b1[0] = %2
  })";
  for (size_t n : {4096 * 64, 4096 * 65 + 17, 700001}) check_kernel(text, {n, 1}, {int64_t(n)}, {}, false);
}

TEST_CASE("reductions_over_other_axes_keep_the_fixed_order") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0, n1, n2;) {
    parallel i0 < n0 {
      %5 = ix.mul i0, n1
      %6 = ix.mul i0, n2
      loop i1 < n2 {
        reduce blocks i2 < n1 {
          %0 = ix.add %5, i2
          %1 = ix.mul %0, n2
          %2 = ix.add %1, i1
          %3 = load.f32 b0[%2]
        } r0 = add.f32 %3
        %4 = ix.add %6, i1
        store b1[%4] = r0
      }
    }
  })";
  for (size_t r : {0, 1, 63, 64, 65, 200})
    for (size_t c : {1, 7, 8, 20}) check_kernel(text, {2 * r * c, 2 * c}, {2, int64_t(r), int64_t(c)});
}

TEST_CASE("softmax_in_one_kernel_with_two_reductions") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
    parallel i0 < n0 {
      %0 = ix.mul i0, n1
      reduce fold i1 < n1 {
        %1 = ix.add %0, i1
        %2 = load.f32 b0[%1]
      } r0 = max.f32 %2
      reduce fold i2 < n1 {
        %3 = ix.add %0, i2
        %4 = load.f32 b0[%3]
        %5 = sub.f32 %4, r0
      } r1 = add.f32 %5
      loop i3 < n1 {
        %6 = ix.add %0, i3
        %7 = load.f32 b0[%6]
        %8 = sub.f32 %7, r0
        %9 = div.f32 %8, r1
        store b1[%6] = %9
      }
    }
  })";
  for (size_t c : {1, 10, 100, 1000}) check_kernel(text, {5 * c, 5 * c}, {5, int64_t(c)}, {}, false);
}

TEST_CASE("window_maxima_are_reduced_in_order_at_strided_places") {
  const char* text = R"(kernel(b0 in f32, b1 out f32; n0, n1, n2;) {
    parallel i0 < n0 {
      loop i1 < n1 {
        reduce serial i2 < 2, i3 < 2 {
          %0 = ix.mul i0, 2
          %1 = ix.add %0, i2
          %2 = ix.mul %1, n2
          %3 = ix.mul i1, 2
          %4 = ix.add %3, i3
          %5 = ix.add %2, %4
          %6 = load.f32 b0[%5]
        } r0 = max.f32 %6
        %7 = ix.mul i0, n1
        %8 = ix.add %7, i1
        store b1[%8] = r0
      }
    }
  })";
  for (size_t w : {1, 4, 12, 17}) check_kernel(text, {6 * 2 * w, 3 * w}, {3, int64_t(w), int64_t(2 * w)});
}

TEST_CASE("scalars_are_run_time_values") {
  const char* text = R"(kernel(b0 inout f32, b1 in f32; n0; s0 f64) {
    %9 = cast.f32 s0
    parallel i0 < n0 {
      %0 = load.f32 b0[i0]
      %1 = load.f32 b1[i0]
      %2 = mul.f32 %9, %1
      %3 = sub.f32 %0, %2
      store b0[i0] = %3
    }
  })";
  runtime::ScalarArg lr;
  lr.f = 0.1;
  check_kernel(text, {77, 77}, {77}, {lr});
}

TEST_CASE("equal_kernels_share_their_code") {
  auto k = ir::loops::read_kernel(map("f32", "add", "f32"));
  const ir::loops::Kernel* kernels[] = {&k, &k, &k};
  std::string error;
  auto three = test::host().compile(kernels, error);
  auto one = test::host().compile(std::span(kernels).first(1), error);
  REQUIRE(three);
  CHECK(three->count() == 3);
  CHECK(three->bytes() == one->bytes());
}

TEST_CASE("modules_share_the_code_of_equal_kernels") {
  auto k = ir::loops::read_kernel(map("f64", "add", "f64")), other = ir::loops::read_kernel(map("f64", "sub", "f64"));
  const ir::loops::Kernel* kernels[] = {&k, &other};
  std::string error;
  auto& backend = test::host();
  auto one = backend.compile(std::span(kernels).first(1), error);
  auto both = backend.compile(kernels, error);
  REQUIRE(both);
  // Compiled together they would be one object.
  uint32_t parts = 0;
  const std::string bytes = backend.save(*both);
  std::memcpy(&parts, bytes.data() + sizeof parts, sizeof parts);
  CHECK(parts == 2);
  CHECK(both->bytes() > one->bytes());
  one = nullptr;  // the code stays
  double a[3] = {1, 2, 3}, b[3] = {10, 20, 30}, c[3];
  void* p[] = {a, b, c};
  int64_t n = 3;
  REQUIRE(backend.launch(*both, 0, {p, &n, nullptr, 3, 1}, 1, error));
  CHECK(c[2] == 33);
  REQUIRE(backend.launch(*both, 1, {p, &n, nullptr, 3, 1}, 1, error));
  CHECK(c[2] == -27);
  // What a loaded module has is known, too.
  auto loaded = backend.load(bytes, error);
  REQUIRE(loaded);
  both = nullptr;
  backend.loaded(*loaded, kernels);
  auto again = backend.compile(std::span(kernels).last(1), error);
  loaded = nullptr;
  REQUIRE(backend.launch(*again, 0, {p, &n, nullptr, 3, 1}, 1, error));
  CHECK(c[0] == -9);
}

TEST_CASE("threads_compile_a_module_together") {
  std::vector<ir::loops::Kernel> kernels;
  for (int factor = 2; factor < 42; ++factor)
    kernels.push_back(ir::loops::read_kernel(fmt::format(R"(kernel(b0 in i64, b1 out i64; n0;) {{
      parallel i0 < n0 {{
        %0 = load.i64 b0[i0]
        %1 = mul.i64 %0, {}
        store b1[i0] = %1
      }}
    }})",
                                                         factor)));
  std::vector<const ir::loops::Kernel*> all;
  for (const ir::loops::Kernel& k : kernels) all.push_back(&k);
  std::string error;
  auto module = test::host().compile(all, error, nullptr, 4);
  REQUIRE(module);
  // Of each thread, an object.
  uint32_t parts = 0;
  const std::string bytes = test::host().save(*module);
  std::memcpy(&parts, bytes.data() + sizeof parts, sizeof parts);
  CHECK(parts == 4);
  for (size_t k = 0; k < all.size(); ++k) {
    int64_t in[3] = {1, 2, 3}, out[3] = {}, n = 3;
    void* p[] = {in, out};
    REQUIRE(test::host().launch(*module, k, {p, &n, nullptr, 3, 1}, 1, error));
    CHECK(out[2] == 3 * static_cast<int64_t>(k + 2));
  }
}

TEST_CASE("a_saved_module_loads_and_runs_without_compiling") {
  auto k = ir::loops::read_kernel(map("f32", "mul", "f32"));
  const ir::loops::Kernel* kernels[] = {&k};
  std::string error;
  auto& backend = test::host();
  std::string bytes = backend.save(*backend.compile(kernels, error));
  auto loaded = backend.load(bytes, error);
  REQUIRE(loaded);
  float a[9], b[9], c[9];
  for (int i = 0; i < 9; ++i) a[i] = static_cast<float>(i), b[i] = 2;
  void* p[] = {a, b, c};
  int64_t n = 9;
  REQUIRE(backend.launch(*loaded, 0, {p, &n, nullptr, 9, 1}, 1, error));
  CHECK(c[8] == 16);
  CHECK(backend.load(std::string_view(bytes).substr(0, bytes.size() / 2), error) == nullptr);
  CHECK(error == "not a saved kernel module");
}

TEST_CASE("leaf_functions_give_the_evaluators_bits") {
  for (const char* t : {"f32", "f64"})
    for (const ir::LeafDef& l : ir::kLeaves) {
      if (!l.function) continue;
      std::string s = map(t, std::string(l.name).c_str(), t);
      if (l.operands == 1) s.replace(s.find("%0, %1"), 6, "%0");
      check_kernel(s, {1000, 1000, 1000}, {1000});
    }
}

TEST_CASE("long_loops_and_reductions_are_cut_into_strips_with_the_same_bits") {
  constexpr size_t n = 3 * 65536 + 5;
  check_kernel(map("f32", "add", "f32"), {n, n, n}, {n});
  const char* serial = R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
    parallel i0 < n0 {
      reduce serial i1 < n1 {
        %0 = ix.mul i1, n0
        %1 = ix.add %0, i0
        %2 = load.f32 b0[%1]
      } r0 = add.f32 %2
      store b1[i0] = r0
    }
  })";
  for (int64_t k : {int64_t{1}, int64_t{5}, int64_t{4096}, int64_t{2 * 4096 + 3}})
    check_kernel(serial, {static_cast<size_t>(19 * k), 19}, {19, k});
}

namespace {

// Launches with a poll word that is set already: does the kernel end early, and does it for kStopBits alone?
void check_stops(const std::string& text, const std::vector<size_t>& lengths, const std::vector<int64_t>& sizes) {
  auto k = ir::loops::read_kernel(text);
  const ir::loops::Kernel* kernels[] = {&k};
  std::string error;
  std::vector<std::vector<char>> buffers;
  for (size_t i = 0; i < lengths.size(); ++i)
    buffers.push_back(test::random_elements(k.buffers[i].type, lengths[i], i));
  std::vector<void*> p = test::pointers_to(buffers);
  std::atomic<uint32_t> poll{0};
  const int64_t range = backends::launch_range(k, sizes.data());
  const runtime::KernelArgs args{p.data(), sizes.data(), nullptr, range, 1, &poll};
  for (const char* cpu : {"", "x86-64-v3", "x86-64-v2"}) {
    auto& backend = test::host(cpu);
    auto module = backend.compile(kernels, error);
    REQUIRE(module);
    poll = ~runtime::kStopBits;
    CHECK(backend.launch(*module, 0, args, 1, error));
    poll = runtime::kStopBits;
    CHECK_FALSE(backend.launch(*module, 0, args, 1, error));
    CHECK(error.empty());
  }
  CHECK_FALSE(backends::evaluate(k, p.data(), sizes.data(), nullptr, 0, range, &poll));
}

}  // namespace

TEST_CASE("a_kernel_ends_where_its_poll_word_asks_for_it") {
  check_stops(map("f32", "add", "f32"), {200000, 200000, 200000}, {200000});
  for (const char* order : {"serial", "fold", "blocks"}) {
    const std::string text = std::string(R"(kernel(b0 in f32, b1 out f32; n0, n1;) {
    parallel i0 < n0 {
      reduce )") + order + R"( i1 < n1 {
        %0 = ix.mul i0, n1
        %1 = ix.add %0, i1
        %2 = load.f32 b0[%1]
      } r0 = add.f32 %2
      store b1[i0] = r0
    }
  })";
    INFO(order);
    check_stops(text, {20000, 1}, {1, 20000});
    if (std::string_view(order) == "fold") check_stops(text, {90, 30}, {30, 3});
  }
}
