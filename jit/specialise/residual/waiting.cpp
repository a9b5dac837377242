// A forward form that is compiled by itself, because what calls it is interpreted.
//
// Its program is the form's and its pullback's, one behind the other, with `ad.wait` between them. There the run hands
// out the result and stops; it is resumed with the result's cotangent (WaitingRun in jit/plan/plan.h). So the pullback
// and its residuals are structure, as in a step that is compiled whole: none of them leaves the program.
//
// Cotangents of objects and captured variables from outside go to the caller's shadow map when the program ends. Each
// contribution goes by itself, in the order of the pullback, so sums have the interpreter's bits.
//
// The form changes and shows nothing outside: where the run cannot be resumed the interpreter does the form again.
#include "jit/specialise/residual/apart.h"
#include "jit/specialise/residual/describe.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;
using runtime::kind_of;
using runtime::ObjectKind;

// Symbolic zeros are values of the interpreter.
AVal Specialiser::as_given(const AVal& d) {
  if (d.is(AKind::zero) || d.is(AKind::unbound)) return AVal::of(Value::zero_cotangent());
  if (!d.is(AKind::tuple)) return d;
  std::vector<AVal> items;
  for (const AVal& i : d.items()) items.push_back(as_given(i));
  return AVal::tuple(std::move(items));
}

// The tensors and floats in a result, which have cotangents.
struct ResultLeaves {
  Specialiser& s;
  std::vector<Back::Path> paths{};
  std::vector<const ir::Type*> types{};
  Back::Path path{};      // while they are looked for
  bool has_more = false;  // something else that may have a cotangent, or slots

  bool is_leaf(const AVal& v) const {
    const ir::Type* t = s.type_of(v);
    if (t && t->kind == ir::TypeKind::floating) return true;
    return s.is_tensor(v) && is_float(v.type->dtype);
  }
  void find(const AVal& v) {
    if (v.is(AKind::tuple) && !v.extends_tuple()) {
      for (uint32_t i = 0; i < v.items().size(); ++i) {
        path.push_back(i);
        find(v.items()[i]);
        path.pop_back();
      }
      return;
    }
    if (is_leaf(v)) {
      paths.push_back(path);
      types.push_back(s.type_of(v));
      return;
    }
    has_more = has_more ||
               !(s.type_of(v) || (v.is(AKind::known) && (!v.known.is_object() || kind_of(v.known) == ObjectKind::str)));
  }
  // The cotangent of the result where those leaves have one.
  AVal cotangent(const AVal& v, Atom wait, uint32_t having, uint32_t& next) const {
    if (v.is(AKind::tuple)) {
      std::vector<AVal> items;
      for (const AVal& i : v.items()) items.push_back(cotangent(i, wait, having, next));
      return AVal::tuple(std::move(items));
    }
    if (!is_leaf(v)) return zero();
    const uint32_t at = next++;
    if (!(having >> at & 1)) return zero();
    return AVal::dynamic(s.code.let(prim::tuple_get, {wait}, at, types[at], s.span), types[at]);
  }
};

// Does the form read more than its arguments and captured values?
bool Specialiser::reads_what_may_change() const {
  using Step = AccessNode::Step;
  return std::ranges::any_of(access.nodes, [](const AccessNode& n) {
    return n.step != Step::argument && n.step != Step::function && n.step != Step::capture;
  });
}

// The pullback, where these leaves of the result have cotangents.
void Specialiser::collect_way(const AVal& value, const AVal& pullback, const ResultLeaves& leaves, Atom wait,
                              uint32_t having) {
  uint32_t next = 0;
  const AVal dy = leaves.cotangent(value, wait, having, next);
  AObject map;
  map.kind = AObject::Kind::shadow;
  const AVal env = AVal::of_heap(sent_env_ = allocate(std::move(map)));
  const AVal cotangents = call(pullback, {dy, env});
  Describer b(*this, Describer::For::exit);
  Back::Way& way = result_->back->ways.emplace_back();
  way.leaves = having;
  way.cotangents = b.tree(as_given(cotangents));
  for (const auto& [object, slot, d] : take_sent(env))
    way.sent.push_back({b.tree(object), b.tree(slot), b.tree(as_given(d))});
  collect_writes(b);
  if (b.is_outdated()) abandon(Reason::branches, "a list, dict or object that differs between branches leaves");
  if (effects_.done || !result_->writes.empty())
    abandon(Reason::effects, "a function that changes or shows something, in a derivative that is interpreted");
  b.settle(way.cotangents);
  for (Back::Sent& s : way.sent)
    for (OutputTree* t : {&s.object, &s.slot, &s.cotangent}) b.settle(*t);
  return_outputs(b);
}

void Specialiser::collect_waiting(const AVal& pair) {
  constexpr size_t kMostLeaves = 2;  // ways double with each
  const std::vector<AVal> items = items_of(pair, "is a pair");
  const AVal value = one_side(settle(items.at(0)));
  ResultLeaves leaves{*this};
  leaves.find(value);
  const auto n = static_cast<uint32_t>(leaves.paths.size());
  if (n == 0 || n > kMostLeaves || leaves.has_more)
    abandon(Reason::derivative, "a function that gives more than two tensors, in a derivative that is interpreted");
  apart_->check(value);
  Describer given(*this, Describer::For::exit);
  result_->result = given.tree(value);
  given.settle(result_->result);
  code.effect(true);
  const Atom wait = code.let(prim::ad_wait, given.outputs, 0, nullptr, span);
  code.effect(false);
  result_->back.emplace();
  const Residual::Mark waits = code.mark();
  const AHeap heap = heap_;
  const uint32_t all = (1U << n) - 1;
  result_->back->calls_apart = apart_->any();
  if (apart_->any()) apart_->set_map(code.let(prim::tuple_get, {wait}, n + all - 1, nullptr, span));
  for (uint32_t having = all, way = 0; having > 0; --having, ++way) {
    if (way > 0) restore_heap(heap);
    if (having == 1) {  // the last one
      collect_way(value, items.at(1), leaves, wait, having);
      break;
    }
    const ir::BlockId here = code.new_block(), others = code.new_block();
    code.branch(code.let(prim::tuple_get, {wait}, n + way, ir::types::boolean(), span), here, others);
    code.switch_to(here);
    collect_way(value, items.at(1), leaves, wait, having);
    code.switch_to(others);
  }
  result_->back->leaves = std::move(leaves.paths);
  // The interpreter would do the form again, and find what has changed since.
  if (code.is_left_since(waits) && (apart_->any() || reads_what_may_change()))
    abandon(Reason::effects, "a derivative that may be left to the interpreter, of what may have changed by then");
}

// ---------------------------------------------------------------- shadow maps

// Who has the slots of an object that exists outside; null: it is made in the program.
const AVal* Specialiser::outside_owner(const AVal& object) const {
  switch (object.kind) {
    case AKind::ref:
      return heap_[object.heap]->external ? &object : nullptr;
    case AKind::known:
      return object.known.is_object() && kind_of(object.known) != ObjectKind::tuple &&
                     kind_of(object.known) != ObjectKind::str
                 ? &object
                 : nullptr;
    case AKind::closure: {
      const AVal& source = source_of_form(object);
      return source.parts->function.is_unbound() ? nullptr : &source;
    }
    default:
      return nullptr;
  }
}

void Specialiser::send(const AVal& env, const AVal& object, const AVal& slot, const AVal& d) {
  (void)shadow_key(object, slot);  // a slot that is known, or it ends here
  const auto place = static_cast<int64_t>(sent_places_.size());
  sent_places_.emplace_back(*outside_owner(object), slot);
  AObject& map = write(env.heap);
  map.keys.push_back(AVal::of(Value::integer(place)));
  map.items.push_back(d);
}

// The contributions so far, each of an object, a slot and a cotangent. The map has them no more.
std::vector<std::array<AVal, 3>> Specialiser::take_sent(const AVal& env) {
  if (!env.is(AKind::ref) || env.heap != sent_env_) abandon_crossing();
  const AObject sums = read(env.heap);
  AObject& rest = write(env.heap);
  rest.keys.clear();
  rest.items.clear();
  std::vector<std::array<AVal, 3>> out;
  for (size_t i = 0; i < sums.keys.size(); ++i) {
    if (!sums.keys[i].known.is_int()) {  // of an object that is made in the program
      rest.keys.push_back(sums.keys[i]);
      rest.items.push_back(sums.items[i]);
      continue;
    }
    if (cotangent_is_zero(sums.items[i])) continue;
    auto [object, slot] = sent_places_.at(static_cast<size_t>(sums.keys[i].known.as_int()));
    if (object.is(AKind::ref) && kind_at(object.heap) == AObject::Kind::globals)
      object = AVal::of(read(object.heap).concrete);
    out.push_back({object, slot, sums.items[i]});
  }
  return out;
}

// What others have added to a slot of an object from outside is not known here.
void Specialiser::need_map(const AVal& env, const AVal& object) {
  if (!env.is(AKind::ref) || is_sent(env, object)) abandon_crossing();
}
void Specialiser::abandon_crossing() { abandon(Reason::derivative, "a derivative that crosses the interpreter"); }

}  // namespace ouro::jit
