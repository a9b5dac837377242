// A map from Symbol to a small value that keeps the order of insertion: namespaces of classes and modules, slots of
// hidden classes.
//
// Entries stand in one array, so an entry's position is stable (nothing is ever moved; `erase` blanks the name and
// compacts only the order seen by iteration). Up to 8 names are searched linearly, more through an open-addressed
// index.
#pragma once

#include <cstdint>
#include <vector>

#include "support/intern.h"

namespace ouro::runtime {

template <class T>
class NameTable {
 public:
  struct Entry {
    Symbol name;  // the default Symbol: erased
    T value;
  };
  static constexpr uint32_t kAbsent = UINT32_MAX;

  uint32_t position(Symbol name) const {
    if (index_.empty()) {
      for (uint32_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].name == name) return i;
      return kAbsent;
    }
    for (uint32_t at = hash(name) & mask();; at = (at + 1) & mask()) {
      uint32_t i = index_[at];
      if (i == kAbsent) return kAbsent;
      if (entries_[i].name == name) return i;
    }
  }
  T* find(Symbol name) {
    uint32_t i = position(name);
    return i == kAbsent ? nullptr : &entries_[i].value;
  }
  const T* find(Symbol name) const { return const_cast<NameTable*>(this)->find(name); }
  // The position of the name, added with `value` if it was absent.
  uint32_t add(Symbol name, T value) {
    uint32_t i = position(name);
    if (i != kAbsent) return i;
    entries_.push_back({name, std::move(value)});
    i = static_cast<uint32_t>(entries_.size() - 1);
    if (entries_.size() > 8 && entries_.size() * 2 > index_.size())
      rebuild();
    else if (!index_.empty())
      put(i);
    return i;
  }
  void set(Symbol name, T value) {
    uint32_t i = position(name);
    if (i == kAbsent)
      add(name, std::move(value));
    else
      entries_[i].value = std::move(value);
  }
  bool erase(Symbol name) {
    uint32_t i = position(name);
    if (i == kAbsent) return false;
    entries_[i].name = Symbol();
    entries_[i].value = T();
    if (!index_.empty()) rebuild();
    return true;
  }
  size_t size() const { return entries_.size(); }  // positions, erased ones included
  T& at(uint32_t i) { return entries_[i].value; }
  const T& at(uint32_t i) const { return entries_[i].value; }
  Symbol name(uint32_t i) const { return entries_[i].name; }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  void clear() {
    entries_.clear();
    index_.clear();
  }

 private:
  static uint32_t hash(Symbol s) { return s.id() * 0x9E3779B1u >> 7; }
  uint32_t mask() const { return static_cast<uint32_t>(index_.size() - 1); }
  void put(uint32_t i) {
    uint32_t at = hash(entries_[i].name) & mask();
    while (index_[at] != kAbsent) at = (at + 1) & mask();
    index_[at] = i;
  }
  void rebuild() {
    size_t n = 16;
    while (n < entries_.size() * 3) n *= 2;
    index_.assign(n, kAbsent);
    for (uint32_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].name) put(i);
  }
  std::vector<Entry> entries_;
  std::vector<uint32_t> index_;
};

}  // namespace ouro::runtime
