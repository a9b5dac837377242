// The client that a thread works for. Kernels and devices know no session, no objects and no scripts. They know a
// client, which counts memory, may be told to stop, and can be asked to give memory back. A session is one
// (runtime/object/session.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/machine/memory.h"

namespace ouro::runtime {

// Thrown on the client's thread where work of it is asked to stop. What serves scripts makes it their exception.
struct Interrupted {};

// What takes long, a kernel or a wait for a device, looks at a word of its client's as it goes, and ends early where
// one of these bits is set there.
inline constexpr uint32_t kStopBits = 1;
using PollWord = const std::atomic<uint32_t>*;
inline bool stop_asked(PollWord poll) { return poll && poll->load(std::memory_order_relaxed) & kStopBits; }

// How long work may still take that is asked to stop: what writes in place most often ends before, and is not left half
// done then. Any thread may look.
class StopGrace {
 public:
  /// The client is asked to stop. Is the time since the first such look up?
  bool over();

 private:
  std::atomic<int64_t> until_{0};  // nanoseconds of the steady clock; 0: nobody has looked
};

class Client {
 public:
  explicit Client(size_t memory_limit) : memory(*this, memory_limit) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::atomic<uint32_t> poll{0};
  MemoryAccount memory;
  StopGrace* grace = nullptr;  // of the update in place that its thread is at

  /// May its work be stopped in the middle? (A script runs, and nothing that must not be left half done.)
  virtual bool may_stop() const = 0;
  /// A look at the poll word from its thread: throws Interrupted, if there is a grace when it is over.
  virtual void look() const = 0;
  /// It holds so much that cycles in it should be looked for.
  virtual void collection_due() = 0;
  /// Its memory is at its limit: gives back what it keeps for later.
  virtual void make_room() = 0;
};

// The client that this thread serves, or null.
Client* current_client();
// Says so; the client before is given back.
Client* serve_client(Client* client);

}  // namespace ouro::runtime
