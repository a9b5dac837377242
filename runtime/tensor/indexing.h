// x[key] with NumPy's rules, as one map from places of the result to places of x.
//
// A key is split into a *basic* part (ints, slices, None, ...), which is a strided view of x, and *advanced* indices
// (integer tensors and lists; a bool tensor stands for the nonzero()s of its axes), which broadcast against each other
// to B and take the place of the axes they index: at the first of them if they stand next to each other, else in front.
// With advanced indices present an int is one of them (of shape ()).
#pragma once

#include <vector>

#include "runtime/machine/memory.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

struct IndexMap {
  int64_t offset = 0;                  // elements, of the first place
  std::vector<int64_t> dims, strides;  // kept axes, in order
  size_t at = 0;                       // B stands before kept axis `at`
  bool advanced = false;
  std::vector<int64_t> broadcast;           // the shape B
  CountedVector<int64_t> places;            // |B| offsets
  std::vector<int64_t> shape() const;       // of x[key]
  bool basic_whole(const Tensor* x) const;  // x[key] is all of x in order
};

// Puts the ints in place of what has an __index__, in slices and tuples too: such a key is read without a script.
[[nodiscard]] bool settle_index(Session& s, Value& key);

// False with IndexError (or TypeError) set.
[[nodiscard]] bool make_index_map(Session& s, const Tensor* x, const Value& key, IndexMap& map);

// Of a row that takes indices, about one that is outside of an axis of that size.
std::string bad_index_text(const ir::OpInfo& op, int64_t index, int64_t size);

Value index_get(Session& s, const Value& x, const Value& key);
// x[key] = v; x is written in place if only `x` holds it. On failure x is unchanged.
[[nodiscard]] bool index_set(Session& s, Value& x, const Value& key, const Value& v, bool accumulate);

}  // namespace ouro::runtime
