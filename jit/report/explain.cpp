#include "jit/report/explain.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/report/report.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/code.h"
#include "runtime/object/object.h"

namespace ouro::jit {

namespace {

using nlohmann::json;

double ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }
double percent(uint64_t part, uint64_t whole) {
  return whole ? std::min(100.0, 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : 0;
}

std::string calls_text(uint64_t n) { return fmt::format("{} call{}", n, n == 1 ? "" : "s"); }

bool lost(const Version& v) { return v.trial.state() == Trial::State::lost; }
bool all_lost(const FunctionReport& f) {
  return !f.of->versions.empty() && std::ranges::all_of(f.of->versions, [](const auto& v) { return lost(*v); });
}
// What the compiler's thread writes is read when it is done.
bool is_done(const Version& v) { return v.state.load(std::memory_order_acquire) != Version::State::compiling; }

// Was none of its versions ready when the script ended?
bool is_late(const FunctionReport& f) {
  return f.compiled_calls == 0 && !f.of->versions.empty() && std::ranges::none_of(f.of->versions, [](const auto& v) {
           return v->state.load(std::memory_order_acquire) == Version::State::ready;
         });
}

std::string_view state_text(const Version& v) {
  switch (v.state.load()) {
    case Version::State::ready:
      return "compiled";
    case Version::State::compiling:
      return "still compiling";
    case Version::State::failed:
      break;
  }
  return "not compiled";
}
size_t operations(const Version& v) {
  size_t n = 0;
  if (v.made->typed)
    for (const ir::Block& b : v.made->typed->blocks) n += b.lets.size();
  return n;
}
size_t holes_in(const FunctionReport& f) {
  size_t most = 0;
  for (const auto& of_version : f.holes) {
    size_t n = 0;
    for (const HoleReport& h : of_version) n += h.count;
    most = std::max(most, n);
  }
  return most;
}

// ---------------------------------------------------------------- text

// A line a function: what part of the time, what, how far.
std::string summary(const Report& r) {
  std::string out;
  uint64_t compiled = 0;
  std::vector<const FunctionReport*> order;
  for (const FunctionReport& f : r.functions) compiled += f.compiled_ns, order.push_back(&f);
  std::ranges::stable_sort(order, std::greater{}, [](const FunctionReport* f) { return f->ns(); });
  out += fmt::format("compiled code took {:.1f} % of {:.2f} s\n", percent(compiled, r.ns), ms(r.ns) / 1e3);
  for (const FunctionReport* f : order) {
    std::string far(reached_text(f->reached));
    if (f->reached == Reached::holes) {
      const size_t n = holes_in(*f);
      far += fmt::format(" {} operation{}", n, n == 1 ? "" : "s");
    }
    if (all_lost(*f)) far += ", slower than the interpreter, which does the calls";
    out += fmt::format("  {:5.1f} %  {} ({}): {}; {}", percent(f->ns(), r.ns), f->name, f->place.name(), far,
                       f->reached == Reached::interpreted ? calls_text(f->interpreted_calls)
                                                          : calls_text(f->compiled_calls) + " compiled");
    if (f->reached != Reached::interpreted && f->interpreted_calls)
      out += fmt::format(", {} interpreted", f->interpreted_calls);
    if (is_late(*f)) out += " (no version of it was ready before the end)";
    if (!f->of->full.empty()) out += " (its versions fit no other calls)";
    out += "\n";
  }
  return out;
}

std::string hole_line(const HoleReport& h, std::string_view indent, bool with_time) {
  std::string out = fmt::format("{}{}: {}{}", indent, h.place.name(), h.why.text,
                                h.count > 1 ? fmt::format(" ({} times)", h.count) : "");
  if (with_time && h.ns) out += fmt::format("; {:.2f} ms in {}", ms(h.ns), calls_text(h.runs));
  out += "\n";
  if (!h.place.text.empty()) out += fmt::format("{}    {}\n", indent, h.place.text);
  return out;
}

std::string ranking(const Report& r) {
  std::string out;
  std::set<Reason> told;  // what to write instead, once
  for (const HoleReport& h : r.ranked()) {
    out += hole_line(h, "  ", true);
    const std::string_view instead = row_of(h.why.reason).instead;
    if (!instead.empty() && told.insert(h.why.reason).second) out += fmt::format("      instead: {}\n", instead);
  }
  return out.empty() ? "nothing of these is left to the interpreter\n"
                     : "left to the interpreter, what takes most time first:\n" + out;
}

void version_text(const FunctionReport& f, size_t i, std::string& out) {
  const Version& v = *f.of->versions[i];
  out += fmt::format("  version {}: {}; made because: {}\n", f.of->versions.size() - i, state_text(v), v.why);
  if (!(v.demands == runtime::ExecutionPlan{})) out += fmt::format("    for {}\n", runtime::plan_text(v.demands));
  if (v.state.load() == Version::State::failed) out += fmt::format("    {}\n", v.error);
  const uint64_t calls = v.calls.load(), exits = v.exits.load();
  out += fmt::format("    {} operations{}; specialised in {:.1f} ms, {} in {:.1f} ms\n", operations(v),
                     v.symbolic ? ", some sizes are symbols" : "", v.specialise_ms,
                     v.plan() && v.plan()->loaded() ? "loaded" : "compiled", is_done(v) ? v.compile_ms : 0);
  if (v.plan()) {
    PlanCounters c = v.plan()->counters();
    out += fmt::format("    {} kernels, {} bytes of code; {} bytes of temporaries; tensors made {}\n",
                       v.plan()->kernels(), v.plan()->code_bytes(), v.plan()->peak_bytes(), c.tensors_made);
    if (!f.micro_batches[i].empty()) out += fmt::format("    {}\n", f.micro_batches[i]);
    for (const std::string& why : v.plan()->not_compiled())
      out += fmt::format("    a kernel is evaluated, not compiled: {}\n", why);
  }
  out +=
      fmt::format("    {}{}{}\n", calls_text(calls),
                  calls > exits ? fmt::format(", {:.1f} us each", static_cast<double>(v.nanoseconds.load()) / 1e3 /
                                                                      static_cast<double>(calls - exits))
                                : "",
                  exits ? fmt::format(", {} left to the interpreter (the last one: {})", exits, v.left_because) : "");
  if (lost(v))
    out += fmt::format("    the interpreter is quicker: {:.1f} us, not {:.1f} us\n",
                       static_cast<double>(v.trial.least_interpreted()) / 1e3,
                       static_cast<double>(v.trial.least_compiled()) / 1e3);
  if (f.holes[i].empty()) return;
  out += "  interpreted in place:\n";
  for (const HoleReport& h : f.holes[i]) out += hole_line(h, "    ", false);
}

std::string details(const FunctionReport& f) {
  const FunctionVersions& of = *f.of;
  std::string out = fmt::format("{} ({})\n", f.name, f.place.name());
  for (size_t i = of.versions.size(); i-- > 0;) version_text(f, i, out);
  if (of.interpreted_calls) out += fmt::format("  {} interpreted\n", calls_text(of.interpreted_calls));
  if (!of.pins.varying().empty()) {
    std::string names;
    for (const std::string& path : of.pins.varying()) names += (names.empty() ? "" : ", ") + path;
    out += fmt::format("  what changes from call to call: {}\n", names);
  }
  if (of.misses && of.missed)
    out += fmt::format("  calls that fit no version since the newest one was made: {}; in the last one {} differed\n",
                       of.misses, of.missed->access.path(of.missed_node));
  if (!of.full.empty()) out += fmt::format("  other calls are interpreted: {}\n", of.full);
  if (!of.refused.empty()) out += fmt::format("  stays interpreted: {}\n", of.refused);
  if (f.failures.empty()) return out;
  out += "  not compiled because:\n";
  for (const HoleReport& h : f.failures) out += hole_line(h, "    ", false);
  if (f.before_failure.empty()) return out;
  out += "  left to the interpreter before that:\n";
  for (const HoleReport& h : f.before_failure) out += hole_line(h, "    ", false);
  return out;
}

// Plain code: a line a function or loop, and the lines of it that the interpreter does.
std::string plain_text(const Report& r) {
  constexpr size_t kMost = 20;
  std::string out;
  for (const PlainReport& p : r.plain) {
    if (&p - r.plain.data() == kMost) {
      out += fmt::format("  and {} more\n", r.plain.size() - kMost);
      break;
    }
    out += fmt::format("  {}{} ({}): {}; {} of {} instructions by the interpreter; entered {} time{}",
                       p.loop ? "a loop of " : "", p.name, p.place.name(), p.state, p.steps, p.native + p.steps,
                       p.entered, p.entered == 1 ? "" : "s");
    out += p.left ? fmt::format(", left in the middle {}\n", p.left) : "\n";
    for (const Place& at : p.stepped) out += fmt::format("      {}: {}\n", at.name(), at.text);
  }
  return out.empty() ? out : "plain code:\n" + out;
}

std::string devices_text(runtime::Session& s) {
  std::string out;
  for (size_t kind = 1; kind < runtime::kDeviceKinds; ++kind) {
    const auto id = static_cast<runtime::DeviceId>(kind);
    std::shared_ptr<runtime::Device> d = s.devices.at(id);
    if (!d) continue;
    std::string host;
    for (const auto& [name, n] : d->counters.on_host) host += fmt::format("{}{} {}", host.empty() ? "" : ", ", name, n);
    out += fmt::format("device {}: {} launches of kernels{}\n", runtime::device_name(id), d->counters.launches,
                       host.empty() ? "" : "; without a kernel there, run on the host: " + host);
  }
  return out;
}

// ---------------------------------------------------------------- JSON

json hole_json(const HoleReport& h) {
  const ReasonRow& kind = row_of(h.why.reason);
  json out = {{"file", h.place.file}, {"line", h.place.line}, {"source", h.place.text}, {"reason", h.why.text},
              {"kind", kind.name},    {"count", h.count},     {"runs", h.runs},         {"seconds", ms(h.ns) / 1e3}};
  if (!kind.instead.empty()) out["instead"] = kind.instead;
  return out;
}
json holes_json(const std::vector<HoleReport>& holes) {
  json out = json::array();
  for (const HoleReport& h : holes) out.push_back(hole_json(h));
  return out;
}

json version_json(const FunctionReport& f, size_t i) {
  const Version& v = *f.of->versions[i];
  json out = {{"state", state_text(v)},
              {"why", v.why},
              {"symbolic", v.symbolic},
              {"operations", operations(v)},
              {"specialise_ms", v.specialise_ms},
              {"specialise_steps", v.made->steps},
              {"compile_ms", is_done(v) ? v.compile_ms : 0},
              {"calls", v.calls.load()},
              {"left", v.exits.load()},
              {"seconds", ms(v.nanoseconds.load()) / 1e3},
              {"slower_than_interpreter", lost(v)},
              {"plan", runtime::plan_text(v.demands)},
              {"holes", holes_json(f.holes[i])}};
  if (v.exits.load()) out["left_because"] = v.left_because;
  if (is_done(v) && !v.error.empty()) out["error"] = v.error;
  if (!f.micro_batches[i].empty()) out["micro_batch"] = f.micro_batches[i];
  if (!v.plan()) return out;
  out["kernels"] = v.plan()->kernels();
  out["code_bytes"] = v.plan()->code_bytes();
  out["temporary_bytes"] = v.plan()->peak_bytes();
  out["loaded"] = v.plan()->loaded();
  return out;
}

json plain_json(const PlainReport& p) {
  json out = {{"name", p.name},   {"file", p.place.file},       {"line", p.place.line}, {"loop", p.loop},
              {"state", p.state}, {"native", p.native},         {"steps", p.steps},     {"entered", p.entered},
              {"left", p.left},   {"step_lines", json::array()}};
  for (const Place& at : p.stepped)
    out["step_lines"].push_back({{"file", at.file}, {"line", at.line}, {"source", at.text}});
  return out;
}

json function_json(const Report& r, const FunctionReport& f) {
  constexpr std::string_view kReached[] = {"whole", "holes", "interpreted"};
  json out = {{"name", f.name},
              {"file", f.place.file},
              {"line", f.place.line},
              {"compiled", kReached[static_cast<size_t>(f.reached)]},
              {"share", percent(f.ns(), r.ns) / 100},
              {"compiled_calls", f.compiled_calls},
              {"compiled_seconds", ms(f.compiled_ns) / 1e3},
              {"interpreted_calls", f.interpreted_calls},
              {"interpreted_seconds", ms(f.interpreted_ns) / 1e3},
              {"varying", f.of->pins.varying()},
              {"failures", holes_json(f.failures)},
              {"versions", json::array()}};
  for (size_t i = f.of->versions.size(); i-- > 0;) out["versions"].push_back(version_json(f, i));
  if (f.of->misses && f.of->missed)
    out["misses"] = {{"calls", f.of->misses}, {"last", f.of->missed->access.path(f.of->missed_node)}};
  if (!f.of->refused.empty()) out["refused"] = f.of->refused;
  if (!f.of->full.empty()) out["full"] = f.of->full;
  return out;
}

}  // namespace

void time_everything(runtime::Session& s) {
  if (JitExecutor* jit = executor_of(s)) jit->times_all = true;
}

void prepare_report(runtime::Session& s) {
  if (JitExecutor* jit = executor_of(s)) jit->compile_after = std::chrono::milliseconds(0);
  time_everything(s);
}

std::string explain(runtime::Session& s) {
  JitExecutor* jit = executor_of(s);
  if (!jit) return "mode eager: every statement is interpreted as it comes\n";
  const Report r = make_report(s);
  std::string out;
  if (!r.functions.empty()) out = summary(r) + ranking(r);
  for (const FunctionReport& f : r.functions) out += "\n" + details(f);
  if (const std::string plain = plain_text(r); !plain.empty()) out += (out.empty() ? "" : "\n") + plain;
  if (const std::string devices = devices_text(s); !devices.empty()) out += "\n" + devices;
  if (CacheCounters c = jit->cache().counters(); c.compiled + c.loaded > 0)
    out +=
        fmt::format("disk cache {}: {} compiled, {} loaded\n", jit->cache().on() ? "on" : "off", c.compiled, c.loaded);
  if (out.empty())
    out = "nothing was compiled: no function was called with tensors often enough, and no plain code ran for long\n";
  return out;
}

std::string explain_function(runtime::Session& s, const runtime::Function& f) {
  const bool eager = s.options.mode == runtime::Mode::eager;
  JitExecutor* jit = executor_of(s);
  if (jit) jit->wait();
  std::string out, instead;
  std::set<Reason> told;
  const Report r = make_report(s);
  for (const FunctionReport& report : r.functions) {
    if (!concerns(*report.of, f)) continue;
    out += details(report);
    for (const auto& holes : report.holes)
      for (const HoleReport& h : holes)
        if (const auto text = row_of(h.why.reason).instead; !text.empty() && told.insert(h.why.reason).second)
          instead += fmt::format("  instead: {}\n", text);
  }
  if (!out.empty()) return out + instead + (eager ? "(The mode is eager now: no version is used.)\n" : "");
  const uint32_t calls = runtime::code_of(s, f.code)->calls;
  out = fmt::format("{} ({}) is interpreted: {}.\n", f.code->qualname.text(), place_of(s, f.code->span).name(),
                    calls ? calls_text(calls) + " so far" : "it was not called yet");
  if (eager || !jit) return out + "The mode is eager, in which nothing is compiled.\n";
  return out +
         (s.options.mode == runtime::Mode::graph
              ? "In the mode graph a function that works on tensors is compiled at its first call.\n"
              : "In the mode auto a function that works on tensors is compiled once its calls have taken a tenth of "
                "a second;\n@jit before it, or the mode graph, has it compiled at its first call.\n");
}

std::string explain_json(runtime::Session& s) {
  JitExecutor* jit = executor_of(s);
  const Report r = make_report(s);
  json out = {{"mode", jit ? s.options.mode == runtime::Mode::graph ? "graph" : "auto" : "eager"},
              {"seconds", ms(r.ns) / 1e3},
              {"functions", json::array()},
              {"holes", holes_json(r.ranked())}};
  for (const FunctionReport& f : r.functions) out["functions"].push_back(function_json(r, f));
  out["plain"] = json::array();
  for (const PlainReport& p : r.plain) out["plain"].push_back(plain_json(p));
  if (jit) {
    const CacheCounters c = jit->cache().counters();
    out["cache"] = {{"on", jit->cache().on()}, {"compiled", c.compiled}, {"loaded", c.loaded}};
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string holes_left(runtime::Session& s) {
  std::string out;
  for (const HoleReport& h : make_report(s).ranked()) out += hole_line(h, "  ", false);
  return out;
}

}  // namespace ouro::jit
