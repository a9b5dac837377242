// The lowering of one function; its parts stand in lower_*.cpp. Private to frontend.
#pragma once

#include "frontend/desugar.h"
#include "frontend/lower.h"
#include "ir/build.h"

namespace ouro::frontend {

namespace prim = ir::prim;
using ir::Atom;
using ir::BlockId;
using ir::CallSig;
using ir::FunctionRef;
using ir::NameId;

/// Which locals are sure to have a value.
class Assigned {
 public:
  bool has(uint32_t i) const { return i / 64 < words_.size() && (words_[i / 64] >> (i % 64) & 1); }
  void add(uint32_t i) {
    if (i / 64 >= words_.size()) words_.resize(i / 64 + 1, 0);
    words_[i / 64] |= uint64_t{1} << (i % 64);
  }
  void remove(uint32_t i) {
    if (i / 64 < words_.size()) words_[i / 64] &= ~(uint64_t{1} << (i % 64));
  }
  void remove(const Assigned& o) {
    for (size_t i = 0; i < words_.size() && i < o.words_.size(); ++i) words_[i] &= ~o.words_[i];
  }
  void meet(const Assigned& o) {  // in both
    if (words_.size() > o.words_.size()) words_.resize(o.words_.size());
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= o.words_[i];
  }
  void join(const Assigned& o) {  // in one of them
    if (words_.size() < o.words_.size()) words_.resize(o.words_.size(), 0);
    for (size_t i = 0; i < o.words_.size(); ++i) words_[i] |= o.words_[i];
  }

 private:
  SmallVec<uint64_t, 2> words_;
};

using Atoms = SmallVec<Atom, 6>;
/// Longer lists of operands are built up piece by piece, so that not all of them have a register at the same time.
inline constexpr size_t kMaxOperands = 1 << 14;
inline std::span<const Atom> view(const Atoms& a) { return {a.data(), a.size()}; }

/// A call's arguments as they are lowered one by one.
struct CallArgs {
  Atoms atoms;
  CallSig sig;
  void add(Atom a, CallSig::Kind kind = CallSig::Kind::positional, Symbol name = {}) {
    atoms.push_back(a);
    sig.args.push_back({kind, name});
  }
};

class Lowerer {
 public:
  Lowerer(const Resolution& names, Scope& scope, Span span);

  FunctionRef module(const ast::Module& m, bool interactive);
  FunctionRef function(const ast::FunctionDef& f);
  FunctionRef lambda(const ast::Lambda& l);
  FunctionRef comprehension(const ast::ExprNode& e, ast::Seq<ast::Comprehension> generators, const ast::ExprNode* elt,
                            const ast::ExprNode* value);
  FunctionRef class_body(const ast::ClassDef& c);

 private:
  // ---- set-up (lower_function.cpp)
  void begin(ir::Function::Kind kind, const ast::Arguments* args);
  void begin_params(const ast::Arguments& args);
  void begin_variables();
  void set_docstring(ast::Stmts body);
  FunctionRef end();

  // ---- emitting
  NameId let(Span span, ir::Op op, std::initializer_list<Atom> args = {}) {
    b_.set_span(span);
    return b_.let(op, args);
  }
  NameId let(Span span, ir::Op op, std::initializer_list<Atom> args, Symbol attr) {
    b_.set_span(span);
    return b_.let(op, args, attr);
  }
  NameId let(Span span, ir::Op op, std::initializer_list<Atom> args, uint32_t attr) {
    b_.set_span(span);
    return b_.let(op, args, attr);
  }
  NameId let(Span span, ir::Op op, const Atoms& args) {
    b_.set_span(span);
    return b_.let(op, view(args));
  }
  Atom builtin(Span span, std::string_view name) { return let(span, prim::builtin_get, {}, intern(name)); }
  Symbol mangled(Symbol n) const { return mangle(scope_.private_class, n); }
  BlockId start(BlockId b) {  // a block that gets no further edges
    b_.seal(b);
    b_.switch_to(b);
    return b;
  }
  Atom truth(Span span, Atom a);

  // ---- variables (lower_name.cpp)
  struct Slot {
    ir::Variable var = ir::Variable::none;
    Atom cell;
  };
  uint32_t var_index(Symbol mangled_name) const;
  Atom load(Symbol mangled_name, Span span);
  void assign(Symbol mangled_name, Atom value, Span span);
  /// Where local `i` is assigned: may it have a value already?
  bool may_hold(uint32_t i) const;
  void remove(Symbol mangled_name, Span span);
  /// The end of an except clause: the name has no value any more, whether it had one or not.
  void forget(Symbol mangled_name);
  /// What is sure where control may come from any point of what follows.
  Assigned sure_anywhere() const {
    Assigned a = assigned_;
    a.remove(deletable_);
    return a;
  }
  Atom captured(const ScopeCapture& c);

  // ---- expressions (lower_expr.cpp, lower_call.cpp, lower_locals.cpp, lower_literal.cpp)
  Atom expr(const ast::ExprNode* e);
  Atom expr_or_none(const ast::ExprNode* e) { return e ? expr(e) : b_.none(); }
  Atom constant(const ast::Constant& c);
  Atom negative(const ast::Constant& c);
  bool constant_tuple(ast::Exprs elts, Atom& out);
  Atom bool_op(const ast::BoolOp& e);
  Atom compare(const ast::Compare& e);
  Atom compared(const ast::Compare& e, size_t i);
  Atom if_exp(const ast::IfExp& e);
  Atom call(const ast::Call& e);
  bool is_calm(const ast::ExprNode* e);
  bool is_fixed(const ast::ExprNode* e);
  void spread(const ast::Starred& e, bool at_once, CallArgs& out);
  Atom method_call(const ast::Call& e, const ast::Attribute& a);
  bool is_super_call(const ast::Call& e);
  Atom call_super(const ast::Call& e);
  bool is_builtin_call(const ast::Call& e, std::string_view name);
  bool is_locals_call(const ast::Call& e);
  Atom locals_dict(Span span);
  Atom call_locals(const ast::Call& e);
  void arguments(ast::Exprs args, ast::Seq<ast::Keyword> keywords, CallArgs& out, bool of_class = false);
  Atom list_or_set(const ast::ExprNode& e, ast::Exprs elts, bool set);
  Atom set(const ast::Set& e);
  /// What a loop runs over, or `in` looks into: a set of constants need not be copied.
  Atom read_only(const ast::ExprNode* e);
  Atom tuple(const ast::Tuple& e);
  Atom dict(const ast::Dict& e);
  Atom joined_str(const ast::JoinedStr& e);
  Atom formatted(const ast::FormattedValue& e);
  Atom slice(const ast::Slice& e);
  Atom comprehension_expr(const ast::ExprNode& e, ast::Seq<ast::Comprehension> generators, const ast::ExprNode* elt,
                          const ast::ExprNode* value);

  // ---- conditions: jump to one of two blocks; each gets what is assigned on the way
  struct Outcome {
    Assigned if_true, if_false;
  };
  Outcome condition(const ast::ExprNode* e, BlockId if_true, BlockId if_false);
  Outcome condition_compare(const ast::Compare& e, BlockId if_true, BlockId if_false);
  Outcome branch_on(Span span, Atom a, BlockId if_true, BlockId if_false);

  // ---- targets (lower_place.cpp)
  void store(const ast::ExprNode* target, Atom value);
  void store_item(const ast::Subscript& target, Atom value);
  struct HeldPlace;
  HeldPlace hold_place(const ast::Subscript& target, const PlaceChain& chain);
  void update_held(const PlaceChain& chain, const HeldPlace& place, ir::PlacePath path, Atom value, Span span);
  void unpack(const ast::ExprNode& target, ast::Exprs elts, Atom value);
  /// Writes to the place rooted at variable `name`.
  void update_variable(const ast::Name& root, ir::PlacePath path, const Atoms& items, Atom value, Span span);
  bool is_value(Symbol name);
  bool is_quiet(const ast::ExprNode* e);
  void aug_assign(const ast::AugAssign& s);
  void aug_assign_name(const ast::AugAssign& s, const ast::Name& target);
  void aug_assign_attribute(const ast::AugAssign& s, const ast::Attribute& target);
  void aug_assign_item(const ast::AugAssign& s, const ast::Subscript& target);
  void delete_target(const ast::ExprNode* target);

  // ---- statements (lower_control.cpp)
  void statements(ast::Stmts body) {
    for (const ast::StmtNode* s : body) statement(*s);
  }
  void statement(const ast::StmtNode& s);
  void assign_statement(const ast::Assign& s);
  void ann_assign(const ast::AnnAssign& s);
  void if_(const ast::If& s);
  void while_(const ast::While& s);
  void for_(const ast::For& s);
  void raise(const ast::Raise& s);
  void assert_(const ast::Assert& s);
  void import(const ast::Import& s);
  void import_from(const ast::ImportFrom& s);

  // ---- leaving blocks (lower_try.cpp)
  // What stands between a statement and the function's end, innermost last.
  enum class ExitKind : uint8_t { fall, raise, return_, break_, continue_ };
  struct Frame;
  struct Exit {
    ExitKind kind = ExitKind::fall;
    Frame* loop = nullptr;
    bool operator==(const Exit&) const = default;
  };
  struct Frame {
    enum class Kind : uint8_t { loop, finally, handler, finally_body } kind;
    size_t handlers = 0;  // builder handlers outside of it
    BlockId on_break = BlockId::none, on_continue = BlockId::none;
    std::vector<Assigned> at_breaks;  // loop: what is assigned at each break
    BlockId join = BlockId::none;     // finally: the join point (kind, value, previous)
    std::vector<Exit> exits;          // finally: what each kind is
    std::vector<Assigned> at_exits;   // finally: what is assigned where the join is entered
    Atom selector, value;             // finally, finally_body: the join point's parameters
    Atom previous;                    // the same, and handler: the handled exception before
    std::span<const Exit> entered;    // finally_body: what each kind is
    Symbol name;                      // handler: `as name`
    uint32_t exit_index(const Exit& e);
  };
  void leave(Exit exit, Atom value);
  void leave_frame(const Frame& f);
  void enter_finally(Frame& f, Exit exit, Atom value, Atom previous);
  /// At the end of a finally body: goes on as each kind says. `after` gets what falls through.
  void dispatch(const Frame& f, BlockId after);
  void select(Atom selector, std::span<const BlockId> targets);
  void restore_if_raised(std::span<const Exit> exits, Atom selector, Atom previous);
  void go_on(const Exit& exit, Atom value, Atom previous, BlockId after);
  Frame open_finally();
  /// Edge from the handler to the join, and what is assigned at its start.
  void close_finally(Frame& f, BlockId handler, const Assigned& before, Span span);
  void rethrow(Atom exception);

  void try_(const ast::Try& s);
  void try_finally(const ast::Try& s);
  void try_except(const ast::Try& s);
  void except_clauses(const ast::Try& s, BlockId handler, BlockId after, Assigned& at_end, bool& any_end);
  void except_body(const ast::ExceptHandler& h, Atom exception, Frame& clause);
  void with(const ast::With& s, size_t i);
  void with_exit(Atom leave, const Frame& f, BlockId after);
  void with_exit_calm(Atom leave, const Frame& f, BlockId after);
  void with_exit_raised(Atom leave, const Frame& f, BlockId after);

  // ---- definitions (lower_def.cpp, lower_class.cpp)
  void function_def(const ast::FunctionDef& s);
  void class_def(const ast::ClassDef& s);
  Atom closure(const Scope& inner, FunctionRef code, Atom defaults, Atom kw_defaults, Atom annotations, Span span);
  Atom lambda_expr(const ast::Lambda& e);
  Atom defaults_of(const ast::Arguments& a, Span span);
  Atom kw_defaults_of(const ast::Arguments& a, Span span);
  Atom annotations_of(const ast::Arguments& a, const ast::ExprNode* returns, Span span);
  Atom annotation(const ast::ExprNode* e);
  void make_annotations_dict(Span span);

  // ---- comprehensions (lower_comp.cpp)
  void generator(ast::Seq<ast::Comprehension> generators, size_t i, Atom iterator, Atom result,
                 const ast::ExprNode* elt, const ast::ExprNode* value);

  // ---- patterns (lower_pattern.cpp)
  struct Captures {
    SmallVec<std::pair<Symbol, Atom>, 4> names;
  };
  void match(const ast::Match& s);
  void pattern(const ast::PatternNode& p, Atom subject, BlockId fail, Captures& out);
  void pattern_sequence(const ast::MatchSequence& p, Atom subject, BlockId fail, Captures& out);
  void pattern_mapping(const ast::MatchMapping& p, Atom subject, BlockId fail, Captures& out);
  void pattern_class(const ast::MatchClass& p, Atom subject, BlockId fail, Captures& out);
  void pattern_or(const ast::MatchOr& p, Atom subject, BlockId fail, Captures& out);
  void require(Span span, Atom boolean, BlockId fail);
  void require_truth(Span span, Atom value, BlockId fail) { require(span, truth(span, value), fail); }

  const Resolution& names_;
  Scope& scope_;
  bool displays_ = false;  // values of expression statements are shown
  ir::FunctionBuilder b_;
  std::vector<Slot> slots_;     // parallel to scope_.vars
  std::vector<Atom> captures_;  // parallel to scope_.captures: values or cells
  std::vector<Frame*> frames_;
  Assigned assigned_;
  Assigned written_;    // locals that have been assigned somewhere in the text before
  Assigned deletable_;  // locals that some `del` unbinds: not sure at loop heads and in handlers
  Atom namespace_;      // of a class body
  Atom class_cell_;     // of a class body
};

}  // namespace ouro::frontend
