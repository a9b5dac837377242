// Sorting. Powersort (Munro & Wild, "Nearly-Optimal Mergesorts", 2018): natural runs, extended to kMinRun by binary
// insertion, are merged by a stack whose order is decided by the power of the boundary between two runs. Elements are
// relocated as raw words; comparisons of uniform keys (all words, all floats, all strings) run no script.
#include <bit>
#include <cstring>
#include <exception>
#include <vector>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/types/big_int.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

template <int words>
struct SortCell {
  uint64_t w[2 * words];
  const Value& key() const { return *reinterpret_cast<const Value*>(w); }
};
static_assert(sizeof(SortCell<1>) == sizeof(Value));

constexpr size_t kMinRun = 24;

template <class E, class Less>
class Merger {
 public:
  Merger(const Session& s, E* a, size_t n, Less less) : s_(s), a_(a), n_(n), less_(less) {}

  void sort() {
    struct Run {
      size_t start, length;
      int power;
    };
    std::vector<Run> stack;
    size_t start = 0, length = next_run(0);
    while (start + length < n_) {
      size_t next = start + length, next_length = next_run(next);
      int p = power(start, length, next_length);
      while (!stack.empty() && stack.back().power > p) {
        Run top = stack.back();
        stack.pop_back();
        merge(top.start, top.length, length);
        start = top.start;
        length += top.length;
      }
      stack.push_back({start, length, p});
      start = next;
      length = next_length;
    }
    while (!stack.empty()) {
      Run top = stack.back();
      stack.pop_back();
      merge(top.start, top.length, length);
      length += top.length;
    }
  }

 private:
  // Depth of the boundary between two neighbouring runs in a perfectly balanced tree over [0, n).
  int power(size_t s1, size_t n1, size_t n2) const {
    size_t a = 2 * s1 + n1, b = a + n1 + n2;
    int result = 0;
    for (;;) {
      ++result;
      if (a >= n_) {
        a -= n_;
        b -= n_;
      } else if (b >= n_) {
        return result;
      }
      a <<= 1;
      b <<= 1;
    }
  }

  // Is an interrupt asked for? From then on everything counts as in order: the rest is quick and leaves a permutation.
  bool stopped() {
    if ((++steps_ & 0x3fff) == 0) stopped_ |= (s_.poll.load(std::memory_order_relaxed) & Session::kInterrupt) != 0;
    return stopped_;
  }

  size_t next_run(size_t from) {
    size_t i = from + 1;
    if (i >= n_ || stopped_) return n_ - from;
    if (less_(a_[i], a_[i - 1])) {
      while (i + 1 < n_ && !stopped() && less_(a_[i + 1], a_[i])) ++i;
      std::reverse(a_ + from, a_ + i + 1);
    } else {
      while (i + 1 < n_ && !stopped() && !less_(a_[i + 1], a_[i])) ++i;
    }
    size_t length = i + 1 - from, wanted = std::min(kMinRun, n_ - from);
    for (; length < wanted; ++length) insert(from, from + length);
    return length;
  }

  void insert(size_t low, size_t at) {
    E x = a_[at];
    size_t l = low, r = at;
    while (l < r) {
      size_t m = l + (r - l) / 2;
      if (less_(x, a_[m]))
        r = m;
      else
        l = m + 1;
    }
    std::memmove(a_ + l + 1, a_ + l, (at - l) * sizeof(E));
    a_[l] = x;
  }

  // Merges [start, start+n1) with the n2 after it. What is in place already at either end is left out first.
  void merge(size_t start, size_t n1, size_t n2) {
    if (stopped_) return;
    E *x = a_ + start, *y = x + n1;
    {  // elements of x that are <= y[0]
      size_t l = 0, r = n1;
      while (l < r) {
        size_t m = l + (r - l) / 2;
        if (less_(y[0], x[m]))
          r = m;
        else
          l = m + 1;
      }
      x += l;
      n1 -= l;
      if (n1 == 0) return;
    }
    {  // elements of y that are >= x[n1-1]
      size_t l = 0, r = n2;
      while (l < r) {
        size_t m = l + (r - l) / 2;
        if (less_(y[m], x[n1 - 1]))
          l = m + 1;
        else
          r = m;
      }
      n2 = l;
      if (n2 == 0) return;
    }
    if (n1 <= n2) {
      buffer_.assign(x, x + n1);
      E *p = buffer_.data(), *p_end = p + n1, *q = y, *q_end = y + n2, *out = x;
      while (p < p_end && q < q_end && !stopped()) *out++ = less_(*q, *p) ? *q++ : *p++;
      std::memcpy(static_cast<void*>(out), p, static_cast<size_t>(p_end - p) * sizeof(E));
    } else {
      buffer_.assign(y, y + n2);
      E *p = x + n1, *q = buffer_.data() + n2, *q_begin = buffer_.data(), *out = y + n2;
      while (p > x && q > q_begin && !stopped()) *--out = less_(q[-1], p[-1]) ? *--p : *--q;
      size_t rest = static_cast<size_t>(q - q_begin);
      std::memcpy(static_cast<void*>(out - rest), q_begin, rest * sizeof(E));
    }
  }

  const Session& s_;
  E* a_;
  size_t n_;
  Less less_;
  uint32_t steps_ = 0;
  bool stopped_ = false;
  CountedVector<E> buffer_;
};

enum class KeyKind { words, floats, strings, any };

KeyKind kind_of_keys(const Value* keys, size_t n) {
  bool words = true, floats = true, strings = true;
  for (size_t i = 0; i < n && (words || floats || strings); ++i) {
    words &= is_word(keys[i]);
    floats &= keys[i].is_float();
    strings &= cast_exact<Str>(keys[i]) != nullptr;
  }
  return words ? KeyKind::words : floats ? KeyKind::floats : strings ? KeyKind::strings : KeyKind::any;
}

// a < b. Of two tuples, the items decide without a call where they are plain.
int less_items(Session& s, const Value& a, const Value& b) {
  Tuple *x = cast_exact<Tuple>(a), *y = x ? cast_exact<Tuple>(b) : nullptr;
  if (!y) return compare_bool(s, CmpOp::lt, a, b);
  size_t n = std::min(x->size, y->size);
  for (size_t i = 0; i < n; ++i) {
    const Value &p = (*x)[i], &q = (*y)[i];
    if (p.is_int() && q.is_int()) {
      if (p.as_int() != q.as_int()) return p.as_int() < q.as_int();
      continue;
    }
    if (int e = item_equals(s, p, q); e < 0)
      return -1;
    else if (e)
      continue;
    int less = plain_less(p, q);
    return less == -2 ? compare_bool(s, CmpOp::lt, p, q) : less;
  }
  return x->size < y->size;
}

template <class E>
bool sort_cells(Session& s, E* cells, size_t n, KeyKind kind) {
  auto run = [&](auto less) { Merger<E, decltype(less)>(s, cells, n, less).sort(); };
  bool failed = false;
  std::exception_ptr
      thrown;  // an interrupt, or no memory: nothing is thrown through the merger, which has items in hand
  switch (kind) {
    case KeyKind::words:
      run([](const E& a, const E& b) { return a.key().bits() < b.key().bits(); });
      break;
    case KeyKind::floats:
      run([](const E& a, const E& b) { return a.key().as_float() < b.key().as_float(); });
      break;
    case KeyKind::strings:
      run([](const E& a, const E& b) {
        return a.key().template as<Str>()->view() < b.key().template as<Str>()->view();
      });
      break;
    case KeyKind::any:
      // After a failure everything counts as in order, so the rest is quick and leaves a permutation.
      run([&](const E& a, const E& b) {
        if (failed) return false;
        int r = -1;
        try {
          r = less_items(s, a.key(), b.key());
        } catch (...) {
          thrown = std::current_exception();
        }
        if (r < 0) failed = true;
        return r > 0;
      });
  }
  if (thrown) std::rethrow_exception(thrown);
  if (!failed && s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) {
    raise_interrupt(s);
    failed = true;
  }
  return !failed;
}

}  // namespace

bool sort_values(Session& s, Value* items, Value* keys, size_t n, bool reverse) {
  if (n < 2) return true;
  KeyKind kind = kind_of_keys(keys ? keys : items, n);
  bool ok;
  // A reverse sort is stable too: turned around before and after.
  if (!keys) {
    auto* cells = reinterpret_cast<SortCell<1>*>(items);
    if (reverse) std::reverse(cells, cells + n);
    ok = sort_cells(s, cells, n, kind);
    if (reverse) std::reverse(cells, cells + n);
    return ok;
  }
  CountedVector<SortCell<2>> cells(n);
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(cells[i].w, static_cast<void*>(keys + i), sizeof(Value));
    std::memcpy(cells[i].w + 2, static_cast<void*>(items + i), sizeof(Value));
  }
  if (reverse) std::reverse(cells.begin(), cells.end());
  ok = sort_cells(s, cells.data(), n, kind);
  if (reverse) std::reverse(cells.begin(), cells.end());
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(static_cast<void*>(keys + i), cells[i].w, sizeof(Value));
    std::memcpy(static_cast<void*>(items + i), cells[i].w + 2, sizeof(Value));
  }
  return ok;
}

bool sort_list(Session& s, List* l, const Value& key, bool reverse) {
  // The list is empty while it is sorted, so that scripts that look see no half-sorted state.
  Value hold = Value::share(l);
  CountedVector<Value> keys;
  bool ok = true, keyed = !key.is_unbound() && !key.is_none();
  if (keyed) keys.reserve(l->size);
  Value dropped = make_list();
  Value* items = std::exchange(l->items, nullptr);
  size_t n = std::exchange(l->size, 0), capacity = std::exchange(l->capacity, 0);
  bool modified = false;
  // Also where memory runs out: then it is sorted in part.
  auto put_back = [&] {
    modified = l->items != nullptr || l->size != 0;
    std::swap(dropped.as<List>()->items, l->items);
    std::swap(dropped.as<List>()->size, l->size);
    std::swap(dropped.as<List>()->capacity, l->capacity);
    l->items = items;
    l->size = n;
    l->capacity = capacity;
  };
  try {
    for (size_t i = 0; keyed && ok && i < n; ++i) {
      const bool stop = s.poll.load(std::memory_order_relaxed) & Session::kInterrupt;
      Value k = stop ? raise_interrupt(s) : call(s, key, {items[i]});
      ok = !k.is_error();
      if (ok) keys.push_back(std::move(k));
    }
    if (ok) ok = sort_values(s, items, keyed ? keys.data() : nullptr, n, reverse);
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
  if (ok && modified) {
    raise_value_error(s, "list modified during sort");
    return false;
  }
  return ok;
}

}  // namespace ouro::runtime
