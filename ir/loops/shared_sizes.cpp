#include "ir/loops/shared_sizes.h"

#include <map>
#include <optional>
#include <set>

namespace ouro::ir::loops {
namespace {

using Numbers = std::vector<int64_t>;

bool is_integer(const Node& n) { return n.kind == Node::Kind::constant && n.type == DType::i64; }

// A kernel without its integers, as a hash, and these. (Where two structures had one hash, kernels would have more
// parameters than they need.)
class Structure {
 public:
  explicit Structure(const Kernel& k) {
    for (const Buffer& b : k.buffers) add(static_cast<uint64_t>(b.type) << 8 | static_cast<uint64_t>(b.access));
    for (DType t : k.scalars) add(static_cast<uint64_t>(t));
    add(k.sizes);
    for (const Node& n : k.nodes) add(n);
    for (const Stmt& s : k.body) add(s);
  }

  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over words
  Numbers numbers;                      // in the order of the nodes

 private:
  void add(uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; }
  void add(NodeId n) { add(uint64_t{index(n)}); }
  void add(const Node& n) {
    add(static_cast<uint64_t>(n.kind) << 24 | static_cast<uint64_t>(n.leaf) << 8 | static_cast<uint64_t>(n.type));
    add(n.id);
    for (int a = 0; a < n.nargs; ++a) add(n.args[a]);
    if (is_integer(n))
      numbers.push_back(n.bits);
    else
      add(static_cast<uint64_t>(n.bits));
  }
  void add(const Stmt& s) {
    add(static_cast<uint64_t>(s.kind) << 8 | static_cast<uint64_t>(s.order));
    for (uint32_t v : s.vars) add(v);
    for (NodeId e : s.extents) add(e);
    for (Leaf c : s.combine) add(static_cast<uint64_t>(c));
    for (NodeId v : s.values) add(v);
    for (uint32_t r : s.results) add(r);
    add(s.buffer);
    add(s.at);
    add(s.value);
    add(s.body.size());
    for (const Stmt& b : s.body) add(b);
  }
};

struct Alike {
  std::vector<size_t> kernels;
  std::set<Numbers> numbers;
};

// Of each integer whether it is not the same in all. Nothing where one of these may be no size: sizes are not negative.
std::optional<std::vector<bool>> differing(const std::set<Numbers>& all) {
  const Numbers& first = *all.begin();
  std::vector<bool> out(first.size());
  for (const Numbers& numbers : all)
    for (size_t i = 0; i < first.size(); ++i) {
      if (numbers[i] == first[i]) continue;
      if (numbers[i] < 0 || first[i] < 0) return std::nullopt;
      out[i] = true;
    }
  return out;
}

// The marked ones of its integers become parameters.
void make_parameters(LoweredKernel& k, const std::vector<bool>& marked) {
  k.sizes.resize(k.kernel.sizes, 0);
  size_t i = 0;
  for (Node& n : k.kernel.nodes) {
    if (!is_integer(n) || !marked[i++]) continue;
    k.sizes.emplace_back(n.bits);
    n = {.kind = Node::Kind::size, .type = DType::i64, .id = k.kernel.sizes++};
  }
}

}  // namespace

void share_sizes(std::vector<LoweredKernel>& kernels) {
  if (kernels.size() <= kFewSizes) return;
  std::map<std::pair<uint64_t, size_t>, Alike> by_structure;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Structure made(kernels[k].kernel);
    Alike& alike = by_structure[{made.hash, made.numbers.size()}];
    alike.kernels.push_back(k);
    alike.numbers.insert(std::move(made.numbers));
  }
  for (const auto& [_, alike] : by_structure) {
    if (alike.numbers.size() <= kFewSizes) continue;
    if (const auto marked = differing(alike.numbers))
      for (size_t k : alike.kernels) make_parameters(kernels[k], *marked);
  }
}

}  // namespace ouro::ir::loops
