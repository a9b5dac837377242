// Machine code in memory: LLVM modules become objects, objects become callable code.
//
//   llvm::Module ──compile──► relocatable object (bytes) ──link (ORC, JITLink)──► Code (entry addresses)
//
// The object is kept apart from the code so that it can go to the disk cache and come back without LLVM's code
// generator (TOOLCHAIN 3: 0.03 ms against 6 ms). No optimiser pipeline runs: what is emitted is meant (TOOLCHAIN 2).
//
// Any thread may call any function here; each compiling thread has its own LLVMContext and TargetMachine. Code lives
// while a CodeRef to it does, which may outlive the HostJit that made it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace ouro::backends {

/// What the code may use: an LLVM CPU name and feature string, and the widest vector worth using.
struct HostTarget {
  std::string cpu;
  std::string features;
  int vector_bits = 128;
  /// Everything the object's bytes depend on besides its IR; part of a cache key.
  std::string key() const;
};

/// The machine this process runs on, limited to the features of `cpu_limit` ("x86-64-v2", "x86-64-v3", "x86-64-v4")
/// unless that is empty. An unknown name gives the machine itself.
HostTarget detect_target(std::string_view cpu_limit = {});

/// Linked code. Immutable.
class Code {
 public:
  virtual ~Code() = default;
  /// Address of entry i, in the order given to link(); never null.
  virtual void* entry(size_t i) const = 0;
  virtual size_t bytes() const = 0;
};
using CodeRef = std::shared_ptr<const Code>;

struct Symbol64 {
  std::string_view name;
  const void* address;
};

class HostJit {
 public:
  /// Null and a text in `error` when the machine's target cannot be set up.
  static std::shared_ptr<HostJit> create(HostTarget target, std::string& error);
  virtual ~HostJit() = default;

  virtual const HostTarget& target() const = 0;
  /// Makes names visible to every module linked later (absolute symbols; nothing else is looked up in the process).
  virtual void define(std::span<const Symbol64> symbols) = 0;
  /// Machine code of a module. `level` 1 suits vector kernels, 2 scalar code. The text of the assembly goes to
  /// `assembly` when given. Empty and `error` set on failure.
  virtual std::string compile(llvm::Module& module, int level, std::string& error,
                              std::string* assembly = nullptr) const = 0;
  /// Links one object. `entries` are symbols it defines. Null and `error` set on failure.
  virtual CodeRef link(std::string_view object, std::span<const std::string> entries, std::string& error) = 0;
  /// A target machine for this target; for data layouts and for callers with passes of their own.
  virtual std::unique_ptr<llvm::TargetMachine> target_machine(int level) const = 0;
};

}  // namespace ouro::backends
