#include "jit/emit/plain_tier.h"

#include <algorithm>

#include "jit/specialise/spans.h"
#include "runtime/object/quick_step.h"
#include "support/timeline.h"

namespace ouro::jit::plain {

using runtime::Code;
using runtime::Frame;
using runtime::Outcome;

namespace {

constexpr size_t kMostOfPlace = 4;
constexpr uint32_t kMostFailed = 2;
constexpr uint64_t kJudged = 256;  // runs

// An iterator over a range that nobody else has: its numbers go into machine registers.
bool is_own_steps(const Value& v) {
  if (runtime::kind_of(v) != runtime::ObjectKind::iterator) return false;
  const auto* it = v.as<runtime::Iterator>();
  return it->def == &runtime::kRangeIterator && it->refs == 1;
}

RegType type_here(const Value& v, bool live) {
  const RegType t = type_of(v, live);
  return t.kind == Kind::held && is_own_steps(v) ? RegType{Kind::steps} : t;
}

}  // namespace

Tier::Tier(Session& s, std::function<backends::HostJit*()> jit) : s_(s), jit_(std::move(jit)) {}

Tier::Place& Tier::place(Code& code, uint32_t pc) {
  OfCode& c = codes_[&code];
  if (c.function.lock() != code.function) {
    c = {std::make_unique<Liveness>(code), code.function, {}};
    if (codes_.size() > most_codes_) drop_dead();
    return place(code, pc);
  }
  auto& p = c.places[pc];
  if (!p) p = std::make_unique<Place>(Place{.tier = this, .code = &code, .pc = pc});
  return *p;
}

void Tier::drop_dead() {
  std::erase_if(codes_, [](const auto& c) { return c.second.function.expired(); });
  most_codes_ = std::max(kFewCodes, codes_.size() * 2);
}

const Tier::Version* Tier::version(Session& s, Frame& frame, Place& p, bool may_translate) {
  const uint32_t n = p.code->nregs;
  const auto fits = [&](const Version& v) {
    for (uint32_t r = 0; r < n; ++r)
      if (v.kinds[r] != Kind::stale && type_here(frame.regs[r], true).kind != v.kinds[r]) return false;
    return true;
  };
  if (p.dropped) return nullptr;
  const auto known = std::ranges::find_if(p.versions, fits);
  if (known != p.versions.end()) return &*known;
  if (!may_translate || p.versions.size() >= kMostOfPlace || p.failed >= kMostFailed) return nullptr;
  const Liveness& live = *codes_.at(p.code).live;
  std::vector<RegType> types;
  for (uint32_t r = 0; r < n; ++r) types.push_back(type_here(frame.regs[r], live.at(p.pc, r)));
  runtime::MemoryUnlimited unlimited(s.memory);
  std::string error;
  backends::HostJit* jit = jit_();
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Translation> made =
      jit ? translate(s, *jit, &spare_, runtime::frame_closure(frame), *p.code, frame.globals, p.pc, types, live, error)
          : nullptr;
  note_time(p.code->function->qualname, "compile", start);
  if (!made) {
    ++p.failed;
    return nullptr;
  }
  std::vector<Kind> kinds;
  for (const RegType& t : types) kinds.push_back(t.kind);
  p.versions.push_back({std::move(kinds), std::move(made)});
  return &p.versions.back();
}

Outcome Tier::run(Session& s, Frame& frame, Place& p, const Version& v, Value& result) {
  ++p.runs;
  const uint64_t end = v.code->entry(&s, frame.regs, &result);
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
  if (!version(s, frame, p, true)) return false;
  code.entry = &Tier::enter;
  code.entry_data = &p;
  return true;
}

Outcome Tier::enter(Session& s, Frame& frame, void* data, Value& result) {
  Place& p = *static_cast<Place*>(data);
  if (!s.has_stack()) return Outcome::not_taken;
  p.dropped = p.dropped || (p.runs >= kJudged && p.left * 2 > p.runs);
  const Version* v = p.tier->version(s, frame, p, true);
  if (!v) {  // it may work on tensors now: the other compiler looks at it again
    p.code->entry = nullptr;
    p.code->call_trigger = p.code->calls < 1000000 ? p.code->calls * 2 + 8 : UINT32_MAX;
    return Outcome::not_taken;
  }
  return p.tier->run(s, frame, p, *v, result);
}

Outcome Tier::hot_loop(Session& s, Frame& frame, Value& result) {
  if (frame.is(Frame::kGenerator) || !s.has_stack()) return Outcome::not_taken;
  Code& code = *runtime::frame_code(frame);
  Place& p = place(code, static_cast<uint32_t>(frame.pc->dst));
  const Version* v = version(s, frame, p, ++p.looks >= looks_before);
  if (!v) return Outcome::not_taken;
  return run(s, frame, p, *v, result);
}

}  // namespace ouro::jit::plain
