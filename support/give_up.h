// Long work that its caller may stop wanting: a compilation whose session ends, or behind which somebody pressed
// Ctrl-C. Who starts it says where to look (GiveUpWhen); the work looks between its passes and items (may_give_up), and
// is unwound from there. Not where frames that cannot be unwound stand between the two.
#pragma once

#include <atomic>
#include <cstdint>

namespace ouro {
inline namespace support {

/// Thrown by may_give_up(), through everything, to where the work began.
struct GivenUp {};

struct GiveUpWord {
  const std::atomic<uint32_t>* at = nullptr;
  uint32_t bits = 0;
  bool given_up() const { return at && at->load(std::memory_order_relaxed) & bits; }
};

/// The work of this thread is not wanted any more once one of these bits is set there. The innermost one counts.
class GiveUpWhen {
 public:
  explicit GiveUpWhen(GiveUpWord w) : before_(here_) { here_ = w; }
  ~GiveUpWhen() { here_ = before_; }
  GiveUpWhen(const GiveUpWhen&) = delete;
  GiveUpWhen& operator=(const GiveUpWhen&) = delete;
  /// For threads that help this one.
  static GiveUpWord here() { return here_; }

 private:
  const GiveUpWord before_;
  static inline constinit thread_local GiveUpWord here_;
};

inline void may_give_up() {
  if (GiveUpWhen::here().given_up()) [[unlikely]]
    throw GivenUp();
}

}  // namespace support
}  // namespace ouro
