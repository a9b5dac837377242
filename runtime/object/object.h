// Heap objects: the layout of every kind of value that is not unboxed.
//
// An object is a header (reference count, kind, flags) and the fields of its kind. Kinds of objects that can be part of
// a cycle derive from `GcObject`, which links them into their session's list for the cycle collector
// (runtime/object/collect.cpp).
//
// The class of an object follows from its kind (`Session::types`), except for `Instance` and `Exception`, which carry
// it. An instance of a script class derived from a built-in type (`class Names(list)`) is an Instance whose `native`
// holds the built-in value; `cast<List>(v)` looks through it, so natives of `list` serve its subclasses unchanged.
//
// Creation is in runtime/object/alloc.h. Element access here is raw: no function of this file runs a script.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/anf.h"
#include "runtime/object/name_table.h"
#include "runtime/object/value.h"
#include "support/intern.h"

namespace ouro::runtime {

class Session;
struct Args;
struct Type;
struct NativeDef;
struct TypeSlots;
struct TypeDef;
struct Code;   // runtime/interpreter/code.h
struct Frame;  // runtime/interpreter/frame.h
struct Visitor;

// The first kinds are the tags of unboxed values, so that `kind_of` is total.
enum class ObjectKind : uint8_t {
  unbound_ = 0,
  error_,
  end_,
  none,
  not_implemented,
  ellipsis,
  boolean,
  integer,
  floating,
  zero_cotangent,
  str = 16,
  bytes,
  bytearray,
  big_int,
  list,
  tuple,
  dict,
  set,
  frozenset,
  range,
  slice,
  dict_keys,
  dict_values,
  dict_items,
  mapping_proxy,
  iterator,  // hidden ones: list_iterator, ...; see IterDef
  enumerate,
  zip,
  map,
  filter,
  reversed,  // Iterator too, with classes that scripts can name
  function,
  native,
  bound_method,
  generator,
  cell,
  code,
  frame,
  type,
  instance,
  exception,
  module,
  property,
  static_method,
  class_method,
  super,
  member,
  get_set,
  traceback,
  generic_alias,
  tensor,
  dtype,
  device,  // runtime/tensor/tensor.h
  seq,
  shadow_map,
  pullback,
  record,
  opaque_zero,  // runtime/autodiff
  opaque,       // of natives in stdlib/native: Opaque
  spare1,
  spare2,
  spare3,
  spare4,
  count_
};

struct Object : ObjectHeader {
  ObjectKind object_kind() const { return static_cast<ObjectKind>(kind); }
};

inline ObjectKind kind_of(const Value& v) {
  return v.is_object() ? v.object()->object_kind() : static_cast<ObjectKind>(v.tag());
}

// Header flags. Kinds may use the bits from kFlagUser up.
enum : uint8_t { kFlagTracked = 1, kFlagFinalized = 2, kFlagUser = 4 };

// An object that may refer to others and so be part of a cycle.
struct GcObject : Object {
  GcObject* gc_next = nullptr;
  GcObject* gc_prev = nullptr;
};

// ---------------------------------------------------------------- text and bytes

// UTF-8 (lone surrogates as WTF-8), NUL behind it. Immutable once shared.
struct Str : Object {
  int64_t hash = 0;       // 0: not computed yet; use str_hash()
  size_t size = 0;        // bytes
  int64_t points = -1;    // code points, -1: not counted yet; use str_length()
  uint32_t symbol = 0;    // id of the Symbol with this text once known
  uint32_t capacity = 0;  // bytes that fit behind `data` (appending in place when unshared)
  char data[8];

  std::string_view view() const { return {data, size}; }
  bool ascii() const { return points == static_cast<int64_t>(size); }  // valid after str_length()
  static constexpr ObjectKind kKind = ObjectKind::str;
};

struct Bytes : Object {
  int64_t hash = 0;
  size_t size = 0;
  char data[8];
  std::string_view view() const { return {data, size}; }
  static constexpr ObjectKind kKind = ObjectKind::bytes;
};

struct ByteArray : Object {
  std::string data;
  size_t charged = 0;    // bytes of `data` that the session's account knows of
  uint32_t exports = 0;  // memoryviews of it; while there are some its size is fixed
  ~ByteArray();
  void settle();  // `data` has changed its size
  static constexpr ObjectKind kKind = ObjectKind::bytearray;
};

// An integer outside int64: sign and magnitude in base 2^60 digits of libtommath. Opaque here; runtime/types/big_int.h.
struct BigInt : Object {
  void* mp[3] = {};  // storage of one mp_int
  static constexpr ObjectKind kKind = ObjectKind::big_int;
};

// ---------------------------------------------------------------- containers

struct List : GcObject {
  Value* items = nullptr;
  size_t size = 0, capacity = 0;
  ~List();
  Value& operator[](size_t i) { return items[i]; }
  const Value& operator[](size_t i) const { return items[i]; }
  Value* begin() { return items; }
  Value* end() { return items + size; }
  void reserve(size_t n);
  void push(Value v) {
    if (size == capacity) reserve(size + 1);
    new (items + size++) Value(std::move(v));
  }
  void insert(size_t at, Value v);
  Value take(size_t at);  // removes and returns
  void erase(size_t from, size_t to);
  void truncate(size_t n);
  void clear() { truncate(0); }
  static constexpr ObjectKind kKind = ObjectKind::list;
};

struct Tuple : GcObject {
  size_t size = 0;
  Value* items() { return reinterpret_cast<Value*>(this + 1); }
  const Value* items() const { return reinterpret_cast<const Value*>(this + 1); }
  Value& operator[](size_t i) { return items()[i]; }
  const Value& operator[](size_t i) const { return items()[i]; }
  Value* begin() { return items(); }
  Value* end() { return items() + size; }
  static constexpr ObjectKind kKind = ObjectKind::tuple;
};

// Insertion-ordered hash table: a dense array of entries and an open-addressed index into it. Operations in
// runtime/object/dict.h.
struct Dict : GcObject {
  struct Entry {
    int64_t hash;
    Value key;  // unbound: deleted
    Value value;
  };
  Entry* entries = nullptr;
  uint32_t used = 0;        // live entries: len()
  uint32_t filled = 0;      // entries in use, deleted ones included
  uint32_t capacity = 0;    // of `entries`
  uint32_t mask = 0;        // of `index`
  uint32_t index_fill = 0;  // slots of `index` that are not free
  int32_t* index = nullptr;
  uint64_t version = 0;  // moves with every change of keys (iterators look)
  ~Dict();
  static constexpr ObjectKind kKind = ObjectKind::dict;
};

// CPython's set table (Objects/setobject.c), so that the order of iteration is CPython's. Also frozenset. Operations in
// runtime/object/dict.h.
struct Set : GcObject {
  struct Entry {
    Value key;  // unbound: free; `end` marker: deleted
    int64_t hash;
  };
  Entry* table = nullptr;
  size_t fill = 0, used = 0, mask = 0, finger = 0;
  int64_t hash = -1;       // of a frozenset, -1: not computed
  bool of_others = false;  // made of other containers' items: reverse mode does not know where they came from
  ~Set();
  static constexpr ObjectKind kKind = ObjectKind::set;
};

struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  Value big_start, big_stop, big_step;  // set when a bound is a BigInt (then the words above mean nothing)
  bool big() const { return !big_start.is_unbound(); }
  int64_t length() const {
    if (step > 0)
      return start < stop ? static_cast<int64_t>((static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) - 1) /
                                                 static_cast<uint64_t>(step)) +
                                1
                          : 0;
    return start > stop ? static_cast<int64_t>((static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) - 1) /
                                               (0 - static_cast<uint64_t>(step))) +
                              1
                        : 0;
  }
  static constexpr ObjectKind kKind = ObjectKind::range;
};

struct Slice : GcObject {
  Value start, stop, step;
  static constexpr ObjectKind kKind = ObjectKind::slice;
};

// dict.keys(), .values(), .items(), and the read-only view of a class's namespace.
struct DictView : GcObject {
  Value dict;
};

// ---------------------------------------------------------------- iteration

struct Iterator;
using NextFn = Value (*)(Session&, Iterator&);  // the next value, the end marker, or error
struct IterDef {
  std::string_view type_name;  // "list_iterator"
  NextFn next;
  Value (*length_hint)(Session&, Iterator&) = nullptr;
};
// Iterators over built-in containers and the lazy built-ins. What the fields mean is up to `def->next`.
struct Iterator : GcObject {
  const IterDef* def = nullptr;
  Value source, aux;
  int64_t index = 0, stop = 0, step = 1;
  std::vector<Value> more;  // zip's and map's iterators
};

// ---------------------------------------------------------------- functions

struct Function : GcObject {
  ir::FunctionRef code;
  Code* compiled = nullptr;   // flattened, owned by the session's code table
  Value globals;              // Module
  Value name, qualname, doc;  // Str (doc may be None)
  Value defaults;             // Tuple or None
  Value kwdefaults;           // Dict or None
  Value annotations;          // Dict or unbound
  Value dict;                 // Dict or unbound
  Value module_name;          // __module__ if assigned
  std::vector<Value> captures;
  static constexpr ObjectKind kKind = ObjectKind::function;
};

// A native bound to nothing, to a module, or (from a type's namespace) to a receiver.
struct Params;  // parsed NativeDef::params (runtime/object/bind.h)
struct Native : GcObject {
  const NativeDef* def = nullptr;
  const Params* params = nullptr;  // parsed at the first call; owned by the session
  Value self;                      // the receiver of a bound one, else unbound
  Type* owner = nullptr;           // the type whose method it is (then argument 0 is checked), or null
  Value module_name;
  static constexpr ObjectKind kKind = ObjectKind::native;
};

struct BoundMethod : GcObject {
  Value function, self;
  static constexpr ObjectKind kKind = ObjectKind::bound_method;
};

struct Generator : GcObject {
  Frame* frame = nullptr;  // null when finished
  Value name, qualname;
  bool running = false, started = false;
  static constexpr ObjectKind kKind = ObjectKind::generator;
  ~Generator();
};

struct Cell : GcObject {
  Value value;  // unbound: empty
  static constexpr ObjectKind kKind = ObjectKind::cell;
};

// ---------------------------------------------------------------- classes and instances

// Hidden class: which attribute is in which slot. Shapes form a tree of transitions per class and live as long as their
// session.
struct Shape {
  Type* type = nullptr;
  Shape* parent = nullptr;
  Symbol added{};
  uint32_t id = 0;     // unique in the session, never reused
  uint32_t count = 0;  // slots
  std::vector<std::pair<Symbol, Shape*>> transitions;
  NameTable<uint32_t> slots;  // all names, in order of their first assignment
  int find(Symbol name) const {
    const uint32_t* slot = slots.find(name);
    return slot ? static_cast<int>(*slot) : -1;
  }
};

struct Instance : GcObject {
  Type* type = nullptr;    // counted
  Shape* shape = nullptr;  // null: attributes are in `dict`
  Value* slots = nullptr;
  uint32_t slot_capacity = 0;
  Value dict;    // Dict once somebody asked for __dict__ or deleted an attribute
  Value native;  // value of the built-in base (list, dict, int, str, ...), else unbound
  ~Instance();
  static constexpr ObjectKind kKind = ObjectKind::instance;
};

struct Exception : Instance {
  Value args;            // Tuple
  Value cause, context;  // exceptions or None
  bool suppress_context = false;
  Value traceback;  // Traceback or None
  Value notes;      // list or unbound
  Value extra1,
      extra2;  // StopIteration.value, SystemExit.code, KeyError..., NameError.name, ImportError.name, OSError.errno ...
  static constexpr ObjectKind kKind = ObjectKind::exception;
};

// One frame of a traceback; `next` is the more recent call.
struct Traceback : GcObject {
  Value next;            // Traceback or None
  ir::FunctionRef code;  // whose
  Span span{};           // the failing operation
  Value globals;         // Module of the function
  static constexpr ObjectKind kKind = ObjectKind::traceback;
};

// The special methods with a cached place in each class (runtime/object/dunder.h lists them).
constexpr int kMaxDunders = 112;

struct Type : GcObject {
  Value name, qualname;          // Str
  std::vector<Value> bases;      // Types
  std::vector<Type*> mro;        // this first; the bases hold the references
  Type* base = nullptr;          // the base whose objects this class's extend: __base__; `bases` holds it
  const Type* solid = nullptr;   // of this and what it derives from by `base`, the first with places of its own
  NameTable<Value> names;        // the namespace, in order of definition
  const TypeDef* def = nullptr;  // of a built-in type
  const TypeSlots* slots = nullptr;
  ObjectKind layout = ObjectKind::instance;  // the kind of the built-in value inside, or instance
  bool builtin = false;
  bool ready = false;  // a built-in type's rows have been put into `names`
  bool is_exception = false;
  bool is_abc = false;   // derives from abc.ABC: abstract methods are checked
  bool has_dict = true;  // false: __slots__ only
  bool has_del = false;
  bool has_getattribute = false, has_setattr = false, has_getattr = false;  // overridden in the MRO by a script
  bool is_sequence = false;        // of the library: its `+` and `*` are a sequence's, as list's
  uint8_t sequence_operators = 0;  // which operators it has of a sequence (runtime/protocol/sequence_operators.h)
  uint32_t version = 0;            // unique in the session; moves when it or a base changes
  Shape* shape = nullptr;          // of a fresh instance
  Value dunders[kMaxDunders];      // cached MRO lookups; `end` marker: not looked up yet, unbound: absent
  std::vector<Type*> subclasses;   // weak
  std::string_view text() const { return name.as<Str>()->view(); }
  ~Type();
  static constexpr ObjectKind kKind = ObjectKind::type;
};

// A module: names in slots that never move (a deleted name leaves an unbound slot), so code caches the slot's index.
struct Module : GcObject {
  Value name;  // Str, __name__
  Value file;  // Str or None, __file__
  Value doc;
  NameTable<Value> names;   // name → value, by position; never shrinks
  uint32_t version = 0;     // moves when a name is added or removed (caches of builtins look)
  bool ouro_names = false;  // a .ouro file: tensor names are built in
  bool is_package = false;
  std::string search_path;                             // folder of a package
  Value (*load)(Session&, Module&, Symbol) = nullptr;  // native modules: makes a name at first use, or unbound
  const void* rows = nullptr;                          // for `load`
  static constexpr ObjectKind kKind = ObjectKind::module;
};

struct Property : GcObject {
  Value get, set, del, doc;  // None when absent
  static constexpr ObjectKind kKind = ObjectKind::property;
};

struct StaticMethod : GcObject {
  Value function;
  static constexpr ObjectKind kKind = ObjectKind::static_method;
};
struct ClassMethod : GcObject {
  Value function;
  static constexpr ObjectKind kKind = ObjectKind::class_method;
};

struct Super : GcObject {
  Value type, self;           // Type; instance or Type
  Type* self_type = nullptr;  // whose MRO is searched
  static constexpr ObjectKind kKind = ObjectKind::super;
};

// A slot of `__slots__`, as a descriptor.
struct Member : GcObject {
  Symbol name{};
  Type* owner = nullptr;
  Value keeps_owner;
  static constexpr ObjectKind kKind = ObjectKind::member;
};

// An attribute computed by natives (GetSetDef), as a descriptor.
struct GetSetDef;
struct GetSet : GcObject {
  const GetSetDef* def = nullptr;
  Type* owner = nullptr;
  Value keeps_owner;  // unbound for a built-in class, which stays
  static constexpr ObjectKind kKind = ObjectKind::get_set;
};

// list[int], dict[str, float]: kept, never enforced.
struct GenericAlias : GcObject {
  Value origin, args;
  Value parameters;  // its type variables, once asked for: what stands in many places is looked through once
  static constexpr ObjectKind kKind = ObjectKind::generic_alias;
};

// An object of a native module: a class of its own and private data.
struct Opaque : GcObject {
  Type* type = nullptr;  // counted
  std::shared_ptr<void> data;
  std::vector<Value> values;  // what the collector must see
  static constexpr ObjectKind kKind = ObjectKind::opaque;
};

// ---------------------------------------------------------------- casts

// The built-in value inside `v`: itself, or what an instance of a subclass of a built-in type holds.
inline const Value& unwrap(const Value& v) {
  if (v.is_object() && v.object()->object_kind() == ObjectKind::instance) {
    const Value& n = v.as<Instance>()->native;
    if (!n.is_unbound()) return n;
  }
  return v;
}

// The object of that kind, or null. Looks through instances of subclasses.
template <class T>
T* cast(const Value& v) {
  if (!v.is_object()) return nullptr;
  Object* o = v.object();
  if (o->kind == static_cast<uint8_t>(T::kKind)) return static_cast<T*>(o);
  if constexpr (T::kKind != ObjectKind::instance)
    if (o->object_kind() == ObjectKind::instance) return cast<T>(static_cast<Instance*>(o)->native);
  return nullptr;
}
template <>
inline Set* cast<Set>(const Value& v) {  // set or frozenset
  const Value& u = unwrap(v);
  ObjectKind k = kind_of(u);
  return k == ObjectKind::set || k == ObjectKind::frozenset ? u.as<Set>() : nullptr;
}
template <>
inline Instance* cast<Instance>(const Value& v) {  // instances and exceptions
  ObjectKind k = kind_of(v);
  return k == ObjectKind::instance || k == ObjectKind::exception ? v.as<Instance>() : nullptr;
}
// Exactly that kind; subclasses do not count.
template <class T>
T* cast_exact(const Value& v) {
  return v.is_object() && v.object()->kind == static_cast<uint8_t>(T::kKind) ? v.as<T>() : nullptr;
}
inline Iterator* cast_iterator(const Value& v) {
  ObjectKind k = kind_of(v);
  return k >= ObjectKind::iterator && k <= ObjectKind::reversed ? v.as<Iterator>() : nullptr;
}

}  // namespace ouro::runtime
