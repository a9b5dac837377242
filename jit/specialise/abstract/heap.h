// The abstract heap: the objects that a specialisation knows, by HeapId.
//
// A heap is copied at every call that may be undone, and for each side of a branch or loop; a model has thousands of
// objects and writes few between two copies.
#pragma once

#include <memory>

#include "jit/specialise/abstract/persistent_array.h"
#include "jit/specialise/abstract/value.h"

namespace ouro::jit {

class AHeap {
 public:
  using Ref = std::shared_ptr<AObject>;

  size_t size() const { return objects_.size(); }
  /// Null: no such object here. It may be shared with other heaps.
  const Ref& operator[](size_t id) const {
    static const Ref kNone;
    return id < objects_.size() ? objects_[id] : kNone;
  }
  void put(size_t id, Ref o) {
    objects_.resize(id + 1);
    objects_.edit(id) = std::move(o);
  }
  /// The object, to be written: of this heap alone.
  AObject& own(size_t id) {
    Ref& o = objects_.edit(id);
    if (o.use_count() > 1) o = std::make_shared<AObject>(*o);
    return *o;
  }
  /// Without objects where it grows; never smaller.
  void resize(size_t n) { objects_.resize(n); }
  /// visit(id) for each object that is not the same one in both, in order.
  template <class Visit>
  static void each_difference(const AHeap& a, const AHeap& b, Visit&& visit) {
    PersistentArray<Ref>::each_difference(a.objects_, b.objects_, visit);
  }

  /// The objects whose marks meet `wanted`: PersistentArray::those_marked.
  template <class Marks>
  std::vector<size_t> those_marked(uint64_t wanted, Marks&& marks) const {
    return objects_.those_marked(wanted, [&](const Ref& o) { return o ? marks(*o) : 0; });
  }

 private:
  PersistentArray<Ref> objects_;
};

}  // namespace ouro::jit
