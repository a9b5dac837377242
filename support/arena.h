// Bump allocation: memory that lives as long as its arena.
//
// Objects made here are never destroyed one by one, so their types must be trivially destructible;
// blocks double in size up to 1 MiB. Not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ouro {
inline namespace support {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Arena();

  /// Uninitialised memory; `align` is a power of two up to 64.
  void* allocate(size_t bytes, size_t align = alignof(std::max_align_t)) {
    uintptr_t p = (next_ + (align - 1)) & ~(uintptr_t{align} - 1);
    if (p + bytes > end_ || p == 0) return allocate_slow(bytes, align);
    next_ = p + bytes;
    return reinterpret_cast<void*>(p);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  /// Value-initialised array.
  template <class T>
  std::span<T> make_array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* p = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    for (size_t i = 0; i < n; ++i) new (p + i) T{};
    return {p, n};
  }

  /// Copies elements in; works for vector, SmallVec, span, array.
  template <class Range>
  auto copy(const Range& range) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(*range.data())>>;
    static_assert(std::is_trivially_copyable_v<T>);
    if (range.size() == 0) return std::span<T>();
    T* p = static_cast<T*>(allocate(range.size() * sizeof(T), alignof(T)));
    std::memcpy(static_cast<void*>(p), range.data(), range.size() * sizeof(T));
    return std::span<T>(p, range.size());
  }

  /// Copies text in, with a NUL behind it.
  std::string_view copy_text(std::string_view text);

  /// Bytes handed out by the system so far.
  size_t capacity() const { return capacity_; }
  void swap(Arena& other) noexcept;

 private:
  void* allocate_slow(size_t bytes, size_t align);

  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
  size_t capacity_ = 0;
  std::vector<void*> blocks_;
};

}  // namespace support
}  // namespace ouro
