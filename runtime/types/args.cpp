#include "runtime/types/args.h"

#include <string>
#include <string_view>

#include "runtime/object/exception.h"
#include "runtime/object/object.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {
namespace {

bool fail(const Value&) { return false; }

// `name` of a method (first: 1) is told with the class that has it.
bool no_keywords(Session& s, const Args& a, std::string_view name, size_t first) {
  if (a.keywords.empty()) return true;
  std::string whole(name);
  if (first == 1 && a.size() > 0 && name.find('.') == name.npos) whole = type_name(s, unwrap(a[0])) + "." + whole;
  return fail(raise_type_error(s, "%s() takes no keyword arguments", whole.c_str()));
}

}  // namespace

bool takes_none(Session& s, const Args& a, const char* name, size_t first) {
  if (!no_keywords(s, a, name, first)) return false;
  if (a.size() == first) return true;
  return fail(raise_type_error(s, "%s() takes no arguments (%zu given)", name, a.size() - first));
}

bool takes_one(Session& s, const Args& a, const char* name, size_t first) {
  if (!no_keywords(s, a, name, first)) return false;
  if (a.size() == first + 1) return true;
  return fail(raise_type_error(s, "%s() takes exactly one argument (%zu given)", name, a.size() - first));
}

bool takes(Session& s, const Args& a, const char* name, size_t low, size_t high, size_t first, const char* qualified) {
  if (!no_keywords(s, a, qualified ? qualified : name, first)) return false;
  size_t n = a.size() - first;
  if (n >= low && n <= high) return true;
  size_t bound = n < low ? low : high;
  return fail(raise_type_error(s, "%s expected %s%zu argument%s, got %zu", name,
                               low == high ? ""
                               : n < low   ? "at least "
                                           : "at most ",
                               bound, bound == 1 ? "" : "s", n));
}

bool takes_count(Session& s, const Args& a, const char* name, size_t low, size_t high, size_t first) {
  if (!no_keywords(s, a, name, first)) return false;
  size_t n = a.size() - first;
  if (n >= low && n <= high) return true;
  size_t bound = n < low ? low : high;
  return fail(raise_type_error(s, "%s() takes %s %zu argument%s (%zu given)", name,
                               low == high ? "exactly"
                               : n < low   ? "at least"
                                           : "at most",
                               bound, bound == 1 ? "" : "s", n));
}

bool takes_named(Session& s, const Args& a, const char* name, std::initializer_list<const char*> names, size_t required,
                 size_t positional, Value* out, size_t first) {
  size_t given = a.size() - first, total = names.size();
  const char* const* name_of = names.begin();
  if (given + a.keywords.size() > total) {
    bool only_positional = a.keywords.empty() && positional == 0;
    if (!only_positional)
      return fail(raise_type_error(s, "%s() takes at most %zu %sargument%s (%zu given)", name, total,
                                   given == 0 ? "keyword " : "", total == 1 ? "" : "s", given + a.keywords.size()));
  }
  if (given > positional) {
    if (positional == 0) return fail(raise_type_error(s, "%s() takes no positional arguments", name));
    return fail(raise_type_error(s, "%s() takes %s %zu positional argument%s (%zu given)", name,
                                 required >= positional ? "exactly" : "at most", positional, positional == 1 ? "" : "s",
                                 given));
  }
  for (size_t i = 0; i < given; ++i) out[i] = a[first + i];
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view key = a.names[k].as<Str>()->view();
    size_t i = 0;
    while (i < total && key != name_of[i]) ++i;
    if (i == total)
      return fail(raise_type_error(s, "'%.*s' is an invalid keyword argument for %s()", static_cast<int>(key.size()),
                                   key.data(), name));
    if (!out[i].is_unbound())
      return fail(
          raise_type_error(s, "argument for %s() given by name ('%s') and position (%zu)", name, name_of[i], i + 1));
    out[i] = a.keywords[k];
  }
  for (size_t i = 0; i < required; ++i) {
    if (!out[i].is_unbound()) continue;
    if (name_of[i][0] == ' ')
      return fail(raise_type_error(s, "%s() takes at least %zu positional argument%s (%zu given)", name, required,
                                   required == 1 ? "" : "s", given));
    return fail(raise_type_error(s, "%s() missing required argument '%s' (pos %zu)", name, name_of[i], i + 1));
  }
  return true;
}

}  // namespace ouro::runtime
