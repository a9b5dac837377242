// oneDNN's matrix product as a candidate of the contraction engine (runtime/machine/contract.h).
#pragma once

namespace ouro::backends {

/// Offers oneDNN's sgemm; the library itself is opened at the first product that wants it (libdnnl.so.2; without it
/// nothing changes). Its bits depend neither on threads nor on how rows are split (measured, TOOLCHAIN 6); each call
/// runs on one thread.
void register_onednn();

}  // namespace ouro::backends
