// Facts of a function's control flow (jit/specialise/states/flow.cpp): which names are live, beside the definition
// taken word for word.
#include <random>

#include "jit/specialise/specialiser.h"
#include "plan_fixture.h"

using namespace ouro;
using ir::index;

namespace {

// Is there a way from the entry of the block to a use of the name, on which nothing binds it?
bool reaches_use(const ir::Function& f, ir::BlockId at, ir::NameId name, std::vector<bool>& seen) {
  if (seen[index(at)]) return false;
  seen[index(at)] = true;
  const ir::Block& b = f.block(at);
  const auto uses = [&](ir::Atom a) { return a.is_name() && a.name() == name; };
  const auto in = [&](const ir::Atom* args, uint32_t n) { return std::any_of(args, args + n, uses); };
  for (const ir::Let& let : b.lets) {
    if (in(f.args(let), let.nargs)) return true;
    if (let.result == name) return false;
  }
  if (uses(b.term.a) || uses(b.term.b)) return true;
  for (const ir::Target& t : b.term.targets) {
    if (in(f.args(t), t.nargs)) return true;
    const std::vector<ir::NameId>& params = f.block(t.block).params;
    if (std::ranges::count(params, name) == 0 && reaches_use(f, t.block, name, seen)) return true;
  }
  return false;
}

void check_liveness(const ir::FunctionRef& f) {
  const jit::FlowInfo& flow = jit::flow_of(f);
  for (uint32_t b = 0; b < f->blocks.size(); ++b)
    for (uint32_t n = 0; n < f->names.size(); ++n) {
      const std::vector<ir::NameId>& params = f->blocks[b].params;
      std::vector<bool> seen(f->blocks.size());
      const bool live =
          std::ranges::count(params, ir::NameId{n}) > 0 || reaches_use(*f, ir::BlockId{b}, ir::NameId{n}, seen);
      INFO("block " << b << ", name " << n);
      CHECK(flow.live_in[b][n] == live);
    }
}

}  // namespace

TEST_CASE("a_parameter_is_live_in_its_own_block_alone") {
  check_liveness(test::read_function(R"(func @f(%0.a: int, %1.b: int, %2.c: bool) {
  ^0:
    jump ^1(%0)
  loop ^1(%3.x: int):
    %4: int = op.add %3, 1
    if %2 ^2(%4, %1) ^1(%4)
  ^2(%5.y: int, %6.z: int):
    %7: int = op.add %5, %6
    if %2 ^3 ^1(%7)
  ^3:
    return %4
  })"));
}

TEST_CASE("names_are_live_as_defined_in_random_graphs") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 60; ++turn) {
    // 100 names of the entry, more than a word, are used anywhere; each block binds some of its own and uses them at
    // once.
    const int blocks = 2 + static_cast<int>(random() % 9);
    std::string text = "func @f(%0.c: bool) {\n  ^0:\n";
    int names = 1;
    const auto let = [&](int operand) {
      text += "    %" + std::to_string(names) + ": int = op.add " +
              (operand < 0 ? "1" : "%" + std::to_string(operand)) + ", 1\n";
      return names++;
    };
    for (int i = 0; i < 100; ++i) let(-1);
    for (int b = 0; b < blocks; ++b) {
      if (b > 0) text += "  ^" + std::to_string(b) + ":\n";
      for (unsigned k = random() % 4; k > 0; --k) let(let(1 + static_cast<int>(random() % 100)));
      const auto to = [&] { return " ^" + std::to_string(1 + random() % static_cast<unsigned>(blocks - 1)); };
      if (b > 0 && random() % 4 == 0)
        text += "    return %" + std::to_string(1 + random() % 100) + "\n";
      else if (random() % 3 == 0)
        text += "    jump" + to() + "\n";
      else
        text += "    if %0" + to() + to() + "\n";
    }
    check_liveness(test::read_function(text + "  }"));
  }
}
