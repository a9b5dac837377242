#include "backends/ptx/ptx.h"

#include <algorithm>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils.h>

#include "backends/llvm/contain.h"
#include "backends/ptx/ptx_writer.h"

// Only this target's: the macros of LLVM's headers would ask for all.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace ouro::backends::ptx {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

// The GPUs that this LLVM knows, each with the oldest PTX version for it.
constexpr struct {
  std::string_view name;
  int capability;  // 10 * major + minor
  const char* features;
} kTargets[] = {{"sm_70", 70, "+ptx60"}, {"sm_75", 75, "+ptx63"}, {"sm_80", 80, "+ptx70"},
                {"sm_86", 86, "+ptx71"}, {"sm_89", 89, "+ptx78"}, {"sm_90", 90, "+ptx78"}};

const llvm::Target* nvptx() {
  static const llvm::Target* const target = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  return target;
}

}  // namespace

std::string target_for(int major, int minor) {
  std::string_view best;
  for (const auto& t : kTargets)
    if (t.capability <= 10 * major + minor) best = t.name;
  return std::string(best);
}

std::string assembly(std::span<const ir::loops::Kernel* const> kernels, std::string_view target, std::string& error) {
  const auto* known = std::ranges::find(kTargets, target, [](const auto& t) { return t.name; });
  if (known == std::end(kTargets) || !nvptx()) {
    error = "no NVIDIA target '" + std::string(target) + "'";
    return {};
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> tm(nvptx()->createTargetMachine(kTriple, std::string(target), known->features,
                                                                       options, llvm::Reloc::PIC_, std::nullopt,
                                                                       llvm::CodeGenOptLevel::Default));
  Discardable<llvm::LLVMContext> owned_context;
  Discardable<llvm::Module> owned_module("kernels", *owned_context);
  llvm::LLVMContext& context = *owned_context;
  llvm::Module& module = *owned_module;
  module.setTargetTriple(kTriple);
  module.setDataLayout(tm->createDataLayout());
  auto* annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  auto number = [&](int n) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), n));
  };
  for (size_t i = 0; i < kernels.size(); ++i) {
    device::Grid grid = device::grid_of(*kernels[i]);
    PtxWriter w(module, *kernels[i], grid, "k" + std::to_string(i));
    device::write_kernel(*kernels[i], grid, w);
    auto* kernel = llvm::ConstantAsMetadata::get(w.finish());
    auto note = [&](const char* what, int n) {
      annotations->addOperand(llvm::MDNode::get(context, {kernel, llvm::MDString::get(context, what), number(n)}));
    };
    note("kernel", 1);
    note("reqntidx", device::kGroup);
  }
  llvm::raw_string_ostream problems(error);
  if (llvm::verifyModule(module, &problems)) return {};
  std::string ptx;
  auto generate = [&] {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    passes.add(llvm::createPromoteMemoryToRegisterPass());
    if (tm->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
      error = "LLVM cannot write PTX";
      return;
    }
    passes.run(module);
    ptx = std::string(text);
  };
  if (contain_llvm(generate, error)) return ptx;
  owned_module.leak();
  owned_context.leak();
  (void)tm.release();
  return {};
}

}  // namespace ouro::backends::ptx
