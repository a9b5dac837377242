// Loops to work items: how a kernel of the loop IR is spread over a device, for every language of device code.
//
// The *grid* are the outermost perfectly nested independent loops. Three ways to run it:
//
//   tiles   a contraction (device/tiled_contraction.h): a group of 64 items does one tile of the grid.
//   flat    no `fold` reduction inside: each work item does one iteration of the grid.
//   group   else: a group of 64 items does one iteration. Item j is virtual lane j of the reduction's order, blocks of
//           4,096 elements are folded by halves in local memory: the bits are those of every other engine. Loops
//           without such a reduction are dealt out over the items; what stands between is done by all of them alike,
//           and item 0 stores.
//
// `blocks` and `serial` reductions are loops of one item.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/device/kernel_writer.h"
#include "backends/device/tiled_contraction.h"
#include "ir/loops/loop_ir.h"

namespace ouro::backends::device {

struct Grid {
  bool grouped = false;                       // one group an iteration (or tile), else one item
  std::vector<const ir::loops::Stmt*> loops;  // outermost first
  const std::vector<ir::loops::Stmt>* body = nullptr;
  std::optional<Contraction> contraction;  // in tiles
  std::vector<uint32_t> shared;            // arrays in local memory: bytes of each
};
Grid grid_of(const ir::loops::Kernel& k);

/// Iterations of the grid for these sizes, 1 without loops; of a contraction, tiles.
int64_t iterations(const ir::loops::Kernel& k, const Grid& g, const int64_t* sizes);

/// Says the kernel's body to the writer.
void write_kernel(const ir::loops::Kernel& k, const Grid& g, KernelWriter& w);

}  // namespace ouro::backends::device
