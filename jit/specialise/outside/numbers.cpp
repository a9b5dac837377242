// The numbers in a list from outside, as a tensor.
//
// A list whose length changes from call to call, or that holds many numbers, is passed on boxed
// (jit/specialise/pins.h): its items are not known. But scripts keep data in lists, and make a tensor of it where they
// compute. So the tensor is an input of the version, made of the list before each call (AccessNode::Step::numbers). Its
// sizes are like those of any other tensor: numbers first, then symbols.
//
// This holds as long as the program cannot have changed the list before it makes the tensor. A list within it may be
// reached in other ways, too, and what was written to it there is not seen here: only numbers, and tuples of them,
// stand in such a list. Where the tensor is differentiated, nobody may ask for the derivative with respect to the
// list's items. A list that is reached by attributes may belong to an object that is differentiated; the caller of a
// forward form may ask for anything. A list that is itself an argument is refused where its derivative is asked for,
// since its items are not known.
#include <algorithm>

#include "jit/specialise/specialiser.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using runtime::cast_exact;

namespace {

constexpr int64_t kWhole = int64_t{1} << 53;  // whole numbers up to it are floats
constexpr int kMostNested = 4;

struct Kinds {
  bool floats = false, ints = false, bools = false, long_ints = false;
};

bool all_numbers(const Value& v, Kinds& found, int depth = 0) {
  const auto inside = [&](const Value& item) { return all_numbers(item, found, depth + 1); };
  if (depth > kMostNested) return false;
  if (auto* t = cast_exact<runtime::Tuple>(v)) return t->size > 0 && std::all_of(t->begin(), t->end(), inside);
  found.floats |= v.is_float();
  found.ints |= v.is_int();
  found.bools |= v.is_bool();
  found.long_ints |= v.is_int() && (v.as_int() > kWhole || v.as_int() < -kWhole);
  return v.is_float() || v.is_int() || v.is_bool();
}

}  // namespace

Value numbers_in(Session& s, const Value& list) {
  Kinds found;
  auto* l = cast_exact<runtime::List>(list);
  const auto numbers = [&](const Value& item) { return all_numbers(item, found); };
  if (!l || l->size == 0 || !std::all_of(l->begin(), l->end(), numbers)) return {};
  if (found.bools + (found.floats || found.ints) != 1 || (found.floats && found.long_ints)) return {};
  Value made = runtime::tensor_from(s, list, found.floats ? DType::f64 : found.ints ? DType::i64 : DType::boolean);
  if (!made.is_error()) return made;
  s.pending = Value();  // rows of several lengths
  return {};
}

// Unbound: it has none, or they may have changed. `differentiated`: what is made of it is.
AVal Specialiser::numbers_of(const AVal& list, bool differentiated) {
  using Step = AccessNode::Step;
  const auto at = boxed_lists_.find(list.node);
  if (!is_boxed_list(list) || at == boxed_lists_.end() || effects_.unknown || effects_.done || request_.holes)
    return {};
  if (differentiated && request_.waits) return {};
  for (uint32_t id = list.node; differentiated; id = access.nodes[id].parent) {
    const Step step = access.nodes[id].step;
    if (step == Step::attribute || step == Step::field || step == Step::dict_value || step == Step::native) return {};
    if (!access.nodes[id].has_parent()) break;
  }
  AccessNode n;
  n.step = Step::numbers;
  n.parent = list.node;
  const Value tensor = access_step(session, n, at->second, {}, {});
  return tensor.is_unbound() ? AVal() : wrap(tensor, n);
}

}  // namespace ouro::jit
