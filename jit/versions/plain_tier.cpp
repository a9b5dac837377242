#include "jit/versions/plain_tier.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <thread>

#include "jit/specialise/spans.h"
#include "runtime/object/quick_step.h"
#include "support/give_up.h"
#include "support/process_end.h"
#include "support/timeline.h"

namespace ouro::jit::plain {

using runtime::Code;
using runtime::Frame;
using runtime::Outcome;

namespace {

constexpr size_t kMostOfPlace = 5;
constexpr uint64_t kJudged = 256;  // runs
// Of a table of instructions by registers: what is longer is no code that somebody wrote.
constexpr size_t kMostBits = size_t{1} << 22;
// Uses of a translation that knows little, until it is made again: there are other examples by then.
constexpr uint32_t kVague = 1000;

// An iterator over a range that nobody else has: its numbers go into machine registers.
bool is_own_steps(const Value& v) {
  if (runtime::kind_of(v) != runtime::ObjectKind::iterator) return false;
  const auto* it = v.as<runtime::Iterator>();
  return it->def == &runtime::kRangeIterator && it->refs == 1;
}

// LLVM does not get over a lack of memory in its midst: it may hold a lock then. With so few addresses (`ulimit -v`)
// plain code stays interpreted.
bool has_few_addresses() {
  static const bool few = [] {
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < (rlim_t{1} << 30);
  }();
  return few;
}

double milliseconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

// A dead register that holds no object owns nothing.
RegType type_here(const Value& v, bool live) {
  if (!live && !v.is_object()) return {Kind::unset};
  const RegType t = type_of(v, live);
  return t.kind == Kind::held && is_own_steps(v) ? RegType{Kind::steps} : t;
}

}  // namespace

Tier::Tier(Session& s) : s_(s) { bell_->session = &s; }
Tier::~Tier() {
  {
    std::scoped_lock hold(bell_->lock);
    bell_->session = nullptr;
  }
  if (queue_) CompileQueue::leave(std::move(queue_));
}

void Tier::Bell::ring() {
  std::scoped_lock hold(lock);
  if (session) session->poll.fetch_or(Session::kTranslated);
}

Tier::Place& Tier::place(Code& code, uint32_t pc) {
  OfCode& c = codes_[&code];
  if (c.function.lock() != code.function) {
    c = {nullptr, code.function, {}};
    if (codes_.size() > most_codes_) drop_dead();
    return place(code, pc);
  }
  auto& p = c.places[pc];
  if (!p) p = std::make_unique<Place>(Place{.tier = this, .code = &code, .pc = pc});
  return *p;
}

void Tier::drop_dead() {
  std::erase_if(codes_, [](const auto& c) { return c.second.function.expired(); });
  alone_.clear();  // another code may get an address; what is left often is found again
  most_codes_ = std::max(kFewCodes, codes_.size() * 2);
}

const Tier::Version* Tier::version(Session& s, Frame& frame, Place& p, bool may_translate) {
  const uint32_t n = p.code->nregs;
  const auto fits = [&](const Version& v) {
    if (v.globals != frame.globals) return false;
    for (uint32_t r = 0; r < n; ++r)
      if (v.kinds[r] == Kind::unset ? frame.regs[r].is_object()
                                    : v.kinds[r] != Kind::stale && type_here(frame.regs[r], true).kind != v.kinds[r])
        return false;
    return true;
  };
  if (p.dropped || has_few_addresses()) return nullptr;
  if (support::process_ends()) return nullptr;  // LLVM is not to be entered any more, nor what it made
  auto known = std::ranges::find_if(p.versions, fits);
  if (known != p.versions.end() && known->code && leaves_often(*known->code)) {
    p.old.push_back(std::move(*known));  // a call may run in it
    p.versions.erase(known);
    known = p.versions.end();
    may_translate = true;
  }
  const bool found = known != p.versions.end();
  const bool again = found && known->code && known->code->unknown > 0 && ++known->uses == kVague;
  if (found && !again) return &*known;
  if (jit_ && jit_->given_up()) return found ? &*known : nullptr;
  if (!again && (!may_translate || p.versions.size() >= kMostOfPlace)) return nullptr;
  const size_t room = waits ? SIZE_MAX : budget_.places();
  if (room < p.needs) {  // it asks again after as many uses
    if (again) known->uses = 0;
    return found ? &*known : nullptr;
  }
  // A test waits for each: of the library's code one place in eight is enough.
  if (waits && p.code->of_library && (p.pc * 5 + p.code->instrs.size()) % 8 != 0) p.dropped = true;
  std::unique_ptr<Liveness>& lives = codes_.at(p.code).live;
  if (!lives && p.code->instrs.size() * n > kMostBits) p.dropped = true;
  if (p.dropped) return nullptr;
  if (!lives) lives = std::make_unique<Liveness>(*p.code);
  const Liveness& live = *lives;
  std::vector<RegType> types;
  for (uint32_t r = 0; r < n; ++r) types.push_back(type_here(frame.regs[r], live.at(p.pc, r)));
  runtime::MemoryUnlimited unlimited(s.memory);
  if (!jit_) jit_ = std::make_shared<LazyJit>(s.options.cpu);
  const auto start = std::chrono::steady_clock::now();
  const double before = milliseconds_of(CLOCK_THREAD_CPUTIME_ID);
  Translated done = translate({.session = s,
                               .jit = jit_,
                               .spare = &spare_,
                               .own = &Tier::enter,
                               .closure = runtime::frame_closure(frame),
                               .code = *p.code,
                               .globals = frame.globals,
                               .pc = p.pc,
                               .types = types,
                               .live = live,
                               .now = frame.regs,
                               .alone = alone_,
                               .most_places = room,
                               .anyway = waits});
  note_time(p.code->function->qualname, "translate", start);
  budget_.spent(milliseconds_of(CLOCK_THREAD_CPUTIME_ID) - before, done.places);
  if (done.rest && !waits) queue().push([rest = std::move(done.rest)]() mutable { rest.reset(); });
  if (done.too_large && room < kMostNeeded) {  // there may be room for it later
    p.needs = std::min(2 * room, kMostNeeded);
    return found ? &*known : nullptr;
  }
  if (again && (!done.code || done.code->unknown >= known->code->unknown)) return &*known;
  Version made{.globals = frame.globals,
               .code = std::move(done.code),
               .proportion = std::move(done.proportion),
               .uses = again ? known->uses : 0};
  for (const RegType& t : types) made.kinds.push_back(t.kind);
  if (!made.code) {  // nothing is gained for these kinds: they are not tried again
    p.versions.push_back(std::move(made));
    return &p.versions.back();
  }
  made.kept = std::move(done.kept);
  compile(made.code, (p.pc + p.code->instrs.size()) % 8 == 0);
  if (again) p.old.push_back(std::exchange(*known, std::move(made)));  // a call may run in it
  if (!again) p.versions.push_back(std::move(made));
  return again ? &*known : &p.versions.back();
}

size_t Tier::Budget::places() const {
  const double ms = kAtOnce + kShare * milliseconds_of(CLOCK_PROCESS_CPUTIME_ID) - spent_ms_;
  return ms <= 0 ? 0 : static_cast<size_t>(ms / (spent_ms_ / places_));
}

void Tier::Budget::spent(double ms, size_t places) {
  spent_ms_ += ms;
  places_ += static_cast<double>(places);
}

std::vector<Tier::Told> Tier::report() const {
  using State = Told::State;
  std::vector<Told> out;
  for (const auto& [code, of] : codes_) {
    const ir::FunctionRef function = of.function.lock();
    if (!function || code->of_library) continue;
    for (const auto& [pc, place] : of.places) {
      Told told{.function = function, .runs = place->runs, .left = place->left};
      if (pc > 0) told.loop = code->spans[pc];
      for (const Version& v : place->versions) {
        if (told.proportion && !v.code) continue;  // for these kinds nothing is gained, but for others
        told.proportion = &v.proportion;
        told.state = !v.code            ? State::slower
                     : v.code->entry()  ? State::compiled
                     : v.code->failed() ? State::failed
                                        : State::compiling;
      }
      if (!told.proportion || told.proportion->native + told.proportion->steps == 0) continue;
      if (pc > 0 ? place->looks < kManyLooks : code->calls < kManyCalls) continue;  // a test translates at once
      if (place->dropped) told.state = State::dropped;
      out.push_back(std::move(told));
    }
  }
  std::ranges::sort(out, [](const Told& a, const Told& b) {
    return std::tuple(b.runs, a.function->qualname.text(), a.loop.begin) <
           std::tuple(a.runs, b.function->qualname.text(), b.loop.begin);
  });
  return out;
}

// Functions whose calls are left in the middle all the time are called by themselves from now on.
bool Tier::leaves_often(const Translation& code) {
  bool any = false;
  for (const Leaves& l : code.leaves)
    if (l.often) any = true, alone_.insert(l.code);
  return any;
}

CompileQueue& Tier::queue() {
  if (!queue_) queue_ = std::make_unique<CompileQueue>(/*yields=*/true);
  return *queue_;
}

void Tier::compile(const std::shared_ptr<Translation>& code, bool well_at_once) {
  if (waits) return well_at_once ? code->compile_well() : code->compile_quickly();
  queue().push_first(Compile{.queue = queue(), .code = code, .bell = bell_, .share = share_});
}

bool Tier::CompilerShare::has_room(const Translation& code, bool well) const {
  const double share = code.mixed ? kShareMixed : kShare, at_once = code.mixed ? kAtOnceMixed : kAtOnce;
  const double others = milliseconds_of(CLOCK_PROCESS_CPUTIME_ID) - spent_ms_;
  return spent_ms_ + ms_each_[well] * static_cast<double>(code.size) <= at_once + share * others;
}

void Tier::CompilerShare::spent(double ms, size_t instructions, bool well) {
  constexpr double kNew = 0.25, kFew = 100;
  spent_ms_ += ms;
  if (instructions > kFew) ms_each_[well] += kNew * (ms / static_cast<double>(instructions) - ms_each_[well]);
}

void Tier::Compile::compile(bool as_well_as_can_be) const {
  const double before = milliseconds_of(CLOCK_THREAD_CPUTIME_ID);
  as_well_as_can_be ? code->compile_well() : code->compile_quickly();
  share->spent(milliseconds_of(CLOCK_THREAD_CPUTIME_ID) - before, code->size, as_well_as_can_be);
  bell->ring();
}

void Tier::Compile::operator()() const {
  for (const Clock::time_point until = Clock::now() + kTurn; Clock::now() < begins || !share->has_room(*code, well);) {
    if (support::GiveUpWhen::here().given_up()) return;
    if (Clock::now() > until) return queue.push(*this);
    std::this_thread::sleep_for(kLook);
  }
  if (support::GiveUpWhen::here().given_up()) return;
  if (well || (code->small && share->has_room(*code, true))) return compile(true);
  compile(false);
  Compile then = *this;
  then.well = true;
  then.begins = Clock::now() + kBeforeWell;
  queue.push(std::move(then));
}

Outcome Tier::run(Session& s, Frame& frame, Place& p, Entry entry, Value& result) {
  ++p.runs;
  const uint64_t end = entry(&s, frame.regs, &result);
  const auto how = static_cast<End>(end >> 32);
  frame.pc = p.code->instrs.data() + static_cast<uint32_t>(end);
  if (how == End::returned) return Outcome::returned;
  if (how == End::raised) return Outcome::interrupted;
  ++p.left;
  return Outcome::not_taken;
}

bool Tier::hot_function(Session& s, Frame& frame) {
  Code& code = *runtime::frame_code(frame);
  if (code.calls < calls_before || !code.plain) return false;
  Place& p = place(code, 0);
  if (const Version* v = version(s, frame, p, true); !v || !v->code) return false;
  code.entry = &Tier::enter;
  code.entry_data = &p;
  return true;
}

Outcome Tier::enter(Session& s, Frame& frame, void* data, Value& result) {
  Place& p = *static_cast<Place*>(data);
  if (!s.has_stack()) return Outcome::not_taken;
  p.dropped = p.dropped || (p.runs >= kJudged && p.left * 4 > p.runs);
  const Version* v = p.tier->version(s, frame, p, true);
  if (!v) {  // it may work on tensors now: the other compiler looks at it again
    p.code->entry = nullptr;
    p.code->call_trigger = p.code->calls < 1000000 ? p.code->calls * 2 + 8 : UINT32_MAX;
    return Outcome::not_taken;
  }
  if (!v->code) return Outcome::not_taken;
  const Entry entry = v->code->entry();
  if (!entry) {
    p.dropped = v->code->failed();
    return Outcome::not_taken;
  }
  return p.tier->run(s, frame, p, entry, result);
}

Outcome Tier::hot_loop(Session& s, Frame& frame, Value& result) {
  if (frame.is(Frame::kGenerator) || !s.has_stack()) return Outcome::not_taken;
  Code& code = *runtime::frame_code(frame);
  Place& p = place(code, static_cast<uint32_t>(frame.pc->dst));
  const Version* v = version(s, frame, p, ++p.looks >= looks_before);
  const Entry entry = v && v->code ? v->code->entry() : nullptr;
  return entry ? run(s, frame, p, entry, result) : Outcome::not_taken;
}

}  // namespace ouro::jit::plain
