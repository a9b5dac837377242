#include "jit/specialise/pins.h"

#include <algorithm>

namespace ouro::jit {

using Pin = AccessNode::Pin;

// The path with [*] for each index of a list or tuple.
static std::string of_any_item(const std::string& path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    out += path[i];
    const size_t end = path.find_first_not_of("0123456789", i + 1);
    if (path[i] != '[' || end == i + 1 || end == std::string::npos || path[end] != ']') continue;
    out += '*';
    i = end - 1;
  }
  return out;
}

static bool is_in(const std::set<std::string>& varying, const std::string& path) {
  return varying.count(path) || (path.find('[') != std::string::npos && varying.count(of_any_item(path)));
}

bool SpecialiseRequest::varies(const std::string& path) const { return is_in(varying, path); }

// Where two items of a list have changed, all of them are data: the labels of a batch.
void Pins::vary(const std::string& path) {
  std::string all = of_any_item(path);
  const auto is_item = [&](const std::string& other) { return other != all && of_any_item(other) == all; };
  if (all != path && std::ranges::any_of(varying_, is_item)) {
    std::erase_if(varying_, is_item);
    varying_.insert(std::move(all));
  } else {
    varying_.insert(path);
  }
}

void Pins::changed(const AccessProgram& access, const std::vector<uint32_t>& pins) {
  bool fresh = false;
  for (uint32_t i : pins) {
    if (access.nodes[i].pin != Pin::first) continue;
    const std::string path = access.path(i);
    if (is_in(varying_, path) || is_in(structure_, path)) continue;
    fresh = true;
    vary(path);
  }
  rounds_ += fresh;
}

void Pins::missed(const AccessProgram& access, uint32_t node) {
  using Guard = AccessNode::Guard;
  const Guard guard = access.nodes[node].guard;
  if (guard != Guard::length && guard != Guard::keys) return;
  const std::string path = access.path(node);
  if (++lengths_[path] != (guard == Guard::length ? kMostLengths : kMostKeys)) return;
  lists_.insert(path);
  varying_.insert(path);
}

void Pins::take_apart_lists(const std::set<std::string>& but) {
  for (const std::string& path : lists_)
    if (!but.count(path)) varying_.erase(path);
  std::erase_if(lists_, [&](const std::string& path) { return !but.count(path); });
}

void Pins::need(const std::set<std::string>& paths) {
  structure_.insert(paths.begin(), paths.end());
  std::erase_if(varying_, [&](const std::string& path) { return structure_.contains(path); });
}

void Pins::made(const SpecialiseResult& result) {
  for (const std::string& path : result.written)
    if (!structure_.contains(path)) varying_.insert(path);
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
    if (access.nodes[i].pin == Pin::first && is_in(varying_, access.path(i))) return true;
  return false;
}

// How many operations the interpreter may get for one list: append, read and len, and what reads attributes again after
// them.
static constexpr size_t kHolesOfList = 8;

static size_t operations(const SpecialiseResult& r) {
  size_t n = 0;
  for (const ir::Block& b : r.typed->blocks)
    n += static_cast<size_t>(std::ranges::count_if(b.lets, [](const ir::Let& l) { return ir::is_tensor_op(l.op); }));
  return n;
}

// Does the program still have all of the computation, and the interpreter little of the rest?
static bool lists_are_data(const SpecialiseResult& whole, const SpecialiseResult& parts, size_t lists) {
  return operations(whole) >= operations(parts) &&
         whole.fallbacks.size() <= parts.fallbacks.size() + kHolesOfList * lists;
}

// What the library does, and what derivatives are made of, keeps records that the interpreter would not see.
static bool may_have_holes(const Session& s, const ir::Function& code) {
  const SourceFile* file = s.sources.file(code.span.file);
  return !code.derived && file && !file->name().starts_with("ouro/");
}

// Is there more in it than what the interpreter does?
static bool computes(const SpecialiseResult& r) {
  return std::ranges::any_of(r.typed->blocks, [](const ir::Block& b) {
    return std::ranges::any_of(b.lets, [](const ir::Let& l) { return ir::is_tensor_op(l.op); });
  });
}

// So many numbers are looked at one by one.
static constexpr size_t kMostLooked = 6;

// Of numbers that vary, mostly one or two decide structure: a size, beside a rate. Where all as constants are better
// than none, each is looked at alone. True: `request` and `out` are of the version in which the others vary.
static bool specialise_structure(Session& s, const SpecialiseRequest& constant, Pins& pins, SpecialiseRequest& request,
                                 SpecialiseResult& out, const SpecialiseResult& known) {
  if (!known.ok || request.varying.size() < 2 || request.varying.size() > kMostLooked) return false;
  SpecialiseRequest parted = constant;
  SpecialiseResult best;
  std::set<std::string> structure;
  for (const std::string& path : request.varying) {
    SpecialiseRequest less = parted;
    less.varying.insert(path);
    SpecialiseResult made = specialise_sizes(s, less);
    if (!made.ok || made.fallbacks.size() > known.fallbacks.size()) {
      structure.insert(path);
      continue;
    }
    best = std::move(made);
    parted = std::move(less);
  }
  if (!best.ok) return false;
  pins.need(structure);
  request = std::move(parted);
  out = std::move(best);
  return true;
}

// Nothing comes of a program in which all of these numbers vary: makes constants of as few of them as it takes. An
// attempt that fails ends early, so the whole program is mostly specialised once. Where no single constant is enough,
// the number whose constant lets the program come furthest is the first of several. True: `request` and `out` are of
// the version in which the others vary.
static bool specialise_most_varying(Session& s, const SpecialiseRequest& constant, Pins& pins,
                                    SpecialiseRequest& request, SpecialiseResult& out) {
  constexpr size_t kMostSteps = 1'000'000;
  if (request.varying.size() < 2 || request.varying.size() > kMostLooked) return false;
  std::set<std::string> varying = request.varying, structure;
  const size_t begin = *request.steps;
  while (varying.size() > 1) {
    std::string furthest;
    size_t most = 0;
    for (const std::string& path : varying) {
      SpecialiseRequest less = constant;
      less.varying = varying;
      less.varying.erase(path);
      const size_t before = *request.steps;
      SpecialiseResult made = specialise_sizes(s, less);
      const size_t steps = *request.steps - before;
      if (made.ok && !made.fallbacks.empty()) return false;  // whether that is better is seen with all as constants
      if (made.ok) {
        structure.insert(path);
        pins.need(structure);
        request = std::move(less);
        out = std::move(made);
        return true;
      }
      if (*request.steps - begin > kMostSteps) return false;
      if (steps > most) most = steps, furthest = path;
    }
    if (furthest.empty()) return false;
    varying.erase(furthest);
    structure.insert(furthest);
  }
  return false;
}

static bool overlap(Span a, Span b) { return a.file == b.file && a.begin < b.end && b.begin < a.end; }

static SpecialiseResult specialise_with_pins(Session& s, SpecialiseRequest& request, Pins& pins) {
  pins.ask(request);
  request.parts = request.varying.empty();  // a constant is better than boxed values
  SpecialiseResult out = specialise_sizes(s, request);
  if (!out.ok && !request.spent.empty()) {
    request.spent.clear();
    out = specialise_sizes(s, request);
  }
  if (!out.ok && !pins.lists().empty()) {  // lists that grow are boxed anyway
    request.parts = true;
    out = specialise_sizes(s, request);
    request.parts = out.ok;
  }
  if ((!out.ok || !out.fallbacks.empty()) && !request.varying.empty()) {
    // What decides structure by ways that no operation can tell, or leaves less to the interpreter as a constant.
    SpecialiseRequest constant = request;
    constant.constants = true;
    const size_t lists = pins.lists().size();
    // A list that is taken apart is no reason for numbers to be constants again.
    if (lists == 0) constant.varying.clear();
    for (const std::string& path : pins.lists()) constant.varying.erase(path);
    if (!out.ok && lists == 0 && specialise_most_varying(s, constant, pins, request, out)) {
      pins.made(out);
      return out;
    }
    SpecialiseResult known = specialise_sizes(s, constant);
    if (!known.ok && !constant.varying.empty()) {
      constant.varying.clear();
      known = specialise_sizes(s, constant);
    }
    const auto is_better = [&] {
      return lists > 0 ? lists_are_data(out, known, lists) : known.fallbacks.size() >= out.fallbacks.size();
    };
    if (out.ok && (!known.ok || is_better())) {
      pins.made(out);
      return out;
    }
    if (lists > 1) {
      // One of the lists may be what the computation is about, beside others that are logs.
      std::set<std::string> logs = pins.lists();
      SpecialiseRequest parted = constant;
      SpecialiseResult best;
      for (const std::string& path : pins.lists()) {
        SpecialiseRequest less = constant;
        logs.erase(path);
        less.varying.insert(logs.begin(), logs.end());
        SpecialiseResult made = specialise_sizes(s, less);
        if (!made.ok || (best.ok && operations(made) <= operations(best))) {
          logs.insert(path);
          continue;
        }
        best = std::move(made);
        parted = std::move(less);
      }
      if (best.ok && !logs.empty() && (!known.ok || lists_are_data(best, known, logs.size()))) {
        pins.take_apart_lists(logs);
        request = std::move(parted);
        pins.made(best);
        return best;
      }
    }
    if (lists == 0 && specialise_structure(s, constant, pins, request, out, known)) {
      pins.made(out);
      return out;
    }
    pins.take_apart_lists();
    request = std::move(constant);
    out = std::move(known);
    for (AccessNode& n : out.access.nodes)
      if (n.pin == Pin::first &&
          is_in(pins.varying(), out.access.path(static_cast<uint32_t>(&n - out.access.nodes.data()))))
        n.pin = Pin::needed;
  }
  if (!out.ok && !request.parts) {
    pins.ask(request);
    request.parts = true;
    out = specialise_sizes(s, request);
  }
  if (!out.ok && may_have_holes(s, *request.function.as<runtime::Function>()->code)) {
    SpecialiseRequest holes = request;
    pins.ask(holes);
    holes.holes = true;
    SpecialiseResult rest = specialise_sizes(s, holes);
    if (rest.ok && (request.any_holes || computes(rest))) {
      request = std::move(holes);
      out = std::move(rest);
    } else if (!rest.ok && !overlap(rest.failure.span, out.failure.span)) {
      // It is this operation that keeps the rest of the function with the interpreter; the other would be in place.
      out.failure = std::move(rest.failure);
      out.fallbacks = std::move(rest.fallbacks);
    }
  }
  if (out.ok) pins.made(out);
  return out;
}

static SpecialiseResult specialise_trees(Session& s, SpecialiseRequest& request, Pins& pins) {
  SpecialiseResult out = specialise_with_pins(s, request, pins);
  // A tree of lists or tuples: the form of an inner node need not know what is below it.
  if (!out.ok || !out.back || !out.back->calls_apart || !out.holds_containers) return out;
  SpecialiseRequest shallow = request;
  shallow.shallow = true;
  SpecialiseResult other = specialise_sizes(s, shallow);
  if (!other.ok || other.fallbacks.size() > out.fallbacks.size()) return out;
  request = std::move(shallow);
  pins.made(other);
  return other;
}

SpecialiseResult specialise_pinned(Session& s, SpecialiseRequest& request, Pins& pins) {
  request.steps = std::make_shared<size_t>(0);
  SpecialiseResult out = specialise_trees(s, request, pins);
  out.steps = *request.steps;
  return out;
}

}  // namespace ouro::jit
