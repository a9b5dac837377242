// Functions of the host that scripts call. To the runtime each is a native whose receiver holds the function.
#include "include/source/core.h"

#include <exception>
#include <map>
#include <string>

#include "runtime/text/foreign.h"
#include "support/small_vec.h"

namespace ouro {
inline namespace v0 {

namespace {

// Rows of natives live as long as the process (runtime/object/bind.h), so there is one for each name.
const runtime::NativeDef& row_named(std::string_view name) {
  static std::mutex mutex;
  static auto* rows = new std::map<std::string, runtime::NativeDef, std::less<>>;
  std::lock_guard hold(mutex);
  auto at = rows->find(name);
  if (at == rows->end()) {
    at = rows->emplace(std::string(name), runtime::NativeDef{}).first;
    at->second = {.name = at->first, .params = "", .fn = Access::call_host, .doc = "", .raw = true};
  }
  return at->second;
}

}  // namespace

const Value* Call::keyword(std::string_view name) const {
  for (const auto& [key, value] : keywords_)
    if (key == name) return &value;
  return nullptr;
}

runtime::Value Access::call_host(runtime::Session& s, const runtime::Args& args) {
  // Keeps the function while it runs, even if it replaces itself.
  auto row = std::static_pointer_cast<HostRow>(args[0].as<runtime::Opaque>()->data);
  if (!row->function) return runtime::raise_error(s, runtime::ExcKind::RuntimeError, "the session has ended");
  Core& core = *row->core;
  support::SmallVec<Value, 8> positional;
  positional.reserve(args.size());
  for (const runtime::Value& v : args.positional.subspan(1)) positional.push_back(wrap(core, v));
  std::vector<std::pair<std::string_view, Value>> keywords;
  for (size_t i = 0; i < args.keywords.size(); ++i)
    keywords.emplace_back(args.names[i].as<runtime::Str>()->view(), wrap(core, args.keywords[i]));
  Borrowed borrowed(&core);
  runtime::MemoryUnlimited unlimited(s.memory);  // no exception of ours passes through the host's frames
  try {
    Result<Value> r = row->function(Call(borrowed.session, {positional.data(), positional.size()}, keywords));
    if (!r) {
      raise(core, r.error());
      return runtime::Value::error();
    }
    if (!fits(core, *r)) {
      raise(core, foreign_value());
      return runtime::Value::error();
    }
    return raw(*r);
  } catch (const std::exception& e) {
    return runtime::raise_text(s, runtime::ExcKind::RuntimeError, runtime::text::shown_text(e.what()));
  } catch (...) {
    return runtime::raise_text(s, runtime::ExcKind::RuntimeError, "a C++ exception that is no std::exception");
  }
}

Result<Value> Session::function(std::string_view name, HostFunction f) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!f) return Error("TypeError", "the host function is empty");
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  auto row = std::make_shared<HostRow>(HostRow{core_, std::move(f)});
  std::erase_if(core_->rows, [](const std::weak_ptr<HostRow>& r) { return r.expired(); });
  core_->rows.push_back(row);
  runtime::Value holder = runtime::make_opaque(core_->session.object_type(), std::move(row));
  return Access::wrap(*core_, runtime::make_native(row_named(name), std::move(holder)));
}

Result<void> Session::define(std::string_view name, HostFunction f) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  size_t dot = name.rfind('.');
  std::string_view leaf = dot == name.npos ? name : name.substr(dot + 1);
  Result<Value> made = function(leaf, std::move(f));
  if (!made) return made.error();
  runtime::Value module = dot == name.npos ? core_->main : runtime::add_module(core_->session, name.substr(0, dot));
  return Access::done(*core_, runtime::set_attr(core_->session, module, intern(leaf), Access::raw(*made)));
}

}  // namespace v0
}  // namespace ouro
