// Which class an error number of the system raises: FileNotFoundError for ENOENT, ...
#pragma once

#include "runtime/object/exception_kinds.h"

namespace ouro::runtime {

ExcKind os_error_kind(int error_number);

}  // namespace ouro::runtime
