// What the passes before reverse mode share: new lets, constants and blocks in a function that is being rewritten.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/anf.h"
#include "ir/prim.h"

namespace ouro::ir::grad {

struct Rewriter {
  Function f;
  BlockId at = BlockId::none;  // the block that is written, with its lets in `out`
  std::vector<Let> out{};

  // The function with each let of `source` that `wanted` takes replaced by what `rewrite` appends to `out`, which may
  // go on in another block. Null if there is none.
  template <class Wanted, class Rewrite>
  FunctionRef replace(const Function& source, Wanted wanted, Rewrite rewrite) {
    const auto any = [&](const Block& b) { return std::ranges::any_of(b.lets, wanted); };
    if (std::ranges::none_of(source.blocks, any)) return nullptr;
    f = source;
    for (uint32_t b = 0; b < source.blocks.size(); ++b) {
      if (!any(source.blocks[b])) continue;
      Terminator end = std::move(f.blocks[b].term);
      at = BlockId{b};
      for (const Let& l : source.blocks[b].lets) {
        if (wanted(l))
          rewrite(l);
        else
          out.push_back(l);
      }
      f.blocks[index(at)].lets = std::exchange(out, {});
      f.blocks[index(at)].term = std::move(end);
    }
    return std::make_shared<const Function>(std::move(f));
  }

  NameId new_name() {
    f.names.push_back({});
    return NameId{static_cast<uint32_t>(f.names.size() - 1)};
  }
  Atom constant(Constant c) {
    f.constants.push_back(std::move(c));
    return ConstId{static_cast<uint32_t>(f.constants.size() - 1)};
  }
  Atom none() { return constant({}); }
  Atom string(std::string_view text) { return constant({.kind = Constant::Kind::string, .text = std::string(text)}); }
  BlockId new_block() {
    f.blocks.emplace_back();
    return BlockId{static_cast<uint32_t>(f.blocks.size() - 1)};
  }
  uint32_t add_path(PlacePath path) {
    f.paths.push_back(std::move(path));
    return static_cast<uint32_t>(f.paths.size() - 1);
  }
  // Every let that hands over does so for itself.
  uint32_t handover_like(uint32_t of) {
    if (of == Let::kNoHandover) return of;
    f.handovers.push_back(Handover(f.handovers[of]));
    return static_cast<uint32_t>(f.handovers.size() - 1);
  }
  Let let(Op op, const std::vector<Atom>& args, uint32_t attr, Span span) {
    Let l;
    l.op = op;
    l.result = new_name();
    l.args_begin = static_cast<uint32_t>(f.atoms.size());
    l.nargs = static_cast<uint32_t>(args.size());
    l.attr = attr;
    l.span = span;
    f.atoms.insert(f.atoms.end(), args.begin(), args.end());
    return l;
  }

  // The ends of a block whose lets are these, which are taken out.
  void jump(BlockId from, std::vector<Let>& lets, BlockId to, Atom arg, Span span) {
    Block& block = f.blocks[index(from)];
    block.lets = std::exchange(lets, {});
    block.term = {};
    block.term.kind = Terminator::Kind::jump;
    f.atoms.push_back(arg);
    block.term.targets = {Target{to, static_cast<uint32_t>(f.atoms.size() - 1), 1}};
    block.term.span = span;
  }
  void branch(BlockId from, std::vector<Let>& lets, NameId condition, BlockId yes, BlockId no, Span span) {
    Block& block = f.blocks[index(from)];
    block.lets = std::exchange(lets, {});
    block.term = {};
    block.term.kind = Terminator::Kind::branch;
    block.term.a = condition;
    block.term.targets = {Target{yes, 0, 0}, Target{no, 0, 0}};
    block.term.span = span;
  }
};

}  // namespace ouro::ir::grad
