// One T for each thread, made at its first use there and destroyed when the thread ends, but never on the thread that
// ends the process: what is torn down at exit, a global session above all, still finds its memory. (A thread_local of
// the main thread is destroyed before every static object.)
#pragma once

#include <pthread.h>

namespace ouro {
inline namespace support {

/// A class of its own for each use: PerThread<Mine>::get().
template <class T>
class PerThread {
 public:
  static T& get() {
    if (!here_) [[unlikely]]
      make();
    return *here_;
  }

 private:
  static void make() {
    static const pthread_key_t key = [] {
      pthread_key_t fresh;
      pthread_key_create(&fresh, end);
      return fresh;
    }();
    here_ = new T;
    pthread_setspecific(key, here_);
  }
  static void end(void* of_this_thread) {
    delete static_cast<T*>(of_this_thread);
    here_ = nullptr;  // the end of another may ask for one again
  }
  static inline constinit thread_local T* here_ = nullptr;
};

}  // namespace support
}  // namespace ouro
