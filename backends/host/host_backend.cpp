#include "backends/host/host_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "backends/host/distinct_kernels.h"
#include "backends/host/kernel_emitter.h"
#include "backends/llvm/contain.h"
#include "backends/reference/evaluate.h"
#include "backends/reference/fold_levels.h"
#include "support/diag.h"
#include "support/give_up.h"
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
constexpr uint32_t kSaveMagic = 0x326b756f;  // "ouk2"

// An object of some kernels, linked. Modules share it.
struct Part {
  std::string object;
  uint32_t entries = 0;
  CodeRef code;

  bool link(HostJit& jit, std::string& error) {
    std::vector<std::string> names;
    for (uint32_t e = 0; e < entries; ++e) names.push_back("k" + std::to_string(e));
    if (names.empty()) return true;
    code = jit.link(object, names, error);
    return code != nullptr;
  }
};
using PartRef = std::shared_ptr<const Part>;

class HostModule final : public KernelModule {
 public:
  std::vector<PartRef> parts;
  std::vector<std::pair<uint32_t, uint32_t>> where;  // of each kernel: part and entry
  std::vector<KernelFn> functions;                   // null: evaluated
  // Kernels that the code generator cannot take, by number, and why; rare.
  struct Evaluated {
    std::shared_ptr<const Kernel> kernel;
    std::string why;
  };
  std::map<size_t, Evaluated> evaluated_;

  size_t count() const override { return where.size(); }
  size_t bytes() const override {
    size_t n = 0;
    for (const PartRef& p : parts) n += p->object.size();
    return n;
  }
  std::vector<std::string> not_compiled() const override {
    std::vector<std::string> out;
    for (const auto& [k, e] : evaluated_) out.push_back(e.why);
    return out;
  }
  uint32_t add(PartRef part) {
    const auto known = std::ranges::find(parts, part);
    if (known == parts.end()) return parts.push_back(std::move(part)), static_cast<uint32_t>(parts.size() - 1);
    return static_cast<uint32_t>(known - parts.begin());
  }
  void find_functions() {
    for (size_t k = 0; k < where.size(); ++k) {
      auto [part, entry] = where[k];
      functions.push_back(evaluated_.count(k) ? nullptr : reinterpret_cast<KernelFn>(parts[part]->code->entry(entry)));
    }
  }
};

// The kernels that modules of this process have code for, by their text. The versions of a step for two plans differ in
// few kernels, and so do those for two sizes: what one has compiled the other takes over.
class KnownKernels {
 public:
  struct Known {
    PartRef part;  // null: none is known
    uint32_t entry = 0;
  };
  Known find(const std::string& text) {
    std::lock_guard guard(lock_);
    const auto at = known_.find(text);
    return at == known_.end() ? Known{} : Known{at->second.part.lock(), at->second.entry};
  }
  void add(std::string text, const PartRef& part, uint32_t entry) {
    std::lock_guard guard(lock_);
    if (known_.size() >= sweep_at_) {
      std::erase_if(known_, [](const auto& k) { return k.second.part.expired(); });
      sweep_at_ = std::max<size_t>(kLeast, 2 * known_.size());
    }
    known_.insert_or_assign(std::move(text), Weak{part, entry});
  }

 private:
  static constexpr size_t kLeast = 1024;
  struct Weak {
    std::weak_ptr<const Part> part;
    uint32_t entry = 0;
  };
  std::mutex lock_;
  std::unordered_map<std::string, Weak> known_;
  size_t sweep_at_ = kLeast;
};

// The module of some kernels as an object. Empty and `error` set if LLVM does not take it.
std::string object_of(std::span<const Kernel* const> kernels, const HostJit& jit, KernelDump* dump,
                      std::string& error) {
  Discardable<llvm::LLVMContext> context;
  Discardable<llvm::Module> module("kernels", *context);
  {
    Timer timer("kernels: emit");
    for (size_t i = 0; i < kernels.size(); ++i) {
      may_give_up();
      KernelEmitter(*module, *kernels[i], jit.target()).run("k" + std::to_string(i));
    }
  }
  llvm::raw_string_ostream text(error);
  if (llvm::verifyModule(*module, &text)) return {};
  if (dump && dump->want_ir) {
    llvm::raw_string_ostream out(dump->ir);
    module->print(out, nullptr);
  }
  Timer timer("kernels: codegen");
  std::string object, assembly;
  auto generate = [&] { object = jit.compile(*module, 1, error, dump && dump->want_assembly ? &assembly : nullptr); };
  if (!contain_llvm(generate, error)) {
    module.leak();
    context.leak();
    return {};
  }
  if (dump) dump->assembly += assembly;
  return object;
}

// One thread's share: distinct kernels, some in each object, for LLVM is not left in the middle of one; if there is one
// among them that it does not take, in an object each.
struct CompileJob {
  static constexpr size_t kInObject = 16;

  struct Made {
    std::string object;
    uint32_t entries = 0;
  };
  std::vector<const Kernel*> kernels;
  std::vector<Made> made;
  std::vector<std::pair<int, uint32_t>> where;  // of each kernel: object (-1: none) and entry
  std::vector<std::string> why;                 // it has none
  KernelDump dump;

  void run(const HostJit& jit) {
    const std::span<const Kernel* const> all = kernels;
    why.resize(all.size());
    for (size_t first = 0; first < all.size(); first += kInObject) {
      const auto some = all.subspan(first, std::min(kInObject, all.size() - first));
      std::string error;
      if (add(some, jit, error)) continue;
      for (size_t i = 0; i < some.size(); ++i)
        if (some.size() == 1 || !add(some.subspan(i, 1), jit, error)) {
          where.emplace_back(-1, 0);
          why[first + i] = error;
        }
    }
  }

 private:
  // An object of these.
  bool add(std::span<const Kernel* const> some, const HostJit& jit, std::string& error) {
    may_give_up();
    error.clear();
    std::string object = attempt(some, jit, error);
    if (object.empty()) return false;
    for (uint32_t i = 0; i < some.size(); ++i) where.emplace_back(static_cast<int>(made.size()), i);
    made.push_back({std::move(object), static_cast<uint32_t>(some.size())});
    return true;
  }
  std::string attempt(std::span<const Kernel* const> some, const HostJit& jit, std::string& error) {
    ContainBugs contain;
    KernelDump before = dump;
    try {
      std::string object = object_of(some, jit, &dump, error);
      if (!object.empty()) return object;
    } catch (const InternalError& bug) {
      error = bug.text;
    }
    dump = std::move(before);
    if (error.empty()) error = "the code generator gave nothing";
    return {};
  }
};

class Host final : public HostBackend {
 public:
  Host(HostOptions options, std::shared_ptr<HostJit> jit) : options_(std::move(options)), jit_(std::move(jit)) {}

  std::shared_ptr<HostJit> jit() const override { return jit_; }
  std::string_view name() const override { return "host"; }
  std::string target_key() const override { return jit_->target().key(); }

  void* allocate(size_t bytes) override {
    return std::aligned_alloc(64, (std::max<size_t>(bytes, 1) + 63) & ~size_t{63});
  }
  void release(void* memory, size_t) override { std::free(memory); }
  bool copy_in(void* device, const void* host, size_t bytes, runtime::PollWord, std::string&) override {
    if (bytes) std::memmove(device, host, bytes);
    return true;
  }
  bool copy_out(void* host, const void* device, size_t bytes, runtime::PollWord, std::string&) override {
    if (bytes) std::memmove(host, device, bytes);
    return true;
  }

  KernelModuleRef compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump,
                          int threads) override;
  std::string save(const KernelModule& module) const override;
  KernelModuleRef load(std::string_view bytes, std::string& error) override;
  void loaded(const KernelModule& module, std::span<const Kernel* const> kernels) override;
  bool launch(const KernelModule& module, size_t index, const KernelArgs& args, int threads,
              std::string& error) override;
  bool sync(runtime::PollWord, std::string&) override { return true; }

 private:
  HostOptions options_;
  std::shared_ptr<HostJit> jit_;
  KnownKernels known_;
};

KernelModuleRef Host::compile(std::span<const Kernel* const> kernels, std::string& error, KernelDump* dump,
                              int threads) {
  Timer timer("kernels: compile");
  auto module = std::make_shared<HostModule>();
  auto [distinct, texts, which] = backends::distinct(kernels, dump);
  // Of each distinct kernel what is known of it, or its place among those that are compiled.
  std::vector<KnownKernels::Known> known(distinct.size());
  std::vector<size_t> place(distinct.size());
  std::vector<const Kernel*> fresh;
  for (size_t d = 0; d < distinct.size(); ++d) {
    if (!dump) known[d] = known_.find(texts[d]);
    if (known[d].part) continue;
    place[d] = fresh.size();
    fresh.push_back(distinct[d]);
  }
  constexpr size_t kPerThread = 6;
  const size_t jobs_wanted =
      std::clamp<size_t>(fresh.size() / kPerThread, 1, static_cast<size_t>(std::max(1, threads)));
  std::vector<CompileJob> jobs(jobs_wanted);
  for (size_t i = 0; i < fresh.size(); ++i) jobs[i % jobs_wanted].kernels.push_back(fresh[i]);
  for (CompileJob& j : jobs)
    if (dump) j.dump.want_ir = dump->want_ir, j.dump.want_assembly = dump->want_assembly;
  std::atomic<bool> given_up{false};
  auto run = [&](CompileJob& job) {
    try {
      job.run(*jit_);
    } catch (const GivenUp&) {
      given_up = true;
    }
  };
  std::vector<std::thread> helpers;
  for (size_t j = 1; j < jobs_wanted; ++j)
    helpers.push_back(support::start_thread([&, j, word = GiveUpWhen::here()] {
      GiveUpWhen scope(word);
      run(jobs[j]);
    }));
  run(jobs[0]);
  for (std::thread& t : helpers) t.join();
  if (given_up) throw GivenUp();
  std::vector<std::vector<PartRef>> made(jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (dump) dump->ir += jobs[j].dump.ir, dump->assembly += jobs[j].dump.assembly;
    for (CompileJob::Made& object : jobs[j].made) {
      auto part = std::make_shared<Part>(Part{std::move(object.object), object.entries, nullptr});
      if (!part->link(*jit_, error)) return nullptr;
      made[j].push_back(std::move(part));
    }
  }
  std::map<size_t, std::string> why;  // of distinct kernels that have no code
  for (size_t d = 0; d < distinct.size(); ++d) {
    if (known[d].part) continue;
    const size_t job = place[d] % jobs_wanted, at = place[d] / jobs_wanted;
    auto [object, entry] = jobs[job].where[at];
    if (object < 0) {
      why[d] = jobs[job].why[at];
      continue;
    }
    known[d] = {made[job][static_cast<size_t>(object)], entry};
    known_.add(texts[d], known[d].part, entry);
  }
  for (size_t k = 0; k < which.size(); ++k) {
    if (const KnownKernels::Known& kernel = known[which[k]]; kernel.part) {
      module->where.emplace_back(module->add(kernel.part), kernel.entry);
      continue;
    }
    module->where.emplace_back(0, 0);
    module->evaluated_[k] = {std::make_shared<Kernel>(*kernels[k]), why[which[k]]};
    notice("compiler", "a kernel is evaluated, not compiled: " + module->evaluated_[k].why);
  }
  module->find_functions();
  return module;
}

void Host::loaded(const KernelModule& module, std::span<const Kernel* const> kernels) {
  const auto& m = static_cast<const HostModule&>(module);
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto [part, entry] = m.where[k];
    known_.add(print(*kernels[k]), m.parts[part], entry);
  }
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
  if (!m.evaluated_.empty()) return {};
  std::string out;
  put(out, kSaveMagic);
  put(out, static_cast<uint32_t>(m.parts.size()));
  put(out, static_cast<uint32_t>(m.where.size()));
  for (size_t i = 0; i < m.parts.size(); ++i) {
    put(out, m.parts[i]->entries);
    put(out, static_cast<uint64_t>(m.parts[i]->object.size()));
    out += m.parts[i]->object;
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
    auto part = std::make_shared<Part>(Part{std::string(bytes.substr(0, size)), entries, nullptr});
    bytes.remove_prefix(size);
    if (!part->link(*jit_, error)) return nullptr;
    m->parts.push_back(std::move(part));
  }
  for (uint32_t i = 0; ok && i < count; ++i) {
    uint32_t part = 0, entry = 0;
    ok = take(bytes, part) && take(bytes, entry) && part < parts && entry < m->parts[part]->entries;
    m->where.emplace_back(part, entry);
  }
  if (!ok) {
    error = "not a saved kernel module";
    return nullptr;
  }
  m->find_functions();
  return m;
}

bool Host::launch(const KernelModule& module, size_t index, const KernelArgs& args, int threads, std::string& error) {
  static const std::atomic<uint32_t> never{0};
  const std::atomic<uint32_t>* poll = args.poll ? args.poll : &never;
  error.clear();
  const auto& m = static_cast<const HostModule&>(module);
  KernelFn fn = m.functions[index];
  if (!fn)
    return evaluate(*m.evaluated_.at(index).kernel, args.buffers, args.sizes, args.scalars, 0, args.range, args.poll);
  int64_t total = args.range * std::max<int64_t>(args.work, 1);
  int64_t parts = std::min<int64_t>({threads, args.range, total / (kSplitWork / 2)});
  if (!options_.split || parts <= 1 || total < kSplitWork)
    return fn(args.buffers, args.sizes, args.scalars, 0, args.range, poll) == 0;
  struct Context {
    KernelFn fn;
    const KernelArgs& args;
    int64_t step;
    const std::atomic<uint32_t>* poll;
    std::atomic<uint32_t> stopped{0};
  };
  int64_t step = (args.range + parts - 1) / parts;
  if (args.work == 1) step = (step + 63) & ~int64_t{63};  // flat kernels: parts start at a cache line
  Context context{fn, args, step, poll};
  options_.split(
      options_.pool, static_cast<int>((args.range + step - 1) / step),
      [](void* p, int part) {
        auto& c = *static_cast<Context*>(p);
        int64_t begin = c.step * part, end = std::min(c.args.range, begin + c.step);
        if (begin < end && c.fn(c.args.buffers, c.args.sizes, c.args.scalars, begin, end, c.poll)) c.stopped = 1;
      },
      &context);
  return context.stopped == 0;
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
