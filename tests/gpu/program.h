// PTX as the stand-in reads it: each entry function a list of decoded instructions.
//
// What is read is what LLVM's NVPTX back end writes for Ouro's kernels: one parameter space, registers, static shared
// memory, no calls. Anything else is an error that names it. Reference: NVIDIA, "Parallel Thread Execution ISA".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpu {

/// Threads of a block that run side by side, one bit each in a mask.
inline constexpr int kLanes = 64;
using Mask = uint64_t;
using Slot = std::array<uint64_t, kLanes>;  // one register in all threads

struct Block;
struct Instruction;
using Step = void (*)(Block&, const Instruction&, Mask);

/// The text is not PTX, or has what the stand-in does not know.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Flow : uint8_t { next, branch, barrier, end };
enum class Space : uint8_t { none, param, global, shared };

struct Instruction {
  Step step = nullptr;
  Flow flow = Flow::next;
  Space space = Space::none;
  bool unless = false;                           // @!p
  int32_t guard = -1;                            // register of @p
  uint32_t target = 0;                           // of a branch
  int64_t offset = 0;                            // of an address
  uint8_t parts = 1;                             // of a vector
  std::array<int32_t, 5> r{-1, -1, -1, -1, -1};  // registers: result first, or the parts of a vector and the address
  uint32_t line = 0;
};

struct Parameter {
  std::string name;
  uint32_t offset, bytes;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0, shared_bytes = 0, threads = 0;  // threads: .reqntid
  uint32_t registers = 0;
  std::vector<std::pair<int32_t, uint64_t>> constants;   // registers that hold them
  int32_t tid = -1, ctaid = -1, ntid = -1, nctaid = -1;  // registers of %tid.x, ...
  std::vector<Instruction> code;
};

struct Program {
  std::map<std::string, Function, std::less<>> functions;
};

/// Throws Refused with the line.
Program read(std::string_view text);

}  // namespace gpu
