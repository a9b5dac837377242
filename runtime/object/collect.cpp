// Cycle collection by trial deletion (Bacon and Rajan 2001; CPython's Modules/gcmodule.c): from every tracked object's
// count subtract the references that come from tracked objects; what keeps a positive count is referred to from outside
// and keeps all it reaches; the rest is garbage, whose references are cleared so that counting frees it. Objects with
// __del__ are finalized first, once.
#include "runtime/object/collect.h"

#include <algorithm>
#include <new>
#include <unordered_map>

#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"

namespace ouro::runtime {

namespace {

// While collecting, gc_prev of an object holds its trial count (an integer), gc_next stays a singly linked list.
uintptr_t count_of(GcObject* o) { return reinterpret_cast<uintptr_t>(o->gc_prev); }
void set_count(GcObject* o, uintptr_t n) { o->gc_prev = reinterpret_cast<GcObject*>(n); }
constexpr uintptr_t kReachable = UINTPTR_MAX;

GcObject* tracked(Object* o) { return o && (o->flags & kFlagTracked) ? static_cast<GcObject*>(o) : nullptr; }
bool may_be_tracked(ObjectKind k) { return kind_ops(k).traverse != nullptr; }

// An interrupt goes before a collection, in the middle of a large container too: thrown out of its traversal.
struct PutOff {};
struct Steps {
  const Session& s;
  uint32_t count = 0;
  void operator()(uint32_t items = 1) {
    if ((count += items) < 0x10000) return;
    count = 0;
    if ((s.poll.load(std::memory_order_relaxed) & Session::kInterrupt)) throw PutOff();
  }
};

struct Subtract final : Visitor {
  Steps step;
  explicit Subtract(const Session& s) : step{s} {}
  void visit(const Value& v) override {
    if (v.is_object()) visit(v.object());
  }
  void visit(Object* o) override {
    step(o ? 1 : 0x10000);
    if (!o || !may_be_tracked(o->object_kind())) return;
    if (GcObject* g = tracked(o)) set_count(g, count_of(g) - 1);
  }
};

struct Mark final : Visitor {
  std::vector<GcObject*> stack;
  Steps step;
  explicit Mark(const Session& s) : step{s} {}
  void visit(const Value& v) override {
    if (v.is_object()) visit(v.object());
  }
  void visit(Object* o) override {
    step(o ? 1 : 0x10000);
    if (!o || !may_be_tracked(o->object_kind())) return;
    GcObject* g = tracked(o);
    if (!g || count_of(g) == kReachable) return;
    set_count(g, kReachable);
    stack.push_back(g);
  }
};

// The list is doubly linked again.
void restore(GcObject* head, const std::vector<GcObject*>& all) {
  GcObject* last = head;
  for (GcObject* o : all) {
    o->gc_prev = last;
    last->gc_next = o;
    last = o;
  }
  last->gc_next = head;
  head->gc_prev = last;
}

// Leaves the trial counts as what says which are garbage. Throws PutOff.
void find_garbage(const Session& s, const std::vector<GcObject*>& all) {
  for (GcObject* o : all) set_count(o, o->refs);
  Subtract subtract(s);
  for (GcObject* o : all) {
    subtract.step();
    if (auto f = kind_ops(o->object_kind()).traverse) f(o, subtract);
  }
  Mark mark(s);
  for (GcObject* o : all) {
    mark.step();
    if (count_of(o) != 0 && count_of(o) != kReachable) mark.visit(o);
    while (!mark.stack.empty()) {
      GcObject* next = mark.stack.back();
      mark.stack.pop_back();
      if (auto f = kind_ops(next->object_kind()).traverse) f(next, mark);
    }
  }
}

}  // namespace

void put_off_collection(Session& s) {
  constexpr size_t kLater = 20000;
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kCollect));
  s.gc_count = s.gc_threshold - std::min(s.gc_threshold, kLater);
  s.memory.collected();
}

size_t collect(Session& s) {
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kCollect));
  GcObject* head = s.gc_objects;
  std::vector<GcObject*> all;
  std::vector<Value> garbage;
  bool counting = false;
  const auto later = [&] {
    if (counting) restore(head, all);
    put_off_collection(s);
    return size_t{0};
  };
  try {
    Steps step{s};
    for (GcObject* o = head->gc_next; o != head; o = o->gc_next) step(), all.push_back(o);
    counting = true;
    find_garbage(s, all);
    const auto is_garbage = [](GcObject* o) { return count_of(o) != kReachable; };
    const auto n = static_cast<size_t>(std::ranges::count_if(all, is_garbage));
    garbage.reserve(n);
    const auto ends = [&](GcObject* o) {
      return is_garbage(o) && o->object_kind() == ObjectKind::instance && static_cast<Instance*>(o)->type->has_del;
    };
    s.finalizers.reserve(s.finalizers.size() + static_cast<size_t>(std::ranges::count_if(all, ends)));
    for (GcObject* o : all)
      if (is_garbage(o)) garbage.push_back(Value::share(o));
  } catch (const PutOff&) {
    return later();
  } catch (const std::bad_alloc&) {  // the process has no more: what asked for memory is told
    return later();
  }
  restore(head, all);
  size_t live = all.size() - garbage.size();
  s.gc_count = 0;
  s.gc_threshold = live / 2 + 20000;

  bool finalizers = false;
  for (Value& v : garbage)
    if (Instance* i = cast<Instance>(v))
      if (i->type->has_del && !(i->flags & kFlagFinalized)) {
        i->flags |= kFlagFinalized;
        s.finalizers.push_back(v);
        finalizers = true;
      }
  if (finalizers) {  // what they reach may come back to life: the next collection decides
    s.poll.fetch_or(Session::kFinalizers);
    s.memory.collected();
    return 0;
  }
  for (Value& v : garbage)
    if (auto f = kind_ops(v.object()->object_kind()).clear) f(v.object());
  const size_t count = garbage.size();
  garbage.clear();
  s.memory.collected();
  return count;
}

void run_finalizers(Session& s) {
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kFinalizers));
  while (!s.finalizers.empty()) {
    std::vector<Value> batch;
    batch.swap(s.finalizers);
    for (Value& v : batch) {
      Value pending = std::move(s.pending);
      Generator* g = cast_exact<Generator>(v);
      Value del = g ? v : find_dunder(s, type_of(s, v), Dunder::del_);
      Value r = g ? resume_generator(s, g, ResumeMode::close, Value::none()) : call_dunder(s, v, Dunder::del_);
      if (r.is_error()) {
        Value exc = take_pending(s);
        (void)s.out.flush();
        s.err.write(text::shown_text("Exception ignored in: " + repr_text(s, del) + "\n" + format_exception(s, exc)));
        clear_pending(s);
      }
      s.pending = std::move(pending);
      v = Value();
    }
  }
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kFinalizers));
}

}  // namespace ouro::runtime
