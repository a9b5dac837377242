// Contractions in tiles: a kernel that is a sum of products over two index spaces is what a device is fastest at, if
// each element that a group of work items loads is used by many of them.
//
// The form (of ir/loops/contraction.h, and of whatever else has it): perfectly nested loops; in them one serial
// reduction, add over mul(x, y), and stores after it. Loop variables that only x depends on are *rows*, those that only
// y depends on *columns*, all others *products*; the reduction's variables, flattened, are *k*:
//
//   C[product; row, column] = sum over k of x(product, row, k) y(product, k, column)
//
// A group of 64 items, 8 by 8, computes a square tile of C, each item a square of its own in registers. In steps of 16
// along k, the group brings the tile's elements of x and of y, as the kernel's nodes give them (casts and conditions
// included), to local memory, once each. From there every item takes a column of its elements of x and a row of those
// of y: for r x r results 2 r loads, r^2 products. The results go back through local memory, so that what follows (the
// nodes that depend on the sum, and the stores) is done for neighbouring elements by neighbouring items.
//
// Bits are those of the loop as it stands: every sum runs in the order of k in one accumulator, a product and then a
// sum, each rounded. Steps are whole: beyond k both factors are +0. That adds +0 to a sum that is not -0 (a sum from
// +0 on never is: to nearest, only -0 + -0 gives -0), which changes nothing. Places beyond the last row, column or k
// are computed as if they were the last, so that all addresses are good without a condition; their results are not
// stored.
//
// Two sizes of tiles stand in the kernel's code, and the launch's sizes choose (host and device by one rule): large
// ones where there are enough of them to fill a device, small ones for small results, as of a weight's gradient. Where
// there are few rows or few columns (a vector, a convolution channel by channel), most of any tile would lie outside:
// then each item does one result, as without tiles. k is never split: that would change the order of the sum.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "backends/device/kernel_writer.h"
#include "ir/loops/loop_ir.h"

namespace ouro::backends::device {

struct Contraction {
  struct Axis {
    uint32_t var;
    ir::loops::NodeId extent;  // known before the launch
  };
  std::vector<Axis> products, rows, columns, k;  // outermost first
  ir::loops::NodeId x, y;
  const ir::loops::Stmt* sum = nullptr;
  std::vector<const ir::loops::Stmt*> stores;
};

/// The contraction that these loops around this body are, if they are one.
std::optional<Contraction> contraction_of(const ir::loops::Kernel& k, const std::vector<const ir::loops::Stmt*>& loops,
                                          const std::vector<ir::loops::Stmt>& body);

/// Groups of a launch with these sizes.
int64_t groups(const ir::loops::Kernel& k, const Contraction& c, const int64_t* sizes);

/// Bytes of the one array of local memory.
uint32_t shared_bytes(const ir::loops::Kernel& k, const Contraction& c);

/// Says what one group does; `single` says what an item does that has one result (item i the i-th).
void write_contraction(const ir::loops::Kernel& k, const Contraction& c, KernelWriter& w,
                       const std::function<void()>& single);

}  // namespace ouro::backends::device
