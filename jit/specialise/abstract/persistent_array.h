// An array whose copies share all but what one of them writes since: a copy takes one pointer, a write the nodes on the
// way to the element, and what differs between two is found without a look at what they share (a tree with path
// copying; Driscoll, Sarnak, Sleator, Tarjan 1989). For one thread.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace ouro::jit {

template <class T>
class PersistentArray {
 public:
  using value_type = T;

  PersistentArray() = default;
  PersistentArray(std::vector<T> items) {
    for (T& item : items) push_back(std::move(item));
  }
  PersistentArray& operator=(std::vector<T> items) { return *this = PersistentArray(std::move(items)); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// An element that was not written is T().
  const T& operator[](size_t i) const {
    const Node* at = &root_;
    for (size_t level = depth_; *at && level > 0; --level)
      at = &static_cast<const Inner*>(at->get())->below[place(i, level)];
    static const T kNothing{};
    if (!*at) return kNothing;
    const std::vector<T>& items = static_cast<const Leaf*>(at->get())->items;
    return place(i, 0) < items.size() ? items[place(i, 0)] : kNothing;
  }
  const T& back() const { return (*this)[size_ - 1]; }
  /// To be written: of this array alone.
  T& edit(size_t i) {
    Node* at = &root_;
    for (size_t level = depth_; level > 0; --level) at = &own<Inner>(*at).below[place(i, level)];
    std::vector<T>& items = own<Leaf>(*at).items;
    if (place(i, 0) >= items.size()) items.resize(place(i, 0) + 1);
    return items[place(i, 0)];
  }
  void push_back(T item) {
    resize(size_ + 1);
    edit(size_ - 1) = std::move(item);
  }
  void pop_back() { edit(--size_) = T(); }
  template <class It>
  void append(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  /// Never smaller.
  void resize(size_t n) {
    size_ = std::max(size_, n);
    for (; size_ > 0 && (size_ - 1) >> (kBits * (depth_ + 1)); ++depth_) root_ = above(std::move(root_));
  }
  void clear() { *this = PersistentArray(); }

  struct Iterator {
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    const PersistentArray* array = nullptr;
    size_t at = 0;
    const T& operator*() const { return (*array)[at]; }
    const T* operator->() const { return &(*array)[at]; }
    const T& operator[](difference_type n) const { return (*array)[at + static_cast<size_t>(n)]; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    Iterator& operator+=(difference_type n) {
      at += static_cast<size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i += -n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.at) - static_cast<difference_type>(b.at);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at == b.at; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.at <=> b.at; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }
  std::vector<T> items() const { return {begin(), end()}; }

  /// visit(i) for each element, in order, that may differ between the two: what they share is left out.
  template <class Visit>
  static void each_difference(const PersistentArray& a, const PersistentArray& b, Visit&& visit) {
    const size_t depth = std::max(a.depth_, b.depth_);
    differences(a.raised(depth), b.raised(depth), depth, 0, visit);
  }

  /// The bits that marks(element) gives, of all elements. They are kept for each block until it is written, so all
  /// calls on one kind of array must come with the same function.
  template <class Marks>
  uint64_t marks(Marks&& marks) const {
    return marks_below(root_, depth_, marks);
  }
  /// The places of the elements with one of the bits that are wanted, in order. Blocks without one are not gone
  /// through.
  template <class Marks>
  std::vector<size_t> those_marked(uint64_t wanted, Marks&& marks) const {
    std::vector<size_t> found;
    const auto look = [&](auto& self, const Node& node, size_t level, size_t first) -> void {
      if (!(marks_below(node, level, marks) & wanted)) return;
      if (level == 0) {
        const std::vector<T>& items = static_cast<const Leaf*>(node.get())->items;
        for (size_t i = 0; i < items.size(); ++i)
          if (first + i < size_ && marks(items[i]) & wanted) found.push_back(first + i);
        return;
      }
      for (size_t i = 0; i < kWidth; ++i)
        self(self, static_cast<const Inner*>(node.get())->below[i], level - 1, first + (i << (kBits * level)));
    };
    look(look, root_, depth_, 0);
    return found;
  }

 private:
  static constexpr size_t kBits = 4, kWidth = size_t{1} << kBits;
  using Node = std::shared_ptr<void>;  // an Inner, or a Leaf at level 0; null: nothing is written there
  struct Marked {
    mutable bool marked = false;
    mutable uint64_t marks = 0;  // of the elements below, if `marked`
  };
  struct Inner : Marked {
    std::array<Node, kWidth> below;
  };
  struct Leaf : Marked {
    std::vector<T> items;  // at most kWidth
  };
  static size_t place(size_t i, size_t level) { return i >> (kBits * level) & (kWidth - 1); }
  static Node above(Node node) {
    auto inner = std::make_shared<Inner>();
    inner->below[0] = std::move(node);
    return inner;
  }
  Node raised(size_t depth) const {
    Node node = root_;
    for (size_t d = depth_; d < depth; ++d) node = above(std::move(node));
    return node;
  }
  template <class N>
  static N& own(Node& node) {
    if (!node)
      node = std::make_shared<N>();
    else if (node.use_count() > 1)
      node = std::make_shared<N>(*static_cast<const N*>(node.get()));
    N& mine = *static_cast<N*>(node.get());
    mine.marked = false;
    return mine;
  }

  template <class Marks>
  static uint64_t marks_below(const Node& node, size_t level, Marks& marks) {
    if (!node) return 0;
    const auto* inner = static_cast<const Inner*>(node.get());
    const auto* leaf = static_cast<const Leaf*>(node.get());
    const Marked& here = level > 0 ? static_cast<const Marked&>(*inner) : *leaf;
    if (here.marked) return here.marks;
    uint64_t all = 0;
    if (level > 0)
      for (const Node& below : inner->below) all |= marks_below(below, level - 1, marks);
    else
      for (const T& item : leaf->items) all |= marks(item);
    here.marked = true;
    return here.marks = all;
  }

  template <class Visit>
  static void differences(const Node& x, const Node& y, size_t level, size_t first, Visit& visit) {
    if (x == y) return;
    static const Node kNoNode;
    static const T kNothing{};
    for (size_t i = 0; i < kWidth; ++i) {
      const size_t at = first + (i << (kBits * level));
      if (level > 0) {
        const auto below = [&](const Node& n) -> const Node& {
          return n ? static_cast<const Inner*>(n.get())->below[i] : kNoNode;
        };
        differences(below(x), below(y), level - 1, at, visit);
        continue;
      }
      if constexpr (std::equality_comparable<T>) {
        const auto item = [&](const Node& n) -> const T& {
          const Leaf* leaf = static_cast<const Leaf*>(n.get());
          return leaf && i < leaf->items.size() ? leaf->items[i] : kNothing;
        };
        if (item(x) == item(y)) continue;
      }
      visit(at);
    }
  }

  Node root_;
  size_t depth_ = 0;  // levels of Inner above the leaves
  size_t size_ = 0;
};

}  // namespace ouro::jit
