#include "tools/prompt/about.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/ops/registry.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "runtime/object/suggest.h"
#include "tools/prompt/command.h"
#include "tools/prompt/complete.h"
#include "tools/prompt/complete_import.h"
#include "tools/prompt/shell.h"
#include "tools/prompt/source_text.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

using namespace runtime;

namespace {

// The longest part of the name, up to a dot, that means something.
std::string_view known_part(Shell& shell, std::string_view dotted) {
  for (size_t dot = dotted.rfind('.'); dot != dotted.npos && dot > 0; dot = dotted.rfind('.', dot - 1))
    if (!meaning(shell.session(), shell.module(), dotted.substr(0, dot)).is_unbound()) return dotted.substr(0, dot);
  return {};
}

// Of an operation: what it takes and gives, and whether it has a derivative.
std::string row_text(const ir::OpInfo& row) {
  const bool floats = ir::has_float_input(row.def->sig);
  const std::string slope = !ir::has_inputs(*row.def)   ? ""
                            : !row.def->nondiff.empty() ? fmt::format("; no derivative ({})", row.def->nondiff)
                            : floats                    ? "; differentiable"
                                                        : "; no derivative (of integers)";
  std::string also;
  if (!row.def->alias.empty()) also = fmt::format("; also {}", row.def->alias);
  return fmt::format("Operation {}{}{}.", row.def->sig, slope, also);
}

// What the library's module ouro.prompt says of it, in which the first line is the title; nothing if it raised.
std::optional<std::string> library_text(Session& s, std::string_view name, const Value& v, std::string_view row) {
  const Value module = import_module(s, intern("ouro.prompt"));
  if (module.is_error()) return std::nullopt;
  const Value text = call_method(s, module, intern("about"), {make_str(name), v, make_str(row)});
  if (text.is_error()) return std::nullopt;
  return text_of(s, text);
}

void tell(Shell& shell, std::string_view name) {
  Session& s = shell.session();
  const Value v = meaning(s, shell.module(), name);
  const bool keyword = is_keyword(name);
  if (v.is_unbound() && !keyword) return shell.complain(not_defined(shell, name));
  const auto* native = cast_exact<Native>(v);
  const ir::OpInfo* row = native ? operation_row(*native) : nullptr;
  const std::optional<std::string> text = library_text(s, name, keyword ? Value::none() : v, row ? row_text(*row) : "");
  if (!text) return;
  const size_t end = std::min(text->find('\n'), text->size());
  std::string out = shell.style().paint(Look::title, text->substr(0, end)) + text->substr(end);
  if (const auto source = keyword ? std::nullopt : source_text(s, v))
    out += "\n" + shell.style().paint(Look::note, "source, " + source->place + ":") + "\n" +
           shell.style().highlight(source->text);
  shell.say(out);
}

}  // namespace

std::string not_defined(Shell& shell, std::string_view dotted) {
  const std::string_view owner = known_part(shell, dotted);
  std::string_view wrong = dotted.substr(owner.empty() ? 0 : owner.size() + 1);
  wrong = wrong.substr(0, wrong.find('.'));
  std::string out =
      owner.empty() ? fmt::format("{} is not defined.", wrong) : fmt::format("{} has no {}.", owner, wrong);
  const auto is_module = [&](std::string_view in) {
    return owner.empty() && modules_in(shell.session(), in).contains(std::string(wrong));
  };
  if (is_module("")) return out + fmt::format(" There is a module of that name: import {}", wrong);
  if (is_module("ouro")) return out + fmt::format(" There is a module of that name: from ouro import {}", wrong);
  const std::set<std::string> there = names_in(shell.session(), shell.module(), owner);
  const std::vector<std::string_view> names(there.begin(), there.end());
  if (const std::string_view near = nearest_name(wrong, names); !near.empty())
    out += fmt::format(" Did you mean {}?", near);
  else
    out +=
        owner.empty() ? " Tab completes the names that are." : fmt::format(" Tab behind {}. tells what it has.", owner);
  return out;
}

void tell_about(Shell& shell, std::string_view question) {
  std::string_view name = trimmed(question);
  while (name.starts_with('?')) name.remove_prefix(1);
  while (name.ends_with('?')) name.remove_suffix(1);
  name = trimmed(name);
  if (name.empty()) return (void)run_command(shell, ":help");
  if (!is_dotted_name(name))
    return shell.complain(fmt::format("? takes a name, such as ?relu or ?nn.Linear, and {} is none.", name));
  shell.guarded([&] { tell(shell, name); });
}

}  // namespace ouro::tools
