#include "include/source/core.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "stdlib/start.h"
#include "support/source.h"

namespace ouro {
inline namespace v0 {

Session::Session(const Options& options) : core_(new Core(options)) {}

Session::~Session() {
  if (!core_) return;
  const bool called = core_->inside();
  Entry in(core_);
  if (called || !in.ok()) {
    std::fputs("ouro: a Session was destroyed while it was in use\n", stderr);
    std::abort();
  }
  runtime::Session& s = core_->session;
  stdlib::end_program(s);
  // A host function may hold Values of this session, which would keep each other.
  for (std::weak_ptr<HostRow>& row : core_->rows)
    if (std::shared_ptr<HostRow> r = row.lock()) HostFunction gone = std::move(r->function);
  s.out.redirect({});
  s.err.redirect({});
  core_->ended = true;
  --core_->refs;
}

// ---------------------------------------------------------------- running

Result<void> Session::run(std::string_view text, std::string_view name) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  return Access::done(*core_, !runtime::run_source(core_->session, name, text, core_->main).is_error());
}

Result<void> Session::run_file(const std::string& path) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  runtime::Session& s = core_->session;
  std::string name = path, text;
  if (!name.starts_with('/')) {  // tracebacks show the whole path
    char folder[4096];
    if (getcwd(folder, sizeof folder)) name = std::string(folder) + "/" + name;
  }
  if (!read_file(name, text)) {
    runtime::raise_os_error(s, errno, path);
    return Access::take_error(*core_);
  }
  std::string folder = name.substr(0, name.rfind('/'));
  if (std::find(s.path.begin(), s.path.end(), folder) == s.path.end()) s.path.insert(s.path.begin(), folder);
  if (!runtime::set_attr(s, core_->main, intern("__file__"), runtime::make_str(name)))
    return Access::take_error(*core_);
  return Access::done(*core_, !runtime::run_source(s, name, text, core_->main).is_error());
}

Result<Value> Session::import(std::string_view module) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  return Access::result(*core_, runtime::import_module(core_->session, intern(module)));
}

// ---------------------------------------------------------------- names

Result<Value> Session::get(std::string_view name) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  runtime::Session& s = core_->session;
  Symbol symbol = intern(name);
  if (runtime::Value* v = core_->main.as<runtime::Module>()->names.find(symbol); v && !v->is_unbound())
    return Access::wrap(*core_, *v);
  runtime::Value v = runtime::builtin(s, symbol, true);
  if (v.is_unbound())
    v = runtime::raise_error(s, runtime::ExcKind::NameError, "name '%s' is not defined", symbol.c_str());
  return Access::result(*core_, std::move(v));
}

Result<void> Session::put(std::string_view name, const Value& value) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  return Access::done(*core_, runtime::set_attr(core_->session, core_->main, intern(name), Access::raw(value)));
}

// ---------------------------------------------------------------- making values

namespace {

// f(the items as the runtime has them), unless one is of another session.
template <class F>
Result<Value> of_items(Core* core, std::span<const Value> items, F&& f) {
  Entry in(core);
  if (!in.ok()) return in.refusal();
  std::vector<runtime::Value> raw;
  for (const Value& v : items) {
    if (!Access::fits(*core, v)) return Access::foreign_value();
    raw.push_back(Access::raw(v));
  }
  return Access::result(*core, f(std::span<runtime::Value>(raw)));
}

}  // namespace

Result<Value> Session::str(std::string_view utf8) {
  return of_items(core_, {}, [&](auto) { return runtime::make_str(utf8); });
}
Result<Value> Session::bytes(std::string_view raw) {
  return of_items(core_, {}, [&](auto) { return runtime::make_bytes(raw); });
}
Result<Value> Session::list(std::span<const Value> items) {
  return of_items(core_, items, [](auto raw) { return runtime::make_list_moved(raw); });
}
Result<Value> Session::tuple(std::span<const Value> items) {
  return of_items(core_, items, [](auto raw) { return runtime::make_tuple_moved(raw); });
}
Result<Value> Session::dict(std::span<const std::pair<Value, Value>> items) {
  std::vector<Value> flat;
  for (const auto& [key, value] : items) {
    flat.push_back(key);
    flat.push_back(value);
  }
  return of_items(core_, flat, [&](std::span<runtime::Value> raw) {
    runtime::Value d = runtime::make_dict();
    for (size_t i = 0; i < raw.size(); i += 2)
      if (!runtime::dict_set(core_->session, d.as<runtime::Dict>(), raw[i], raw[i + 1])) return runtime::Value::error();
    return d;
  });
}

Result<std::string> Session::text(const Value& value) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  std::string out = runtime::text_of(core_->session, Access::raw(value));
  if (core_->session.has_error()) return Access::take_error(*core_);
  return out;
}
Result<std::string> Session::repr(const Value& value) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  std::string out = runtime::repr_text(core_->session, Access::raw(value));
  if (core_->session.has_error()) return Access::take_error(*core_);
  return out;
}

// ---------------------------------------------------------------- output, interrupts, demands

namespace {

std::function<void(std::string_view)> guarded(std::function<void(std::string_view)> to) {
  if (!to) return {};
  return [to = std::move(to)](std::string_view text) {
    try {
      to(text);
    } catch (...) {  // nothing may unwind the interpreter's frames; a host that wants to stop interrupts
    }
  };
}

}  // namespace

Result<void> Session::on_output(std::function<void(std::string_view)> to) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  (void)core_->session.out.flush();
  core_->session.out.redirect(guarded(std::move(to)));
  return {};
}
Result<void> Session::on_error_output(std::function<void(std::string_view)> to) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  (void)core_->session.err.flush();
  core_->session.err.redirect(guarded(std::move(to)));
  return {};
}

void Session::interrupt() noexcept { core_->session.poll.fetch_or(runtime::Session::kInterrupt); }
void Session::stop() noexcept {
  core_->session.stopping.store(true);
  core_->session.poll.fetch_or(runtime::Session::kInterrupt);
}
void Session::clear_interrupt() noexcept {
  core_->session.poll.fetch_and(~static_cast<uint32_t>(runtime::Session::kInterrupt));
}

Result<void> Session::set_demand(std::string_view name, std::string_view value) {
  const runtime::Wish wish{std::string(name), std::string(value)};
  std::string wrong = core_->session.demands.set({&wish, 1}, runtime::DemandOrigin::host);
  if (!wrong.empty()) return Error("ValueError", std::move(wrong));
  return {};
}
std::string Session::demands() const { return core_->session.demands.text(); }

Result<void> Session::set_threads(int threads) {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (threads < 0 || threads > 1024)
    return Error("ValueError", "threads is a number from 0 to 1024, not " + std::to_string(threads));
  return set_demand("threads", threads == 0 ? "auto" : std::to_string(threads));
}
int Session::threads() const {
  Entry in(core_);
  return in.ok() ? runtime::session_threads(core_->session) : 0;
}

}  // namespace v0
}  // namespace ouro
