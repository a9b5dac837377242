// Which plain code is translated when, and what runs it (plain_code.h): functions that are called often, and loops that
// come back to their heads often, both without tensors.
//
// Calls and turns are counted. What is hot is translated as soon as a share of the script's time pays for it, and
// compiled beside the script: quickly, and, when the script has gone on for a while, well; a loop that runs then goes
// over to it. What was tried and gained nothing is not tried again; a function's translation that is left in the middle
// of more than one call in four is dropped.
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
    size_t needs = 1;  // places that there is to be room for
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
  CompileQueue& queue();
  void compile(const std::shared_ptr<Translation>& code, bool well_at_once);
  runtime::Outcome run(Session& s, runtime::Frame& frame, Place& p, Entry entry, Value& result);

  Session& s_;
  std::shared_ptr<LazyJit> jit_;  // made for the options of the first translation
  // What the script's thread may spend on translations: a share of the processor time of the process. A short script
  // would end before they have paid.
  class Budget {
   public:
    size_t places() const;  // there is room for
    void spent(double ms, size_t places);

   private:
    static constexpr double kAtOnce = 2, kShare = 0.04;
    double spent_ms_ = 0.13, places_ = 10;  // what some take that nobody has measured
  };
  Budget budget_;
  static constexpr size_t kMostNeeded = 400;
  // Through which the compiler's thread tells the session, as long as there is one.
  struct Bell {
    std::mutex lock;
    Session* session = nullptr;
    void ring();
  };
  // What the compiler's thread may take of the processor, as a share of what the others have taken: where it is on one
  // core with the script's (two processors of a virtual machine often are) they slow each other down.
  class CompilerShare {
   public:
    bool has_room(const Translation& code, bool well) const;
    void spent(double ms, size_t instructions, bool well);

   private:
    static constexpr double kAtOnce = 60, kShare = 0.25;
    static constexpr double kAtOnceMixed = 6, kShareMixed = 0.04;  // of what has many steps, and gains less
    double spent_ms_ = 0, ms_each_[2] = {0.008, 0.03};             // of LLVM's instructions, quickly and well
  };
  // A job: what is small is compiled well at once, if there is room for that. The rest is compiled quickly first, and
  // well when it has run for a while. It stands back where there is no room yet and something else is to be compiled.
  struct Compile {
    using Clock = std::chrono::steady_clock;
    CompileQueue& queue;
    std::shared_ptr<Translation> code;
    std::shared_ptr<Bell> bell;
    std::shared_ptr<CompilerShare> share;
    bool well = false;
    Clock::time_point begins{};
    static constexpr std::chrono::milliseconds kTurn{6}, kBeforeWell{40}, kLook{2};
    void operator()() const;
    void compile(bool well) const;
  };
  std::shared_ptr<CompilerShare> share_ = std::make_shared<CompilerShare>();
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::unique_ptr<CompileQueue> queue_;
  std::unordered_map<const runtime::Code*, OfCode> codes_;
  std::unordered_set<const runtime::Code*> alone_;  // functions that are not translated with their callers
  size_t most_codes_ = kFewCodes;                   // until the dead ones are dropped
  static constexpr size_t kFewCodes = 16;
  Value spare_;
};

}  // namespace ouro::jit::plain
