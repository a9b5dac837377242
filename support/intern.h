// Names as small integers.
//
// A Symbol stands for one immutable string; equal strings have equal symbols, so names compare and
// hash as integers. The table is process-wide, grows only, and is safe from any thread: text()
// takes no lock, intern() takes one.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ouro {
inline namespace support {

class Symbol {
 public:
  constexpr Symbol() = default;
  static constexpr Symbol from_id(uint32_t id) { return Symbol(id); }

  constexpr uint32_t id() const { return id_; }
  /// The default Symbol is no name at all; the empty string is a name like any other.
  constexpr explicit operator bool() const { return id_ != 0; }
  /// Valid for the life of the process and followed by a NUL. Empty for the default Symbol.
  std::string_view text() const;
  std::string str() const { return std::string(text()); }
  const char* c_str() const { return text().data(); }

  friend constexpr bool operator==(Symbol, Symbol) = default;
  /// Order of first interning, not of the alphabet.
  friend constexpr auto operator<=>(Symbol, Symbol) = default;

 private:
  constexpr explicit Symbol(uint32_t id) : id_(id) {}
  uint32_t id_ = 0;
};
static_assert(sizeof(Symbol) == 4);

/// The symbol of a string; the string is copied at first sight.
Symbol intern(std::string_view text);
/// The symbol of a string if it was ever interned, else the default Symbol.
Symbol find_symbol(std::string_view text);

}  // namespace support
}  // namespace ouro

template <>
struct std::hash<ouro::support::Symbol> {
  size_t operator()(ouro::support::Symbol s) const noexcept { return s.id() * size_t{0x9E3779B97F4A7C15}; }
};
