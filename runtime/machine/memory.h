// The memory that a client's values take, and the limit on it (of a session: Options::memory, `--memory`).
//
// Counted are the chunks that small objects are cut from, larger blocks, tables of dicts and sets, digits of big
// integers, buffers of tensors, what operations on them work in (WorkMemory, PartMemory), arenas of compiled steps,
// frames, and what natives keep on the side while they work (CountedText, CountedVector, HeldMemory); the program's own
// tables and compiled code are not. Where a script would take more than the limit std::bad_alloc is thrown, which
// becomes a MemoryError (runtime/interpreter/run.cpp, runtime/protocol/bind.cpp); a little more is let through then, so
// that a handler finds room for its own small objects. Outside of scripts nothing is refused: errors can always be
// told.
//
// OURO_FAIL_ALLOCATION=N lets the N-th request of a script fail, once, as if there were no memory: for tests. Then
// every request is looked at; without the variable only those that reach the limit are.
//
// The machine is a limit, too: past kUnasked it is asked what is left, within the limits of its control group and of
// the process (`ulimit -v`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ouro::runtime {

class Client;  // runtime/machine/client.h

class MemoryAccount {
 public:
  MemoryAccount(Client& client, size_t limit);
  ~MemoryAccount();
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // Throws std::bad_alloc.
  void charge(size_t bytes) {
    const int64_t wanted = used_ + static_cast<int64_t>(bytes);
    if (wanted > mark_) [[unlikely]]
      admit(bytes, enforced_);
    used_ += static_cast<int64_t>(bytes);
  }
  // The same for callers that report a failure without an exception, inside of scripts or not.
  [[nodiscard]] bool try_charge(size_t bytes) noexcept;
  // May so much be taken for a moment? Throws std::bad_alloc; for texts and tables that a native builds on the side.
  void require(size_t bytes) {
    if (used_ + static_cast<int64_t>(bytes) > mark_) [[unlikely]]
      admit(bytes, enforced_);
  }
  void release(size_t bytes) {
    used_ -= static_cast<int64_t>(bytes);
    if (used_ < recovered_) [[unlikely]]
      recover();
  }

  int64_t used() const { return used_; }
  size_t limit() const { return static_cast<size_t>(limit_); }  // 0: what the machine has
  // A script runs: what is thrown here becomes its exception.
  bool in_script() const { return enforced_; }
  // malloc() gives nothing though nothing speaks against it: gives back what is kept for such a moment.
  void use_spare();
  // A collection of cycles has ended: when the next one is asked for.
  void collected();
  // Distinguishes accounts, also those that are gone.
  uint64_t serial() const { return serial_; }

 private:
  friend class MemoryLimited;
  friend class MemoryUnlimited;
  void admit(size_t bytes, bool enforced);
  bool fits(int64_t wanted);
  void set_mark();
  void recover();

  Client& client_;
  const int64_t limit_;  // 0: what the machine has
  int64_t used_ = 0;
  int64_t failing_;                // which request is to fail, counted down; 0: none
  int64_t mark_ = 0;               // up to here nothing has to be looked at
  int64_t collect_mark_ = 0;       // beyond it cycles are collected
  int64_t machine_limit_ = 0;      // what the machine could give when it was last asked
  int64_t recovered_ = INT64_MIN;  // below it the reserve is whole again
  void* spare_ = nullptr;          // use_spare()
  bool reserve_open_ = false;
  bool enforced_ = false;
  const uint64_t serial_ = next_serial();
  static uint64_t next_serial();
};

// While one lives a script runs: the limit holds.
class MemoryLimited {
 public:
  explicit MemoryLimited(MemoryAccount& a) : account_(a), before_(a.enforced_) { a.enforced_ = true; }
  ~MemoryLimited() { account_.enforced_ = before_; }
  MemoryLimited(const MemoryLimited&) = delete;

 private:
  MemoryAccount& account_;
  const bool before_;
};
// While one lives nothing is refused: for work on the client's own account, which could not be left half done.
class MemoryUnlimited {
 public:
  explicit MemoryUnlimited(MemoryAccount& a) : account_(a), before_(a.enforced_) { a.enforced_ = false; }
  ~MemoryUnlimited() { account_.enforced_ = before_; }
  MemoryUnlimited(const MemoryUnlimited&) = delete;

 private:
  MemoryAccount& account_;
  const bool before_;
};

// MemoryAccount::require() of the client that this thread serves. Throws std::bad_alloc.
void require_memory_slow(size_t bytes);
inline void require_memory(size_t bytes) {
  constexpr size_t kSmall = 64 * 1024;
  if (bytes > kSmall) require_memory_slow(bytes);
}

// For text that a native builds on the side: out += piece, if there is room for it (a string takes up to twice its
// size), and then for the value made of it.
inline void append_text(std::string& out, std::string_view piece) {
  if (out.capacity() - out.size() < piece.size()) require_memory(3 * (out.size() + piece.size()));
  out += piece;
}
inline void append_text(std::string& out, size_t count, char c) {
  if (out.capacity() - out.size() < count) require_memory(3 * (out.size() + count));
  out.append(count, c);
}

// Counted while it lives, for memory that is taken by other ways than these. The constructor throws std::bad_alloc.
class HeldMemory {
 public:
  HeldMemory() = default;
  explicit HeldMemory(size_t bytes);
  // As try_charge(): what `to` held before is given up first.
  [[nodiscard]] static bool take(size_t bytes, HeldMemory& to) noexcept;
  HeldMemory(HeldMemory&& o) noexcept : bytes_(std::exchange(o.bytes_, 0)), serial_(std::exchange(o.serial_, 0)) {}
  HeldMemory& operator=(HeldMemory&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    std::swap(serial_, o.serial_);
    return *this;
  }
  ~HeldMemory();  // what another account counted stays counted: that one is gone, or will be

 private:
  size_t bytes_ = 0;
  uint64_t serial_ = 0;  // the account that counts it
};

void* allocate_counted(size_t bytes);  // throws std::bad_alloc
void free_counted(void* p, size_t bytes);
// Containers of the C++ library that a native fills on the side, in proportion to what it was given.
template <class T>
struct CountedAllocator {
  using value_type = T;
  CountedAllocator() = default;
  template <class U>
  CountedAllocator(const CountedAllocator<U>&) {}
  T* allocate(size_t n) {
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_counted(n * sizeof(T)));
  }
  void deallocate(T* p, size_t n) { free_counted(p, n * sizeof(T)); }
  bool operator==(const CountedAllocator&) const = default;
};
template <class T>
using CountedVector = std::vector<T, CountedAllocator<T>>;
using CountedText = std::basic_string<char, std::char_traits<char>, CountedAllocator<char>>;

// Bytes that the machine could still give to this process: what is free or can be freed, within the limits of its
// control groups (memory_left.h). Reads some small files.
size_t available_memory();

// A limit may be set from here on, and to there.
constexpr size_t kLeastMemory = size_t{4} << 20, kMostMemory = size_t{1} << 60;

}  // namespace ouro::runtime
