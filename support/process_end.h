// The end of the process: what begins with exit(), before static objects are destroyed. Sessions may be left then, and
// be ended as static objects of the host's; by then code with static objects of its own, LLVM's and ANTLR's, is not to
// be entered any more: nothing new is read or compiled, and what was made is left to the system.
#pragma once

namespace ouro {
inline namespace support {

bool process_ends();
/// Said on each thread that may call exit(), that process_ends() tells in time.
void watch_process_end();
/// Runs f at that moment, if need be more than once. One function for the process.
void at_process_end(void (*f)());

}  // namespace support
}  // namespace ouro
