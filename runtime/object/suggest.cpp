// Weighted Levenshtein distance with CPython's costs (a move costs 2, a change of case 1) and its limits.
#include "runtime/object/suggest.h"

#include <algorithm>
#include <cstring>

#include "runtime/object/elsewhere.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

namespace {

constexpr size_t kMaxSize = 40, kMaxCandidates = 750;
constexpr size_t kMove = 2, kCase = 1;

size_t substitution(char a, char b) {
  if ((a & 31) != (b & 31)) return kMove;
  if (a == b) return 0;
  auto lower = [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c | 32) : c; };
  return lower(a) == lower(b) ? kCase : kMove;
}

size_t distance(std::string_view a, std::string_view b, size_t limit) {
  if (a == b) return 0;
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  if (a.empty() || b.empty()) return (a.size() + b.size()) * kMove;
  if (a.size() > kMaxSize || b.size() > kMaxSize) return limit + 1;
  if (b.size() < a.size()) std::swap(a, b);
  if ((b.size() - a.size()) * kMove > limit) return limit + 1;
  size_t row[kMaxSize];
  for (size_t i = 0; i < a.size(); ++i) row[i] = (i + 1) * kMove;
  size_t result = 0;
  for (size_t j = 0; j < b.size(); ++j) {
    size_t diagonal = result = j * kMove, minimum = SIZE_MAX;
    for (size_t i = 0; i < a.size(); ++i) {
      size_t substitute = diagonal + substitution(b[j], a[i]);
      diagonal = row[i];
      result = std::min(substitute, std::min(result, diagonal) + kMove);
      row[i] = result;
      minimum = std::min(minimum, result);
    }
    if (minimum > limit) return limit + 1;
  }
  return result;
}

void add_table(std::vector<std::string_view>& names, const NameTable<Value>& table) {
  for (const auto& e : table.entries())
    if (e.name && !e.value.is_unbound()) names.push_back(e.name.text());
}

std::string quote(std::string_view name) { return ". Did you mean: '" + std::string(name) + "'?"; }

void builtin_names(Session& s, bool ouro, std::vector<std::string_view>& names) {
  for (const NativeModule* m : s.native_modules) {
    if (m->name != kPython && !(ouro && m->name == kOuro)) continue;
    for (const NativeDef& d : m->functions) names.push_back(d.name);
    for (std::string_view c : m->constants) names.push_back(c);
  }
  for (Type* t : s.types)
    if (t && t->def && t->def->module == kPython) names.push_back(t->text());
  for (Type* t : s.exceptions) names.push_back(t->text());
  for (std::string_view constant : {"None", "True", "False", "Ellipsis", "NotImplemented", "__debug__"})
    names.push_back(constant);
}

// Locals first, then globals, then builtins: the first group with a near name wins.
std::string suggest_name(Session& s, Exception* e, std::string_view wrong) {
  Traceback* last = cast<Traceback>(e->traceback);
  if (!last) return {};
  while (cast<Traceback>(last->next)) last = last->next.as<Traceback>();
  std::vector<std::string_view> names;
  for (Symbol n : last->code->sig.names) names.push_back(n.text());
  for (Symbol n : last->code->locals) names.push_back(n.text());
  std::string_view best = nearest_name(wrong, names);
  Module* m = cast<Module>(last->globals);
  if (best.empty() && m) {
    names.clear();
    add_table(names, m->names);
    best = nearest_name(wrong, names);
  }
  if (best.empty()) {
    names.clear();
    builtin_names(s, m && m->ouro_names, names);
    best = nearest_name(wrong, names);
  }
  return best.empty() ? std::string() : quote(best);
}

std::string suggest_attribute(Session& s, const Value& object, std::string_view wrong) {
  Value list = [&] {
    Value d = builtin(s, intern("dir"), false);
    return d.is_unbound() ? Value() : call(s, d, {object});
  }();
  if (list.is_error()) clear_pending(s);
  List* l = cast<List>(list);
  if (!l) return {};
  std::vector<std::string_view> names;
  for (Value& v : *l)
    if (Str* n = cast<Str>(v)) names.push_back(n->view());
  std::string_view best = nearest_name(wrong, names);
  return best.empty() ? std::string() : quote(best);
}

}  // namespace

std::string_view nearest_name(std::string_view wrong, const std::vector<std::string_view>& names) {
  if (names.size() >= kMaxCandidates) return {};
  size_t best = SIZE_MAX;
  std::string_view found;
  for (std::string_view n : names) {
    if (n == wrong) continue;
    size_t limit = std::min((wrong.size() + n.size() + 3) * kMove / 6, best == SIZE_MAX ? SIZE_MAX : best - 1);
    size_t d = distance(wrong, n, limit);
    if (d > limit) continue;
    if (found.empty() || d < best) {
      found = n;
      best = d;
    }
  }
  return found;
}

// What another system has where this attribute is missed.
static std::string attribute_elsewhere(Session& s, const Value& object, std::string_view name) {
  Type* t = type_of(s, object);
  if (kind_of(object) == ObjectKind::tensor) {
    const bool in_place = name.size() > 1 && name.ends_with('_') && !name.starts_with('_');
    return of_another_tensor(name,
                             in_place && !type_lookup(s, t, intern(name.substr(0, name.size() - 1))).is_unbound());
  }
  if (cast_exact<Tuple>(object)) return of_another_tuple(name);
  if (Module* m = cast_exact<Module>(object))
    return cast<Str>(m->name) ? of_another_package(cast<Str>(m->name)->view(), name) : std::string();
  for (Type* b : t->mro) {
    Value module = type_lookup(s, b, intern("__module__"));
    Str* text = cast<Str>(module);
    if (text && text->view().starts_with("ouro.")) return of_another_module(name);
  }
  return {};
}

std::string suggestion(Session& s, const Value& exception) {
  auto* e = exception.as<Exception>();
  Str* name = cast<Str>(e->extra1);
  if (!name) return {};
  auto is = [&](ExcKind k) { return is_subtype(e->type, exception_type(s, k)); };
  if (is(ExcKind::NameError)) {
    for (const std::string& why :
         {of_another_language(name->view()), of_another_library(name->view()), of_another_name(name->view())})
      if (!why.empty()) return why;
    std::string near = suggest_name(s, e, name->view());
    return near.empty() ? of_library(name->view()) : near;
  }
  if (is(ExcKind::ModuleNotFoundError)) return of_another_library(name->view());
  if (is(ExcKind::AttributeError) && !e->extra2.is_unbound()) {
    if (std::string why = attribute_elsewhere(s, e->extra2, name->view()); !why.empty()) return why;
    return suggest_attribute(s, e->extra2, name->view());
  }
  return {};
}

}  // namespace ouro::runtime
