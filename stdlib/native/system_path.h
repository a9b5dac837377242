// Arguments of system calls: paths (str, bytes, os.PathLike, open files), C integers, and calls that a signal ended.
#pragma once

#include <cerrno>
#include <string>

#include "runtime/object/ops.h"

namespace ouro::stdlib {

struct SystemPath {
  std::string name;       // as the system takes it
  runtime::Value object;  // what errors call it: a str, bytes or int
  int fd = -1;            // an open file instead of a name
  bool as_bytes = false;  // names that are answered are bytes, too
  bool is_fd() const { return fd >= 0; }
};

enum class PathForms : unsigned { names = 0, or_fd = 1, or_none = 2, any = 3 };

/// False with the exception set: "chdir: path should be string, bytes, os.PathLike or integer, not NoneType". None is
/// ".".
[[nodiscard]] bool path_argument(runtime::Session& s, const runtime::Value& v, const char* function, SystemPath& out,
                                 PathForms forms = PathForms::names, const char* parameter = "path");
/// os.fspath of what is neither str nor bytes: "expected str, bytes or os.PathLike object, not int".
runtime::Value path_text(runtime::Session& s, const runtime::Value& v);
/// os.fspath, as the system takes it, of what names no file.
[[nodiscard]] bool fs_text(runtime::Session& s, const runtime::Value& v, std::string& out);
/// An int that C has, or OverflowError.
[[nodiscard]] bool int_argument(runtime::Session& s, const runtime::Value& v, int& out);
/// A name that the system gave, in the form of the path that was asked.
runtime::Value system_name(const SystemPath& asked, std::string_view name);
runtime::Value raise_for(runtime::Session& s, const SystemPath& p);
runtime::Value raise_for(runtime::Session& s, const SystemPath& from, const SystemPath& to);

/// `call()` again as long as signals end it that ask for nothing.
template <class F>
auto uninterrupted(runtime::Session& s, F call) {
  for (;;) {
    const auto r = call();
    if (r != -1 || errno != EINTR) return r;
    runtime::poll_interrupt(s);
  }
}

}  // namespace ouro::stdlib
