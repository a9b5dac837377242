// A whole session: the runtime, the library and the compiler put together, for the command and for hosts.
#pragma once

namespace ouro::runtime {
class Session;
class Value;
}  // namespace ouro::runtime

namespace ouro::stdlib {

// Everything that scripts may name, and the compiler if the mode wants one. Once per session, before anything runs.
void start(runtime::Session& s);

// Hands an exception that nobody caught to the function that the script put into sys.excepthook. False if there is
// none.
bool call_excepthook(runtime::Session& s, const runtime::Value& exception);

// Writes out what files still hold. A full pipe is waited for until an interrupt or the end of the call's time, and at
// most `patience` milliseconds where that is not negative; what it does not take is dropped.
void settle_files(runtime::Session& s, int patience);

// The end of a program: finalizers of what the main module still held, in order of its names.
void end_program(runtime::Session& s);

}  // namespace ouro::stdlib
