// Makes Functions. SSA construction on the fly, by Braun et al., "Simple and Efficient Construction of Static Single
// Assignment Form" (CC 2013): variables are written and read while code is emitted; a join point gets a parameter for a
// variable only if different values reach it, and edges get their arguments by themselves.
//
//   FunctionBuilder b(intern("f"));
//   Variable x = b.declare_var(intern("x"));
//   b.write_var(x, b.entry_param(intern("x")));
//   BlockId then = b.new_block(), join = b.new_block();
//   b.branch(b.let(prim::truth, {b.read_var(x)}), then, join);
//   b.seal(then); b.switch_to(then); b.write_var(x, b.integer(1)); b.jump(join);
//   b.seal(join); b.switch_to(join); b.return_(b.read_var(x));
//   FunctionRef f = b.finish();
//
// - seal(b): no further edge to b will be made. Until then every variable read in b is a provisional parameter. Every
//   block must be sealed before finish(); the entry is sealed from the start.
// - Dead code: after a terminator, or in a block that nothing jumped to when it was switched to, nothing is emitted
//   (`reachable()` is false; let() gives names that nobody sees). So a block needs its first edge before switch_to().
// - Handlers: between push_handler(h) and pop_handler() every let whose operation may raise, and every raise or yield,
//   hands over to h the variables' values as they are *before* it; h (from new_handler()) has the exception as its
//   first parameter and reads variables like any block. It is sealed when its `try` is done.
// - finish() drops dead and trivial parameters, joins straight-line blocks, drops unused constants, numbers names and
//   blocks in the order of the text, and marks loop heads; time is linear in the size of what was emitted (times the
//   variables live at a handler, for raising lets inside a `try`).
//
// Constants are shared. The builder is for one function and one thread and is dead after finish().
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <unordered_map>

#include "ir/anf.h"
#include "ir/definitions.h"
#include "ir/prim.h"

namespace ouro::ir {

enum class Variable : uint32_t { none = UINT32_MAX };

class FunctionBuilder {
 public:
  explicit FunctionBuilder(Symbol name, Span span = {});
  ~FunctionBuilder();
  FunctionBuilder(const FunctionBuilder&) = delete;
  FunctionBuilder& operator=(const FunctionBuilder&) = delete;

  /// Everything of the function that is not code (name, qualname, kind, sig, captures, flags): set it directly.
  Function& head() { return f_; }
  /// Sets the docstring.
  void set_doc(std::string_view text);
  /// The next parameter of the function, in the order Signature tells. Before any other code.
  NameId entry_param(Symbol hint, const Type* type = nullptr);

  // Variables.
  Variable declare_var(Symbol name);
  /// Also names the value, if it has no name yet.
  void write_var(Variable v, Atom value);
  /// What a new variable is where nothing was written (the constant `unbound`, unless said here).
  void init_var(Variable v, Atom value) { set_def(v, BlockId{0}, value); }
  Atom read_var(Variable v);

  // Blocks.
  BlockId new_block();
  /// A handler block: `exception` is its first parameter.
  BlockId new_handler();
  NameId exception_of(BlockId handler) const;
  /// A parameter whose arguments are given explicitly by each edge. Before the first edge to the block.
  NameId block_param(BlockId b, Symbol hint, const Type* type = nullptr);
  void seal(BlockId b);
  void switch_to(BlockId b);
  BlockId current() const { return current_; }  // none in dead code
  bool reachable() const { return current_ != BlockId::none; }
  bool has_edges_to(BlockId b) const;
  void push_handler(BlockId h) { handlers_.push_back(h); }
  void pop_handler() { handlers_.pop_back(); }
  size_t handler_depth() const { return handlers_.size(); }
  /// Runs what follows as if outside all handlers but the first `depth` (finally bodies on early exits); gives the rest
  /// back.
  std::vector<BlockId> take_handlers(size_t depth);
  void restore_handlers(std::vector<BlockId> taken);

  // Lets. The span is the one last set.
  void set_span(Span s) { span_ = s; }
  Span span() const { return span_; }
  NameId let(Op op, std::span<const Atom> args, uint32_t attr = kNoAttr);
  NameId let(Op op, std::initializer_list<Atom> args = {}, uint32_t attr = kNoAttr) {
    return let(op, std::span<const Atom>(args.begin(), args.size()), attr);
  }
  NameId let(Op op, std::initializer_list<Atom> args, Symbol attr) { return let(op, args, attr.id()); }
  NameId call(Atom callee, std::span<const Atom> args);
  NameId call(Atom callee, std::initializer_list<Atom> args) {
    return call(callee, std::span<const Atom>(args.begin(), args.size()));
  }
  /// `sig` says how each of `args` is passed.
  NameId call(Atom callee, std::span<const Atom> args, CallSig sig);
  /// `sig.method` is set by this function.
  NameId call_method(Atom receiver, Symbol method, std::span<const Atom> args, CallSig sig);
  NameId call_method(Atom receiver, Symbol method, std::initializer_list<Atom> args);
  /// `loaded`: what method.get gave for the receiver.
  NameId call_loaded(Atom loaded, Atom receiver, Symbol method, std::span<const Atom> args, CallSig sig);
  /// args: body function, name, then bases and keywords as `sig` says.
  NameId make_class(Atom body, Atom name, std::span<const Atom> args, CallSig sig);
  /// args: root (unless the root is global), items, value.
  NameId update(PlacePath path, std::span<const Atom> args);
  /// A let of operation `op` with a CallSig (any operation whose attribute is a call).
  NameId let_call(Op op, std::span<const Atom> args, CallSig sig);
  uint32_t add_call(CallSig sig);
  uint32_t add_path(PlacePath path);
  void set_hint(NameId n, Symbol hint);
  /// Is it a name that no variable has given its own to yet?
  bool is_nameless(Atom a) const { return a.is_name() && !names_[index(a.name())].hint; }
  void set_type(NameId n, const Type* t);
  const Type* type_of(NameId n) const { return names_[index(n)].type; }

  // Terminators. `args` are those of the target's explicit parameters.
  void jump(BlockId to, std::span<const Atom> args = {});
  void jump(BlockId to, std::initializer_list<Atom> args) {
    jump(to, std::span<const Atom>(args.begin(), args.size()));
  }
  void branch(Atom condition, BlockId if_true, BlockId if_false);
  void branch(Atom condition, BlockId if_true, std::span<const Atom> true_args, BlockId if_false,
              std::span<const Atom> false_args);
  /// `args`: those of each target's explicit parameters; empty if there are none.
  void switch_on(Atom selector, std::span<const BlockId> targets, std::span<const std::vector<Atom>> args = {});
  void return_(Atom value);
  void raise(Atom exception = {}, Atom cause = {});
  /// Hands `value` out and goes on in a new block; the value sent back.
  NameId yield(Atom value);
  /// Delegates to iterator `value`; its result.
  NameId yield_from(Atom value);
  void unreachable();

  // Constants.
  Atom none();
  Atom boolean(bool b);
  Atom ellipsis();
  Atom not_implemented();
  Atom unbound();
  Atom zero();
  Atom integer(int64_t v);
  Atom big_integer(std::string_view decimal);
  Atom floating(double v);
  Atom string(std::string_view text);
  Atom bytes(std::string_view raw);
  Atom tuple_const(std::span<const Atom> constants);
  Atom dtype(int64_t dtype);
  Atom code(FunctionRef inner);
  /// Any constant of another function, copied.
  Atom constant_from(const Function& other, ConstId c);
  const Constant& constant(Atom a) const { return f_.constants[index(a.constant())]; }

  /// The finished function. Every block that is reachable must have a terminator.
  FunctionRef finish();
  /// finish() shall leave out lets that nobody reads and that only allocate or read.
  void drop_unused_lets() { drop_unused_ = true; }
  /// For constants that a caller keeps (Let::attr with AttrKind::constant).
  Atom add_constant(Constant c);

 private:
  struct Edge;
  struct BlockData;
  struct LetData;
  struct Pending;
  using EdgeId = uint32_t;
  static constexpr EdgeId kNoEdge = UINT32_MAX;

  NameId new_name(Symbol hint, const Type* type = nullptr);
  EdgeId add_edge(BlockId to, std::span<const Atom> args, bool is_handover);
  EdgeId handover_edge();
  void end_block();
  NameId resume_after(Terminator::Kind kind, Atom value);
  Atom resolve(Atom a);
  Atom lookup(Variable v, BlockId b);
  NameId add_ssa_param(Variable v, BlockId b);
  void drain();
  void drop_if_trivial(NameId p);
  BlockData& data(BlockId b);
  const BlockData& data(BlockId b) const;
  Atom* find_def(Variable v, BlockId b);
  void set_def(Variable v, BlockId b, Atom a);
  struct Finisher;

  Function f_;
  Span span_{};
  BlockId current_ = BlockId::none;
  std::vector<BlockId> handlers_;
  std::vector<BlockId> order_;
  std::vector<std::unique_ptr<BlockData>> blocks_;
  std::vector<Edge> edges_;
  std::vector<NameInfo> names_;
  std::vector<Atom> forward_;                                // of a dropped parameter: what it is
  std::vector<std::pair<BlockId, uint32_t>> param_of_;       // SSA parameter: block and position; block none otherwise
  std::unordered_map<uint32_t, std::vector<NameId>> users_;  // name -> SSA parameters that get it as an argument
  std::vector<Symbol> variables_;
  Definitions defs_;
  std::vector<std::pair<BlockId, uint32_t>> pending_;
  std::vector<NameId> suspects_;
  bool drop_unused_ = false;
  std::unordered_multimap<uint64_t, ConstId> constant_index_;
};

}  // namespace ouro::ir
