// First pass of resolve: the scope tree, which names each scope uses and binds, and its regions.
// Private to frontend.
#pragma once

#include "frontend/resolve.h"

namespace ouro::frontend {

using namespace ast;

struct ScopeNames {
  Symbol super_ = intern("super"), class_ = intern("__class__"), debug = intern("__debug__"), dot0 = intern(".0"),
         lambda = intern("<lambda>"), listcomp = intern("<listcomp>"), setcomp = intern("<setcomp>"),
         dictcomp = intern("<dictcomp>"), genexpr = intern("<genexpr>"), module = intern("<module>"),
         future = intern("__future__"), annotations = intern("annotations"), star = intern("*");
};
inline const ScopeNames& names() {
  static const ScopeNames n;
  return n;
}

inline std::string quoted(std::string_view before, Symbol name, std::string_view after) {
  std::string out(before);
  out += "'";
  out += name.text();
  out += "'";
  out += after;
  return out;
}

// Thrown inside this file at the first scope error, like CPython's; caught in resolve().
struct ScopeError {};

class Collector {
 public:
  Collector(Resolution& r, Diagnostics& d) : res_(r), diags_(d) {}

  void module(const Module& m);
  const Diagnostic* late_error() const { return late_.text.empty() ? nullptr : &late_; }

 private:
  // ---- scopes and names
  Scope& enter(Scope::Kind kind, Symbol name, const Node* node);
  void leave();
  [[noreturn]] void fail(Span span, std::string text) {
    diags_.error(span, "scope", std::move(text));
    throw ScopeError{};
  }
  // CPython finds these while generating code, after all scopes were found right.
  void fail_late(Span span, std::string text) {
    if (!late_.text.empty()) return;
    late_.span = span;
    late_.code = "scope";
    late_.text = std::move(text);
  }
  Symbol mangled(Symbol n) const { return mangle(cur_->private_class, n); }
  Variable& define(Symbol name, uint32_t flags, Span span) { return define_in(*cur_, mangled(name), flags, span); }
  Variable& define_in(Scope& scope, Symbol name, uint32_t flags, Span span);
  void bind(Symbol name, Span span, uint32_t extra = 0);
  void use(const Name& n);
  void declare(const Node& s, ast::Names list, bool global);
  void named_expr_scope(const NamedExpr& e);
  void place_write(const ExprNode* e) {
    while (auto* s = dyn<Subscript>(e)) e = s->value;
    if (auto* n = dyn<Name>(e)) define(n->id, Variable::kPlace, n->span);
  }
  void check_assignable(Symbol n, Span span) {
    if (n == names().debug) fail_late(span, "cannot assign to __debug__");
  }

  // ---- regions
  struct Region {  // runs a part of the function that may not run, or not to its end
    Collector& c;
    uint32_t saved;
    explicit Region(Collector& c) : c(c), saved(c.region_) {
      c.region_ = static_cast<uint32_t>(c.cur_->region_parent.size());
      c.cur_->region_parent.push_back(saved);
    }
    ~Region() { c.region_ = saved; }
  };

  // A part that a loop, `with` or `try` holds `levels` of CPython's blocks around. More than kMostBlocks are refused,
  // and what stands in them is not looked at.
  static constexpr int kMostBlocks = 20;
  struct Block {
    Collector& c;
    int levels;
    Block(Collector& c, Span where, int levels = 1) : c(c), levels(levels) {
      c.blocks_ += levels;
      if (too_deep()) c.fail_late(where, "too many statically nested blocks");
    }
    ~Block() { c.blocks_ -= levels; }
    bool too_deep() const { return c.blocks_ > kMostBlocks; }
  };
  void star_target(const ExprNode& e, Exprs elts);
  void star_pattern(const MatchSequence& p);

  // ---- the walk
  void statements(Stmts body) {
    for (const StmtNode* s : body) statement(*s);
  }
  void statement(const StmtNode& s);
  void function_def(const FunctionDef& s);
  void class_def(const ClassDef& s);
  void arguments_outside(const Arguments& a);
  void parameters(const Arguments& a);
  void annotation(const ExprNode* e);
  void plain_annotation(const Node* n);
  void ann_assign(const AnnAssign& s);
  void loop_body(const StmtNode& loop, Stmts body);
  void with_item(const With& s, size_t i);
  void try_(const Try& s);
  void try_except(const Try& s);
  void import(const Import& s);
  void import_from(const ImportFrom& s);
  void expressions(Exprs list) {
    for (const ExprNode* e : list) expression(e);
  }
  void expression(const ExprNode* e);
  void looked_into(const ExprNode* e);  // iterated, or behind `in`: nobody else sees the object
  void comprehension(Scope::Kind kind, Symbol name, const ExprNode& e, Seq<Comprehension> generators,
                     const ExprNode* elt, const ExprNode* value);
  void generator(Seq<Comprehension> generators, size_t i, const ExprNode* elt, const ExprNode* value);
  void comp_target(const ExprNode* target);
  void yield(const ExprNode& e);
  void pattern(const PatternNode& p);

  Resolution& res_;
  Diagnostics& diags_;
  Diagnostic late_;
  Scope* cur_ = nullptr;
  uint32_t region_ = 0, order_ = 0;
  int loops_ = 0, blocks_ = 0;  // of the current scope
  struct Saved {
    uint32_t region, order;
    int loops, blocks;
  };
  std::vector<Saved> stack_;
};

}  // namespace ouro::frontend
