#include "jit/explain.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "jit/executor.h"
#include "runtime/autodiff/state.h"

namespace ouro::jit {

namespace {

std::string place(runtime::Session& s, Span span) {
  if (!span.known()) return "?";
  const SourceFile* file = s.sources.file(span.file);
  if (!file) return "?";
  return fmt::format("{}:{}", file->name(), file->line_col(span.begin).line);
}

std::string source_line(runtime::Session& s, Span span) {
  if (!span.known()) return "";
  const SourceFile* file = s.sources.file(span.file);
  if (!file) return "";
  std::string_view line = file->line_text(file->line_col(span.begin).line);
  size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(line.substr(first));
}

// A gradient is known by what it is the gradient of.
std::string title(runtime::Session& s, const FunctionVersions& f) {
  if (!f.captured_codes.empty() && runtime::autodiff::state(s).transforms.contains(f.code.get())) {
    const std::string_view name = f.code->qualname.text();
    const ir::Function& of = *f.captured_codes.front();
    return fmt::format("{}({}) ({})", name.substr(0, name.find('.')), of.qualname.text(), place(s, of.span));
  }
  return fmt::format("{} ({})", f.code->qualname.text(), place(s, f.code->span));
}

// Equal notes on one line are one line of the report.
void notes(runtime::Session& s, const std::vector<SpecialiseNote>& list, std::string& out) {
  std::map<std::pair<std::string, std::string>, std::pair<int, Span>> count;
  std::vector<std::pair<std::string, std::string>> order;
  for (const SpecialiseNote& n : list) {
    auto key = std::make_pair(place(s, n.span), n.reason);
    auto [at, fresh] = count.try_emplace(key, 0, n.span);
    if (fresh) order.push_back(key);
    ++at->second.first;
  }
  for (const auto& key : order) {
    const auto& [n, span] = count[key];
    out += fmt::format("    {}: {}{}\n", key.first, key.second, n > 1 ? fmt::format(" ({} times)", n) : "");
    if (std::string line = source_line(s, span); !line.empty()) out += fmt::format("        {}\n", line);
  }
}

}  // namespace

void compile_soon(runtime::Session& s) {
  if (JitExecutor* jit = executor_of(s)) jit->compile_after = std::chrono::milliseconds(0);
}

std::string explain(runtime::Session& s) {
  JitExecutor* jit = executor_of(s);
  if (!jit) return "mode eager: every statement is interpreted as it comes\n";
  std::string out;
  for (const auto& f : jit->functions()) {
    if (f->versions.empty() && f->failures.empty() && !f->marked) continue;
    out += title(s, *f) + "\n";
    for (size_t i = f->versions.size(); i-- > 0;) {
      const Version& v = *f->versions[i];
      Version::State state = v.state.load();
      size_t operations = 0;
      if (v.made->typed)
        for (const ir::Block& b : v.made->typed->blocks) operations += b.lets.size();
      out += fmt::format("  version {}: {}; made because: {}\n", f->versions.size() - i,
                         state == Version::State::ready       ? "compiled"
                         : state == Version::State::compiling ? "still compiling"
                                                              : "not compiled",
                         v.why);
      if (!(v.demands == runtime::ExecutionPlan{})) out += fmt::format("    for {}\n", runtime::plan_text(v.demands));
      if (state == Version::State::failed) out += fmt::format("    {}\n", v.error);
      uint64_t calls = v.calls.load(), exits = v.exits.load();
      out += fmt::format("    {} operations{}; specialised in {:.1f} ms, {} in {:.1f} ms\n", operations,
                         v.symbolic ? ", some sizes are symbols" : "", v.specialise_ms,
                         v.plan && v.plan->loaded() ? "loaded" : "compiled", v.compile_ms);
      if (v.plan) {
        PlanCounters c = v.plan->counters();
        out += fmt::format("    {} kernels, {} bytes of code; {} bytes of temporaries; tensors made {}\n",
                           v.plan->kernels(), v.plan->code_bytes(), v.plan->peak_bytes(), c.tensors_made);
        for (const std::string& why : v.plan->not_compiled())
          out += fmt::format("    a kernel is evaluated, not compiled: {}\n", why);
      }
      out += fmt::format("    {} calls{}{}\n", calls,
                         calls > exits ? fmt::format(", {:.1f} us each", static_cast<double>(v.nanoseconds.load()) /
                                                                             1e3 / static_cast<double>(calls - exits))
                                       : "",
                         exits ? fmt::format(", {} left to the interpreter", exits) : "");
      if (!v.made->fallbacks.empty()) {
        out += fmt::format("  interpreted in place ({}):\n", v.made->fallbacks.size());
        notes(s, v.made->fallbacks, out);
      }
    }
    if (f->interpreted_calls) out += fmt::format("  {} calls interpreted\n", f->interpreted_calls);
    if (!f->pins.varying().empty()) {
      std::string names;
      for (const std::string& path : f->pins.varying()) names += (names.empty() ? "" : ", ") + path;
      out += fmt::format("  numbers that change: {}\n", names);
    }
    if (!f->full.empty()) out += fmt::format("  other calls are interpreted: {}\n", f->full);
    if (!f->refused.empty()) out += fmt::format("  stays interpreted: {}\n", f->refused);
    if (!f->failures.empty()) {
      out += "  not compiled because:\n";
      notes(s, f->failures, out);
      if (!f->before_failure.empty()) {
        out += "  left to the interpreter before that:\n";
        notes(s, f->before_failure, out);
      }
    }
  }
  for (size_t kind = 1; kind < runtime::kDeviceKinds; ++kind) {
    const auto id = static_cast<runtime::DeviceId>(kind);
    std::shared_ptr<runtime::Device> d = s.devices.at(id);
    if (!d) continue;
    std::string host;
    for (const auto& [name, n] : d->counters.on_host) host += fmt::format("{}{} {}", host.empty() ? "" : ", ", name, n);
    out += fmt::format("device {}: {} launches of kernels{}\n", runtime::device_name(id), d->counters.launches,
                       host.empty() ? "" : "; without a kernel there, run on the host: " + host);
  }
  if (CacheCounters c = jit->cache().counters(); c.compiled + c.loaded > 0)
    out +=
        fmt::format("disk cache {}: {} compiled, {} loaded\n", jit->cache().on() ? "on" : "off", c.compiled, c.loaded);
  if (out.empty()) out = "nothing was compiled: no function was called with tensors often enough\n";
  return out;
}

}  // namespace ouro::jit
