// Which build of Ouro this is: the identity that the linker gave the program or the library which this code is part of
// (its note NT_GNU_BUILD_ID, a hash of its contents). Every change of the compiler, also one between two versions,
// is another build.
#pragma once

#include <string>

namespace ouro::jit {

/// The note's bytes; empty when the note has been taken out.
const std::string& build_id();

}  // namespace ouro::jit
