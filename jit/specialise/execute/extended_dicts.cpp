// Objects of script classes that extend dict: defaultdict, Counter, OrderedDict and a script's own.
//
// Such an object is an instance whose slot without a name holds a dict of the abstract heap, made inside or found
// outside (Specialiser::wrap_object). What its class leaves to dict is done with that dict; what the class says itself
// is executed.
#include <algorithm>

#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

AVal Specialiser::dict_within(const AVal& a) {
  if (!a.is(AKind::ref) || kind_at(a.heap) != AObject::Kind::instance) return {};
  const AObject& o = one_side(read(a.heap));
  const auto at = std::ranges::find(o.slots, Symbol{}, &AObject::Slot::name);
  if (at == o.slots.end()) return {};
  const AVal dict = at->value;
  if (!dict.is(AKind::ref)) abandon(Reason::unknown_object, "an object whose dict is not followed");
  ensure(dict);
  return dict;
}

HeapId owner_of_dict(HeapId dict, const AHeap& heap) {
  for (HeapId id = 0; id < heap.size(); ++id) {
    const auto& o = heap[id];
    if (!o || o->kind != AObject::Kind::instance) continue;
    const auto within = std::ranges::find(o->slots, Symbol{}, &AObject::Slot::name);
    if (within != o->slots.end() && within->value.heap == dict) return id;
  }
  return kNoHeap;
}

AVal Specialiser::new_extended_dict(const Value& cls) {
  AObject o;
  o.kind = AObject::Kind::instance;
  o.cls = cls;
  o.slots.push_back({.value = new_dict({}, {})});
  return AVal::of_heap(allocate(std::move(o)));
}

AVal Specialiser::as_dict(const AVal& a, std::string_view special) {
  const AVal within = dict_within(a);
  return within.is(AKind::unbound) || overrides(a, special) ? a : within;
}

// dict's item of an object that extends dict: of a key that is not there, what the class says.
AVal Specialiser::item_within(const AVal& a, const AVal& key) {
  const AVal within = dict_within(a);
  const int at = dict_position(within.heap, key);
  if (at >= 0) return read(within.heap).items[static_cast<size_t>(at)];
  const AVal missing = special_method(a, "__missing__");
  if (missing.is(AKind::unbound)) abandon(Reason::raises, "KeyError");
  return call(missing, {key});
}

// A method of dict on what extends it. (`|=` gives the object, and what is not there is asked of its class.)
bool Specialiser::dict_method(const runtime::Native& n, std::vector<AVal>& args) {
  const AVal within = dict_within(args[0]);
  if (within.is(AKind::unbound)) return false;
  for (std::string_view name :
       {"__format__", "__str__", "__repr__", "__reduce__", "__reduce_ex__", "__ior__", "__getitem__"})
    if (n.def->name == name) return false;
  if (overrides(args[0], "__iter__"))
    for (std::string_view copies : {"copy", "__or__", "__ror__"})  // by what its class says that it holds
      if (n.def->name == copies) return false;
  args[0] = within;
  return true;
}

}  // namespace ouro::jit
