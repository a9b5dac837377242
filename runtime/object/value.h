// A value: 16 bytes, a tag and a payload. Numbers, bools, None and markers are unboxed; everything else is a counted
// reference to a heap `Object` (runtime/object/object.h). A `Value` owns its reference: copying counts up, moving does
// not, the destructor counts down.
//
// Errors are values too: an operation that fails stores the exception in its session and returns the `error` marker,
// which no variable ever holds. (Exceptions of scripts are never C++ exceptions: docs/design/rules.md A2.) The form:
//     Value x = f(s, ...);  if (x.is_error()) return x;
// or OURO_TRY(x, f(s, ...)), and OURO_TRY_DO(f(s, ...)) when the result is of no use.
//
// Reference counts are not atomic: heap values belong to their session's thread; kernel threads see raw buffers only.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace ouro::runtime {

struct Object;
void destroy(Object* o);  // refs reached zero (runtime/object/alloc.cpp)

enum class Tag : uint8_t {
  unbound = 0,  // a variable without a value; also "absent" in tables
  error,        // an operation failed; the exception is in the session
  end,          // an iterator is exhausted
  none,
  not_implemented,
  ellipsis,
  boolean,         // i is 0 or 1
  integer,         // i; integers outside int64 are BigInt objects (always normalised: what fits is here)
  floating,        // f
  zero_cotangent,  // autodiff's symbolic zero (never visible to scripts)
  object,          // o
};

// The layout shared by every heap object; the rest is in object.h.
struct ObjectHeader {
  uint32_t refs = 1;
  uint8_t kind = 0;  // ObjectKind
  uint8_t flags = 0;
  uint16_t extra = 0;
};

class Value {
 public:
  Value() = default;
  Value(const Value& v) : tag_(v.tag_), bits_(v.bits_) { retain(); }
  Value(Value&& v) noexcept : tag_(v.tag_), bits_(v.bits_) { v.tag_ = Tag::unbound; }
  [[gnu::always_inline]] Value& operator=(const Value& v) {
    v.retain();
    replace(v.tag_, v.bits_);
    return *this;
  }
  [[gnu::always_inline]] Value& operator=(Value&& v) noexcept {
    Tag tag = v.tag_;
    v.tag_ = Tag::unbound;
    replace(tag, v.bits_);
    return *this;
  }
  ~Value() { release(); }
  // As an assignment, with no temporary (which compilers keep in memory in functions with computed gotos).
  void set_integer(int64_t i) { replace(Tag::integer, i); }
  void set_boolean(bool b) { replace(Tag::boolean, b); }
  void set_floating(double f) {
    int64_t b;
    std::memcpy(&b, &f, 8);
    replace(Tag::floating, b);
  }

  static Value none() { return Value(Tag::none, 0); }
  static Value error() { return Value(Tag::error, 0); }
  static Value end() { return Value(Tag::end, 0); }
  static Value not_implemented() { return Value(Tag::not_implemented, 0); }
  static Value ellipsis() { return Value(Tag::ellipsis, 0); }
  static Value zero_cotangent() { return Value(Tag::zero_cotangent, 0); }
  static Value boolean(bool b) { return Value(Tag::boolean, b); }
  static Value integer(int64_t i) { return Value(Tag::integer, i); }
  static Value floating(double f) {
    int64_t b;
    std::memcpy(&b, &f, 8);
    return Value(Tag::floating, b);
  }
  static Value steal(Object* o) {
    return Value(Tag::object, reinterpret_cast<int64_t>(o));
  }                                // takes the caller's reference
  static Value share(Object* o) {  // counts up
    Value v = steal(o);
    v.retain();
    return v;
  }

  Tag tag() const { return tag_; }
  bool is(Tag t) const { return tag_ == t; }
  bool is_unbound() const { return tag_ == Tag::unbound; }
  bool is_error() const { return tag_ == Tag::error; }
  bool is_end() const { return tag_ == Tag::end; }
  bool is_none() const { return tag_ == Tag::none; }
  bool is_bool() const { return tag_ == Tag::boolean; }
  bool is_int() const { return tag_ == Tag::integer; }  // a machine word; see object.h for BigInt
  bool is_float() const { return tag_ == Tag::floating; }
  bool is_object() const { return tag_ == Tag::object; }
  bool as_bool() const { return bits_ != 0; }
  int64_t as_int() const { return bits_; }
  double as_float() const {
    double f;
    std::memcpy(&f, &bits_, 8);
    return f;
  }
  Object* object() const { return reinterpret_cast<Object*>(bits_); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(bits_);
  }                           // unchecked; see object.h for `cast<T>(value)`, null when it is another kind
  Object* release_object() {  // gives the reference to the caller
    tag_ = Tag::unbound;
    return reinterpret_cast<Object*>(bits_);
  }
  // Same identity, as `is` tells (numbers by bits).
  bool same(const Value& o) const { return tag_ == o.tag_ && bits_ == o.bits_; }
  void swap(Value& o) noexcept {
    std::swap(tag_, o.tag_);
    std::swap(bits_, o.bits_);
  }
  int64_t bits() const { return bits_; }

 private:
  Value(Tag t, int64_t b) : tag_(t), bits_(b) {}
  [[gnu::always_inline]] void retain() const {
    if (tag_ == Tag::object) ++reinterpret_cast<ObjectHeader*>(bits_)->refs;
  }
  // The old reference is let go of last: what that runs may look here.
  [[gnu::always_inline]] void replace(Tag tag, int64_t bits) {
    Tag old = tag_;
    int64_t old_bits = bits_;
    tag_ = tag;
    bits_ = bits;
    if (old == Tag::object && --reinterpret_cast<ObjectHeader*>(old_bits)->refs == 0) [[unlikely]]
      destroy(reinterpret_cast<Object*>(old_bits));
  }
  void release() {
    if (tag_ == Tag::object && --reinterpret_cast<ObjectHeader*>(bits_)->refs == 0)
      destroy(reinterpret_cast<Object*>(bits_));
  }

  Tag tag_ = Tag::unbound;
  int64_t bits_ = 0;
};
static_assert(sizeof(Value) == 16);

#define OURO_TRY(name, expr)            \
  ::ouro::runtime::Value name = (expr); \
  if (name.is_error()) return name
#define OURO_TRY_DO(expr) \
  if (::ouro::runtime::Value ouro_propagated_ = (expr); ouro_propagated_.is_error()) return ouro_propagated_

}  // namespace ouro::runtime
