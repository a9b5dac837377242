// Built-in functions over iterables.
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/sequence.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value f_len(Session& s, const Args& a) {
  if (!takes_one(s, a, "len", 0)) return Value::error();
  int64_t n = length(s, a[0]);
  return n < 0 ? Value::error() : Value::integer(n);
}

Value len_plain(Session&, const Value& v) {
  switch (kind_of(v)) {
    case ObjectKind::str:
      return Value::integer(str_length(v.as<Str>()));
    case ObjectKind::list:
      return Value::integer(static_cast<int64_t>(v.as<List>()->size));
    case ObjectKind::tuple:
      return Value::integer(static_cast<int64_t>(v.as<Tuple>()->size));
    default:
      return {};
  }
}

template <bool all>
Value f_all_any(Session& s, const Args& a) {
  if (!takes_one(s, a, all ? "all" : "any", 0)) return Value::error();
  OURO_TRY(it, runtime::iter(s, a[0]));
  for (;;) {
    Value v = runtime::next(s, it);
    if (v.is_end()) return Value::boolean(all);
    if (v.is_error()) return v;
    int t = truth(s, v);
    if (t < 0) return Value::error();
    if ((t != 0) != all) return Value::boolean(!all);
  }
}

// Is a in front of b? 1, 0, -1.
int in_front(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return op == CmpOp::lt ? a.as_int() < b.as_int() : a.as_int() > b.as_int();
  if (a.is_float() && b.is_float()) return op == CmpOp::lt ? a.as_float() < b.as_float() : a.as_float() > b.as_float();
  return compare_bool(s, op, a, b);
}

template <CmpOp op>
Value f_extreme(Session& s, const Args& a) {
  constexpr const char* name = op == CmpOp::lt ? "min" : "max";
  Value key, fallback;
  if (a.size() == 0) return raise_type_error(s, "%s expected at least 1 argument, got 0", name);
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view n = a.names[k].as<Str>()->view();
    if (n == "key")
      key = a.keywords[k];
    else if (n == "default")
      fallback = a.keywords[k];
    else
      return raise_type_error(s, "'%s' is an invalid keyword argument for %s()", std::string(n).c_str(), name);
  }
  if (key.is_none()) key = Value();
  Value best, best_key;
  auto consider = [&](const Value& v) {
    Value k = v;
    if (!key.is_unbound()) {
      k = call(s, key, {v});
      if (k.is_error()) return false;
    }
    if (!best.is_unbound()) {
      int r = in_front(s, op, k, best_key);
      if (r <= 0) return r == 0;
    }
    best = v;
    best_key = std::move(k);
    return true;
  };
  if (a.size() > 1) {
    if (!fallback.is_unbound())
      return raise_type_error(s, "Cannot specify a default for %s() with multiple positional arguments", name);
    for (const Value& v : a.positional)
      if (!consider(v)) return Value::error();
    return best;
  }
  if (!for_each(s, a[0], [&](Value& v) { return consider(v); })) return Value::error();
  if (!best.is_unbound()) return best;
  if (!fallback.is_unbound()) return fallback;
  return raise_value_error(s, "%s() arg is an empty sequence", name);
}

// Words and doubles are added in registers as long as nothing else comes.
struct Adder {
  Session& s;
  Value total;
  int64_t word = 0;
  double real = 0;
  enum { words, reals, any } mode = any;

  explicit Adder(Session& session, Value start) : s(session), total(std::move(start)) {
    if (total.is_int())
      mode = words, word = total.as_int();
    else if (total.is_float())
      mode = reals, real = total.as_float();
  }
  void leave() {
    if (mode == words)
      total = Value::integer(word);
    else if (mode == reals)
      total = Value::floating(real);
    mode = any;
  }
  bool add(const Value& v) {
    if (mode == words) {
      if ((v.is_int() || v.is_bool()) && !__builtin_add_overflow(word, v.bits(), &word)) return true;
      if (v.is_int() || v.is_bool())
        word = static_cast<int64_t>(static_cast<uint64_t>(word) - static_cast<uint64_t>(v.bits()));  // undo the wrap
      if (v.is_float()) {
        mode = reals;
        real = static_cast<double>(word) + v.as_float();
        return true;
      }
      leave();
    } else if (mode == reals) {
      if (v.is_float()) return real += v.as_float(), true;
      if (v.is_int() || v.is_bool()) return real += static_cast<double>(v.bits()), true;
      leave();
    }
    total = inplace_free(v);
    if (total.is_float()) mode = reals, real = total.as_float();
    return !total.is_error();
  }
  Value inplace_free(const Value& v) { return binary(s, BinOp::add, total, v); }
};

Value f_sum(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "sum() takes at least 1 positional argument (0 given)");
  Value v[2];
  if (!takes_named(s, a, "sum", {" iterable", "start"}, 1, 2, v, 0)) return Value::error();
  Value start = v[1].is_unbound() ? Value::integer(0) : v[1];
  if (cast<Str>(start)) return raise_type_error(s, "sum() can't sum strings [use ''.join(seq) instead]");
  if (cast<Bytes>(start)) return raise_type_error(s, "sum() can't sum bytes [use b''.join(seq) instead]");
  if (cast<ByteArray>(start)) return raise_type_error(s, "sum() can't sum bytearray [use b''.join(seq) instead]");
  Adder sum(s, start);
  if (!for_each(s, v[0], [&](Value& x) { return sum.add(x); })) return Value::error();
  sum.leave();
  return sum.total;
}

Value f_sorted(Session& s, const Args& a) {
  if (a.size() != 1) return raise_type_error(s, "sorted expected 1 argument, got %zu", a.size());
  Value v[2];
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view n = a.names[k].as<Str>()->view();
    if (n == "key")
      v[0] = a.keywords[k];
    else if (n == "reverse")
      v[1] = a.keywords[k];
    else
      return raise_type_error(s, "'%s' is an invalid keyword argument for sort()", std::string(n).c_str());
  }
  OURO_TRY(l, list_of(s, a[0]));
  int64_t reverse = 0;
  if (!v[1].is_unbound() && !to_index(s, v[1], reverse)) return Value::error();
  return sort_list(s, l.as<List>(), v[0], reverse != 0) ? l : Value::error();
}

constexpr NativeDef kFunctions[] = {
    {.name = "len",
     .fn = f_len,
     .doc = "Return the number of items in a container.",
     .effect = NativeEffect::pure,
     .one = len_plain},
    {.name = "all",
     .fn = f_all_any<true>,
     .doc = "Return True if bool(x) is True for all values x in the iterable.",
     .effect = NativeEffect::pure},
    {.name = "any",
     .fn = f_all_any<false>,
     .doc = "Return True if bool(x) is True for any x in the iterable.",
     .effect = NativeEffect::pure},
    {.name = "max",
     .fn = f_extreme<CmpOp::gt>,
     .doc = "With a single iterable argument, return its biggest item.",
     .effect = NativeEffect::pure},
    {.name = "min",
     .fn = f_extreme<CmpOp::lt>,
     .doc = "With a single iterable argument, return its smallest item.",
     .effect = NativeEffect::pure},
    {.name = "sum",
     .fn = f_sum,
     .doc = "Return the sum of a 'start' value (default: 0) plus an iterable of numbers",
     .effect = NativeEffect::pure},
    {.name = "sorted",
     .fn = f_sorted,
     .doc = "Return a new list containing all items from the iterable in ascending order."},
};

}  // namespace

std::span<const NativeDef> sequence_functions() { return kFunctions; }

}  // namespace ouro::stdlib
