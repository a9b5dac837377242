// Where a session's thread spends its time, by source line. A thousand times a second a signal (SIGPROF) looks at the
// frame on top: the line that it executes gets the sample. Library functions are charged to the script's line that
// called them; operations of a compiled program to the line that they come from.
//
// The handler runs on the session's own thread, between any two machine instructions. It allocates nothing, follows
// only what frames keep alive, and counts in a table of fixed size. A frame is linked when it is whole, and unlinked
// before it is taken apart (frame.h).
#pragma once

#include <ctime>
#include <memory>
#include <vector>

#include "runtime/interpreter/frame.h"

namespace ouro::runtime {

/// The operation that a compiled program carries out; null: none does. Set where instructions are timed.
struct CompiledPlace {
  const Span* at = nullptr;
  const Frame* top = nullptr;  // the frame on top then: above it the interpreter works for the operation
};
extern constinit thread_local CompiledPlace compiled_place;

class Sampler {
 public:
  struct Line {
    Span span;
    uint64_t interpreted = 0, compiled = 0;  // samples
  };

  /// Begins to sample the calling thread, which runs the session. One at a time in a process. Without a timer of the
  /// system there are no samples.
  explicit Sampler(Session& s);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  static constexpr int kPerSecond = 1000;
  /// By line, the most samples first. Samples outside of any frame have no known span.
  std::vector<Line> lines() const;
  uint64_t samples() const { return samples_; }

 private:
  static constexpr size_t kSlots = 1 << 16;  // places; what does not fit is counted as nobody's
  struct Slot {
    Span span;
    uint64_t interpreted, compiled;
  };
  static void on_signal(int);
  void take();
  void count(Span span, bool compiled);

  Session& s_;
  std::unique_ptr<Slot[]> slots_;
  Slot nobody_{};
  uint64_t samples_ = 0;
  timer_t timer_{};
  bool runs_ = false;
};

}  // namespace ouro::runtime
