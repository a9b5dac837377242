// Abstract values: what the specialiser computes with (docs/design/specialise.md).
//
// Structure is executed now, numbers become residual code. An AVal is cheap to copy; lists, dicts, objects, cells and
// iterators are references into the abstract heap, which is copied on write when a branch forks the state.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/anf.h"
#include "ir/type.h"
#include "jit/specialise/abstract/keys.h"
#include "jit/specialise/abstract/persistent_array.h"
#include "jit/specialise/reasons.h"
#include "runtime/object/object.h"
#include "runtime/object/value.h"

namespace ouro::jit {

using runtime::Value;

enum class AKind : uint8_t {
  unbound,
  end,        // the end marker of an iterator
  known,      // `known`: a concrete immutable value, or an object by identity (class, native, module, function without
              // captures)
  dynamic,    // `atom`: a residual name (or constant) of type `type`; null type: boxed (Any)
  tuple,      // parts->items; `known`: of an object whose class extends tuple, that class
              // (jit/specialise/execute/tuples.cpp), with `heap` as a closure has it
  closure,    // parts->code, parts->items are captures, parts->function the concrete function if there is one; `heap`:
              // of one that is made inside, who it is (AObject::Kind::identity)
  bound,      // bound method: items[0] function, items[1] self
  super,      // items[0] class, items[1] self
  slice,      // items: start, stop, step
  range,      // items: start, stop, step, some of them dynamic
  view,       // of a dict: items[0] the dict; `known` the type of the view
  ref,        // `heap`: list, dict, set, instance, cell, iterator, seq, shadow map
  maybe_end,  // iter.next of an iterator whose length is dynamic: `atom` is the bool "has ended", items[0] the value
              // otherwise
  position,   // autodiff: of a record, `known`, in the seq `heap`; items: within a loop's turn
              // (jit/specialise/states/records.cpp)
  rolled,     // autodiff: the records of all turns of a loop of the program: `atom` the chain, `known` which loop
  zero,       // autodiff's symbolic zero cotangent
  like,       // autodiff: kind, shape and dtype of a number or tensor, without its value; `type`
  kept,       // autodiff: a pullback that ad.keep kept; items[0]
  plain_form,
  plain_pullback,  // autodiff: of a callable without a rule; items[0] is the callable
  either,  // one of two values: items[0] where the tag `atom`, a bool of the program, is true, items[1] where it is not
           // (jit/specialise/states/either.cpp)
  poison,  // differs between joined branches and cannot be a parameter. `known` says why; `node`: where they parted
           // (Specialiser::parted_)
};

using HeapId = uint32_t;
constexpr HeapId kNoHeap = UINT32_MAX;
constexpr uint32_t kNoNode = UINT32_MAX;

struct AVal;
struct AParts {
  std::vector<AVal> items;
  ir::FunctionRef code;        // of a closure
  std::vector<AVal> defaults;  // of a closure, for its last positional parameters
  std::vector<std::pair<Symbol, AVal>> kwdefaults;
  std::vector<AVal> annotations;  // of a closure: a dict, or nothing
  Value function;                 // the concrete function, or unbound
  Value globals;                  // Module of a closure
  // How many sides the eithers among the items have, and those among their items; and the bits of their tags. Computed
  // once; a copy computes it again, for it may be changed.
  struct Answer {
    int known = -1;
    uint64_t tags = 0;
    Answer() = default;
    Answer(const Answer&) {}
    Answer& operator=(const Answer&) { return known = -1, *this; }
  };
  mutable Answer sides;
  // The identity of a function, a key of shadow maps. A copy with other names for the captured values is the same
  // function. Later functions have larger numbers.
  static inline std::atomic<uint64_t> next_identity = 0;  // of all sessions, which compile on threads of their own
  uint64_t identity = next_identity.fetch_add(1, std::memory_order_relaxed);
  /// visit(v) for each value that it holds.
  template <class Visit>
  void each(Visit&& visit);
};

struct AVal {
  AKind kind = AKind::unbound;
  ir::Atom atom{};
  const ir::Type* type = nullptr;
  HeapId heap = kNoHeap;
  uint32_t node = kNoNode;  // access path this value was loaded by (jit/specialise/outside/access.h), if any
  Value known;
  std::shared_ptr<const AParts> parts;

  bool is(AKind k) const { return kind == k; }
  /// May it hold a name of the program, or an object?
  bool holds_names() const { return parts || heap != kNoHeap || !atom.is_none() || type; }
  /// Not an equal value: this one.
  bool is_the_same_as(const AVal& v) const {
    return kind == v.kind && atom == v.atom && type == v.type && heap == v.heap && node == v.node && parts == v.parts &&
           known.same(v.known);
  }
  // Of a number that is a parameter where branches met, and is known on each way: the either of its known values.
  const AVal* ways() const;
  const std::vector<AVal>& items() const { return parts->items; }
  static AVal of(Value v) {
    AVal a;
    a.kind = AKind::known;
    a.known = std::move(v);
    return a;
  }
  static AVal dynamic(ir::Atom atom, const ir::Type* type) {
    AVal a;
    a.kind = AKind::dynamic;
    a.atom = atom;
    a.type = type;
    return a;
  }
  static AVal of_heap(HeapId id) {
    AVal a;
    a.kind = AKind::ref;
    a.heap = id;
    return a;
  }
  static AVal marker(AKind k) {
    AVal a;
    a.kind = k;
    return a;
  }
  static AVal compound(AKind k, std::vector<AVal> items) {
    AVal a;
    a.kind = k;
    auto p = std::make_shared<AParts>();
    p->items = std::move(items);
    a.parts = std::move(p);
    return a;
  }
  static AVal tuple(std::vector<AVal> items) { return compound(AKind::tuple, std::move(items)); }
  bool extends_tuple() const { return kind == AKind::tuple && !known.is_unbound(); }
};

inline AVal none() { return AVal::of(Value::none()); }
/// The symbolic zero of derivatives.
inline AVal zero() { return AVal::marker(AKind::zero); }

template <class Visit>
void AParts::each(Visit&& visit) {
  for (AVal& v : items) visit(v);
  for (AVal& v : defaults) visit(v);
  for (auto& [name, v] : kwdefaults) visit(v);
  for (AVal& v : annotations) visit(v);
}

// One object of the abstract heap.
struct AObject {
  enum class Kind : uint8_t { instance, list, dict, set, cell, iterator, seq, shadow, globals, record, identity, turn };
  Kind kind = Kind::instance;
  bool external = false;  // exists outside the version: reached by `node`, `concrete` is the witness
  bool complete = true;   // external instance: slots not in `slots` may still be loaded
  bool poisoned = false;  // joined branches disagree on its structure
  Span torn{};            // where they parted
  uint32_t parted = kNoNode;
  // Poisoned, but known on each way: the sides of an either with this tag.
  ir::Atom tag{};
  std::shared_ptr<const AObject> sides[2];
  int forms = 1;           // how many objects the sides are, with those of their sides
  bool stale = false;      // external: the interpreter may have changed it; reads are boxed
  bool of_turn = false;    // taken out of a chain of records (states/records.cpp), and can be again
  bool any_class = false;  // of an instance: the interpreter may have given it another class
  bool escaped = false;    // it was materialised: `boxed` is the residual Any that holds it
  bool rolled =
      false;  // of a seq: one of its records stands for all turns of a loop (jit/specialise/states/records.cpp)
  bool stays_loop = false;  // of an iterator: its loop is not written out turn by turn (native `turns`)
  uint32_t node = kNoNode;
  Value concrete;  // external: the witness; set: the interpreter's, since its table decides the order of the items
  Value cls;       // Type of an instance
  AVal native;     // of an instance whose class extends int or str: which one it is
  ir::Atom boxed{};
  // Of an instance whose __dict__ was asked for, the dict, and of the dict the instance: they are changed together.
  HeapId attributes = kNoHeap;

  // instance: attributes by name, in order of first assignment; cell: one slot with the default Symbol.
  struct Slot {
    Symbol name{};
    AVal value;          // unbound: deleted
    AVal memory;         // external: what stands there now, while `dirty` says that `value` is to be written
    bool dirty = false;  // of an external object: not written yet
    AVal loaded;         // external: as the call found it, unbound if it was not there or nobody knows
  };
  std::vector<Slot> slots;
  PersistentArray<AVal> items;  // list, seq; values of a dict
  Keys<AVal> keys;              // dict, set: known
  // Of a list or dict that is outside (external, or escaped): what stands there now, and as the call found it.
  PersistentArray<AVal> memory, loaded;
  Keys<AVal> memory_keys, loaded_keys;
  bool dirty = false;  // list, dict: not written yet

  // iterator
  enum class Iter : uint8_t {
    none,
    list,
    tuple,
    range,
    zip,
    enumerate,
    map,
    tensor,
    dict,
    set,
    reversed,
    generator,  // `source`: the object that its function's steps work on (ir/grad/generator.h)
  } iter = Iter::none;
  AVal source;              // what it runs over
  AVal cursor, stop, step;  // numbers
  PersistentArray<AVal>
      parts;  // zip, map: iterators (and the function first, of map); dict, set: the keys at the start

  Slot* find(Symbol name) {
    for (Slot& s : slots)
      if (s.name == name) return &s;
    return nullptr;
  }
  /// The object with map(v) in place of each value; name(atom, type) may change what it holds of the program besides:
  /// `boxed`, of no type, and `tag`. The same object where nothing changes. The sides of one that branches left in two
  /// are mapped alike. Values that hold no name are not asked for.
  template <class Map, class Name>
  static std::shared_ptr<const AObject> mapped(const std::shared_ptr<const AObject>& object, const Map& map,
                                               const Name& name) {
    std::shared_ptr<AObject> copy;
    const auto own = [&]() -> AObject& {
      if (!copy) copy = std::make_shared<AObject>(*object);
      return *copy;
    };
    const auto value = [&](const AVal& v, const auto& place) {
      if (!v.holds_names()) return;
      AVal mapped = map(v);
      if (!mapped.is_the_same_as(v)) place(own()) = std::move(mapped);
    };
    for (size_t i = 0; i < object->slots.size(); ++i) {
      value(object->slots[i].value, [i](AObject& o) -> AVal& { return o.slots[i].value; });
      value(object->slots[i].memory, [i](AObject& o) -> AVal& { return o.slots[i].memory; });
      value(object->slots[i].loaded, [i](AObject& o) -> AVal& { return o.slots[i].loaded; });
    }
    for (const auto member : {&AObject::items, &AObject::memory, &AObject::loaded, &AObject::parts}) {
      const PersistentArray<AVal>& values = (*object).*member;
      for (size_t i = 0; i < values.size(); ++i)
        value(values[i], [&](AObject& o) -> AVal& { return (o.*member).edit(i); });
    }
    for (const auto member : {&AObject::source, &AObject::cursor, &AObject::stop, &AObject::step})
      value((*object).*member, [&](AObject& o) -> AVal& { return o.*member; });
    const auto atom = [&](ir::Atom AObject::*member, const ir::Type* type) {
      ir::Atom a = (*object).*member;
      if (a.is_none()) return;
      name(a, type);
      if (a != (*object).*member) own().*member = a;
    };
    atom(&AObject::boxed, nullptr);
    atom(&AObject::tag, ir::types::boolean());
    if (object->tag.is_none()) return copy ? copy : object;
    for (size_t i = 0; i < 2; ++i) {
      auto side = mapped(object->sides[i], map, name);
      if (side != object->sides[i]) own().sides[i] = std::move(side);
    }
    return copy ? copy : object;
  }
  bool outside() const { return external || escaped; }
  // Of a dict that is outside: has it all keys that stand there, where they stand?
  bool only_adds_keys() const {
    bool all = keys.size() >= memory_keys.size();
    for (size_t i = 0; all && i < memory_keys.size(); ++i)
      all = keys[i].is_the_same_as(memory_keys[i]) || keys[i].known.same(memory_keys[i].known);
    return all;
  }
  // What it holds is known by the interpreter alone: a boxed value from here on.
  bool lost() const {
    const bool container = kind == Kind::list || kind == Kind::dict || kind == Kind::set || kind == Kind::record;
    return outside() && (any_class || kind == Kind::iterator || (container && (stale || kind == Kind::set)));
  }
};

inline const AVal* AVal::ways() const { return kind == AKind::dynamic && parts ? parts->items.data() : nullptr; }

// Of a forward form, the function that it is made of; else the value itself. A form has the identity of its
// function.
const AVal& source_of_form(const AVal& f);

// Thrown where an operation has to know which side of an either it has: it is executed for each
// (Specialiser::exec_let_by_sides).
struct NeedSide {
  ir::Atom tag;
};
// The value, if it is no either; else throws NeedSide.
inline const AVal& one_side(const AVal& a) {
  if (a.is(AKind::either)) throw NeedSide{a.atom};
  return a;
}

// The object, if no branches left it in two forms; else throws NeedSide.
inline bool is_none(const AVal& a) { return one_side(a).is(AKind::known) && a.known.is_none(); }
inline const AObject& one_side(const AObject& o) {
  if (!o.tag.is_none()) throw NeedSide{o.tag};
  return o;
}

// Why a region cannot be specialised; caught at the nearest call that can be boxed, else the whole function stays
// interpreted.
struct Abandon {
  Because why;
  Span span{};
  bool whole = false;   // boxed in a compiled function it would mean something else: no call takes it
  bool one_let = true;  // thrown by the operation itself that is being executed
};

}  // namespace ouro::jit
