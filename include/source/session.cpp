#include "include/source/core.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "include/source/options.h"
#include "runtime/demand/loop.h"
#include "runtime/text/foreign.h"
#include "stdlib/start.h"
#include "support/source.h"

namespace ouro {
inline namespace v0 {

Session::Session(const Options& options) {
  if (std::string problem = problem_of(options); !problem.empty())
    wrong_ = std::make_shared<const Error>("ValueError", problem);
  else
    core_ = new Core(options);
}

Session::~Session() {
  if (!core_) return;
  if (core_->inside()) {
    std::fputs("ouro: a Session was destroyed by a function that its script called\n", stderr);
    std::abort();
  }
  core_->enter_stopping();
  runtime::Session& s = core_->session;
  {
    runtime::SessionScope scope(s);
    runtime::CallScope call(s);
    stdlib::end_program(s);
    // A host function may hold Values of this session, which would keep each other.
    for (std::weak_ptr<HostRow>& row : core_->rows)
      if (std::shared_ptr<HostRow> r = row.lock()) HostFunction gone = std::move(r->function);
    (void)s.out.flush();
    s.out.redirect({});
    s.err.redirect({});
  }
  core_->ended = true;
  --core_->refs;
  core_->leave();
}

Result<void> Session::check() const {
  if (std::optional<Error> why = Access::refusal(*this)) return *why;
  return {};
}

// ---------------------------------------------------------------- running

Result<void> Session::run(std::string_view text, std::string_view name) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  return Access::done(*core_, !runtime::run_source(core_->session, name, text, core_->main).is_error());
}

Result<void> Session::run_file(const std::string& path) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  runtime::Session& s = core_->session;
  std::string name = path, text;
  if (!name.starts_with('/')) {  // tracebacks show the whole path
    char folder[4096];
    if (getcwd(folder, sizeof folder)) name = std::string(folder) + "/" + name;
  }
  if (!read_file(name, text)) {
    runtime::raise_os_error(s, errno, runtime::make_str(runtime::text::from_system(path)));
    return Access::take_error(*core_);
  }
  std::string folder = name.substr(0, name.rfind('/'));
  if (std::find(s.path.begin(), s.path.end(), folder) == s.path.end()) s.path.insert(s.path.begin(), folder);
  name = runtime::text::from_system(name);
  if (!runtime::set_attr(s, core_->main, intern("__file__"), runtime::make_str(name)))
    return Access::take_error(*core_);
  return Access::done(*core_, !runtime::run_source(s, name, text, core_->main).is_error());
}

Result<Value> Session::import(std::string_view module) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (std::optional<Error> wrong = Access::wrong_text({module})) return *wrong;
  return Access::result(*core_, runtime::import_module(core_->session, intern(module)));
}

// ---------------------------------------------------------------- names

Result<Value> Session::get(std::string_view name) const {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  runtime::Session& s = core_->session;
  const Symbol symbol = find_symbol(name);  // a name that nobody ever used is not kept
  if (!symbol) {
    runtime::raise_error(s, runtime::ExcKind::NameError, "name '%s' is not defined", std::string(name).c_str());
    return Access::take_error(*core_);
  }
  if (runtime::Value* v = core_->main.as<runtime::Module>()->names.find(symbol); v && !v->is_unbound())
    return Access::wrap(*core_, *v);
  runtime::Value v = runtime::builtin(s, symbol, true);
  if (v.is_unbound())
    v = runtime::raise_error(s, runtime::ExcKind::NameError, "name '%s' is not defined", symbol.c_str());
  return Access::result(*core_, std::move(v));
}

Result<void> Session::put(std::string_view name, const Value& value) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  return Access::done(*core_, runtime::set_attr(core_->session, core_->main, intern(name), Access::raw(value)));
}

// ---------------------------------------------------------------- making values

namespace {

// f(the items as the runtime has them), unless one is of another session.
template <class F>
Result<Value> of_items(const Session& session, std::span<const Value> items, F&& f) {
  Core* core = Access::core(session);
  Entry in(session);
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
  if (std::optional<Error> wrong = Access::wrong_text({utf8})) return *wrong;
  return of_items(*this, {}, [&](auto) { return runtime::make_str(utf8); });
}
Result<Value> Session::bytes(std::string_view raw) {
  return of_items(*this, {}, [&](auto) { return runtime::make_bytes(raw); });
}
Result<Value> Session::list(std::span<const Value> items) {
  return of_items(*this, items, [](auto raw) { return runtime::make_list_moved(raw); });
}
Result<Value> Session::tuple(std::span<const Value> items) {
  return of_items(*this, items, [](auto raw) { return runtime::make_tuple_moved(raw); });
}
Result<Value> Session::dict(std::span<const std::pair<Value, Value>> items) {
  std::vector<Value> flat;
  for (const auto& [key, value] : items) {
    flat.push_back(key);
    flat.push_back(value);
  }
  return of_items(*this, flat, [&](std::span<runtime::Value> raw) {
    runtime::Value d = runtime::make_dict();
    for (size_t i = 0; i < raw.size(); i += 2)
      if (!runtime::dict_set(core_->session, d.as<runtime::Dict>(), raw[i], raw[i + 1])) return runtime::Value::error();
    return d;
  });
}

Result<std::string> Session::text(const Value& value) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  std::string out = runtime::text_of(core_->session, Access::raw(value));
  if (core_->session.has_error() || core_->session.met_end) return Access::take_error(*core_);
  return out;
}
Result<std::string> Session::repr(const Value& value) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  std::string out = runtime::repr_text(core_->session, Access::raw(value));
  if (core_->session.has_error() || core_->session.met_end) return Access::take_error(*core_);
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
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  (void)core_->session.out.flush();
  core_->session.out.redirect(guarded(std::move(to)));
  return {};
}
Result<void> Session::on_error_output(std::function<void(std::string_view)> to) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  (void)core_->session.err.flush();
  core_->session.err.redirect(guarded(std::move(to)));
  return {};
}

void Session::interrupt() noexcept {
  if (core_) core_->session.poll.fetch_or(runtime::Session::kInterrupt);
}
void Session::stop() noexcept {
  if (core_) core_->session.end(runtime::Session::kStop);
}
void Session::clear_interrupt() noexcept {
  if (core_) core_->session.poll.fetch_and(~static_cast<uint32_t>(runtime::Session::kInterrupt));
}

Result<void> Session::set_demand(std::string_view name, std::string_view value) {
  if (std::optional<Error> why = Access::refusal(*this)) return *why;
  if (std::optional<Error> wrong = Access::wrong_text({name, value})) return *wrong;
  const runtime::Wish wish{std::string(name), std::string(value)};
  std::string wrong = core_->session.demands.set({&wish, 1}, runtime::DemandOrigin::host);
  if (!wrong.empty()) return Error("ValueError", std::move(wrong));
  return {};
}
std::string Session::demands() const { return core_ ? core_->session.demands.text() : std::string(); }

Result<void> Session::on_decision(std::function<void(const Decision&)> told) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (!told) return core_->session.demands.loop().on_decision({}), Result<void>();
  core_->session.demands.loop().on_decision([told = std::move(told)](const runtime::Loop::Decision& d) {
    try {
      told({d.step, d.at, d.goal, d.response, d.text, d.outcome});
    } catch (...) {  // nothing may unwind the interpreter's frames
    }
  });
  return {};
}

Result<void> Session::set_threads(int threads) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  if (threads < 0 || threads > 1024)
    return Error("ValueError", "threads is a number from 0 to 1024, not " + std::to_string(threads));
  return set_demand("threads", threads == 0 ? "auto" : std::to_string(threads));
}
int Session::threads() const {
  Entry in(*this);
  return in.ok() ? runtime::session_threads(core_->session) : 0;
}

}  // namespace v0
}  // namespace ouro
