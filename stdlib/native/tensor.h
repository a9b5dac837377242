// The tensor operations as built-in functions and as names of module `ouro`.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

// Every row that is a function (ir/ops), their further names, the dtypes, and what stands beside the rows (manual_seed,
// is_tensor, ...).
void register_tensor_natives(runtime::Session& s);

}  // namespace ouro::stdlib
