#include <utility>

#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/philox.h"

namespace ouro::runtime {

namespace {

PhiloxKey next_key(OpCall& c) { return c.s.state<RandomState>().next(); }

// Which numbers of which draw: all of the next one, or, where a row has the number of a draw, those from `start` on.
struct Draw {
  PhiloxKey key;
  int64_t first = 0;
};
Draw draw_of(OpCall& c) {
  if (c.inputs.size() < 2) return {next_key(c)};
  const RandomState& now = c.s.state<RandomState>();
  return {{now.seed, static_cast<uint64_t>(*c.in(1)->data<int64_t>()), now.lane}, c.integer("start")};
}
Value next_draw(OpCall& c) {
  OURO_TRY(r, c.result());
  *r.as<Tensor>()->data<int64_t>() = static_cast<int64_t>(next_key(c).draw);
  return r;
}

Value result_in(OpCall& c, DType t) { return make_tensor(c.s, t, c.shape); }

template <class F>
void in_parts(Session& s, int64_t n, F&& f) {  // parts of whole Philox blocks
  constexpr int64_t part = 16384;
  parallel_for_or_stop(n > part ? session_threads(s) : 1, (n + part - 1) / part,
                       [&](int64_t p) { f(p * part, std::min(n, (p + 1) * part)); });
}

Value uniform(OpCall& c) {
  DType want = c.dtype(), t = want == DType::f64 ? DType::f64 : DType::f32;
  if (!is_float(want)) return c.raise("RuntimeError", c.op.name + ": not defined for " + std::string(name(want)));
  const auto [key, first] = draw_of(c);
  OURO_TRY(r, result_in(c, t));
  auto* x = r.as<Tensor>();
  in_parts(c.s, x->size, [&, key = key, first = first](int64_t b, int64_t e) {
    if (t == DType::f64) {
      for (int64_t i = b; i < e; ++i) x->data<double>()[i] = philox_f64(philox_word64(key, first + i));
      return;
    }
    float* p = x->data<float>();
    for (int64_t i = b; i < e;) {
      auto w = philox(key, (first + i) / 4);
      for (int64_t k = (first + i) % 4; k < 4 && i < e; ++k) p[i++] = philox_f32(w[k]);
    }
  });
  return cast_tensor(c.s, r, want);
}

// sqrt(-2 log u) cos(2 pi v), leaf by leaf, so that every engine gets these bits.
template <class T>
void box_muller(T* out, T* u, T* v, int64_t n) {
  const KernelTable& k = kernels();
  constexpr int t = static_cast<int>(sizeof(T) == 4 ? DType::f32 : DType::f64);
  auto leaf = [&](ir::Leaf l) { return k.leaf[static_cast<int>(l)][t]; };
  leaf(ir::Leaf::fn_log)(u, u, nullptr, nullptr, n);
  for (int64_t i = 0; i < n; ++i) u[i] = u[i] * T(-2), v[i] = v[i] * T(6.283185307179586);
  leaf(ir::Leaf::sqrt)(u, u, nullptr, nullptr, n);
  leaf(ir::Leaf::fn_cos)(v, v, nullptr, nullptr, n);
  leaf(ir::Leaf::mul)(out, u, v, nullptr, n);
}
Value normal(OpCall& c) {
  DType want = c.dtype(), t = want == DType::f64 ? DType::f64 : DType::f32;
  if (!is_float(want)) return c.raise("RuntimeError", c.op.name + ": not defined for " + std::string(name(want)));
  const auto [key, first] = draw_of(c);
  OURO_TRY(r, result_in(c, t));
  auto* x = r.as<Tensor>();
  in_parts(c.s, x->size, [&, key = key, first = first](int64_t b, int64_t e) {
    constexpr int64_t block = 512;
    for (int64_t i = b; i < e; i += block) {
      int64_t n = std::min(block, e - i);
      if (t == DType::f64) {
        alignas(64) double u[block], v[block];
        for (int64_t j = 0; j < n; ++j) {
          auto w = philox(key, first + i + j);
          u[j] = philox_f64(static_cast<uint64_t>(w[0]) << 32 | w[1]) + 0x1p-54,
          v[j] = philox_f64(static_cast<uint64_t>(w[2]) << 32 | w[3]);
        }
        box_muller(x->data<double>() + i, u, v, n);
      } else {
        alignas(64) float u[block], v[block];
        for (int64_t j = 0; j < n; ++j) {
          const int64_t at = first + i + j;
          auto w = philox(key, at / 2);
          u[j] = philox_f32(w[2 * (at % 2)]) + 0x1p-25f, v[j] = philox_f32(w[2 * (at % 2) + 1]);
        }
        box_muller(x->data<float>() + i, u, v, n);
      }
    }
  });
  return cast_tensor(c.s, r, want);
}
int64_t below(uint64_t w, uint64_t n) { return static_cast<int64_t>(static_cast<unsigned __int128>(w) * n >> 64); }
Value random_int(OpCall& c) {
  const auto low = static_cast<uint64_t>(c.integer("low")), n = static_cast<uint64_t>(c.integer("high")) - low;
  PhiloxKey key = next_key(c);
  OURO_TRY(r, result_in(c, DType::i64));
  auto* x = r.as<Tensor>();
  in_parts(c.s, x->size, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i)
      x->data<int64_t>()[i] = static_cast<int64_t>(low + static_cast<uint64_t>(below(philox_word64(key, i), n)));
  });
  return r;
}
Value randperm(OpCall& c) {
  PhiloxKey key = next_key(c);
  OURO_TRY(r, result_in(c, DType::i64));
  auto* x = r.as<Tensor>();
  int64_t* p = x->data<int64_t>();
  uint32_t polled = 0;
  for (int64_t i = 0; i < x->size; ++i) {
    poll_interrupt(c.s, polled);
    p[i] = i;
  }
  for (int64_t i = x->size - 1; i > 0; --i) {
    poll_interrupt(c.s, polled);
    std::swap(p[i], p[below(philox_word64(key, i), static_cast<uint64_t>(i) + 1)]);
  }
  return r;
}

constexpr ExecutorRow kRows[] = {{"rand", uniform},          {"rand_like", uniform}, {"rand_drawn", uniform},
                                 {"randn", normal},          {"randn_like", normal}, {"randn_drawn", normal},
                                 {"random_int", random_int}, {"randperm", randperm}, {"next_draw", next_draw}};

}  // namespace

std::span<const ExecutorRow> random_executors() { return kRows; }

}  // namespace ouro::runtime
