// The tables that are the module ouro.native.os together, one per file (os_module.cpp has the first).
#pragma once

#include <string_view>

#include "runtime/object/native.h"
#include "runtime/object/session.h"

namespace ouro::stdlib {

inline constexpr std::string_view kOsModule = "ouro.native.os";

extern const runtime::NativeModule kOpenFilesModule;  // os_open_files.cpp: open, read, write, ...
extern const runtime::NativeModule kProcessModule;    // os_process.cpp: the environment, ids, random bytes, ...

}  // namespace ouro::stdlib
