// Contractions as kernels: what they mean (the evaluator against the contraction engine), and that devices, which do
// them in tiles, give the evaluator's bits.
#include "ir/loops/contraction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "backends/device/kernel_walk.h"
#include "on_device.h"
#include "runtime/machine/contract.h"

namespace {
using namespace ouro;
using namespace ouro::test;
using namespace ouro::ir::loops;

struct MatmulCase {
  MatmulForm form;
  int64_t m, n, k, batch = 1, a_stride = 0, b_stride = 0;
};

struct ConvolutionCase {
  ConvolutionForm form;
  int64_t batch, in_channels, out_channels;
  std::array<int64_t, 3> in, kernel;  // of `rank`
  std::array<int64_t, 3> out() const {
    std::array<int64_t, 3> o{1, 1, 1};
    for (size_t d = 0; d < static_cast<size_t>(form.rank); ++d)
      o[d] = (in[d] + 2 * form.padding[d] - form.dilation[d] * (kernel[d] - 1) - 1) / form.stride[d] + 1;
    return o;
  }
};

std::vector<MatmulCase> matmuls() {
  using enum DType;
  return {
      {{.dtype = f32}, 1, 1, 1},
      {{.dtype = f32}, 17, 5, 33},
      {{.dtype = f32}, 70, 66, 35},
      {{.dtype = f32}, 16, 16, 16},
      {{.dtype = f32}, 0, 5, 3},
      {{.dtype = f32}, 4, 0, 3},
      {{.dtype = f32}, 20, 5, 0},
      {{.dtype = f32}, 1, 40, 100},
      {{.dtype = f32}, 40, 1, 300},
      {{.dtype = f32, .a_transposed = true}, 19, 23, 18},
      {{.dtype = f32, .b_transposed = true}, 19, 23, 18},
      {{.dtype = f32, .a_transposed = true, .b_transposed = true}, 19, 23, 18},
      {{.dtype = f32, .round_operands = true}, 21, 18, 40},
      {{.dtype = f32, .round_operands = true, .a_transposed = true}, 21, 18, 40},
      {{.dtype = f32, .batched = true}, 9, 20, 7, 3, 63, 140},
      {{.dtype = f32, .batched = true}, 9, 20, 7, 3, 0, 140},
      {{.dtype = f32, .b_transposed = true, .batched = true}, 9, 20, 7, 3, 63, 0},
      {{.dtype = f32, .batched = true}, 9, 20, 7, 0, 63, 140},
      {{.dtype = f32, .batched = true}, 33, 34, 17, 128, 33 * 17, 0},  // large tiles
      {{.dtype = f32, .a_transposed = true, .b_transposed = true, .batched = true}, 34, 50, 3, 128, 0, 150},
      {{.dtype = f64}, 35, 18, 21},
      {{.dtype = f64, .b_transposed = true}, 35, 18, 21},
      {{.dtype = f64, .batched = true}, 40, 33, 3, 128, 120, 99},
      {{.dtype = i64}, 18, 17, 19},
      {{.dtype = i32, .a_transposed = true}, 18, 17, 19},
      {{.dtype = i16}, 18, 17, 19},
      {{.dtype = i8}, 18, 17, 19},
      {{.dtype = u8, .b_transposed = true}, 18, 17, 19},
      {{.dtype = f16}, 18, 17, 19},
      {{.dtype = bf16, .b_transposed = true}, 18, 17, 19},
  };
}

std::vector<ConvolutionCase> convolutions() {
  using enum DType;
  std::vector<ConvolutionCase> all;
  for (auto kind : {ConvolutionForm::Kind::forward, ConvolutionForm::Kind::input, ConvolutionForm::Kind::weight}) {
    auto add = [&](ConvolutionForm f, int64_t batch, int64_t ic, int64_t oc, std::array<int64_t, 3> in,
                   std::array<int64_t, 3> kernel) {
      f.kind = kind;
      all.push_back({f, batch, ic, oc, in, kernel});
    };
    add({.rank = 1}, 2, 9, 5, {20}, {4});
    add({.dtype = f64, .rank = 1, .stride = {2}, .padding = {2}, .dilation = {3}}, 3, 4, 5, {19}, {3});
    add({.rank = 2}, 2, 6, 18, {9, 7}, {3, 2});
    add({.rank = 2, .padding = {1, 1}}, 1, 1, 1, {5, 5}, {3, 3});
    add({.rank = 2, .padding = {1, 1}}, 0, 2, 2, {5, 5}, {3, 3});
    add({.rank = 2, .stride = {2, 3}, .padding = {0, 2}}, 2, 5, 4, {9, 11}, {3, 5});
    add({.dtype = f64, .rank = 2, .groups = 2, .stride = {2, 2}, .padding = {1, 1}}, 2, 12, 8, {8, 9}, {3, 3});
    add({.rank = 2, .groups = 6, .padding = {1, 1}}, 2, 6, 6, {6, 7}, {3, 3});  // channel by channel
    add({.round_operands = true, .rank = 2, .padding = {1, 0}, .dilation = {2, 1}}, 2, 4, 5, {10, 6}, {3, 1});
    add({.rank = 2}, 2, 17, 19, {4, 4}, {1, 1});
    add({.rank = 3, .stride = {1, 2, 1}, .padding = {1, 0, 1}, .dilation = {1, 1, 2}}, 2, 4, 5, {4, 5, 6}, {2, 3, 2});
    add({.dtype = f64, .rank = 3, .groups = 3}, 1, 3, 6, {3, 4, 5}, {2, 2, 3});
  }
  ConvolutionForm padded{.rank = 2, .padding = {1, 1}};
  all.push_back({padded, 2, 1, 33, {64, 64}, {3, 3}});  // large tiles
  return all;
}

std::vector<char> zeros(DType t, int64_t n) {
  return std::vector<char>(static_cast<size_t>(n) * size_of(t) + 64, '\xAB');
}

// `specials`: with zeros of both signs, infinities, NaN.
KernelCase case_of(const MatmulCase& c, bool specials) {
  KernelCase out;
  out.kernel = matmul_kernel(c.form);
  out.sizes = {c.m, c.n, c.k};
  if (c.form.batched) out.sizes.insert(out.sizes.end(), {c.batch, c.a_stride, c.b_stride, c.m * c.n});
  auto elements = [&](int64_t one, int64_t stride) {
    return static_cast<size_t>(one + stride * (c.batch ? c.batch - 1 : 0));
  };
  out.before = {random_elements(c.form.dtype, elements(c.m * c.k, c.a_stride), 1, specials),
                random_elements(c.form.dtype, elements(c.k * c.n, c.b_stride), 2, specials),
                zeros(c.form.dtype, c.m * c.n * c.batch)};
  return out;
}

KernelCase case_of(const ConvolutionCase& c, bool specials) {
  KernelCase out;
  out.kernel = convolution_kernel(c.form);
  out.sizes = {c.batch, c.in_channels, c.out_channels};
  size_t rank = static_cast<size_t>(c.form.rank);
  const auto o = c.out();
  int64_t image = c.batch * c.in_channels, result = c.batch * c.out_channels,
          weight = c.out_channels * c.in_channels / c.form.groups;
  for (const auto* dims : {&c.in, &o, &c.kernel})
    for (size_t d = 0; d < rank; ++d) out.sizes.push_back((*dims)[d]);
  for (size_t d = 0; d < rank; ++d) image *= c.in[d], result *= o[d], weight *= c.kernel[d];
  using K = ConvolutionForm::Kind;
  int64_t x = c.form.kind == K::forward ? image : result, y = c.form.kind == K::weight ? image : weight,
          r = c.form.kind == K::forward ? result
              : c.form.kind == K::input ? image
                                        : weight;
  out.before = {random_elements(c.form.dtype, static_cast<size_t>(x), 1, specials),
                random_elements(c.form.dtype, static_cast<size_t>(y), 2, specials), zeros(c.form.dtype, r)};
  return out;
}

void evaluate_case(KernelCase& c) {
  c.after = c.before;
  std::vector<void*> p = pointers_to(c.after);
  backends::evaluate(c.kernel, p.data(), c.sizes.data(), c.scalars.data(), 0,
                     backends::launch_range(c.kernel, c.sizes.data()));
}

template <class T>
void check_close(const std::vector<char>& got, const std::vector<char>& expected, double tolerance) {
  size_t n = (got.size() - 64) / sizeof(T);
  const T *x = reinterpret_cast<const T*>(got.data()), *y = reinterpret_cast<const T*>(expected.data());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(y[i])));
    double d = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    worst = d <= worst ? worst : d;
  }
  CHECK(worst <= tolerance * largest);
}
void check_close(DType t, const std::vector<char>& got, const std::vector<char>& expected) {
  if (t == DType::f32)
    check_close<float>(got, expected, 1e-5);
  else if (t == DType::f64)
    check_close<double>(got, expected, 1e-14);
  else
    CHECK((got == expected));
}

// Every case with its kernel; kernels that are equal are one. Of those that are built every nth is taken.
struct Cases {
  std::vector<KernelCase> cases;
  std::vector<size_t> which;
  std::vector<const Kernel*> kernels;

  Cases(std::vector<KernelCase> built, std::vector<KernelCase> written, size_t nth) {
    std::map<std::string, size_t> seen;
    for (KernelCase& c : built)
      if (seen.try_emplace(print(c.kernel), seen.size()).first->second % nth == 0) cases.push_back(std::move(c));
    for (KernelCase& c : written) cases.push_back(std::move(c));
    seen.clear();
    for (const KernelCase& c : cases) {
      auto [it, fresh] = seen.try_emplace(print(c.kernel), kernels.size());
      if (fresh) kernels.push_back(&c.kernel);
      which.push_back(it->second);
    }
  }
  Cases(const Cases&) = delete;
  Cases& operator=(const Cases&) = delete;
};

std::vector<KernelCase> builders_cases() {
  std::vector<KernelCase> all;
  for (const auto& c : matmuls()) all.push_back(case_of(c, true));
  for (const auto& c : convolutions()) all.push_back(case_of(c, true));
  return all;
}

// Contractions that nobody built for being one.
std::vector<KernelCase> written_cases() {
  std::vector<KernelCase> all;
  auto add = [&](const char* text, std::vector<size_t> lengths, std::vector<int64_t> sizes) {
    KernelCase c;
    c.kernel = read_kernel(text);
    for (size_t i = 0; i < lengths.size(); ++i)
      c.before.push_back(random_elements(c.kernel.buffers[i].type, lengths[i], i + 1));
    c.sizes = std::move(sizes);
    all.push_back(std::move(c));
  };
  // A layer: bias and relu after the sum, two stores.
  add(R"(kernel(b0 in f32, b1 in f32, b2 in f32, b3 out f32, b4 out bool; n0, n1, n2;) {
    parallel i0 < n0 { parallel i1 < n1 {
      %0 = ix.mul i0, n2
      %1 = ix.mul i1, n2
      %2 = load.f32 b2[i1]
      reduce serial i2 < n2 {
        %3 = ix.add %0, i2
        %4 = load.f32 b0[%3]
        %5 = ix.add %1, i2
        %6 = load.f32 b1[%5]
        %7 = mul.f32 %4, %6
      } r0 = add.f32 %7
      %8 = add.f32 r0, %2
      %9 = max.f32 %8, 0:f32
      %10 = ix.mul i0, n1
      %11 = ix.add %10, i1
      store b3[%11] = %9
      %12 = gt.bool %8, 0:f32
      store b4[%11] = %12
    } } })",
      {30 * 21, 18 * 21, 18, 30 * 18, 30 * 18}, {30, 18, 21});
  // c += b a with c transposed, of numbers that are cast.
  add(R"(kernel(b0 in i16, b1 in bool, b2 inout f32; n0, n1, n2;) {
    parallel i0 < n0 { loop i1 < n1 {
      reduce serial i2 < n2 {
        %0 = ix.mul i1, n2
        %1 = ix.add %0, i2
        %2 = load.bool b1[%1]
        %3 = cast.f32 %2
        %4 = ix.mul i2, n0
        %5 = ix.add %4, i0
        %6 = load.i16 b0[%5]
        %7 = cast.f32 %6
        %8 = mul.f32 %3, %7
      } r0 = add.f32 %8
      %9 = ix.mul i1, n0
      %10 = ix.add %9, i0
      %11 = load.f32 b2[%10]
      %12 = add.f32 %11, r0
      store b2[%10] = %12
    } } })",
      {23 * 19, 20 * 19, 23 * 20}, {23, 20, 19});
  return all;
}

}  // namespace

TEST_CASE("matmul_kernels_mean_what_the_engine_does", "[device]") {
  for (const MatmulCase& m : matmuls()) {
    if (m.form.dtype == DType::f16 || m.form.dtype == DType::bf16) continue;  // the engine's callers cast
    KernelCase c = case_of(m, false);
    INFO(print(c.kernel));
    INFO(m.m << " x " << m.n << " x " << m.k << ", " << m.batch);
    evaluate_case(c);
    runtime::Matmul d{.dtype = m.form.dtype,
                      .precision = m.form.round_operands ? runtime::Precision::bf16 : runtime::Precision::f32,
                      .m = m.m,
                      .n = m.n,
                      .k = m.k,
                      .batch = m.batch,
                      .a_transposed = m.form.a_transposed,
                      .b_transposed = m.form.b_transposed,
                      .a_stride = m.a_stride,
                      .b_stride = m.b_stride,
                      .c_stride = m.m * m.n};
    std::vector<char> expected = c.before[2];
    runtime::matmul(d, c.before[0].data(), c.before[1].data(), expected.data(), 1);
    check_close(m.form.dtype, c.after[2], expected);
  }
}

TEST_CASE("convolution_kernels_mean_what_the_engine_does", "[device]") {
  for (const ConvolutionCase& v : convolutions()) {
    KernelCase c = case_of(v, false);
    INFO(print(c.kernel));
    evaluate_case(c);
    runtime::Convolution d;
    d.kind = static_cast<runtime::Convolution::Kind>(v.form.kind);
    d.dtype = v.form.dtype;
    d.precision = v.form.round_operands ? runtime::Precision::bf16 : runtime::Precision::f32;
    d.rank = v.form.rank;
    d.batch = v.batch, d.groups = v.form.groups, d.in_channels = v.in_channels, d.out_channels = v.out_channels;
    auto out = v.out();
    for (int i = 0; i < d.rank; ++i) {
      size_t at = static_cast<size_t>(i);
      d.in[i] = v.in[at], d.out[i] = out[at], d.kernel[i] = v.kernel[at];
      d.stride[i] = v.form.stride[i], d.padding[i] = v.form.padding[i], d.dilation[i] = v.form.dilation[i];
    }
    std::vector<char> expected = c.before[2];
    runtime::convolve(d, c.before[0].data(), c.before[1].data(), expected.data(), 1);
    check_close(v.form.dtype, c.after[2], expected);
  }
}

TEST_CASE("contraction_kernels_keep_the_invariants_and_read_as_printed", "[device]") {
  for (const KernelCase& c : builders_cases()) {
    CHECK(verify(c.kernel) == "");
    std::string text = print(read_kernel(print(c.kernel)));  // a reader orders the operands of sums
    CHECK(print(read_kernel(text)) == text);
  }
}

TEST_CASE("contractions_are_recognised", "[device]") {
  for (const auto& cases : {builders_cases(), written_cases()})
    for (const KernelCase& c : cases) {
      INFO(print(c.kernel));
      CHECK(backends::device::grid_of(c.kernel).contraction.has_value());
    }
  // Not a product of two spaces; not in order; of few terms.
  for (const char* text : {
           "kernel(b0 in f32, b1 in f32, b2 out f32; n0, n1;) { parallel i0 < n0 { reduce serial i1 < n1 {"
           " %0 = load.f32 b0[i1] %1 = load.f32 b1[i1] %2 = mul.f32 %0, %1 } r0 = add.f32 %2 store b2[i0] = r0 } }",
           "kernel(b0 in f32, b1 in f32, b2 out f32; n0, n1, n2;) { parallel i0 < n0 { parallel i1 < n1 {"
           " reduce fold i2 < n2 { %0 = ix.add i0, i2 %1 = ix.add i1, i2 %2 = load.f32 b0[%0] %3 = load.f32 b1[%1]"
           " %4 = mul.f32 %2, %3 } r0 = add.f32 %4 %5 = ix.mul i0, n1 %6 = ix.add %5, i1 store b2[%6] = r0 } } }",
           "kernel(b0 in f32, b1 in f32, b2 out f32; n0, n1;) { parallel i0 < n0 { parallel i1 < n1 {"
           " reduce serial i2 < 4 { %0 = ix.add i0, i2 %1 = ix.add i1, i2 %2 = load.f32 b0[%0] %3 = load.f32 b1[%1]"
           " %4 = mul.f32 %2, %3 } r0 = add.f32 %4 %5 = ix.mul i0, n1 %6 = ix.add %5, i1 store b2[%6] = r0 } } }",
       })
    CHECK(!backends::device::grid_of(read_kernel(text)).contraction);
}

TEST_CASE("a_launch_has_a_group_for_each_tile", "[device]") {
  Kernel k = matmul_kernel({.batched = true});
  auto grid = backends::device::grid_of(k);
  auto groups = [&](int64_t m, int64_t n, int64_t batch) {
    int64_t sizes[] = {m, n, 9, batch, 0, 0, 0};
    return backends::device::iterations(k, grid, sizes);
  };
  CHECK(groups(17, 16, 3) == 2 * 1 * 3);
  CHECK(groups(100, 3, 3) == 15);  // an item for each result
  CHECK(groups(0, 16, 3) == 0);
  CHECK(groups(16, 0, 3) == 0);
  CHECK(groups(16, 16, 0) == 0);
  CHECK(groups(1024, 1024, 1) == 32 * 32);
  CHECK(groups(1025, 1024, 1) == 33 * 32);
  CHECK(groups(100000, 10, 1) == 6250);  // most of a large tile would lie outside
}

static void check_contractions(runtime::Backend& backend, size_t nth) {
  Cases c(builders_cases(), written_cases(), nth);
  std::string error;
  auto module = backend.compile(c.kernels, error);
  INFO(error);
  REQUIRE(module);
  for (size_t i = 0; i < c.cases.size(); ++i) {
    evaluate_case(c.cases[i]);
    std::string sizes;
    for (int64_t n : c.cases[i].sizes) sizes += std::to_string(n) + " ";
    INFO("sizes " << sizes);
    check_on_device(backend, *module, c.which[i], c.cases[i]);
  }
}

// An OpenCL driver takes a second or two for each: OURO_ALL_KERNELS takes all.
TEST_CASE("opencl_contractions_give_the_evaluators_bits", "[device]") {
  std::string error;
  std::shared_ptr<runtime::Backend> backend = opencl_device(error);
  if (backend)
    check_contractions(*backend, std::getenv("OURO_ALL_KERNELS") ? 1 : 6);
  else
    WARN("skipped: " << error);
}

TEST_CASE("cuda_contractions_give_the_evaluators_bits", "[device]") {
  std::string error;
  std::shared_ptr<runtime::Backend> backend = cuda_device(error);
  INFO(error);
  REQUIRE(backend);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  check_contractions(*backend, 3);  // the stand-in takes half a minute for all
#else
  check_contractions(*backend, 1);
#endif
}

TEST_CASE("ptxas_takes_every_contraction", "[device]") {
  check_ptx(Cases(builders_cases(), written_cases(), 1).kernels);
}
