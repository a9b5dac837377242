// A vector whose first N elements need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

namespace ouro {
inline namespace support {

/// Like std::vector, with room for N elements inside. Moving one whose elements are inside moves
/// them one by one.
template <class T, size_t N>
class SmallVec {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVec() = default;
  SmallVec(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <std::input_iterator It>
  SmallVec(It first, It last) {
    append(first, last);
  }
  explicit SmallVec(size_t n, const T& value = T()) { resize(n, value); }
  SmallVec(const SmallVec& o) { append(o.begin(), o.end()); }
  SmallVec(SmallVec&& o) noexcept { take(std::move(o)); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      release();
      take(std::move(o));
    }
    return *this;
  }
  ~SmallVec() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& v) { emplace_back(v); }
  void push_back(T&& v) { emplace_back(std::move(v)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T value(std::forward<Args>(args)...);  // an argument may live in here
      grow(size_ + 1);
      return *new (data_ + size_++) T(std::move(value));
    }
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() { data_[--size_].~T(); }
  template <class It>
  void append(It first, It last) {
    for (; first != last; ++first) emplace_back(*first);
  }
  T* insert(const T* where, T value) {
    size_t i = static_cast<size_t>(where - data_);
    emplace_back(std::move(value));
    std::rotate(data_ + i, data_ + size_ - 1, data_ + size_);
    return data_ + i;
  }
  T* erase(const T* where) { return erase(where, where + 1); }
  T* erase(const T* first, const T* last) {
    T* to = data_ + (first - data_);
    T* rest = std::move(data_ + (last - data_), end(), to);
    while (end() != rest) pop_back();
    return to;
  }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void resize(size_t n, const T& value = T()) {
    while (size_ > n) pop_back();
    reserve(n);
    while (size_ < n) emplace_back(value);
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* inside() { return reinterpret_cast<T*>(storage_); }

  void grow(size_t at_least) {
    size_t n = std::max(at_least, size_t{capacity_} * 2);
    T* fresh = static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(alignof(T))));
    std::uninitialized_move(begin(), end(), fresh);
    std::destroy(begin(), end());
    free_heap();
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(n);
  }
  void free_heap() {
    if (data_ != inside()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void release() {
    clear();
    free_heap();
    data_ = inside();
    capacity_ = N;
  }
  void take(SmallVec&& o) {  // *this is empty and inside
    if (o.data_ == o.inside()) {
      std::uninitialized_move(o.begin(), o.end(), data_);
      size_ = o.size_;
      o.clear();
      return;
    }
    data_ = std::exchange(o.data_, o.inside());
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, N);
  }

  alignas(T) unsigned char storage_[sizeof(T) * (N ? N : 1)];
  T* data_ = inside();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
};

}  // namespace support
}  // namespace ouro
