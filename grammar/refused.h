// What Ouro does not have, in one table: the parser refuses it with these words and the
// documentation prints them.
#pragma once

#include <span>

namespace ouro::grammar {

enum class Refused : unsigned char {
  async_def,
  async_for,
  async_with,
  async_comprehension,
  await_expr,
  type_statement,
  except_star,
  complex_number,
  named_character,
};

struct RefusedRow {
  Refused what;
  const char* code;   // stable identity of the message
  const char* title;  // for the documentation
  const char* text;   // what a person reads
};

inline constexpr RefusedRow kRefused[] = {
    {Refused::async_def, "refused.async_def", "async def",
     "'async def' is not part of Ouro: write a plain function or a generator"},
    {Refused::async_for, "refused.async_for", "async for", "'async for' is not part of Ouro: write a plain 'for'"},
    {Refused::async_with, "refused.async_with", "async with", "'async with' is not part of Ouro: write a plain 'with'"},
    {Refused::async_comprehension, "refused.async_comprehension", "asynchronous comprehensions",
     "asynchronous comprehensions are not part of Ouro: write a plain comprehension"},
    {Refused::await_expr, "refused.await", "await", "'await' is not part of Ouro: call the function"},
    {Refused::type_statement, "refused.type_statement", "type statements",
     "type statements are not part of Ouro: assign the type to a name"},
    {Refused::except_star, "refused.except_star", "except*",
     "'except*' is not part of Ouro: catch the exceptions with a plain 'except'"},
    {Refused::complex_number, "refused.complex", "complex numbers",
     "complex numbers are not part of Ouro: use two floats"},
    {Refused::named_character, "refused.named_character", "characters by name",
     "'\\N{...}' is not part of Ouro: write the character itself, or its number as '\\u....'"},
};

/// All rows, in the order of the documentation.
inline std::span<const RefusedRow> refused_constructs() { return kRefused; }

inline const RefusedRow& refused_row(Refused what) { return kRefused[static_cast<int>(what)]; }

}  // namespace ouro::grammar
