// Residual code: the typed program a specialisation writes. Like ir/build.h, but without SSA construction (the
// specialiser knows what every block takes) and with marks to roll back to, because loops are specialised several times
// until their state is stable.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/anf.h"
#include "ir/type.h"
#include "jit/plan/inlined_calls.h"
#include "runtime/object/value.h"

namespace ouro::jit {

class Residual {
 public:
  struct Name {
    const ir::Type* type = nullptr;
    Symbol hint{};
    runtime::Value witness;        // of a number: what it was when the version was made, or unbound
    std::vector<uint32_t> leaves;  // access nodes the witness depends on, in order
    bool input = false;            // of the entry: it stands everywhere
    bool turns = false;            // computed of what each turn of a loop changes
    ir::Atom unmarked{};           // of a tensor with the mark of nn.buffer: the same one without
    bool list = false;             // boxed, and surely a list, of no class that extends it
    bool own = false;              // of a list: the program has made it
    uint32_t object = UINT32_MAX;  // of a list that is boxed for a loop: the abstract object
    bool optional = false;  // on some ways there is nothing: looked at where its tag says that there is something
  };

  Residual();
  // Names and code.
  ir::NameId entry_param(const ir::Type* type, Symbol hint);  // any time: the entry block's parameters only grow
  ir::BlockId new_block();
  ir::NameId block_param(ir::BlockId b, const ir::Type* type, Symbol hint = {});
  void switch_to(ir::BlockId b) { current_ = b; }
  ir::BlockId current() const { return current_; }
  ir::NameId let(ir::Op op, const std::vector<ir::Atom>& args, uint32_t attr, const ir::Type* type, Span span);
  ir::NameId let_call(ir::Op op, const std::vector<ir::Atom>& args, ir::CallSig sig, const ir::Type* type, Span span);
  void jump(ir::BlockId to, const std::vector<ir::Atom>& args);
  void branch(ir::Atom condition, ir::BlockId if_true, ir::BlockId if_false);
  void return_(ir::Atom value);
  void leave(std::string_view why);     // `raise` of a string constant: the version is left
  bool makes_here(ir::NameId n) const;  // is it the result of a let of the current block?
  void mark_loop_head(ir::BlockId b);
  Name& name(ir::NameId n) { return names_[ir::index(n)]; }
  const Name& name(ir::NameId n) const { return names_[ir::index(n)]; }
  uint32_t name_count() const { return static_cast<uint32_t>(names_.size()); }

  // What the branches on the way to a block say of bools.
  struct Fact {
    ir::Atom condition;
    bool holds;
    std::shared_ptr<const Fact> before;
    uint64_t conditions;  // of this one and those before: their bits (bit_of)
  };
  /// A set of atoms in one word, where some atoms have the same bit: what a set has not, it surely has not (Bloom
  /// 1970).
  static uint64_t bit_of(ir::Atom a) { return uint64_t{1} << (a.is_name() ? ir::index(a.name()) % 64 : 0); }
  using Facts = std::shared_ptr<const Fact>;
  const Facts& facts() const { return blocks_[ir::index(current_)].facts; }
  const Facts& facts(ir::BlockId b) const { return blocks_[ir::index(b)].facts; }
  void set_facts(ir::BlockId b, Facts f) { blocks_[ir::index(b)].facts = std::move(f); }
  /// In the current block.
  void assume(ir::Atom condition, bool holds);
  std::optional<bool> assumed(ir::Atom condition) const;
  /// The bits of all that is assumed here.
  uint64_t assumed_conditions() const { return facts() ? facts()->conditions : 0; }

  // Constants, shared.
  ir::Atom constant(ir::Constant c);
  ir::Atom integer(int64_t v);
  ir::Atom floating(double v);
  ir::Atom boolean(bool v);
  ir::Atom none();
  ir::Atom string(std::string_view s);
  ir::Atom dtype(DType t);
  ir::Atom tuple(const std::vector<ir::Atom>& constants);
  const ir::Constant& constant(ir::Atom a) const { return constants_[ir::index(a.constant())]; }

  // Everything since a mark can be forgotten.
  struct Mark {
    size_t blocks, lets, written;
    ir::BlockId current;
  };
  Mark mark() const;
  void rollback(const Mark& m);
  size_t size() const { return let_count_; }
  /// May the program be left in one of the blocks since then?
  bool is_left_since(const Mark& m) const;
  /// The lets from here on have effects (ir::Let::effect), or none.
  void effect(bool on) { effect_ = on; }
  /// The lets from here on stand in this call, until it is left. (The first one is the program's own function.)
  void enter_call(ir::InlinedCalls::Call call);
  void leave_call() { open_calls_.pop_back(); }

  /// Uses of a name become this constant when the program is finished.
  void replace(ir::NameId n, ir::Atom constant) { replaced_[ir::index(n)] = constant; }
  ir::FunctionRef finish(Symbol name, Span span);

 private:
  struct RLet {
    ir::Op op;
    ir::NameId result;
    std::vector<ir::Atom> args;
    uint32_t attr;
    int call = -1;
    Span span;
    bool effect;
    uint32_t inlined;
  };
  struct RTarget {
    ir::BlockId block;
    std::vector<ir::Atom> args;
  };
  struct RBlock {
    std::vector<ir::NameId> params;
    std::vector<RLet> lets;
    ir::Terminator::Kind term = ir::Terminator::Kind::none;
    ir::Atom a{};
    std::vector<RTarget> targets;
    bool loop_head = false;
    Facts facts;
  };
  // What was written to which block, in order: a rollback takes it back from the end.
  struct Written {
    enum class What : uint8_t { let, param, terminator } what;
    ir::BlockId block;
  };
  ir::NameId new_name(const ir::Type* type, Symbol hint);
  void end_block(ir::Terminator::Kind kind);

  std::vector<Name> names_;
  std::map<uint32_t, ir::Atom> replaced_;
  std::vector<RBlock> blocks_;
  std::vector<Written> written_;
  std::vector<ir::Constant> constants_;
  std::map<std::string, uint32_t> constant_index_;
  std::vector<ir::CallSig> calls_;
  ir::BlockId current_{};
  size_t let_count_ = 0;
  bool effect_ = false;
  // A call has a number once a let stands in it.
  struct OpenCall {
    ir::InlinedCalls::Call call;
    std::optional<uint32_t> number;
  };
  uint32_t number_of_call();
  std::vector<OpenCall> open_calls_;
  ir::InlinedCalls inlined_;
};

}  // namespace ouro::jit
