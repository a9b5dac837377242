#include "ir/opt/pass.h"

#include "ir/grad/reverse.h"
#include "ir/opt/passes.h"
#include "ir/opt/pipeline.h"
#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"
#include "support/diag.h"

namespace ouro::ir {
namespace {

FunctionRef identity(const FunctionRef& f) { return f; }

FunctionRef roundtrip(const FunctionRef& f) {
  ReadResult r = read(print(*f));
  if (!r.function) ouro_bug("printed text does not read back: %s", r.error.c_str());
  return r.function;
}

FunctionRef reverse(const FunctionRef& f) {
  std::string error;
  FunctionRef r = grad::reverse(*f, false, &error);
  if (!r) ouro_bug("cannot differentiate %s", error.c_str());
  return r;
}

FunctionRef optimise(const FunctionRef& f) { return opt::optimise(f); }

std::vector<Pass> with_optimiser(std::vector<Pass> t) {
  for (const Pass& p : opt::pipeline()) {
    bool listed = false;
    for (const Pass& q : t) listed = listed || q.name == p.name;
    if (!listed) t.push_back(p);
  }
  return t;
}

std::vector<Pass>& table() {
  static std::vector<Pass> t = with_optimiser({
      {"verify", identity, "the function itself (tools verify before and after each pass)"},
      {"roundtrip", roundtrip, "printed and read back"},
      {"reverse", reverse, "the forward form, with the pullback in it"},
      {"optimise", optimise, "the optimiser's whole list, on typed functions"},
      {"split-joins", opt::split_joins, "joins of many tensors in steps, for devices"},
  });
  return t;
}

}  // namespace

std::vector<Pass> passes() { return table(); }
const PassFn* find_pass(std::string_view name) {
  for (const Pass& p : table())
    if (p.name == name) return &p.run;
  return nullptr;
}
}  // namespace ouro::ir
