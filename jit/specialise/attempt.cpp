#include "jit/specialise/attempt.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/specialise/spans.h"
#include "runtime/object/alloc.h"
#include "runtime/object/type_slots.h"
#include "support/diag.h"
#include "support/give_up.h"
#include "support/trace.h"

namespace ouro::jit {

using Clock = std::chrono::steady_clock;

namespace {

// What a function and its arguments reach, but for modules and classes, which stay.
struct Reached final : runtime::Visitor {
  static constexpr size_t kMost = 20000;
  std::vector<runtime::Object*> found;
  std::unordered_set<const void*> seen;
  bool ends_visibly = false;

  void visit(const Value& v) override {
    if (v.is_object()) visit(v.object());
  }
  void visit(runtime::Object* o) override {
    using K = runtime::ObjectKind;
    if (!o || ends_visibly) return;
    const K kind = o->object_kind();
    if (kind == K::module || kind == K::type || !runtime::kind_ops(kind).traverse) {
      ends_visibly = kind == K::opaque;
      return;
    }
    if (!seen.insert(o).second) return;
    const auto* instance = kind == K::instance ? static_cast<runtime::Instance*>(o) : nullptr;
    ends_visibly = kind == K::opaque || kind == K::generator || kind == K::frame ||
                   (instance && instance->type->has_del) || seen.size() > kMost;
    found.push_back(o);
  }
};

}  // namespace

bool may_be_kept(const SpecialiseRequest& request) {
  Reached r;
  r.visit(request.function);
  for (const Value& a : request.args) r.visit(a);
  while (!r.found.empty() && !r.ends_visibly) {
    runtime::Object* o = r.found.back();
    r.found.pop_back();
    runtime::kind_ops(o->object_kind()).traverse(o, r);
  }
  return !r.ends_visibly;
}

Attempt::Attempt(Session& s, SpecialiseRequest request, Pins pins, std::string why)
    : session_(s), request_(std::move(request)), pins_(std::move(pins)), why_(std::move(why)) {
  request_.attempt = this;
  fiber_ = std::make_unique<Fiber>(kStack, [this] { result_ = specialise_pinned(session_, request_, pins_); });
}

Attempt::~Attempt() {
  if (fiber_->ended() || ms_ == 0) return;
  cancelled_ = true;
  try {
    resume();
  } catch (const GivenUp&) {  // it releases what it holds
  }
}

// What the session keeps of the stack that runs is that of the fiber until this returns.
void Attempt::resume() {
  const int depth = session_.depth;
  const uintptr_t limit = session_.stack_limit;
  struct Restore {
    Session& s;
    int depth;
    uintptr_t limit;
    ~Restore() { s.depth = depth, s.stack_limit = limit; }
  } restore{session_, depth, limit};
  session_.stack_limit = fiber_->lowest_address() + kStackReserve;
  ContainBugs contain;  // the fiber's scope of this may end in another slice
  fiber_->resume();
}

Attempt::State Attempt::go_on(Clock::duration slice, uint32_t blocks) {
  const Clock::time_point start = Clock::now();
  until_ = start + slice;
  most_blocks_ = blocks;
  blocks_ = 0;
  State state = State::paused;
  try {
    resume();
    if (fiber_->ended()) state = State::made;
  } catch (const GivenUp&) {
    session_.pending = Value();
    state = changed_ ? State::changed : State::given_up;
  } catch (const InternalError& bug) {
    session_.pending = Value();
    notice("compiler", "internal error: " + bug.text);
    state = State::failed;
  }
  ms_ += std::max(ms_since(start), 1e-6);
  return state;
}

bool Attempt::slice_is_over() {
  if (++blocks_ >= most_blocks_) return true;
  return blocks_ % kBlocksOfLook == 0 && Clock::now() >= until_;
}

void Attempt::pause() {
  const int depth = session_.depth;
  fiber_->suspend();
  session_.depth = depth;
  if (cancelled_) throw GivenUp();
}

void Attempt::end_as_changed(const AccessProgram& access, uint32_t missed) {
  changed_ = true;
  const Differences found = differences(session_, access, request_.function, request_.args);
  pins_.changed(access, found.pins);
  pins_.missed(access, missed);
  throw GivenUp();
}

}  // namespace ouro::jit
