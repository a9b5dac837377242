// What a kind of value can do: one row of function pointers per kind, and one TypeDef row per built-in class. The
// protocol functions of runtime/object/ops.h look here; nothing else dispatches on kinds.
//
// Contract of every slot: arguments are borrowed; the result is owned; Value::error() / false / -1 mean that an
// exception is set in the session. A null slot means "not supported": ops.h then raises CPython's error. `self` of an
// instance of a subclass of a built-in class comes *unwrapped* to the slots (so cast<T> always succeeds on it), but as
// itself to methods (use cast<T>).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/object/exception_kinds.h"
#include "runtime/object/native.h"
#include "runtime/object/object.h"
#include "runtime/object/operators.h"

namespace ouro::runtime {

struct TypeSlots {
  // a op b, where a or b (or both) is of this kind; NotImplemented if this kind does not know the pair.
  Value (*binary)(Session&, BinOp, const Value& a, const Value& b) = nullptr;
  uint32_t binary_ops = 0;    // bit(BinOp)s that exist for scripts as __add__ / __radd__ ...
  bool no_reflected = false;  // sequences: __add__ without __radd__
  // a op= b; null or NotImplemented: `binary`. `a` is owned by the callee: its count is 1 if nobody else holds it.
  Value (*inplace)(Session&, BinOp, Value& a, const Value& b) = nullptr;
  uint32_t inplace_ops = 0;
  Value (*unary)(Session&, UnOp, const Value&) = nullptr;
  uint32_t unary_ops = 0;
  // a op b, `a` of this kind; NotImplemented if it does not know b. Identity has not been looked at. Null: identity for
  // eq and ne.
  Value (*compare)(Session&, CmpOp, const Value& a, const Value& b) = nullptr;
  bool ordered = false;                                      // has __lt__ and its kin
  int (*truth)(Session&, const Value&) = nullptr;            // 1, 0, -1; null: by `length`, else true
  bool (*hash)(Session&, const Value&, int64_t&) = nullptr;  // null: by identity
  bool unhashable = false;
  Value (*repr)(Session&, const Value&) = nullptr;  // Str; null: <... object at 0x...>
  Value (*str)(Session&, const Value&) = nullptr;   // null: repr
  Value (*format)(Session&, const Value&,
                  std::string_view spec) = nullptr;  // null: str, and an error if spec is not empty
  Value (*iter)(Session&, const Value&) = nullptr;
  Value (*next)(Session&, const Value&) = nullptr;      // value, end marker, error
  int64_t (*length)(Session&, const Value&) = nullptr;  // -1: error
  Value (*get_item)(Session&, const Value&, const Value& key) = nullptr;
  bool (*set_item)(Session&, const Value&, const Value& key, const Value& v) = nullptr;
  bool (*del_item)(Session&, const Value&, const Value& key) = nullptr;
  int (*contains)(Session&, const Value&, const Value& item) = nullptr;  // null: by iteration
  // Own attributes before the class is searched (a module's names, a record's fields): unbound if absent.
  Value (*get_attr)(Session&, const Value&, Symbol) = nullptr;
  // Takes over attribute assignment; `v` unbound: deletion. Null: AttributeError.
  bool (*set_attr)(Session&, const Value&, Symbol, const Value& v) = nullptr;
  Value (*call)(Session&, const Value&, const Args&) = nullptr;
  // T(...): what __new__ makes for class `cls` of this layout. Returns the bare built-in value; when cls is a subclass
  // the caller wraps it.
  Value (*construct)(Session&, Type* cls, const Args&) = nullptr;
  // Mutable built-in classes (list, dict, set, bytearray): `__init__` fills self again. Null: construct does all.
  bool (*init)(Session&, const Value& self, const Args&) = nullptr;
  Value (*dir)(Session&, const Value&) = nullptr;  // list of extra names
};

struct GetSetDef {
  std::string_view name;
  Value (*get)(Session&, const Value& self) = nullptr;
  bool (*set)(Session&, const Value& self, const Value& v) = nullptr;  // null: read-only; v unbound: deletion
  std::string_view doc = {};
};

// An operand as `binary` of the kind of `self` sees it: unwrapped, except of `text % values`, which asks the values for
// their own str, format and items, of dicts and their views, which walk over objects of classes that extend containers
// as these say, and of a mappingproxy, which hands the operator on.
inline const Value& operand_for(BinOp op, const Value& self, const Value& operand) {
  const ObjectKind k = kind_of(self);
  const bool formats = op == BinOp::mod && k >= ObjectKind::str && k <= ObjectKind::bytearray;
  const bool walks = k == ObjectKind::dict || k == ObjectKind::dict_keys || k == ObjectKind::dict_items;
  return formats || walks || k == ObjectKind::mapping_proxy ? operand : unwrap(operand);
}

// One row per built-in class. Methods get self as argument 0 (its kind checked already: "descriptor 'append' for ...").
struct TypeDef {
  std::string_view name;
  ObjectKind kind;
  ObjectKind base = ObjectKind::instance;  // instance: `object`
  const TypeSlots* slots = nullptr;
  std::span<const NativeDef> methods = {};
  std::span<const NativeDef> class_methods = {};  // argument 0 is the class
  std::span<const NativeDef> static_methods = {};
  std::span<const GetSetDef> getset = {};
  bool subclassable = true;
  std::string_view doc = {};
  std::string_view module = "builtins";
};

// How a kind's memory is managed (runtime/object/alloc.cpp, runtime/object/collect.cpp). Process-wide and constant once
// registered.
struct Visitor {
  virtual void visit(const Value& v) = 0;
  virtual void visit(Object* o) = 0;  // null is allowed
 protected:
  ~Visitor() = default;
};
struct KindOps {
  void (*destroy)(Object*) = nullptr;             // runs the C++ destructor and frees the memory
  void (*traverse)(Object*, Visitor&) = nullptr;  // of GcObjects
  void (*clear)(Object*) = nullptr;               // drops what it refers to (breaks cycles); may be null
};
void register_kind(ObjectKind kind, const KindOps& ops);
const KindOps& kind_ops(ObjectKind kind);

// Makes a built-in class from a row (the row must be static); `s.types[def.kind]` is it afterwards. Its namespace is
// filled at first use.
Type* define_type(Session& s, const TypeDef& def);

// Called once per session, in this order. Each defines its kinds with define_type / register_kind.
void register_model_types(Session& s);     // runtime/model: object, type, function, exceptions, ...
void register_builtin_types(Session& s);   // runtime/types: numbers, text, containers, iterators
void register_tensor_types(Session& s);    // runtime/tensor
void register_autodiff_types(Session& s);  // runtime/autodiff

}  // namespace ouro::runtime
