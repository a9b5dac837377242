// The checker of plans (jit/plan/check): correct programs pass, and what is broken on purpose is found and named. Each
// case is one kind of mistake that a compiler of plans can make; the first is the one that Ouro once made.
#include "ir/loops/memory.h"
#include "ir/loops/overlap.h"
#include "jit/plan/check/plan_check.h"
#include "plan_fixture.h"

using namespace ouro;
using ir::loops::Node;
using ir::loops::NodeId;
using ir::loops::Stmt;
using jit::Instr;
using jit::Program;

namespace {

// A program with sizes: symbols are 5 + symbol.
struct Checked {
  Program p;
  std::vector<int64_t> offsets;

  explicit Checked(const std::string& text) : p(jit::build_program(test::read_function(text))) { place(); }

  static int64_t symbol(uint32_t s) { return 5 + static_cast<int64_t>(s); }
  std::vector<int64_t> sizes() const {
    std::vector<int64_t> out;
    for (const auto& poly : p.sizes) out.push_back(poly.evaluate(symbol));
    return out;
  }
  void place() {
    std::vector<int64_t> s = sizes();
    std::vector<ir::loops::ArenaItem> items;
    for (const auto& slot : p.arena)
      items.push_back(
          {.first = slot.first, .last = slot.last, .bytes = s[slot.bytes], .in_place_of = slot.in_place_of});
    ir::loops::plan_arena(items);
    offsets.clear();
    for (const auto& i : items) offsets.push_back(i.offset);
  }
  std::string wrong() const {
    std::vector<int64_t> s = sizes();
    return jit::check::check_program(p, {symbol, s, offsets});
  }

  Instr& kernel(size_t n) {
    for (Instr& i : p.code)
      if (i.is<jit::work::Kernel>() && n-- == 0) return i;
    FAIL("no such kernel");
    return p.code[0];
  }
  ir::loops::Kernel& loops(const Instr& i) { return p.kernels[launch(i).kernel].kernel; }
  static const jit::work::Kernel& launch(const Instr& i) { return *i.get<jit::work::Kernel>(); }
  uint32_t position(const Instr& i) const { return static_cast<uint32_t>(&i - p.code.data()); }
};

bool says(const std::string& text, std::string_view part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return !text.empty();
}

// The reverse of relu(X @ W1) @ W2 with a batch of as many rows as there are hidden units.
constexpr const char* kSquare = R"(func @f(%0.x: f32[16, 8], %1.w: f32[8, 16], %2.v: f32[16, 4]) {
  ^0:
    %3: f32[16, 16] = matmul %0, %1
    %4: f32[16, 16] = relu %3
    %5: f32[16, 4] = matmul %4, %2
    %6: f32[16, 4] = mul %5, 0.5
    %7: f32[16, 16] = matmul_nt %6, %2
    %8: f32[16, 16] = relu.d0 %3, %4
    %9: f32[16, 16] = mul %7, %8
    %10: f32[8, 16] = matmul_tn %0, %9
    %11: f32[16, 16] = permute[((1, 0),)] %4
    %12: f32[16, 16] = add %11, %9
    %13 = tuple %10, %12
    return %13
  })";

constexpr const char* kChain = R"(func @f(%0.x: f32[s1, 33], %1.y: f32[33, 33]) {
  ^0:
    %2: f32[s1, 33] = exp %0
    %3: f32[s1, 33] = matmul %2, %1
    %4: f32[s1, 33] = tanh %3
    %5: f32[s1, 33] = matmul %4, %1
    %6: f32[s1, 33] = sub %5, %2
    %7: f32[s1, 33] = matmul %6, %1
    %8: f32[s1] = sum[(1,)] %7
    return %8
  })";

}  // namespace

TEST_CASE("plans_of_ordinary_programs_pass_the_checker") {
  CHECK(Checked(kSquare).wrong() == "");
  CHECK(Checked(kChain).wrong() == "");
  CHECK(Checked(R"(func @f(%0.x: f32[s1, 8, 8], %1.p: i64[s1, 1, 8]) {
  ^0:
    %2: f32[s1, 8, 8] = permute[((0, 2, 1),)] %0
    %3: f32[s1, 8] = sum[(1,)] %2
    %4: f32[] = sum %3
    %5: f32[s1, 1, 8] = gather %0, 1, %1
    %6: f32[s1, 8, 16] = cat[(2,)] %2, %0
    %7: f32[s1, 1, 8] = add %5, %4
    %8: f32[s1, 8, 8] = tril[(1,)] %2
    %9: f32[s1, 8, 8] = flip[((0, 2),)] %8
    %10 = tuple %7, %9, %6
    return %10
  })")
            .wrong() == "");
}

// What Ouro once did: an output had the memory of an input that is read later, by the same iteration or another one.
TEST_CASE("the_checker_finds_an_output_in_place_of_an_input_that_is_read_later") {
  Checked c(kSquare);
  int planted = 0;
  for (size_t at = 0; at < c.p.code.size(); ++at) {
    const Instr i = c.p.code[at];
    if (!i.is<jit::work::Kernel>()) continue;
    const auto& buffers = c.loops(i).buffers;
    for (uint32_t in = 0; in < buffers.size(); ++in)
      for (uint32_t out = 0; out < buffers.size(); ++out) {
        if (buffers[in].access != ir::loops::Access::in || buffers[out].access == ir::loops::Access::in) continue;
        if (!i.buffers[in].arena || !i.buffers[out].arena) continue;
        if (ir::loops::may_overwrite(c.p.kernels[c.launch(i).kernel], in, out)) continue;
        c.offsets[i.buffers[out].index] = c.offsets[i.buffers[in].index];
        says(c.wrong(), "sees the store to");
        ++planted;
        c.place();
      }
  }
  CHECK(planted > 0);
}

TEST_CASE("the_checker_finds_a_transposed_input_given_for_the_output") {
  Checked c(R"(func @f(%0.x: f32[16, 16]) {
  ^0:
    %1: f32[16, 16] = permute[((1, 0),)] %0
    %2: f32[16, 16] = add %1, %0
    return %2
  })");
  Instr& k = c.kernel(0);
  REQUIRE(k.make.size() == 1);
  CHECK(k.make[0].donors.empty());
  k.make[0].donors.push_back(0);
  says(c.wrong(), "sees the store to");
}

TEST_CASE("the_checker_finds_a_donated_input_that_is_read_later") {
  Checked c(R"(func @f(%0.x: f32[s1, 33], %1.w: f32[33, 33]) {
  ^0:
    %2: f32[s1, 33] = exp %0
    %3: f32[s1, 33] = matmul %0, %1
    %4 = tuple %2, %3
    return %4
  })");
  Instr& k = c.kernel(0);
  REQUIRE(k.make.size() == 1);
  // The kernel runs first and takes the memory of x, which the product is still to read.
  if (c.position(k) != 0) std::swap(c.p.code[0], c.p.code[c.position(k)]);
  Instr& first = c.p.code[0];
  first.drop.clear();
  first.make[0].donors = {0};
  says(c.wrong(), "whose memory was written since");
}

TEST_CASE("the_checker_finds_a_wrong_lifetime") {
  Checked c(kChain);
  // The first temporary that is still needed is taken for dead after its first use.
  for (auto& slot : c.p.arena)
    if (slot.last > slot.first + 1) slot.last = slot.first + 1;
  c.place();
  says(c.wrong(), "of the arena");
}

TEST_CASE("the_checker_finds_a_wrong_transposed_index") {
  Checked c(R"(func @f(%0.x: f32[64, 48], %1.y: f32[48, 64]) {
  ^0:
    %2: f32[48, 64] = permute[((1, 0),)] %0
    %3: f32[48, 64] = mul %2, %1
    return %3
  })");
  Instr& k = c.kernel(0);
  // The strides of the transposed load are exchanged.
  for (Node& n : c.loops(k).nodes)
    if (n.kind == Node::Kind::index && n.leaf == ir::Leaf::mul)
      for (NodeId& a : n.args)
        if (a != NodeId::none && c.loops(k).node(a).kind == Node::Kind::size &&
            c.sizes()[c.launch(k).sizes[c.loops(k).node(a).id]] == 48) {
          n.args[1] = n.args[0] == a ? n.args[1] : n.args[0];
        }
  CHECK(!c.wrong().empty());
}

TEST_CASE("the_checker_finds_iterations_that_store_to_one_place") {
  Checked c(R"(func @f(%0.x: f32[s1, 48]) {
  ^0:
    %1: f32[s1] = sum[(1,)] %0
    return %1
  })");
  Instr& k = c.kernel(0);
  ir::loops::Kernel& loops = c.loops(k);
  // Two threads in one slot: every iteration stores its sum to element 0.
  auto& body = loops.body[0].body;
  for (Stmt& s : body)
    if (s.kind == Stmt::Kind::store) {
      loops.nodes.push_back({.kind = Node::Kind::constant, .type = DType::i64, .bits = 0});
      s.at = NodeId{static_cast<uint32_t>(loops.nodes.size() - 1)};
    }
  CHECK(!c.wrong().empty());
}

TEST_CASE("the_checker_finds_a_kernel_before_what_it_depends_on") {
  Checked c(kChain);
  // The kernel of tanh runs before the product that it reads.
  for (size_t i = 0; i + 1 < c.p.code.size(); ++i)
    if (c.p.code[i].is<jit::work::Matmul>() && c.p.code[i + 1].is<jit::work::Kernel>()) {
      std::swap(c.p.code[i], c.p.code[i + 1]);
      break;
    }
  says(c.wrong(), "reads");
}

TEST_CASE("the_checker_finds_a_fusion_that_leaves_out_an_operation") {
  Checked c(R"(func @f(%0.x: f32[s1], %1.y: f32[s1]) {
  ^0:
    %2: f32[s1] = exp %0
    %3: f32[s1] = mul %2, %1
    return %3
  })");
  ir::loops::Kernel& loops = c.loops(c.kernel(0));
  for (Node& n : loops.nodes)
    if (n.kind == Node::Kind::leaf && n.leaf == ir::Leaf::mul) n.leaf = ir::Leaf::add;
  says(c.wrong(), "is stored");
}

TEST_CASE("the_checker_finds_elements_that_are_not_stored") {
  Checked c(R"(func @f(%0.x: f32[s1, 3]) {
  ^0:
    %1: f32[s1, 3] = neg %0
    return %1
  })");
  Instr& k = c.kernel(0);
  k.get<jit::work::Kernel>()->range = static_cast<jit::SizeId>(c.p.sizes.size());
  c.p.sizes.push_back(ir::loops::Poly(2));
  says(c.wrong(), "not as long as");
}

TEST_CASE("the_checker_finds_places_that_nobody_looked_at") {
  Checked c(R"(func @f(%0.x: f32[s1, 8], %1.p: i64[s1, 1]) {
  ^0:
    %2: f32[s1, 1] = gather %0, 1, %1
    %3: f32[s1, 1] = exp %2
    return %3
  })");
  CHECK(c.wrong() == "");
  std::erase_if(c.p.code, [](const Instr& i) { return i.is<jit::work::CheckPlaces>(); });
  c.p.parts[0].end = static_cast<uint32_t>(c.p.code.size());
  says(c.wrong(), "before it is looked at");
}

TEST_CASE("the_checker_finds_a_result_that_is_another_name") {
  Checked c(R"(func @f(%0.x: f32[s1], %1.y: f32[s1]) {
  ^0:
    %2: f32[s1] = exp %0
    %3: f32[s1] = exp %1
    %4 = tuple %2, %3
    return %4
  })");
  for (Instr& i : c.p.code)
    if (auto* back = i.get<jit::work::Return>()) std::swap(back->values[0], back->values[1]);
  says(c.wrong(), "returns");
}
