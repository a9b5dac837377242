// The keys of an abstract dict or set, in order: known values, found by their hash.
#pragma once

#include "jit/specialise/abstract/persistent_array.h"

namespace ouro::jit {

template <class Key>
class Keys {
 public:
  Keys() = default;
  Keys(std::vector<Key> keys) : keys_(std::move(keys)) {}

  size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }
  const Key& operator[](size_t i) const { return keys_[i]; }
  auto begin() const { return keys_.begin(); }
  auto end() const { return keys_.end(); }
  std::vector<Key> items() const { return keys_.items(); }
  const PersistentArray<Key>& array() const { return keys_; }
  void push_back(Key key) { keys_.push_back(std::move(key)); }
  void clear() { *this = Keys(); }
  template <class Is>
  void erase_if(Is&& is) {
    std::vector<Key> left = keys_.items();
    std::erase_if(left, is);
    *this = Keys(std::move(left));
  }

  /// The place of the key that `equal` takes, of those that have this hash; -1: there is none.
  template <class Hash, class Equal>
  int find(size_t hash, Hash&& hash_of, Equal&& equal) const {
    if (size() <= kFew) {
      for (size_t i = 0; i < size(); ++i)
        if (equal(keys_[i])) return static_cast<int>(i);
      return -1;
    }
    for (; indexed_ < size(); ++indexed_) {
      if (2 * (indexed_ + 1) > table_.size()) grow(hash_of);
      insert(indexed_, hash_of(keys_[indexed_]));
    }
    for (size_t at = hash % table_.size(); table_[at].place != 0; at = (at + 1) % table_.size()) {
      const Entry& e = table_[at];
      if (e.hash == hash && equal(keys_[e.place - 1])) return static_cast<int>(e.place - 1);
    }
    return -1;
  }

 private:
  static constexpr size_t kFew = 8;  // are looked at one after the other
  struct Entry {
    size_t hash = 0;
    uint32_t place = 0;  // + 1
  };

  // Open addressing; the table is made when keys are first looked for.
  void insert(size_t place, size_t hash) const {
    size_t at = hash % table_.size();
    while (table_[at].place != 0) at = (at + 1) % table_.size();
    table_.edit(at) = {hash, static_cast<uint32_t>(place + 1)};
  }
  template <class Hash>
  void grow(Hash&& hash_of) const {
    const size_t n = std::max<size_t>(4 * kFew, 2 * table_.size());
    table_.clear();
    table_.resize(n);
    for (size_t i = 0; i < indexed_; ++i) insert(i, hash_of(keys_[i]));
  }

  PersistentArray<Key> keys_;
  mutable PersistentArray<Entry> table_;  // by hash
  mutable size_t indexed_ = 0;            // keys that stand in it
};

}  // namespace ouro::jit
