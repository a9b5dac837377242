// What a call into Ouro gives: a value, or the error that a script ended with. No C++ exception leaves the library.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#define OURO_API __attribute__((visibility("default")))

namespace ouro {
inline namespace v0 {

/// One call that an error passed through.
struct Frame {
  std::string file;      ///< as the script was named; "<string>" for text without a name
  std::string function;  ///< "<module>" for statements outside of functions
  std::string text;      ///< the line of source, without its indentation; empty when it is not known
  int line = 0;          ///< from 1; 0: not known
  int column = 0;        ///< from 1, in bytes, where the operation that failed starts
};

/// Why a call ended with an error.
enum class End : uint8_t {
  raised,   ///< an exception that nobody caught, interrupts too
  stopped,  ///< Session::stop(); KeyboardInterrupt
  time,     ///< Options::time; TimeoutError
  steps,    ///< Options::steps; TimeoutError
};

/// An exception that nobody caught. Plain data: it may be copied, kept and read on any thread, also when its session is
/// gone.
class OURO_API Error {
 public:
  /// The exception that a host function raises: a built-in class by name (RuntimeError when there is none of that name)
  /// and its message.
  Error(std::string_view type, std::string_view message);

  End end() const;
  const std::string& type() const;       ///< the class: "ValueError"; "mymodule.Problem" for one of a module
  const std::string& message() const;    ///< str() of the exception
  const std::string& traceback() const;  ///< the text that `ouro` would print, ends with a newline
  /// Outermost call first. Empty for an error of syntax and for one that the host made.
  const std::vector<Frame>& frames() const;
  /// Is its class the one of that name, or derived from it? `is("Exception")` is false for KeyboardInterrupt and
  /// SystemExit.
  bool is(std::string_view class_name) const;

 private:
  struct Data;
  explicit Error(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
  friend struct Access;
};

namespace detail {
/// Prints the traceback on standard error and aborts.
[[noreturn]] OURO_API void no_value(const Error& error);
[[noreturn]] OURO_API void no_error();
}  // namespace detail

/// A T, or why there is none. Asking for the one that is not there ends the program with a message, so look first:
///     if (Result<Value> r = f(1.0)) use(*r); else std::cerr << r.error().traceback();
template <class T>
class [[nodiscard]] Result {
 public:
  template <std::convertible_to<T> U = T>
  requires(!std::same_as<std::remove_cvref_t<U>, Result> && !std::same_as<std::remove_cvref_t<U>, Error>)
      Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T value() && { return check(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    if (ok()) detail::no_error();
    return std::get<1>(state_);
  }

 private:
  void check() const {
    if (!ok()) detail::no_value(std::get<1>(state_));
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (error_) detail::no_value(*error_);
  }
  const Error& error() const {
    if (!error_) detail::no_error();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace v0
}  // namespace ouro
