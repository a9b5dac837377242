// Which plain code is translated when, and what runs it (plain_code.h): functions that are called often, and loops that
// come back to their heads often, both without tensors.
//
// Calls and turns are counted. What is hot is translated at once, and compiled beside the script: quickly, and, when
// the script has gone on for a while, well; a loop that runs then goes over to it. What was tried and gained nothing is
// not tried again; a function's translation that is left more often than it returns is dropped.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/emit/plain_code.h"
#include "jit/versions/compile_queue.h"
#include "runtime/object/executor.h"

namespace ouro::jit::plain {

class Tier {
 public:
  explicit Tier(Session& s);
  ~Tier();
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;

  /// The frame is at its function's entry, and the function works on no tensors. True: its code's entry is set.
  bool hot_function(Session& s, runtime::Frame& frame);
  /// The frame is at a jump back to a loop's head.
  runtime::Outcome hot_loop(Session& s, runtime::Frame& frame, Value& result);
  /// Calls of a function, until it is translated; for tests fewer.
  static constexpr uint32_t kManyCalls = 1500, kManyLooks = 60;
  uint32_t calls_before = kManyCalls;
  uint32_t looks_before = kManyLooks;
  bool waits = false;  // for the compiler; for tests

  /// What became of a function, or of a loop. `left`: entries after which the interpreter went on in the middle.
  struct Told {
    ir::FunctionRef function;
    Span loop{};  // where its head is; unknown: it is the function
    enum class State : uint8_t { slower, compiled, compiling, failed, dropped } state = State::slower;
    const Proportion* proportion = nullptr;
    uint64_t runs = 0, left = 0;
  };
  /// Of scripts, not of the library; those that are entered most first.
  std::vector<Told> report() const;

 private:
  struct Version {
    std::vector<Kind> kinds;  // by register
    const runtime::Module* globals = nullptr;
    std::shared_ptr<Translation> code;  // null: nothing is gained for these kinds
    std::vector<Value> kept;            // objects that it names
    Proportion proportion;
    uint32_t uses = 0;
  };
  // A function's entry or a loop's head.
  struct Place {
    Tier* tier = nullptr;
    runtime::Code* code = nullptr;
    uint32_t pc = 0;
    std::vector<Version> versions, old;
    uint32_t looks = 0;
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
  bool leaves_often(const Translation& code);
  void compile(const std::shared_ptr<Translation>& code, bool well_at_once);
  runtime::Outcome run(Session& s, runtime::Frame& frame, Place& p, Entry entry, Value& result);

  Session& s_;
  std::shared_ptr<LazyJit> jit_;  // made for the options of the first translation
  // Through which the compiler's thread tells the session, as long as there is one.
  struct Bell {
    std::mutex lock;
    Session* session = nullptr;
    void ring();
  };
  // A job: to compile well, not before the code has run for a while.
  struct Well {
    using Clock = std::chrono::steady_clock;
    CompileQueue& queue;
    std::shared_ptr<Translation> code;
    std::shared_ptr<Bell> bell;
    Clock::time_point begins = Clock::now() + std::chrono::milliseconds(40);
    static constexpr std::chrono::milliseconds kTurn{6};
    void operator()() const;
  };
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::unique_ptr<CompileQueue> queue_;
  std::unordered_map<const runtime::Code*, OfCode> codes_;
  std::unordered_set<const runtime::Code*> alone_;  // functions that are not translated with their callers
  size_t most_codes_ = kFewCodes;                   // until the dead ones are dropped
  static constexpr size_t kFewCodes = 16;
  Value spare_;
};

}  // namespace ouro::jit::plain
