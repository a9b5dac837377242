// A whole session: the runtime, the library and the compiler put together, for the command and for hosts.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

// Everything that scripts may name, and the compiler if the mode wants one. Once per session, before anything runs.
void start(runtime::Session& s);

// The end of a program: finalizers of what the main module still held, in order of its names.
void end_program(runtime::Session& s);

}  // namespace ouro::stdlib
