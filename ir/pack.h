// The compact binary form of a Function: how the library written in Ouro stands inside the program.
//
//   pack(f) → bytes → unpack(bytes), and print(unpack(pack(f))) == print(f): inner functions, constants, calls, paths,
//   handovers and spans included. Types are not (a module fresh from the frontend has none).
//
//   bytes     = "OANF" version strings ops functions         (numbers are LEB128, signed ones zigzag)
//   strings   = count (length bytes)*                        symbols and texts of constants, each once
//   ops       = count string*                                by name, so that the numbering of rows may change
//   functions = count function*                              an inner function before what holds it; the last is the
//   module
//
// A let's arguments, result and span are written as differences from what one expects (the next in the pool, the next
// name, near the last place), so most of them take a byte.
//
// Reading checks every index, so damaged bytes give an error or a function that ir/verify.h and print can look at,
// never a stray access; whether it is sound is for verify to say. Safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "ir/anf.h"

namespace ouro::ir {

inline constexpr uint8_t kPackVersion = 3;

/// The bytes of an untyped function.
std::string pack(const Function& f);

struct UnpackResult {
  FunctionRef function;  // null on error
  std::string error;
};

/// `file`, if not 0, is the file of every known span instead of the one that was packed.
UnpackResult unpack(std::string_view bytes, uint32_t file = 0);

}  // namespace ouro::ir
