// `:explain`, `:ir` and `:mode`: what the compiler does.
#include <algorithm>

#include <fmt/format.h>

#include "ir/print.h"
#include "jit/report/explain.h"
#include "jit/report/listing.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/flatten.h"
#include "runtime/object/executor.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "tools/prompt/about.h"
#include "tools/prompt/command.h"
#include "tools/prompt/complete.h"
#include "tools/prompt/shell.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

using namespace runtime;

namespace {

// The function that a name stands for; unbound after saying why it is none.
Value function_named(Shell& shell, std::string_view command, std::string_view name) {
  Session& s = shell.session();
  const auto refuse = [&](const std::string& why) { return shell.complain(why), Value(); };
  if (!is_dotted_name(name))
    return refuse(fmt::format(":{} takes the name of a function, and {} is none.", command, name));
  Value v = meaning(s, shell.module(), name);
  if (v.is_unbound()) return refuse(not_defined(shell, name));
  if (auto* bound = cast_exact<BoundMethod>(v)) v = Value(bound->function);
  if (cast_exact<Function>(v)) return v;
  if (cast<Native>(v))
    return refuse(fmt::format("{} is built in: it is compiled as a part of the functions that call it.", name));
  if (cast<Type>(v))
    return refuse(
        fmt::format("{} is a class; :{} takes a function, such as one of its methods: {}.NAME.", name, command, name));
  return refuse(fmt::format("{} is of the class {}; :{} takes a function.", name, type_name(s, v), command));
}

constexpr struct {
  Mode mode;
  std::string_view name, text;
} kModes[] = {
    {Mode::auto_, "auto", "functions of tensors are compiled once that is worth the pause"},
    {Mode::graph, "graph", "functions of tensors are compiled at their first call, which waits"},
    {Mode::eager, "eager", "every statement is interpreted as it comes"},
};

}  // namespace

bool explain_function(Shell& shell, const std::string& name) {
  shell.guarded([&] {
    Session& s = shell.session();
    if (name.empty()) return shell.say(jit::explain(s));
    const Value f = function_named(shell, "explain", name);
    if (!f.is_unbound()) shell.say(jit::explain_function(s, *f.as<Function>()));
  });
  return true;
}

bool print_ir(Shell& shell, const std::string& name_and_stage) {
  const size_t end = std::min(name_and_stage.find_first_of(" \t"), name_and_stage.size());
  const std::string name = name_and_stage.substr(0, end), stage(trimmed(std::string_view(name_and_stage).substr(end)));
  const bool of_version = jit::is_version_stage(stage);
  if (!of_version && !stage.empty() && stage != "anf" && stage != "code") {
    shell.complain(fmt::format(
        "There is no stage {}. There are anf (what :ir NAME prints), code, typed, plan, loops, llvm, asm, cl, ptx.",
        stage));
    return true;
  }
  shell.guarded([&] {
    Session& s = shell.session();
    const Value value = function_named(shell, "ir", name);
    if (value.is_unbound()) return;
    const Function& f = *value.as<Function>();
    if (of_version) return shell.say(jit::listing_of(s, stage, f));
    shell.say(stage == "code" ? disassemble(*code_of(s, f.code)) : ir::print(*f.code, {.spans = false}));
  });
  return true;
}

bool change_mode(Shell& shell, const std::string& mode) {
  Session& s = shell.session();
  const auto* row = mode.empty() ? std::ranges::find(kModes, s.options.mode, [](const auto& r) { return r.mode; })
                                 : std::ranges::find(kModes, mode, [](const auto& r) { return r.name; });
  if (row == std::end(kModes)) {
    shell.complain(fmt::format("There is no mode {}. There are eager, graph and auto.", mode));
    return true;
  }
  if (!mode.empty()) jit::set_mode(s, row->mode);
  shell.say(fmt::format("mode {}: {}", row->name, row->text));
  return true;
}

}  // namespace ouro::tools
