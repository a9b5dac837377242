#include "backends/host/jit.h"

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <llvm/ADT/StringMap.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "support/diag.h"
#include "support/process_end.h"

namespace ouro::backends {
namespace {

void initialise_llvm() {
  static const bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)done;
}

// The features of the micro-architecture levels that kernels care about; a machine without all of a level's keeps its
// own.
struct Level {
  std::string_view name;
  int vector_bits;
  std::string_view off;  // features beyond the level, switched off
};
constexpr std::string_view kBeyondV3 =
    "-avx512f,-avx512bw,-avx512cd,-avx512dq,-avx512vl,-avx512vnni,-avx512bf16,-avx512fp16,-avx512ifma,-avx512vbmi,"
    "-avx512vbmi2,-avx512bitalg,-avx512vpopcntdq,-avx512vp2intersect,-evex512";
constexpr Level kLevels[] = {
    {"x86-64-v4", 512, ""},
    {"x86-64-v3", 256, kBeyondV3},
    {"x86-64-v2", 128, "-avx,-avx2,-fma,-f16c,-bmi,-bmi2"},
};

llvm::CodeGenOptLevel codegen_level(int level) {
  constexpr llvm::CodeGenOptLevel kMap[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                            llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Aggressive};
  return kMap[level < 0 ? 0 : level > 3 ? 3 : level];
}

std::string text_of(llvm::Error e) { return llvm::toString(std::move(e)); }

// Symbols for perf: one line per entry in /tmp/perf-PID.map, when OURO_PERF_MAP is set.
void write_perf_map(std::string_view object, std::span<const std::string> names, std::span<void* const> addresses) {
  if (!std::getenv("OURO_PERF_MAP")) return;
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/perf-%d.map", static_cast<int>(getpid()));
  std::FILE* f = std::fopen(path, "a");
  if (!f) return;
  size_t guess = object.size() / (names.empty() ? 1 : names.size());
  for (size_t i = 0; i < names.size(); ++i)
    std::fprintf(f, "%zx %zx %s\n", reinterpret_cast<size_t>(addresses[i]), guess, names[i].c_str());
  std::fclose(f);
}

struct Orc {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::orc::JITDylib* runtime = nullptr;
  std::atomic<uint64_t> serial{0};
};

class LinkedCode final : public Code {
 public:
  LinkedCode(std::shared_ptr<Orc> orc, llvm::orc::JITDylib& lib, llvm::orc::ResourceTrackerSP tracker,
             std::vector<void*> entries, size_t bytes)
      : orc_(std::move(orc)), lib_(&lib), tracker_(std::move(tracker)), entries_(std::move(entries)), bytes_(bytes) {}
  ~LinkedCode() override {
    if (process_ends()) {
      (void)new std::pair(std::move(orc_), std::move(tracker_));  // LLVM is not entered any more
      return;
    }
    llvm::consumeError(tracker_->remove());
    tracker_ = nullptr;
    llvm::consumeError(orc_->jit->getExecutionSession().removeJITDylib(*lib_));
  }
  void* entry(size_t i) const override { return entries_[i]; }
  size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Orc> orc_;
  llvm::orc::JITDylib* lib_;
  llvm::orc::ResourceTrackerSP tracker_;
  std::vector<void*> entries_;
  size_t bytes_;
};

class OrcJit final : public HostJit {
 public:
  OrcJit(HostTarget target, std::shared_ptr<Orc> orc) : target_(std::move(target)), orc_(std::move(orc)) {}
  ~OrcJit() override {
    if (process_ends()) (void)new std::shared_ptr(std::move(orc_));
  }

  const HostTarget& target() const override { return target_; }

  void define(std::span<const Symbol64> symbols) override {
    llvm::orc::SymbolMap map;
    for (const Symbol64& s : symbols)
      map[orc_->jit->mangleAndIntern(llvm::StringRef(s.name.data(), s.name.size()))] = {
          llvm::orc::ExecutorAddr::fromPtr(const_cast<void*>(s.address)),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    llvm::consumeError(orc_->runtime->define(llvm::orc::absoluteSymbols(std::move(map))));
  }

  std::unique_ptr<llvm::TargetMachine> target_machine(int level) const override {
    std::string error;
    std::string triple = llvm::sys::getProcessTriple();
    const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!t) return nullptr;
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return std::unique_ptr<llvm::TargetMachine>(t->createTargetMachine(triple, target_.cpu, target_.features, options,
                                                                       llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                       codegen_level(level), /*JIT=*/true));
  }

  std::string compile(llvm::Module& module, int level, std::string& error, std::string* assembly) const override {
    std::unique_ptr<llvm::TargetMachine> tm = target_machine(level);
    if (!tm) {
      error = "no code generator for this machine";
      return {};
    }
    module.setTargetTriple(tm->getTargetTriple().str());
    module.setDataLayout(tm->createDataLayout());
    if (assembly) {
      std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
      llvm::SmallVector<char, 0> text;
      if (!run_codegen(*tm, *copy, llvm::CodeGenFileType::AssemblyFile, text)) error = "no assembly printer";
      assembly->assign(text.data(), text.size());
    }
    llvm::SmallVector<char, 0> object;
    if (!run_codegen(*tm, module, llvm::CodeGenFileType::ObjectFile, object)) {
      error = "the code generator cannot write objects";
      return {};
    }
    return std::string(object.data(), object.size());
  }

  CodeRef link(std::string_view object, std::span<const std::string> entries, std::string& error) override {
    // A library of its own for each object: symbol names need not be unique in the process.
    uint64_t id = orc_->serial.fetch_add(1, std::memory_order_relaxed);
    auto& session = orc_->jit->getExecutionSession();
    llvm::Expected<llvm::orc::JITDylib&> lib = session.createJITDylib("k" + std::to_string(id));
    if (!lib) {
      error = text_of(lib.takeError());
      return nullptr;
    }
    lib->addToLinkOrder(*orc_->runtime);
    auto tracker = lib->createResourceTracker();
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "k");
    if (llvm::Error e = orc_->jit->addObjectFile(tracker, std::move(buffer))) {
      error = text_of(std::move(e));
      return nullptr;
    }
    llvm::orc::SymbolLookupSet wanted;
    std::vector<llvm::orc::SymbolStringPtr> names;
    for (const std::string& n : entries) {
      names.push_back(orc_->jit->mangleAndIntern(n));
      wanted.add(names.back());
    }
    auto found = session.lookup(llvm::orc::makeJITDylibSearchOrder({&*lib}), std::move(wanted));
    if (!found) {
      error = text_of(found.takeError());
      llvm::consumeError(tracker->remove());
      return nullptr;
    }
    std::vector<void*> addresses;
    for (auto& n : names) addresses.push_back((*found)[n].getAddress().toPtr<void*>());
    write_perf_map(object, entries, addresses);
    return std::make_shared<LinkedCode>(orc_, *lib, std::move(tracker), std::move(addresses), object.size());
  }

 private:
  static bool run_codegen(llvm::TargetMachine& tm, llvm::Module& module, llvm::CodeGenFileType type,
                          llvm::SmallVectorImpl<char>& out) {
    llvm::raw_svector_ostream stream(out);
    llvm::legacy::PassManager passes;
    // As addPassesToEmitFile does it, but constants stay where they are used: hoisted out of a loop with leaf
    // functions, they take the registers that its values need (measured: 1.1x).
    auto& target = static_cast<llvm::LLVMTargetMachine&>(tm);
    auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
    llvm::TargetPassConfig* config = target.createPassConfig(passes);
    config->setDisableVerify(true);
    config->disablePass(&llvm::EarlyMachineLICMID);
    passes.add(config);
    passes.add(info);
    if (config->addISelPasses()) return false;
    config->addMachinePasses();
    config->setInitialized();
    if (target.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext())) return false;
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(module);
    return true;
  }

  HostTarget target_;
  std::shared_ptr<Orc> orc_;
};

}  // namespace

std::string HostTarget::key() const {
  return cpu + "|" + features + "|" + std::to_string(vector_bits) + "|llvm " LLVM_VERSION_STRING;
}

HostTarget detect_target(std::string_view cpu_limit) {
  initialise_llvm();
  HostTarget t;
  t.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> list;
  for (const auto& f : features) list.push_back((f.second ? "+" : "-") + f.first().str());
  std::sort(list.begin(), list.end());  // the map's order is not the same in every run
  for (const std::string& f : list) t.features += (t.features.empty() ? "" : ",") + f;
  auto has = [&](const char* f) { return features.lookup(f); };
  t.vector_bits = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq") ? 512
                  : has("avx2")                                                           ? 256
                                                                                          : 128;
  for (const Level& level : kLevels) {
    if (level.name != cpu_limit) continue;
    t.cpu = std::string(cpu_limit);
    for (const Level& l : kLevels) {
      if (l.vector_bits < level.vector_bits) break;
      if (!l.off.empty()) t.features += "," + std::string(l.off);
    }
    t.vector_bits = std::min(t.vector_bits, level.vector_bits);
  }
  return t;
}

std::shared_ptr<HostJit> HostJit::create(HostTarget target, std::string& error) {
  initialise_llvm();
  auto orc = std::make_shared<Orc>();
  auto jit = llvm::orc::LLJITBuilder()
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setObjectLinkingLayerCreator([](llvm::orc::ExecutionSession& es, const llvm::Triple&) {
                   return std::make_unique<llvm::orc::ObjectLinkingLayer>(es);
                 })
                 .create();
  if (!jit) {
    error = text_of(jit.takeError());
    return nullptr;
  }
  orc->jit = std::move(*jit);
  orc->runtime = &orc->jit->getExecutionSession().createBareJITDylib("ouro");
  auto self = std::make_shared<OrcJit>(std::move(target), std::move(orc));
  // What code generation itself may call.
  const Symbol64 kBasics[] = {
      {"memcpy", reinterpret_cast<const void*>(&std::memcpy)},
      {"memset", reinterpret_cast<const void*>(&std::memset)},
      {"memmove", reinterpret_cast<const void*>(&std::memmove)},
      // Fused multiply-adds of a processor without them.
      {"fma", reinterpret_cast<const void*>(static_cast<double (*)(double, double, double)>(&std::fma))},
      {"fmaf", reinterpret_cast<const void*>(static_cast<float (*)(float, float, float)>(&std::fma))},
  };
  self->define(kBasics);
  return self;
}

}  // namespace ouro::backends
