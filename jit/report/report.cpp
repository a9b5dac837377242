#include "jit/report/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "jit/versions/executor.h"
#include "runtime/autodiff/state.h"
#include "runtime/object/object.h"
#include "support/trace.h"

namespace ouro::jit {

namespace {

// One entry for each place and reason, in the order of the notes. `times` of the plan that was made, or none. What is
// left to the interpreter only since an earlier operation was, is a part of that one.
std::vector<HoleReport> holes_of(runtime::Session& s, const std::vector<SpecialiseNote>& notes,
                                 const std::vector<InstructionTime>& times) {
  std::vector<HoleReport> out;
  std::vector<Span> counted;     // holes whose time is told
  std::vector<size_t> entry_of;  // notes
  for (const SpecialiseNote& n : notes) {
    if (n.cause < entry_of.size()) {
      entry_of.push_back(entry_of[n.cause]);
    } else {
      const Place at = place_of(s, n.span);
      const auto known = std::ranges::find_if(
          out, [&](const HoleReport& h) { return h.place.name() == at.name() && h.why.text == n.why.text; });
      entry_of.push_back(static_cast<size_t>(known - out.begin()));
      if (known == out.end()) out.push_back({.place = at, .why = n.why, .count = 0});
      ++out[entry_of.back()].count;
    }
    HoleReport& h = out[entry_of.back()];
    if (std::ranges::find(counted, n.hole) != counted.end()) continue;
    counted.push_back(n.hole);
    for (const InstructionTime& t : times)
      if (t.by_interpreter && t.span == n.hole) h.runs += t.runs, h.ns += t.ns;
  }
  return out;
}

FunctionReport report_of(runtime::Session& s, const FunctionVersions& f) {
  FunctionReport r{.of = &f, .name = std::string(f.code->qualname.text()), .place = place_of(s, f.code->span)};
  // A gradient is known by what it is the gradient of.
  if (!f.captured_codes.empty() && runtime::autodiff::state(s).transforms.contains(f.code.get())) {
    const ir::Function& of = *f.captured_codes.front();
    r.name = fmt::format("{}({})", r.name.substr(0, r.name.find('.')), of.qualname.text());
    r.place = place_of(s, of.span);
  }
  r.interpreted_calls = f.interpreted_calls;
  r.interpreted_ns = f.interpreted_ns;
  bool serves = false;
  for (const auto& v : f.versions) {
    serves = serves || v->state.load() != Version::State::failed;
    r.compiled_calls += v->calls.load() - v->exits.load();
    r.compiled_ns += v->nanoseconds.load();
    r.holes.push_back(holes_of(s, v->made->fallbacks, v->plan() ? v->plan()->times() : std::vector<InstructionTime>{}));
    if (!r.holes.back().empty()) r.reached = Reached::holes;
    r.micro_batches.push_back(v->demands.micro_batch && v->plan() ? micro_batch_text(s, v->plan()->micro_batching())
                                                                  : "");
  }
  if (!serves) r.reached = Reached::interpreted;
  r.failures = holes_of(s, f.failures, {});
  r.before_failure = holes_of(s, f.before_failure, {});
  return r;
}

// The codes of the functions that a closure captures, in their order.
std::vector<const ir::Function*> captured_codes(const runtime::Function& f) {
  std::vector<const ir::Function*> out;
  for (const runtime::Value& capture : f.captures) {
    const runtime::Value* v = &capture;
    if (const auto* cell = runtime::cast_exact<runtime::Cell>(*v)) v = &cell->value;
    if (const auto* bound = runtime::cast_exact<runtime::BoundMethod>(*v)) v = &bound->function;
    if (const auto* inner = runtime::cast_exact<runtime::Function>(*v)) out.push_back(inner->code.get());
  }
  return out;
}

}  // namespace

bool concerns(const FunctionVersions& versions, const runtime::Function& f) {
  const auto of = [&](const ir::FunctionRef& code) { return code == f.code; };
  if (!of(versions.code)) return !versions.captured_codes.empty() && of(versions.captured_codes.front());
  return std::ranges::equal(versions.captured_codes, captured_codes(f), {}, &ir::FunctionRef::get);
}

std::string_view reached_text(Reached r) {
  constexpr std::string_view kTexts[] = {"compiled whole", "compiled but for", "interpreted"};
  return kTexts[static_cast<size_t>(r)];
}

std::vector<HoleReport> Report::ranked() const {
  std::vector<HoleReport> out;
  const auto add = [&](const HoleReport& h) {
    const auto known = std::ranges::find_if(
        out, [&](const HoleReport& o) { return o.place.name() == h.place.name() && o.why.text == h.why.text; });
    if (known == out.end()) return out.push_back(h);
    known->count = std::max(known->count, h.count);
    known->runs += h.runs;
    known->ns += h.ns;
  };
  for (const FunctionReport& f : functions) {
    for (const auto& of_version : f.holes) std::ranges::for_each(of_version, add);
    if (f.reached != Reached::interpreted) continue;
    for (HoleReport h : f.failures) {
      h.runs = f.interpreted_calls;
      h.ns = f.interpreted_ns;
      add(h);
    }
  }
  std::ranges::stable_sort(out, std::greater{}, &HoleReport::ns);
  return out;
}

Report make_report(runtime::Session& s) {
  Report out;
  JitExecutor* jit = executor_of(s);
  if (!jit) return out;
  out.ns = now_ns() - jit->begun_ns;
  for (const auto& f : jit->functions())
    if (!f->versions.empty() || !f->failures.empty() || f->marked) out.functions.push_back(report_of(s, *f));
  for (const plain::Tier::Told& t : jit->plain_code()) {
    constexpr std::string_view kStates[] = {"left to the interpreter, which is quicker", "compiled", "still compiling",
                                            "not compiled: the code generator refused it",
                                            "interpreted again, since it was left too often"};
    const bool loop = t.loop.known();
    PlainReport p{.name = std::string(t.function->qualname.text()),
                  .place = place_of(s, loop ? t.loop : t.function->span),
                  .loop = loop,
                  .state = kStates[static_cast<size_t>(t.state)],
                  .native = t.proportion->native,
                  .steps = t.proportion->steps,
                  .stepped = {},
                  .entered = t.runs,
                  .left = t.left};
    constexpr size_t kMostLines = 8;
    for (const Span& span : t.proportion->stepped) {
      Place at = place_of(s, span);
      const bool known = std::ranges::any_of(p.stepped, [&](const Place& o) { return o.name() == at.name(); });
      if (!known && p.stepped.size() < kMostLines) p.stepped.push_back(std::move(at));
    }
    out.plain.push_back(std::move(p));
  }
  return out;
}

}  // namespace ouro::jit
