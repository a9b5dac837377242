// Which plain code is translated when, and what runs it (plain_code.h): functions that are called often, and loops that
// come back to their heads often, both without tensors.
//
// Calls and turns are counted. What was tried and gained nothing is not tried again; a function's translation that is
// left more often than it returns is dropped.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "jit/emit/plain_code.h"
#include "runtime/object/executor.h"

namespace ouro::jit::plain {

class Tier {
 public:
  /// `jit`: the code generator, made when first needed; null where there is none.
  Tier(Session& s, std::function<backends::HostJit*()> jit);

  /// The frame is at its function's entry, and the function works on no tensors. True: its code's entry is set.
  bool hot_function(Session& s, runtime::Frame& frame);
  /// The frame is at a jump back to a loop's head.
  runtime::Outcome hot_loop(Session& s, runtime::Frame& frame, Value& result);
  /// Calls of a function, until it is translated; for tests fewer.
  uint32_t calls_before = 1500;
  uint32_t looks_before = 150;

 private:
  struct Version {
    std::vector<Kind> kinds;  // by register
    std::unique_ptr<Translation> code;
  };
  // A function's entry or a loop's head.
  struct Place {
    Tier* tier = nullptr;
    runtime::Code* code = nullptr;
    uint32_t pc = 0;
    std::vector<Version> versions;
    uint32_t looks = 0, failed = 0;
    bool dropped = false;
    uint64_t runs = 0, left = 0;
  };
  struct OfCode {
    std::unique_ptr<Liveness> live;
    std::weak_ptr<const ir::Function> function;  // another code may get its address
    std::unordered_map<uint32_t, std::unique_ptr<Place>> places;
  };
  static runtime::Outcome enter(Session& s, runtime::Frame& frame, void* data, Value& result);
  Place& place(runtime::Code& code, uint32_t pc);
  void drop_dead();
  const Version* version(Session& s, runtime::Frame& frame, Place& p, bool may_translate);
  runtime::Outcome run(Session& s, runtime::Frame& frame, Place& p, const Version& v, Value& result);

  Session& s_;
  std::function<backends::HostJit*()> jit_;
  std::unordered_map<const runtime::Code*, OfCode> codes_;
  size_t most_codes_ = kFewCodes;  // until the dead ones are dropped
  static constexpr size_t kFewCodes = 16;
  Value spare_;
};

}  // namespace ouro::jit::plain
