#include "tools/prompt/complete.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "runtime/object/interrupt.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "tools/prompt/complete_import.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

using namespace runtime;

namespace {

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

}  // namespace

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

std::set<std::string> names_in(Session& s, const Value& module, std::string_view owner) {
  std::set<std::string> names;
  if (!owner.empty()) {
    const Value of = meaning(s, module, owner);
    if (of.is_unbound()) return names;
    names_of(s, of, names);
    if (Module* m = cast<Module>(of)) names.merge(modules_in(s, text_of(s, m->name)));
    return names;
  }
  names_of(s, module, names);
  for (const NativeModule* m : s.native_modules) {
    if (m->name != kPython && m->name != kOuro) continue;
    for (const NativeDef& row : m->functions) names.emplace(row.name);
    for (std::string_view name : m->constants) names.emplace(name);
  }
  return names;
}

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
  const std::string_view owner = typed.substr(0, dot == typed.npos ? 0 : dot);
  std::set<std::string> names = names_in(s, module, owner);
  const std::string prefix(typed.substr(0, owner.empty() ? 0 : dot + 1));
  if (owner.empty())
    for (std::string_view k : keywords()) names.emplace(k);
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
