// Operations that are run eagerly on a device. Each becomes a function of one operation, which is specialised and
// compiled for the device like any other function, and kept for the next call. A second, different size makes a dim a
// symbol, so that an operation is compiled about twice for each dtype and rank. What has no kernel there (a sort, a
// slice) is left to the host.
#pragma once

#include "runtime/object/session.h"

namespace ouro::jit {

/// Gives a session's devices their eager operations, in every mode.
void install_device_rows(runtime::Session& s);

}  // namespace ouro::jit
