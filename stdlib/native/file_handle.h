// What lies below a file of a script: the C library's buffer, or the session's standard output. Whatever may wait for
// others (a pipe, a terminal) is waited for here and not in the kernel: an interrupt ends it, and so does the end of
// the call's time.
#pragma once

#include <cstdio>
#include <memory>
#include <string_view>

#include "runtime/object/session.h"

namespace ouro::stdlib {

// What a text file and its `buffer` have in common.
struct Handle {
  FILE* f = nullptr;
  runtime::Output* out = nullptr;  // standard output and error
  bool closed = false;
  bool owned = true;      // not one of the standard streams
  bool closes_fd = true;  // open(..., closefd=True)
};

/// May a read or write of it have to wait? Asked each time: the number may stand for another file by now (os.dup2).
bool may_wait(int fd);

/// open(2), close-on-exec. A named pipe's other end is waited for; an interrupt ends the waiting. -1: errno tells.
int open_waiting(runtime::Session& s, const char* name, int flags, unsigned mode);

/// Before the C library fills its empty buffer.
void await_bytes(runtime::Session& s, Handle& h);
/// False: errno tells. An interrupt leaves in the buffer what nobody took.
[[nodiscard]] bool write_bytes(runtime::Session& s, Handle& h, std::string_view raw);
/// The same of what the C library still holds.
[[nodiscard]] bool flush_bytes(runtime::Session& s, Handle& h);
/// Flushes and closes; closed it is in any case, also where an interrupt ends the flushing: the rest is dropped then.
[[nodiscard]] bool close_handle(runtime::Session& s, Handle& h);
/// Closes what nobody holds any more. What a full pipe does not take is dropped at an interrupt, and outside of
/// scripts, where none may come, after a second.
void abandon(Handle& h);
/// For as long as it is open: settle_files() flushes it.
void remember(runtime::Session& s, const std::shared_ptr<Handle>& h);

}  // namespace ouro::stdlib
