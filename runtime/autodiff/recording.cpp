#include "runtime/autodiff/recording.h"

#include <algorithm>

#include "runtime/autodiff/forms.h"

namespace ouro::runtime::autodiff {
namespace {

// (y, pullback) of a form, or of one that gives what it raises: ((y, None) or (None, e), pullback).
Value run_form(Session& s, const Value& form, const Args& args) {
  if (args.keywords.empty()) return call(s, form, args);
  Value named = make_dict();
  for (size_t i = 0; i < args.keywords.size(); ++i)
    if (!dict_set(s, named.as<Dict>(), args.names[i], args.keywords[i])) return Value::error();
  return adapter(s, "invoke", {form, make_tuple(args.positional), named});
}

// Is the cotangent d of a number known to be nothing?
bool nothing(const Value& d) {
  if (is_zero(d) || (d.is_float() && d.as_float() == 0)) return true;
  Tuple* t = cast_exact<Tuple>(d);
  return t && std::all_of(t->begin(), t->end(), nothing);
}

}  // namespace

Value Recording::call(Session& s, const Value& function, const Args& args) {
  Value form, pair;
  bool catches = false;
  {
    RecorderSet none(s, nullptr);
    form = catching_form(s, function);
    if (form.is_error()) return form;
    catches = !form.is_none();
    if (!catches) form = forward_form(s, function);
    if (form.is_error()) return form;
  }
  {
    RecorderSet outside(s, set_.before());
    pair = run_form(s, form, args);
  }
  if (pair.is_error()) return pair;
  const Tuple& both = *pair.as<Tuple>();
  calls_.push_back(make_tuple({both[1], make_tuple(args.positional)}));
  if (!catches) return both[0];
  const Tuple& result = *both[0].as<Tuple>();
  return result[1].is_none() ? result[0] : raise_value(s, result[1], Value());
}

Value Recording::calls() const { return make_tuple(std::span<const Value>(calls_)); }

bool run_back(Session& s, const Value& calls, const Value& env, std::span<const Value> given,
              std::vector<Value>& sums) {
  const Tuple& all = *calls.as<Tuple>();
  for (size_t i = all.size; i-- > 0;) {
    const Tuple& one = *all[i].as<Tuple>();
    Value d = runtime::call(s, one[0], {Value::zero_cotangent(), env});
    if (d.is_error()) return false;
    const Tuple& args = *one[1].as<Tuple>();
    for (size_t k = 0; k < args.size; ++k) {
      const Value part = item(d, static_cast<int64_t>(k));
      if (nothing(part)) continue;
      const auto at = std::find_if(given.begin(), given.end(), [&](const Value& v) { return v.same(args[k]); });
      if (at == given.end() || std::any_of(at + 1, given.end(), [&](const Value& v) { return v.same(args[k]); })) {
        raise_error(s, ExcKind::TypeError,
                    "cannot differentiate through a value that a built-in function hands to a function yet");
        return false;
      }
      Value& sum = sums[static_cast<size_t>(at - given.begin())];
      sum = add(s, std::move(sum), part);
      if (sum.is_error()) return false;
    }
  }
  return true;
}

}  // namespace ouro::runtime::autodiff
