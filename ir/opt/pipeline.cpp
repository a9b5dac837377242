#include "ir/opt/pipeline.h"

#include "ir/opt/passes.h"
#include "ir/verify.h"
#include "support/give_up.h"
#include "support/trace.h"

namespace ouro::ir::opt {
namespace {

// What is removed makes blocks empty, so straight code is longer when the others look for what they may join.
constexpr Pass kPipeline[] = {
    {"fold", fold_constants, "constants, tuples taken apart, branches on constants"},
    {"dce", drop_dead, "what the specialiser has made in vain"},
    {"merge", merge_blocks, "straight code in one block"},
    {"simplify", simplify, "laws that keep every bit"},
    {"cse", share_equal, "one let for equal ones"},
    {"simplify", simplify, "what sharing has made visible"},
    {"slices", gather_slices, "what is made slice by slice, at once"},
    {"licm", hoist_invariants, "out of loops"},
    {"dce", drop_dead, "what nobody uses"},
    {"merge", merge_blocks, "branches that nothing hangs on any more"},
};

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

FunctionRef optimise(FunctionRef f, const std::function<void(std::string_view, const FunctionRef&)>& after) {
  check_if_asked(*f);
  for (const Pass& p : kPipeline) {
    may_give_up();
    {
      Timer timer(p.name);
      f = p.run(f);
    }
#ifdef OURO_ASSERTS
    check(*f);
#endif
    if (after) after(p.name, f);
  }
  check_if_asked(*f);
  return f;
}

}  // namespace ouro::ir::opt
