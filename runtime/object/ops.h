// The protocols of the language: what each operator and each built-in function that everybody needs does with any
// operands.
//
// Values are borrowed, results owned. Failure: Value::error(), false, or -1, with the exception in the session.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/object/alloc.h"
#include "runtime/object/dict.h"
#include "runtime/object/dunder.h"
#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/native.h"
#include "runtime/object/object.h"
#include "runtime/object/quick_step.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"

namespace ouro::runtime {

// ---- operators
Value binary(Session& s, BinOp op, const Value& a, const Value& b);
Value inplace(Session& s, BinOp op, Value a, const Value& b);                     // move `a` in when it is the last use
Value unsupported_inplace(Session& s, BinOp op, const Value& a, const Value& b);  // raises what inplace says of them
Value unary(Session& s, UnOp op, const Value& a);
Value compare(Session& s, CmpOp op, const Value& a, const Value& b);
int compare_bool(Session& s, CmpOp op, const Value& a, const Value& b);  // 1, 0, -1
int equals(Session& s, const Value& a, const Value& b);                  // identity first, then ==: 1, 0, -1
int truth(Session& s, const Value& v);                                   // 1, 0, -1
bool is_same(const Value& a, const Value& b);                            // `is`
int contains(Session& s, const Value& container, const Value& item);     // 1, 0, -1

// ---- attributes
Value get_attr(Session& s, const Value& v, Symbol name);
Value lookup_attr(Session& s, const Value& v, Symbol name);  // unbound instead of AttributeError
[[nodiscard]] bool set_attr(Session& s, const Value& v, Symbol name, const Value& value);
[[nodiscard]] bool del_attr(Session& s, const Value& v, Symbol name);
Value get_attr(Session& s, const Value& v, std::string_view name);
// What the class says, without binding: unbound if absent. Borrowed from the type's namespace, copied.
Value type_lookup(Session& s, Type* t, Symbol name);
// The special method of v's class (not of v itself), bound to nothing: unbound if absent.
const Value& find_dunder(Session& s, Type* t, Dunder d);
// `m`, found as a class's special method `d`, is not what the built-in classes have there.
bool is_overridden(const Value& m, Dunder d);
// Calls v.__d__(args...); unbound if the class has none.
Value call_dunder(Session& s, const Value& v, Dunder d, std::initializer_list<Value> args = {});

// ---- items
Value get_item(Session& s, const Value& v, const Value& key);
[[nodiscard]] bool set_item(Session& s, const Value& v, const Value& key, const Value& value);
[[nodiscard]] bool del_item(Session& s, const Value& v, const Value& key);
int64_t length(Session& s, const Value& v);  // -1: failed

// ---- calls
Value call(Session& s, const Value& f, const Args& args);
Value call(Session& s, const Value& f, std::initializer_list<Value> args);
Value call(Session& s, const Value& f, std::span<const Value> args);
Value call_method(Session& s, const Value& v, Symbol name, std::initializer_list<Value> args = {});
Value call_method(Session& s, const Value& v, Symbol name, const Args& args);
// What v.name(...) calls, before its arguments are evaluated: unbound for a plain method of v's class, else v.name.
Value method_before_call(Session& s, const Value& v, Symbol name);
bool is_callable(Session& s, const Value& v);
// What `with v` calls: the tuple of its bound __enter__ and __exit__, looked up in its class.
Value context_methods(Session& s, const Value& v);
// A script function. Arguments are borrowed.
Value call_function(Session& s, const Value& function, const Args& args);

// ---- generators: mode 0 sends v, 1 raises v in it (an exception instance), 2 closes it. The end marker when it
// returned (its value is in s.stop_value).
enum class ResumeMode : uint8_t { send, raise, close };
Value resume_generator(Session& s, Generator* g, ResumeMode mode, const Value& v);
Value next_of_generator(Session& s, Generator* g);

// ---- iteration
Value iter(Session& s, const Value& v);
Value next(Session& s, const Value& iterator);  // the end marker when exhausted
// f(Value&) → bool for each item; false stops with failure (an exception must be set).
template <class F>
[[nodiscard]] bool for_each_of(Session& s, const Value& it, F&& f) {  // of an iterator
  for (;;) {
    Value v;
    poll_interrupt(s);
    if (!quick_step(s, it, v)) {
      v = next(s, it);
      if (v.is_end()) return true;
      if (v.is_error()) return false;
    }
    if (!f(v)) return false;
  }
}
template <class F>
[[nodiscard]] bool for_each(Session& s, const Value& iterable, F&& f) {
  Value it = iter(s, iterable);
  return !it.is_error() && for_each_of(s, it, std::forward<F>(f));
}
Value list_of(Session& s, const Value& iterable);   // a new list
Value tuple_of(Session& s, const Value& iterable);  // a tuple (itself if it is exactly one)
int64_t length_hint(Session& s, const Value& v);    // 0 if unknown, -1 failed

// ---- text, hash
Value repr(Session& s, const Value& v);  // Str
Value str(Session& s, const Value& v);   // Str
Value ascii(Session& s, const Value& v);
Value format(Session& s, const Value& v, std::string_view spec);
bool hash(Session& s, const Value& v, int64_t& out);
std::string text_of(Session& s, const Value& v);  // str(v), or "" with the error set
std::string repr_text(Session& s, const Value& v);
// Guards a recursive repr: false (and the text to use, "[...]") when v is being printed already.
class ReprGuard {
 public:
  ReprGuard(Session& s, const Value& v);
  ~ReprGuard();
  bool entered() const { return entered_; }

 private:
  Session& s_;
  bool entered_;
};
// Guards C++ recursion that scripts can drive (repr, compare, hash, calls from natives): false with RecursionError set.
class DepthGuard {
 public:
  explicit DepthGuard(Session& s, const char* where = "") : s_(s), ok_(true) {
    if (++s.depth > s.recursion_limit || !s.has_stack()) [[unlikely]]
      fail(where);
  }
  ~DepthGuard() { --s_.depth; }
  bool ok() const { return ok_; }

 private:
  void fail(const char* where);
  Session& s_;
  bool ok_;
};
// The same without a count, as CPython does not count these: for what reaches a value through another (iterators over
// iterators, views of views, descriptors of descriptors). The functions here that go by a slot of the value ask it, so
// that what stands in the slots need not.
bool no_stack_left(Session& s);  // RecursionError; false
[[gnu::always_inline]] inline bool stack_left(Session& s) {
  if (s.has_stack()) [[likely]]
    return true;
  return no_stack_left(s);
}

// ---- types
Type* type_of(Session& s, const Value& v);          // borrowed
std::string type_name(Session& s, const Value& v);  // "int", "list", "C"
inline const TypeSlots& slots_of(Session& s, const Value& v) {
  ObjectKind k = kind_of(v);
  return k == ObjectKind::opaque ? *v.as<Opaque>()->type->slots : *s.slots[static_cast<int>(k)];
}
bool is_subtype(const Type* t, const Type* of);  // by MRO
bool is_a(Session& s, const Value& v, const Type* of);
int is_instance(Session& s, const Value& v, const Value& cls);  // class, tuple of classes, union: 1, 0, -1
int is_subclass(Session& s, const Value& c, const Value& cls);
// A new script class, as `class name(bases...)` and type(name, bases, dict) make it.
Value make_class(Session& s, const Value& name, const Value& bases_tuple, const Value& namespace_dict,
                 const Args& keywords);
Value new_instance(Session& s, Type* cls);    // bare: no __init__
void type_changed(Session& s, Type* t);       // forget caches of t and its subclasses
std::vector<Type*> with_subclasses(Type* t);  // t and all classes derived from it, each once, bases first

// ---- numbers
// An int (bool, __index__) that fits a word. False with TypeError ("'x' object cannot be interpreted as an integer")
// or, if it does not fit, OverflowError ("Python int too large to convert to C ssize_t"), which `clamp` turns into the
// nearest word.
[[nodiscard]] bool to_index(Session& s, const Value& v, int64_t& out, bool clamp = false);
// int, bool, float, __float__, __index__ as a double. False with TypeError ("must be real number, not x").
[[nodiscard]] bool to_double(Session& s, const Value& v, double& out);
bool is_integer(const Value& v);  // int, bool, big int, or an instance of a subclass of int
// start, stop, step of a slice over a sequence of n items (PySlice_AdjustIndices); returns the number of items, -1 on
// failure.
int64_t slice_indices(Session& s, const Slice& slice, int64_t n, int64_t& start, int64_t& stop, int64_t& step);

// ---- modules
Value import_module(Session& s, Symbol dotted);  // the module itself
Value import_top(Session& s, Symbol dotted);     // `import a.b`: a
Value import_from(Session& s, const Value& module, Symbol name);
Value builtin(Session& s, Symbol name, bool ouro_names);  // unbound if there is none
Value intrinsic_or_builtin(Session& s, Symbol name);      // what prim builtin.get gives; unbound if there is none

}  // namespace ouro::runtime
