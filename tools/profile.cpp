#include "tools/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/report/explain.h"
#include "jit/report/report.h"
#include "jit/versions/executor.h"
#include "support/timeline.h"

namespace ouro::tools {
namespace {

constexpr size_t kMostSpans = 1'000'000;  // of the trace: 100 bytes each in the file
constexpr size_t kMostLines = 30, kMostKernels = 20;

}  // namespace

Profile::Profile(runtime::Session& s) : s_(s), begun_(now_ns()) {
  jit::time_everything(s);
  record_timeline(kMostSpans);
  sampler_ = std::make_unique<runtime::Sampler>(s);
}

std::string Profile::finish(const std::string& trace_file, std::string& error) {
  const double seconds = static_cast<double>(now_ns() - begun_) / 1e9;
  record_timeline(0);
  const std::string lines = lines_text(), kernels = kernels_text();
  const uint64_t samples = sampler_->samples();
  sampler_.reset();
  std::string out = fmt::format("{:.2f} s, {} samples\n", seconds, samples) + lines + kernels;
  if (write_trace(trace_file, error))
    out += fmt::format("trace: {} (Perfetto and chrome://tracing open it)\n", trace_file);
  return out;
}

std::string Profile::lines_text() {
  std::string out = "by line:          time  compiled\n";
  const auto lines = sampler_->lines();
  const double all = std::max<double>(1, static_cast<double>(sampler_->samples()));
  for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    const auto n = lines[i].interpreted + lines[i].compiled;
    const jit::Place at = jit::place_of(s_, lines[i].span);
    out += fmt::format("  {:5.1f} %  {:8.3f} s  {:6.1f} %  {}{}\n", 100 * static_cast<double>(n) / all,
                       static_cast<double>(n) / runtime::Sampler::kPerSecond,
                       100 * static_cast<double>(lines[i].compiled) / static_cast<double>(n),
                       at.line ? at.name() : "outside of the script", at.line ? "  " + at.text : "");
  }
  if (lines.size() > kMostLines) out += fmt::format("  and {} more\n", lines.size() - kMostLines);
  return out;
}

std::string Profile::kernels_text() {
  jit::JitExecutor* jit = jit::executor_of(s_);
  if (!jit) return {};
  struct Row {
    std::string function;
    jit::InstructionTime time;
  };
  std::vector<Row> rows;
  for (const auto& f : jit->functions())
    for (const auto& v : f->versions)
      if (v->plan() && v->state.load() == jit::Version::State::ready)
        for (jit::InstructionTime& t : v->plan()->times())
          rows.push_back({std::string(f->code->qualname.text()), std::move(t)});
  if (rows.empty()) return {};
  std::ranges::stable_sort(rows, std::greater{}, [](const Row& r) { return r.time.ns; });
  std::string out = "in compiled code: time      runs\n";
  for (size_t i = 0; i < std::min(rows.size(), kMostKernels); ++i) {
    const auto& [function, t] = rows[i];
    const jit::Place at = jit::place_of(s_, t.span);
    out += fmt::format("  {:10.3f} s  {:8}  {} of {}, {}  {}\n", static_cast<double>(t.ns) / 1e9, t.runs, t.what,
                       function, at.name(), at.text);
  }
  if (rows.size() > kMostKernels) out += fmt::format("  and {} more\n", rows.size() - kMostKernels);
  return out;
}

// The trace event format of Chrome: complete events ("X"), times in microseconds.
bool Profile::write_trace(const std::string& name, std::string& error) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  uint64_t dropped = 0;
  const auto spans = timeline(dropped);
  file << R"({"displayTimeUnit":"ms","traceEvents":[)"
       << R"({"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"script"}},)"
       << R"({"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"compiler"}})";
  const auto us = [](uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  for (const TimeSpan& t : spans) {
    const std::string text =
        nlohmann::json(std::string(t.name.text())).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    file << fmt::format(R"(,{{"name":{},"cat":"{}","ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f}}})", text,
                        t.category, t.track == Track::compiler ? 2 : 1, us(t.begin - std::min(t.begin, begun_)),
                        us(t.end - t.begin));
  }
  file << fmt::format(R"(],"otherData":{{"dropped":{}}}}})", dropped) << "\n";
  file.close();
  if (file) return true;
  error = fmt::format("cannot write the trace '{}': {}", name, std::strerror(errno));
  return false;
}

}  // namespace ouro::tools
