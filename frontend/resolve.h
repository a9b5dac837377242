// Names: AST → scopes. For every name of every scope: where does its value live?
//
// Rules and messages are those of CPython 3.11's symtable.c: local, global, nonlocal, free; class
// bodies are invisible to the scopes inside them; comprehensions are functions whose first iterable
// is evaluated outside; `:=` in a comprehension binds in the function around it; `__x` in a class
// is mangled; `__class__` is a cell of the class body. Checks that CPython makes while it generates
// code ('return' outside function, 'break' outside loop) are made here too and reported only if the
// scopes are right.
//
// What is Ouro's own is how captured variables are kept (docs/design/rules.md A4). A variable v of function F that
// an inner closure uses is captured *by value* if nothing can change it once the closure exists:
//   - no inner scope assigns v, and v is never deleted;
//   - at each creation of a closure that captures v, v is bound: a binding stands earlier, in a region that encloses
//     the creation (a region is a part of a function that runs from its start: a branch, a loop body, a try body, ...);
//   - v has one binding, outside loops; or all closures that capture v run at once and are gone (list, set and dict
//     comprehensions, class bodies).
// Otherwise it lives in a `cell`. So does a variable that a `del` statement names: what it held must be gone at that
// point (docs/design/rules.md A4), not where its register is next needed. `v[i] = x` counts as an assignment of v
// (tensors are values: it gives v a new one).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/ast.h"
#include "support/diag.h"
#include "support/small_vec.h"

namespace ouro::frontend {

enum class Storage : uint8_t {
  local,       // an SSA variable of this function
  cell,        // own variable, kept in a cell
  captured,    // of an enclosing function; Capture::cell tells how
  global,      // global slot (or builtin)
  class_name,  // class body namespace, else global
};

struct Scope;

struct Binding {
  uint32_t region = 0;
  uint32_t order = 0;
};

/// A name of one scope.
struct Variable {
  enum Flag : uint32_t {
    kGlobal = 1,
    kLocal = 2,
    kParam = 4,
    kNonlocal = 8,
    kUse = 16,
    kAnnot = 32,
    kCompIter = 64,
    kImport = 128,
    kDeleted = 256,        // `del`, or the end of an except clause
    kInLoop = 512,         // bound inside a loop
    kInnerWrite = 1024,    // an inner scope assigns it
    kCaptured = 2048,      // an inner scope uses it
    kPlace = 4096,         // `v[i] = x`: v is the root of a place that is written
    kDelStatement = 8192,  // `del v`
    kBound = kLocal | kParam | kImport,
  };
  Symbol name;
  uint32_t flags = 0;
  Storage storage = Storage::local;
  SmallVec<Binding, 2> bindings;
  uint32_t slot = 0;  // of Storage::captured: index into Scope::captures

  bool has(uint32_t f) const { return flags & f; }
};

/// A variable of an enclosing function that this scope, or one inside it, uses.
struct ScopeCapture {
  Symbol name;
  Scope* owner = nullptr;
  uint32_t owner_var = 0;  // index into owner->vars; kClassCell for `__class__`
  static constexpr uint32_t kClassCell = UINT32_MAX;
  bool cell() const;
};

struct Scope {
  enum class Kind : uint8_t { module, function, lambda, class_, list_comp, set_comp, dict_comp, generator_exp };
  Kind kind = Kind::module;
  Symbol name, qualname;
  Symbol private_class;  // class whose name mangles `__x` in here
  const ast::Node* node = nullptr;
  Scope* parent = nullptr;
  bool generator = false;
  bool class_cell = false;       // of a class: a method uses `__class__` or super()
  bool has_annotations = false;  // module or class with a simple annotated name
  std::vector<Variable> vars;
  std::vector<ScopeCapture> captures;
  std::vector<Scope*> children;

  bool is_function_like() const { return kind != Kind::module && kind != Kind::class_; }
  bool is_comprehension() const { return kind >= Kind::list_comp; }
  /// Runs when created and cannot be called again.
  bool is_immediate() const { return kind == Kind::class_ || (is_comprehension() && kind != Kind::generator_exp); }
  Variable* find(Symbol name);
  const ScopeCapture* find_capture(Symbol name) const;
  Variable& add(Symbol name);
  bool binds(Symbol name) const;

  // Dominance (see above): where in the parent this scope is created, and the tree of this scope's
  // regions.
  Binding created;
  std::vector<uint32_t> region_parent;
  // Bookkeeping of the walk.
  uint32_t comp_iter_expr = 0;
  bool comp_iter_target = false;
  std::vector<std::pair<Symbol, Span>> directives;
  std::unordered_map<Symbol, uint32_t> index;  // used once there are many vars
};

struct Resolution {
  std::deque<Scope> scopes;  // the first is the module
  std::unordered_map<const ast::Node*, Scope*> by_node;
  bool future_annotations = false;
  std::unordered_map<std::string, const ast::Set*> constant_sets;  // the first display of its items, by its key

  /// The display whose items, in its order, stand for those of `s`, a display of constants.
  const ast::Set& shared(const ast::Set& s) const;
  Scope& module() { return scopes.front(); }
  Scope& of(const ast::Node* n) const { return *by_node.at(n); }
};

/// Resolves a module. Null on error, with CPython's message in diags.
std::unique_ptr<Resolution> resolve(const ast::Module& module, Diagnostics& diags);

/// `__x` in class `_C` becomes `_C__x`; other names stay.
Symbol mangle(Symbol private_class, Symbol name);

}  // namespace ouro::frontend
