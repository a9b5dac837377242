// Values of a script in the hands of its host.
//
// Threads. A Value belongs to the session that gave it and follows its rule (session.h): it is copied and asked only
// where its session may be called. Two things are allowed on any thread at any time: moving it, and dropping it (what
// the session cannot free at that moment, it frees when it is done). So a thread that calls scripts can hand results to
// another by moving them, and the other reads what `as_tensor` or `as_str` showed before.
//
// Lifetime. A Value keeps what it names, and the insides of its session: it may outlive the Session object, but calls
// through it then fail.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ouro/error.h"

namespace ouro {
inline namespace v0 {

struct Core;

enum class Kind : uint8_t {
  none,
  boolean,
  integer,  ///< of any size; as_int() gives those that fit 64 bits
  floating,
  str,
  bytes,
  list,
  tuple,
  dict,
  set,
  tensor,
  callable,  ///< a function, method or class
  module,
  object,  ///< everything else
};

enum class DType : uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

OURO_API size_t size_of(DType dtype);  ///< bytes of an element

/// The dtype whose elements a C++ type holds.
template <class T>
inline constexpr std::optional<DType> dtype_of = std::nullopt;
template <>
inline constexpr std::optional<DType> dtype_of<bool> = DType::boolean;
template <>
inline constexpr std::optional<DType> dtype_of<uint8_t> = DType::u8;
template <>
inline constexpr std::optional<DType> dtype_of<int8_t> = DType::i8;
template <>
inline constexpr std::optional<DType> dtype_of<int16_t> = DType::i16;
template <>
inline constexpr std::optional<DType> dtype_of<int32_t> = DType::i32;
template <>
inline constexpr std::optional<DType> dtype_of<int64_t> = DType::i64;
template <>
inline constexpr std::optional<DType> dtype_of<float> = DType::f32;
template <>
inline constexpr std::optional<DType> dtype_of<double> = DType::f64;

/// A tensor's memory, as it lies: contiguous, row-major. Valid, and unchanged by any script, as long as the Value lives
/// that it was taken from.
struct TensorView {
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  int64_t size = 0;  ///< elements
  const void* data = nullptr;
  size_t bytes() const { return static_cast<size_t>(size) * size_of(dtype); }
  /// The elements as T; empty when T is not the dtype's type.
  template <class T>
  std::span<const T> elements() const {
    if (dtype_of<T> != dtype) return {};
    return {static_cast<const T*>(data), static_cast<size_t>(size)};
  }
};

class OURO_API Value {
 public:
  Value() noexcept;  ///< None
  template <std::same_as<bool> B>
  Value(B b) noexcept : Value(Unboxed::boolean, b) {}
  template <std::integral I>
  requires(!std::same_as<I, bool> && (sizeof(I) < 8 || std::is_signed_v<I>)) Value(I i)
  noexcept : Value(Unboxed::integer, static_cast<int64_t>(i)) {}
  template <std::floating_point F>
  requires(sizeof(F) <= 8) Value(F f)
  noexcept : Value(static_cast<double>(f), 0) {}
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Kind kind() const;
  bool is_none() const { return kind() == Kind::none; }
  // What it is, if it is that; nothing is converted but bool to int, and both to float. Texts, bytes and tensors are
  // shown where they lie.
  std::optional<bool> as_bool() const;
  std::optional<int64_t> as_int() const;  ///< nothing for an int that needs more than 64 bits
  std::optional<double> as_float() const;
  std::optional<std::string_view> as_str() const;    ///< UTF-8; a lone surrogate in its three bytes
  std::optional<std::string_view> as_bytes() const;  ///< of bytes; not of a bytearray, which can change
  std::optional<TensorView> as_tensor() const;

  // ---- what scripts write as f(x), v.name, v[key], len(v). Arguments may also be C++ numbers, bools and
  // texts, which are UTF-8: of others ValueError names the byte.
  template <class... A>
  Result<Value> operator()(A&&... arguments) const {
    std::optional<Error> wrong;
    const Value all[] = {convert(std::forward<A>(arguments), wrong)..., Value()};
    if (wrong) return *wrong;
    return call({all, sizeof...(A)});
  }
  Result<Value> call(std::span<const Value> arguments,
                     std::span<const std::pair<std::string_view, Value>> keywords = {}) const;
  template <class... A>
  Result<Value> call_method(std::string_view name, A&&... arguments) const {
    std::optional<Error> wrong;
    const Value all[] = {convert(std::forward<A>(arguments), wrong)..., Value()};
    if (wrong) return *wrong;
    return method(name, {all, sizeof...(A)});
  }
  Result<Value> attr(std::string_view name) const;
  template <class T>
  Result<void> set_attr(std::string_view name, T&& value) const {
    std::optional<Error> wrong;
    const Value v = convert(std::forward<T>(value), wrong);
    if (wrong) return *wrong;
    return put_attr(name, v);
  }
  template <class K>
  Result<Value> item(K&& key) const {
    std::optional<Error> wrong;
    const Value k = convert(std::forward<K>(key), wrong);
    if (wrong) return *wrong;
    return get_item(k);
  }
  template <class K, class T>
  Result<void> set_item(K&& key, T&& value) const {
    std::optional<Error> wrong;
    const Value k = convert(std::forward<K>(key), wrong), v = convert(std::forward<T>(value), wrong);
    if (wrong) return *wrong;
    return put_item(k, v);
  }
  Result<size_t> size() const;
  /// What `for x in v` goes through: the items of a list, tuple or set, the keys of a dict.
  Result<std::vector<Value>> items() const;

 private:
  enum class Unboxed : uint8_t { boolean, integer };
  Value(Unboxed what, int64_t bits) noexcept;
  Value(double f, int) noexcept;
  template <class T>
  Value convert(T&& x, std::optional<Error>& wrong) const {
    if constexpr (std::convertible_to<T, std::string_view>)
      return text(x, wrong);
    else
      return Value(std::forward<T>(x));
  }
  Value text(std::string_view utf8, std::optional<Error>& wrong) const;
  Result<Value> method(std::string_view name, std::span<const Value> arguments) const;
  Result<void> put_attr(std::string_view name, const Value& value) const;
  Result<Value> get_item(const Value& key) const;
  Result<void> put_item(const Value& key, const Value& value) const;

  alignas(8) std::byte storage_[16];  // a runtime value
  Core* core_ = nullptr;              // whose object it is; null for what is no object
  friend struct Access;
};

}  // namespace v0
}  // namespace ouro
