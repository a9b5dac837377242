#include "backends/host/host_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "backends/device/distinct_kernels.h"
#include "backends/host/fold_levels.h"
#include "backends/host/kernel_emitter.h"
#include "support/signals.h"
#include "support/trace.h"

namespace ouro::backends {
namespace {
using ir::loops::Kernel;
using runtime::KernelArgs;
using runtime::KernelDump;
using runtime::KernelModule;
using runtime::KernelModuleRef;

// Below this many elements a launch stays on its thread; above it each part has at least half as many.
constexpr int64_t kSplitWork = 1 << 15;
constexpr uint32_t kSaveMagic = 0x316b756f;  // "ouk1"

struct Part {
  std::string object;
  CodeRef code;
};

class HostModule final : public KernelModule {
 public:
  std::vector<Part> parts;
  std::vector<std::pair<uint32_t, uint32_t>> where;  // of each kernel: part and entry
  std::vector<uint32_t> entries;                     // of each part: how many
  std::vector<KernelFn> functions;

  size_t count() const override { return where.size(); }
  size_t bytes() const override {
    size_t n = 0;
    for (const Part& p : parts) n += p.object.size();
    return n;
  }
  bool link(HostJit& jit, std::string& error) {
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::string> names;
      for (uint32_t e = 0; e < entries[i]; ++e) names.push_back("k" + std::to_string(e));
      if (names.empty()) continue;
      parts[i].code = jit.link(parts[i].object, names, error);
      if (!parts[i].code) return false;
    }
    for (auto [part, entry] : where) functions.push_back(reinterpret_cast<KernelFn>(parts[part].code->entry(entry)));
    return true;
  }
};

// One thread's share: the distinct kernels of one object.
struct CompileJob {
  std::vector<const Kernel*> kernels;
  std::string object, ir, assembly, error;

  void run(const HostJit& jit, const KernelDump* dump) {
    llvm::LLVMContext context;
    llvm::Module module("kernels", context);
    {
      Timer timer("kernels: emit");
      for (size_t i = 0; i < kernels.size(); ++i)
        KernelEmitter(module, *kernels[i], jit.target()).run("k" + std::to_string(i));
    }
#ifdef OURO_ASSERTS
    llvm::raw_string_ostream text(error);
    if (llvm::verifyModule(module, &text)) {
      module.print(text, nullptr);
      return;
    }
#endif
    if (dump && dump->want_ir) {
      llvm::raw_string_ostream out(ir);
      module.print(out, nullptr);
    }
    Timer timer("kernels: codegen");
    object = jit.compile(module, 1, error, dump && dump->want_assembly ? &assembly : nullptr);
  }
};

class Host final : public HostBackend {
 public:
  Host(HostOptions options, std::shared_ptr<HostJit> jit) : options_(std::move(options)), jit_(std::move(jit)) {
    limits_.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    limits_.vector_bits = jit_->target().vector_bits;
    limits_.local_bytes = 1 << 20;
  }

  std::shared_ptr<HostJit> jit() const override { return jit_; }
  std::string_view name() const override { return "host"; }
  const runtime::BackendLimits& limits() const override { return limits_; }
  std::string target_key() const override { return jit_->target().key(); }

  void* allocate(size_t bytes) override {
    return std::aligned_alloc(64, (std::max<size_t>(bytes, 1) + 63) & ~size_t{63});
  }
  void release(void* memory, size_t) override { std::free(memory); }
  bool copy_in(void* device, const void* host, size_t bytes, std::string& e) override {
    return copy(device, host, bytes, e);
  }
  bool copy_out(void* host, const void* device, size_t bytes, std::string& e) override {
    return copy(host, device, bytes, e);
  }
  bool copy(void* to, const void* from, size_t bytes, std::string&) override {
    if (bytes) std::memmove(to, from, bytes);
    return true;
  }

  KernelModuleRef compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump) override;
  std::string save(const KernelModule& module) const override;
  KernelModuleRef load(std::string_view bytes, std::string& error) override;
  bool launch(const KernelModule& module, size_t index, const KernelArgs& args, int threads,
              std::string& error) override;
  bool sync(std::string&) override { return true; }

 private:
  HostOptions options_;
  std::shared_ptr<HostJit> jit_;
  runtime::BackendLimits limits_;
};

KernelModuleRef Host::compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump) {
  Timer timer("kernels: compile");
  auto module = std::make_shared<HostModule>();
  auto [distinct, which] = device::distinct(kernels, dump);
  constexpr size_t kPerThread = 6;
  size_t jobs_wanted =
      std::clamp<size_t>(distinct.size() / kPerThread, 1, static_cast<size_t>(std::max(1, options_.compile_threads)));
  std::vector<CompileJob> jobs(jobs_wanted);
  for (size_t i = 0; i < distinct.size(); ++i) jobs[i % jobs_wanted].kernels.push_back(distinct[i]);
  std::vector<std::thread> helpers;
  for (size_t j = 1; j < jobs_wanted; ++j)
    helpers.push_back(support::start_thread([&, j] { jobs[j].run(*jit_, dump); }));
  jobs[0].run(*jit_, dump);
  for (std::thread& t : helpers) t.join();
  for (CompileJob& j : jobs) {
    if (!j.error.empty()) {
      error = j.error;
      return nullptr;
    }
    if (dump) dump->ir += j.ir, dump->assembly += j.assembly;
    module->parts.push_back({std::move(j.object), nullptr});
    module->entries.push_back(static_cast<uint32_t>(j.kernels.size()));
  }
  for (uint32_t w : which) module->where.emplace_back(w % jobs_wanted, w / jobs_wanted);
  if (!module->link(*jit_, error)) return nullptr;
  return module;
}

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
template <class T>
bool take(std::string_view& in, T& v) {
  if (in.size() < sizeof v) return false;
  std::memcpy(&v, in.data(), sizeof v);
  in.remove_prefix(sizeof v);
  return true;
}

std::string Host::save(const KernelModule& module) const {
  const auto& m = static_cast<const HostModule&>(module);
  std::string out;
  put(out, kSaveMagic);
  put(out, static_cast<uint32_t>(m.parts.size()));
  put(out, static_cast<uint32_t>(m.where.size()));
  for (size_t i = 0; i < m.parts.size(); ++i) {
    put(out, m.entries[i]);
    put(out, static_cast<uint64_t>(m.parts[i].object.size()));
    out += m.parts[i].object;
  }
  for (auto [part, entry] : m.where) put(out, part), put(out, entry);
  return out;
}

KernelModuleRef Host::load(std::string_view bytes, std::string& error) {
  auto m = std::make_shared<HostModule>();
  uint32_t magic = 0, parts = 0, count = 0;
  bool ok = take(bytes, magic) && magic == kSaveMagic && take(bytes, parts) && take(bytes, count);
  for (uint32_t i = 0; ok && i < parts; ++i) {
    uint32_t entries = 0;
    uint64_t size = 0;
    ok = take(bytes, entries) && take(bytes, size) && size <= bytes.size();
    if (!ok) break;
    m->entries.push_back(entries);
    m->parts.push_back({std::string(bytes.substr(0, size)), nullptr});
    bytes.remove_prefix(size);
  }
  for (uint32_t i = 0; ok && i < count; ++i) {
    uint32_t part = 0, entry = 0;
    ok = take(bytes, part) && take(bytes, entry) && part < parts && entry < m->entries[part];
    m->where.emplace_back(part, entry);
  }
  if (!ok) {
    error = "not a saved kernel module";
    return nullptr;
  }
  return m->link(*jit_, error) ? m : nullptr;
}

bool Host::launch(const KernelModule& module, size_t index, const KernelArgs& args, int threads, std::string&) {
  KernelFn fn = static_cast<const HostModule&>(module).functions[index];
  int64_t total = args.range * std::max<int64_t>(args.work, 1);
  int64_t parts = std::min<int64_t>({threads, args.range, total / (kSplitWork / 2)});
  if (!options_.split || parts <= 1 || total < kSplitWork) {
    fn(args.buffers, args.sizes, args.scalars, 0, args.range);
    return true;
  }
  struct Context {
    KernelFn fn;
    const KernelArgs& args;
    int64_t step;
  };
  int64_t step = (args.range + parts - 1) / parts;
  if (args.work == 1) step = (step + 63) & ~int64_t{63};  // flat kernels: parts start at a cache line
  Context context{fn, args, step};
  options_.split(
      options_.pool, static_cast<int>((args.range + step - 1) / step),
      [](void* p, int part) {
        const auto& c = *static_cast<const Context*>(p);
        int64_t begin = c.step * part, end = std::min(c.args.range, begin + c.step);
        if (begin < end) c.fn(c.args.buffers, c.args.sizes, c.args.scalars, begin, end);
      },
      &context);
  return true;
}

}  // namespace

std::unique_ptr<HostBackend> HostBackend::create(HostOptions options, std::string& error) {
  if (options.target.cpu.empty()) options.target = detect_target();
  std::shared_ptr<HostJit> jit = HostJit::create(options.target, error);
  if (!jit) return nullptr;
  const Symbol64 kHelpers[] = {
      {"ouro_fold_begin", reinterpret_cast<const void*>(&ouro_fold_begin)},
      {"ouro_fold_push", reinterpret_cast<const void*>(&ouro_fold_push)},
      {"ouro_fold_finish", reinterpret_cast<const void*>(&ouro_fold_finish)},
  };
  jit->define(kHelpers);
  return std::make_unique<Host>(std::move(options), std::move(jit));
}

}  // namespace ouro::backends
