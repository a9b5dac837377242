#include "jit/versions/experience.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/specialise/attempt.h"
#include "jit/versions/version.h"

namespace ouro::jit {

using nlohmann::json;

namespace {
constexpr int kFormat = 2;

// What is measured differs a little in each run.
bool is_near(double a, double b) { return a <= 1.25 * b && b <= 1.25 * a; }
bool is_near(const Experience::Function& a, const Experience::Function& b) {
  return is_near(a.calls, b.calls) && is_near(a.saved_ms, b.saved_ms) && is_near(a.specialise_ms, b.specialise_ms) &&
         is_near(a.interpreted_ms, b.interpreted_ms) && a.versions == b.versions && a.tried == b.tried;
}
}  // namespace

std::string Experience::key_of(const runtime::Session& s, const ir::Function& code) {
  const SourceFile* file = code.span.known() ? s.sources.file(code.span.file) : nullptr;
  return fmt::format("{}@{}:{}", code.qualname.text(), file ? file->name() : "?", code.span.begin);
}

Experience::Key Experience::key_of(const runtime::Session& s, const FunctionVersions& f) {
  Key key{.code = key_of(s, *f.code), .captured = {}};
  for (const ir::FunctionRef& c : f.captured_codes) key.captured += key_of(s, *c) + ";";
  return key;
}

void Experience::read() {
  if (std::exchange(read_, true) || !store_) return;
  const json j = json::parse(store_->load(), nullptr, /*allow_exceptions=*/false);
  try {
    if (j.at("format") != kFormat) return;
    for (const auto& [code, captured] : j.at("functions").items())
      for (const auto& [key, f] : captured.items())
        functions_[code][key] = {.calls = f.at("calls").get<double>(),
                                 .saved_ms = f.at("saved_ms").get<double>(),
                                 .specialise_ms = f.at("specialise_ms").get<double>(),
                                 .versions = f.at("versions").get<size_t>(),
                                 .interpreted_ms = f.at("interpreted_ms").get<double>(),
                                 .tried = f.at("tried").get<size_t>()};
  } catch (const json::exception&) {
    functions_.clear();
  }
}

bool Experience::has_worth(const std::string& code) {
  read();
  const auto at = functions_.find(code);
  return at != functions_.end() && std::ranges::any_of(at->second, [](const auto& f) { return f.second.is_worth(); });
}

const Experience::Function* Experience::of(const Key& key) {
  read();
  const auto code = functions_.find(key.code);
  if (code == functions_.end()) return nullptr;
  const auto at = code->second.find(key.captured);
  return at == code->second.end() ? nullptr : &at->second;
}

void Experience::learn(const Key& key, const FunctionVersions& f, const Untried::Entry& untried) {
  Function learned{.calls = static_cast<double>(f.interpreted_calls)};
  double saved = 0, compiled = 0;  // of the versions that have been compared with the interpreter
  for (const auto& v : f.versions) {
    const auto calls = static_cast<double>(v->calls.load(std::memory_order_relaxed));
    learned.calls += calls;
    learned.specialise_ms += v->specialise_ms;
    ++learned.versions;
    const Trial& t = v->trial;
    if (!t.decided() || t.least_interpreted() == 0 || t.least_compiled() == 0) continue;
    compiled += calls;
    saved += calls * (static_cast<double>(t.least_interpreted()) - static_cast<double>(t.least_compiled())) / 1e6;
  }
  const Function* known = of(key);
  double longest = std::max(untried.expected_ms, known && !known->versions ? known->specialise_ms : 0);
  for (const auto& v : f.versions) longest = std::max(longest, v->specialise_ms);
  if (f.attempt) longest = std::max(longest, f.attempt->ms());
  const bool worth_another = untried.is_worth() && untried.open_ms >= Untried::kWorth * longest;
  if (compiled > 0) {
    learned.saved_ms = saved / compiled;
    learned.interpreted_ms = worth_another ? untried.open_ms : 0;
    return keep(key, learned);
  }
  if (known && known->versions) return;
  const bool tried = f.tried || !f.refused.empty();
  learned.specialise_ms = longest;
  learned.versions = 0;
  const auto is_begun = [](const auto& v) { return v->state == Version::State::compiling; };
  const size_t count = !tried ? 0 : std::ranges::any_of(f.versions, is_begun) ? 1 : kTried;
  learned.tried = (known ? known->tried : 0) + count;
  // (What a run has interpreted that has tried it is what was left.)
  learned.interpreted_ms = tried && known ? known->interpreted_ms : worth_another ? untried.open_ms : 0;
  if (known || learned.interpreted_ms > 0) keep(key, learned);
}

void Experience::keep(const Key& key, const Function& learned) {
  if (const Function* known = of(key)) {
    if (is_near(*known, learned)) return;
  } else if (functions_.size() >= kMost) {
    return;
  }
  functions_[key.code][key.captured] = learned;
  changed_ = true;
}

void Experience::store() {
  if (!store_ || !std::exchange(changed_, false)) return;
  json functions = json::object();
  for (const auto& [code, captured] : functions_)
    for (const auto& [key, f] : captured)
      functions[code][key] = {{"calls", f.calls},       {"saved_ms", f.saved_ms},
                              {"versions", f.versions}, {"specialise_ms", f.specialise_ms},
                              {"tried", f.tried},       {"interpreted_ms", f.interpreted_ms}};
  store_->store(
      json{{"format", kFormat}, {"functions", functions}}.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace ouro::jit
