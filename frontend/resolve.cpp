#include "frontend/resolve.h"

#include <algorithm>

#include "frontend/constant_set.h"
#include "frontend/scope_collector.h"

namespace ouro::frontend {

Symbol mangle(Symbol private_class, Symbol name) {
  if (!private_class) return name;
  std::string_view n = name.text();
  if (n.size() < 3 || n[0] != '_' || n[1] != '_' || n.ends_with("__") || n.find('.') != n.npos) return name;
  std::string_view c = private_class.text();
  size_t start = c.find_first_not_of('_');
  if (start == c.npos) return name;
  std::string out = "_";
  out += c.substr(start);
  out += n;
  return intern(out);
}

bool ScopeCapture::cell() const { return owner_var == kClassCell || owner->vars[owner_var].storage == Storage::cell; }

Variable* Scope::find(Symbol n) {
  if (vars.size() <= 12) {
    for (Variable& v : vars)
      if (v.name == n) return &v;
    return nullptr;
  }
  auto it = index.find(n);
  return it == index.end() ? nullptr : &vars[it->second];
}

Variable& Scope::add(Symbol n) {
  if (Variable* v = find(n)) return *v;
  vars.emplace_back().name = n;
  if (vars.size() == 13)
    for (size_t i = 0; i < vars.size(); ++i) index.emplace(vars[i].name, i);
  else if (vars.size() > 13)
    index.emplace(n, vars.size() - 1);
  return vars.back();
}

bool Scope::binds(Symbol n) const {
  Variable* v = const_cast<Scope*>(this)->find(n);
  return v && v->has(Variable::kBound);
}

const ScopeCapture* Scope::find_capture(Symbol n) const {
  for (const ScopeCapture& c : captures)
    if (c.name == n) return &c;
  return nullptr;
}

namespace {

// Second pass: where each name lives; parents before children.
class Analyser {
 public:
  Analyser(Resolution& r, Diagnostics& d) : res_(r), diags_(d) {}

  void run() {
    for (Scope& s : res_.scopes)
      for (size_t i = 0; i < s.vars.size(); ++i) place(s, s.vars[i]);
    for (Scope& s : res_.scopes)
      if (s.is_function_like()) choose_cells(s);
  }

 private:
  struct Owner {
    Scope* scope = nullptr;  // null: global
    uint32_t var = 0;
  };

  // The enclosing function that binds `name`, seen from inside `s`.
  Owner find_owner(Scope& s, Symbol name) {
    for (Scope* p = s.parent; p; p = p->parent) {
      if (p->kind == Scope::Kind::class_) {
        if (name != names().class_) continue;
        p->class_cell = true;
        return {p, ScopeCapture::kClassCell};
      }
      if (p->kind == Scope::Kind::module) break;
      Variable* v = p->find(name);
      if (!v) continue;
      if (v->has(Variable::kGlobal)) break;
      if (v->has(Variable::kBound) && !v->has(Variable::kNonlocal))
        return {p, static_cast<uint32_t>(v - p->vars.data())};
    }
    return {};
  }

  uint32_t capture(Scope& s, Symbol name, Owner owner) {
    for (size_t i = 0; i < s.captures.size(); ++i)
      if (s.captures[i].name == name) return static_cast<uint32_t>(i);
    if (s.parent != owner.scope) capture(*s.parent, name, owner);
    s.captures.push_back({name, owner.scope, owner.var});
    return static_cast<uint32_t>(s.captures.size() - 1);
  }

  [[noreturn]] void fail(Scope& s, Symbol name, std::string text) {
    Span span = s.node->span;
    for (auto& [n, sp] : s.directives)
      if (n == name) {
        span = sp;
        break;
      }
    diags_.error(span, "scope", std::move(text));
    throw ScopeError{};
  }

  void place(Scope& s, Variable& v) {
    if (v.has(Variable::kGlobal)) {
      if (v.has(Variable::kNonlocal)) fail(s, v.name, quoted("name ", v.name, " is nonlocal and global"));
      v.storage = Storage::global;
      return;
    }
    if (v.has(Variable::kNonlocal)) {
      if (s.kind == Scope::Kind::module) fail(s, v.name, "nonlocal declaration not allowed at module level");
      Owner o = find_owner(s, v.name);
      if (!o.scope) fail(s, v.name, quoted("no binding for nonlocal ", v.name, " found"));
      return captured(s, v, o, true);
    }
    if (v.has(Variable::kBound | Variable::kDeleted)) {
      v.storage = s.kind == Scope::Kind::module   ? Storage::global
                  : s.kind == Scope::Kind::class_ ? Storage::class_name
                                                  : Storage::local;
      return;
    }
    Owner o = s.kind == Scope::Kind::module ? Owner{} : find_owner(s, v.name);
    if (o.scope) return captured(s, v, o, v.has(Variable::kPlace));
    v.storage = s.kind == Scope::Kind::class_ ? Storage::class_name : Storage::global;
  }

  void captured(Scope& s, Variable& v, Owner o, bool writes) {
    v.storage = Storage::captured;
    v.slot = capture(s, v.name, o);
    if (o.var == ScopeCapture::kClassCell) return;
    o.scope->vars[o.var].flags |= Variable::kCaptured;
    if (writes) o.scope->vars[o.var].flags |= Variable::kInnerWrite;
  }

  static bool encloses(const Scope& s, uint32_t outer, uint32_t inner) {
    while (inner > outer) inner = s.region_parent[inner];
    return inner == outer;
  }

  // Does every closure below `s` that captures v of `owner` run at once?
  static bool all_immediate(const Scope& s, Symbol v, const Scope& owner) {
    for (const Scope* c : s.children) {
      const ScopeCapture* cap = c->find_capture(v);
      if (!cap || cap->owner != &owner) continue;
      if (!c->is_immediate() || !all_immediate(*c, v, owner)) return false;
    }
    return true;
  }

  static bool bound_at_closures(const Scope& s, const Variable& v) {
    for (const Scope* c : s.children) {
      const ScopeCapture* cap = c->find_capture(v.name);
      if (!cap || cap->owner != &s) continue;
      bool bound = false;
      for (const Binding& b : v.bindings)
        bound |= (b.order < c->created.order || b.order == 0) && encloses(s, b.region, c->created.region);
      if (!bound) return false;
    }
    return true;
  }

  static void choose_cells(Scope& s) {
    for (Variable& v : s.vars) {
      if (v.storage == Storage::local && v.has(Variable::kDelStatement)) v.storage = Storage::cell;
      if (v.storage != Storage::local || !v.has(Variable::kCaptured)) continue;
      bool once = v.bindings.size() == 1 && !v.has(Variable::kInLoop | Variable::kPlace);
      bool by_value = !v.has(Variable::kInnerWrite | Variable::kDeleted) && bound_at_closures(s, v) &&
                      (once || all_immediate(s, v.name, s));
      if (!by_value) v.storage = Storage::cell;
    }
  }

  Resolution& res_;
  Diagnostics& diags_;
};

}  // namespace

const Set& Resolution::shared(const Set& s) const {
  auto first = constant_sets.find(constant_set_key(s));
  return first == constant_sets.end() ? s : *first->second;
}

std::unique_ptr<Resolution> resolve(const Module& module, Diagnostics& diags) {
  auto res = std::make_unique<Resolution>();
  Collector collector(*res, diags);
  try {
    collector.module(module);
    Analyser(*res, diags).run();
  } catch (const ScopeError&) {
    return nullptr;
  }
  if (const Diagnostic* late = collector.late_error()) {
    diags.report(*late);
    return nullptr;
  }
  return res;
}

}  // namespace ouro::frontend
