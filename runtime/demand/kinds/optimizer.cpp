// Which of several optimizers is in force, of those that the script has made with demand.optimizer; the library
// switches (stdlib/optim/switched.ouro). "auto" leaves it to the loop (responses/optimizer.cpp).
#include <algorithm>

#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind optimizer_kind;
const DemandKind optimizer_kind{
    .name = "optimizer",
    .values = "the name of an optimizer that the script has given to `demand.optimizer`",
    .changes = "that optimizer takes over between two steps, and its state begins anew; 'auto': as goals ask for it",
    .takes = [](std::string_view v) { return !v.empty(); },
    .leaves_choice = true,
    .names_way = true,
};

}  // namespace ouro::runtime
