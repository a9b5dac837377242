#include "jit/pins.h"

#include <algorithm>

namespace ouro::jit {

using Pin = AccessNode::Pin;

void Pins::changed(const AccessProgram& access, const std::vector<uint32_t>& pins) {
  bool fresh = false;
  for (uint32_t i : pins)
    if (access.nodes[i].pin == Pin::first) fresh |= varying_.insert(access.path(i)).second;
  rounds_ += fresh;
}

void Pins::made(const SpecialiseResult& result) {
  varying_.insert(result.written.begin(), result.written.end());
  for (uint32_t i = 0; i < result.access.nodes.size(); ++i)
    if (result.access.nodes[i].pin == Pin::needed) ++needed_[result.access.path(i)];
}

void Pins::ask(SpecialiseRequest& request) const {
  request.constants = rounds_ < kMostRounds;
  request.varying = varying_;
  for (const auto& [path, times] : needed_)
    if (times >= kMostNeeded) request.spent.insert(path);
}

bool Pins::superseded(const AccessProgram& access) const {
  if (varying_.empty()) return false;
  for (uint32_t i = 0; i < access.nodes.size(); ++i)
    if (access.nodes[i].pin == Pin::first && varying_.count(access.path(i))) return true;
  return false;
}

SpecialiseResult specialise_pinned(Session& s, SpecialiseRequest& request, Pins& pins) {
  pins.ask(request);
  request.parts = request.varying.empty();  // a constant is better than boxed values
  SpecialiseResult out = specialise_sizes(s, request);
  if (!out.ok && !request.spent.empty()) {
    request.spent.clear();
    out = specialise_sizes(s, request);
  }
  if ((!out.ok || !out.fallbacks.empty()) && !request.varying.empty()) {
    // What decides structure by ways that no operation can tell, or leaves less to the interpreter as a constant.
    SpecialiseRequest constant = request;
    constant.varying.clear();
    constant.constants = true;
    SpecialiseResult known = specialise_sizes(s, constant);
    if (out.ok && (!known.ok || known.fallbacks.size() >= out.fallbacks.size())) {
      pins.made(out);
      return out;
    }
    request = std::move(constant);
    out = std::move(known);
    for (AccessNode& n : out.access.nodes)
      if (n.pin == Pin::first &&
          pins.varying().count(out.access.path(static_cast<uint32_t>(&n - out.access.nodes.data()))))
        n.pin = Pin::needed;
  }
  if (!out.ok && !request.parts) {
    pins.ask(request);
    request.parts = true;
    out = specialise_sizes(s, request);
  }
  if (out.ok) pins.made(out);
  return out;
}

}  // namespace ouro::jit
