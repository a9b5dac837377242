// What a host asks of a session, checked and as the runtime has it.
#pragma once

#include <string>

#include "runtime/object/session.h"

namespace ouro {
inline namespace v0 {

struct Options;

// What is wrong with them, in words; empty: nothing.
std::string problem_of(const Options& options);
runtime::Options runtime_options(const Options& options);

}  // namespace v0
}  // namespace ouro
