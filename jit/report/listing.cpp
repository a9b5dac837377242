#include "jit/report/listing.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "backends/opencl/source.h"
#include "backends/ptx/ptx.h"
#include "ir/print.h"
#include "jit/report/report.h"
#include "jit/versions/executor.h"

namespace ouro::jit {
namespace {

using Kernels = std::vector<const ir::loops::Kernel*>;
struct Input {
  const Version& version;
  Kernels kernels;  // distinct ones
  runtime::Backend& backend;
};

std::string typed(const Input& in) { return ir::print(*in.version.made->typed); }
std::string plan(const Input& in) { return in.version.plan()->text(); }
std::string loops(const Input& in) {
  std::string out;
  for (const auto* k : in.kernels) out += print(*k);
  return out;
}

std::string host_text(const Input& in, bool runtime::KernelDump::*want, std::string runtime::KernelDump::*text) {
  runtime::KernelDump dump;
  dump.*want = true;
  std::string error;
  if (!in.backend.compile(in.kernels, error, &dump)) return "; " + error + "\n";
  return dump.*text;
}
std::string llvm_(const Input& in) { return host_text(in, &runtime::KernelDump::want_ir, &runtime::KernelDump::ir); }
std::string asm_(const Input& in) {
  return host_text(in, &runtime::KernelDump::want_assembly, &runtime::KernelDump::assembly);
}

std::string cl(const Input& in) { return backends::opencl::source(in.kernels); }
// The oldest GPU that is still common; a driver assembles it for newer ones, too.
std::string ptx(const Input& in) {
  std::string error, text = backends::ptx::assembly(in.kernels, "sm_80", error);
  return error.empty() ? text : "// " + error + "\n";
}

constexpr struct {
  std::string_view name;
  std::string (*text)(const Input&);
  std::string_view comment;  // how a line of comment begins
  bool of_kernels;
} kStages[] = {{"typed", typed, ";", false}, {"plan", plan, ";", false}, {"loops", loops, "//", true},
               {"llvm", llvm_, ";", true},   {"asm", asm_, "#", true},   {"cl", cl, "//", true},
               {"ptx", ptx, "//", true}};

Kernels distinct(Kernels all) {
  Kernels out;
  std::vector<std::string> seen;
  for (const auto* k : all) {
    std::string text = print(*k);
    if (std::ranges::find(seen, text) != seen.end()) continue;
    seen.push_back(std::move(text));
    out.push_back(k);
  }
  return out;
}

// Of the functions that `wanted` takes.
std::string listing_where(runtime::Session& s, std::string_view stage,
                          const std::function<bool(const FunctionVersions&)>& wanted) {
  const auto& row = *std::ranges::find(kStages, stage, [](const auto& r) { return r.name; });
  JitExecutor* jit = executor_of(s);
  if (!jit) return fmt::format("{} mode eager: nothing is compiled\n", row.comment);
  jit->wait();
  std::string out, error;
  auto host = jit->backend(s, runtime::DeviceId::cpu, error);
  if (!host) return fmt::format("{} {}\n", row.comment, error);
  for (const auto& f : jit->functions()) {
    if (!wanted(*f)) continue;
    for (size_t i = f->versions.size(); i-- > 0;) {
      const Version& v = *f->versions[i];
      out += fmt::format("{} {}, version {}\n", row.comment, f->code->qualname.text(), f->versions.size() - i);
      if (!v.plan()) {
        out += fmt::format("{} not compiled: {}\n", row.comment, v.error);
        continue;
      }
      Input in{v, distinct(v.plan()->kernel_list()), *host};
      out += row.of_kernels && in.kernels.empty() ? fmt::format("{} no kernels\n", row.comment) : row.text(in);
      out += '\n';
    }
  }
  return out.empty() ? fmt::format("{} nothing was compiled\n", row.comment) : out;
}

}  // namespace

bool is_version_stage(std::string_view stage) {
  return std::ranges::find(kStages, stage, [](const auto& s) { return s.name; }) != std::end(kStages);
}

std::string listing(runtime::Session& s, std::string_view stage, std::string_view function) {
  return listing_where(s, stage,
                       [&](const FunctionVersions& f) { return function.empty() || f.code->name.str() == function; });
}

std::string listing_of(runtime::Session& s, std::string_view stage, const runtime::Function& f) {
  return listing_where(s, stage, [&](const FunctionVersions& versions) { return concerns(versions, f); });
}

}  // namespace ouro::jit
