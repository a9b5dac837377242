#include "tools/complete.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "runtime/object/interrupt.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "tools/complete_import.h"

namespace ouro::tools {

using namespace runtime;

namespace {

constexpr std::string_view kKeywords[] = {"False",   "None",     "True",     "and",    "as",    "assert", "break",
                                          "class",   "continue", "def",      "del",    "elif",  "else",   "except",
                                          "finally", "for",      "from",     "global", "if",    "import", "in",
                                          "is",      "lambda",   "nonlocal", "not",    "or",    "pass",   "raise",
                                          "return",  "try",      "while",    "with",   "yield", "match",  "case"};

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

// dir(v), or nothing.
void names_of(Session& s, const Value& v, std::set<std::string>& out) {
  Value dir = builtin(s, intern("dir"), false);
  if (dir.is_unbound()) return;
  Value list = call(s, dir, {v});
  if (!list.is_error())
    (void)for_each(s, list, [&](Value& name) {
      if (Str* text = cast<Str>(name)) out.emplace(text->view());
      return true;
    });
  if (s.has_error()) clear_pending(s);
}

// What a dotted name means now; unbound if nothing.
Value meaning(Session& s, const Value& module, std::string_view dotted) {
  Value v;
  for (size_t at = 0; at <= dotted.size();) {
    size_t dot = std::min(dotted.find('.', at), dotted.size());
    Symbol name = intern(dotted.substr(at, dot - at));
    if (at == 0) {
      v = lookup_attr(s, module, name);
      if (v.is_unbound()) v = builtin(s, name, true);
    } else {
      v = lookup_attr(s, v, name);
    }
    if (v.is_error()) clear_pending(s);
    if (v.is_error() || v.is_unbound()) return Value();
    at = dot + 1;
  }
  return v;
}

}  // namespace

static std::vector<std::string> words_for(Session& s, const Value& module, std::string_view text, size_t& start) {
  if (std::optional<ImportWords> found = import_words(s, text)) {
    start = text.size() - found->typed.size();
    const size_t dot = found->typed.rfind('.');
    const std::string_view last = dot == found->typed.npos ? found->typed : found->typed.substr(dot + 1);
    std::vector<std::string> out;
    for (const std::string& word : found->words) {
      const size_t at = word.rfind('.');
      const bool hidden = word[at == word.npos ? 0 : at + 1] == '_';
      if (word.starts_with(found->typed) && (!hidden || !last.empty())) out.push_back(word);
    }
    return out;
  }
  start = text.size();
  while (start > 0 && (is_name_char(text[start - 1]) || text[start - 1] == '.')) --start;
  const std::string_view typed = text.substr(start);
  if (typed.empty() || std::isdigit(static_cast<unsigned char>(typed[0]))) return {};
  const size_t dot = typed.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? typed : typed.substr(dot + 1);
  std::set<std::string> names;
  std::string prefix;
  if (dot != std::string_view::npos) {
    const Value owner = meaning(s, module, typed.substr(0, dot));
    if (owner.is_unbound()) return {};
    names_of(s, owner, names);
    if (Module* m = cast<Module>(owner)) names.merge(modules_in(s, text_of(s, m->name)));
    prefix = typed.substr(0, dot + 1);
  } else {
    names_of(s, module, names);
    for (std::string_view k : kKeywords) names.emplace(k);
    for (const NativeModule* m : s.native_modules) {
      if (m->name != kPython && m->name != kOuro) continue;
      for (const NativeDef& row : m->functions) names.emplace(row.name);
      for (std::string_view name : m->constants) names.emplace(name);
    }
  }
  std::vector<std::string> out;
  for (const std::string& name : names)
    if (name.starts_with(last) && (!last.empty() || name[0] != '_')) out.push_back(prefix + name);
  return out;
}

std::vector<std::string> complete(Session& s, const Value& module, std::string_view text, size_t& start) {
  constexpr double kMost = 1;  // second
  std::vector<std::string> out;
  CallScope call(s, kMost);
  MemoryLimited script(s.memory);  // natives, too, can be interrupted and refused memory
  try {
    out = words_for(s, module, text, start);
  } catch (const Interrupted&) {
    (void)raise_interrupt(s);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  if (s.has_error()) clear_pending(s);
  return out;
}

}  // namespace ouro::tools
