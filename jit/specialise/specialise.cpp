#include "jit/specialise/specialise.h"

#include <fmt/format.h>

#include "ir/ops/registry.h"
#include "jit/specialise/attempt.h"
#include "jit/specialise/residual/apart.h"
#include "jit/specialise/residual/describe.h"
#include "jit/specialise/specialiser.h"
#include "support/diag.h"
#include "support/trace.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;

Specialiser::Specialiser(Session& s, const SpecialiseRequest& request)
    : session(s), request_(request), apart_(std::make_shared<Apart>(*this)) {}

void Specialiser::collect_outputs(const AVal& result) {
  Describer b(*this, Describer::For::exit);
  result_->result = b.tree(result);
  collect_writes(b);
  if (b.is_outdated()) {
    result_->writes.clear();
    return collect_outputs(result);
  }
  b.settle(result_->result);
  return_outputs(b);
}

void Specialiser::return_outputs(const Describer& b) {
  Atom t = code.let(prim::tuple, b.outputs, 0, nullptr, span);
  code.return_(t);
}

void Specialiser::collect_writes(Describer& b) {
  for (HeapId id = 0; id < heap_.size(); ++id) {
    if (!heap_[id] || !heap_[id]->external) continue;
    const AObject o = *heap_[id];
    WriteBack w;
    w.node = o.node;
    for (const AObject::Slot& slot : o.slots) {
      if (!slot.dirty || same(slot.value, slot.memory)) continue;
      note_written(o, slot);
      if (slot.value.is(AKind::poison))
        abandon_parted(slot.value, fmt::format("attribute {} differs between branches", slot.name.text()));
      w.name = slot.name;
      w.kind = o.kind == AObject::Kind::cell      ? WriteBack::Kind::cell
               : o.kind == AObject::Kind::globals ? WriteBack::Kind::global
                                                  : WriteBack::Kind::attribute;
      if (o.kind == AObject::Kind::globals) w.object = o.concrete;
      w.value = b.tree(slot.value);
      result_->writes.push_back(w);
    }
    if (!o.dirty) continue;
    if (o.poisoned) abandon_torn(o, "an object");
    if (o.kind == AObject::Kind::list && o.items.size() == o.memory.size()) {
      w.kind = WriteBack::Kind::item;
      for (size_t i = 0; i < o.items.size(); ++i) {
        if (same(o.items[i], o.memory[i])) continue;
        note_written(o.loaded[i]);
        w.index = static_cast<uint32_t>(i);
        w.value = b.tree(o.items[i]);
        result_->writes.push_back(w);
      }
    } else if (o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict) {
      w.kind = o.kind == AObject::Kind::list ? WriteBack::Kind::list_contents
               : o.only_adds_keys()          ? WriteBack::Kind::dict_contents
                                             : WriteBack::Kind::dict_anew;
      w.value.kind = o.kind == AObject::Kind::list ? OutputTree::Kind::list : OutputTree::Kind::dict;
      for (size_t i = 0; i < o.items.size(); ++i) {
        if (i < o.loaded.size() && !same(o.items[i], o.loaded[i])) note_written(o.loaded[i]);
        if (o.kind == AObject::Kind::dict) {
          stays_inside(o.keys[i].known);
          w.value.keys.push_back(o.keys[i].known);
        }
        w.value.parts.push_back(b.tree(o.items[i]));
      }
      result_->writes.push_back(w);
    }
  }
  for (WriteBack& w : result_->writes) b.settle(w.value);
}

// What stood in a slot that is written to: a number or text there is no constant, or each call would have another one.
// (A bool or None is: a program sets it, and goes another way from then on.)
void Specialiser::note_written(const AVal& loaded) {
  if (loaded.node == kNoNode || !loaded.is(AKind::known)) return;
  if (access.nodes[loaded.node].pin != AccessNode::Pin::first) return;
  const Value& v = loaded.known;
  if (v.is_int() || v.is_float() || runtime::cast_exact<runtime::Str>(v))
    result_->written.insert(access.path(loaded.node));
}
void Specialiser::note_written(const AObject& o, const AObject::Slot& slot) {
  if (o.kind != AObject::Kind::globals) return note_written(slot.loaded);
  AccessNode n;
  n.step = AccessNode::Step::global;
  n.object = o.concrete;
  n.name = slot.name;
  if (const uint32_t node = find_node(n); node != kNoNode) note_written(node_values_[node]);
}

// A number that some use needed to know (need_constant) is guarded, so that every use may know it.
void Specialiser::use_pinned_numbers() {
  for (size_t i = 0; i < access.nodes.size() && i < node_values_.size(); ++i) {
    const AccessNode& n = access.nodes[i];
    const AVal& v = node_values_[i];
    if (n.guard != AccessNode::Guard::same || !v.is(AKind::dynamic) || !v.atom.is_name()) continue;
    if (Atom c = constant_atom(n.expected); !c.is_none()) code.replace(v.atom.name(), c);
  }
}

SpecialiseResult Specialiser::run() {
  SpecialiseResult r;
  result_ = &r;
  auto* fn = request_.function.as<runtime::Function>();
  span = fn->code->span;
  function_name = fn->code->name;
  try {
    ContainBugs contain;
    AccessNode self;
    self.step = AccessNode::Step::function;
    AVal f = wrap(request_.function, self);
    std::vector<AVal> params;
    for (size_t i = 0; i < request_.args.size(); ++i) {
      AccessNode n;
      n.step = AccessNode::Step::argument;
      n.index = static_cast<uint32_t>(i);
      n.name = i < fn->code->sig.names.size() ? fn->code->sig.names[i] : Symbol{};
      params.push_back(wrap(request_.args[i], n));
    }
    for (const AVal& c : f.items()) params.push_back(c);
    AVal result = exec_function(f.parts->code, std::move(params), f.parts->globals, span);
    if (request_.probes) {
      apart_->found(one_side(settle(items_of(result, "is a pair").at(0))));
      return r;
    }
    request_.waits ? collect_waiting(result) : collect_outputs(result);
    use_pinned_numbers();
    r.typed = code.finish(fn->code->name, fn->code->span);
    r.access = std::move(access);
    r.makes_tensors = makes_tensors;
    r.places = places;
    r.has_effects = effects_.done;
    for (const ir::Block& b : r.typed->blocks)
      for (const ir::Let& l : b.lets) {
        r.has_effects |= l.effect;
        r.draws |= ir::is_tensor_op(l.op) && ir::op_info(l.op).def->effect == ir::OpEffect::rng;
      }
    r.ok = true;
  } catch (const Abandon& a) {
    r.failure = {a.why, a.span, function_name};
  } catch (const NeedSide&) {
    r.failure = {{Reason::branches, "value differs between branches"}, span, function_name};
  } catch (const PartedRetry& p) {
    r.failure = {{Reason::branches, "value differs between branches"}, span, function_name};
    r.parted = p.what;
  } catch (const DeadPath&) {
    r.failure = {{Reason::raises, "every path raises"}, span, function_name};
  } catch (const InternalError& bug) {
    r.failure = {{Reason::internal, "internal error: " + bug.text}, span, function_name};
    notice("compiler", fmt::format("{} is interpreted: internal error: {}", function_name.text(), bug.text));
  }
  if (request_.steps) *request_.steps += steps_;
  r.fallbacks = std::move(fallbacks_);
  session.pending = Value();
  if (request_.attempt) drop_heap();
  return r;
}

// Piece by piece: all at once takes milliseconds. What comes before and behind it has slices of its own.
void Specialiser::drop_heap() {
  request_.attempt->pause();
  for (HeapId id = 0; id < heap_.size(); ++id) {
    heap_.put(id, nullptr);
    if (request_.attempt->slice_is_over()) request_.attempt->pause();
  }
  request_.attempt->pause();
}

// What differs between branches and is used is made real there, one thing after the other. Where nothing comes of that
// it is done without.
static SpecialiseResult specialise_parted(Session& s, SpecialiseRequest& asked) {
  constexpr size_t kMost = 12;
  asked.made_real.clear();
  asked.may_part = asked.parts;
  for (;;) {
    SpecialiseResult made = Specialiser(s, asked).run();
    if (made.ok || (asked.made_real.empty() && !made.parted)) return made;
    if (made.parted && asked.made_real.size() < kMost && asked.made_real.insert(*made.parted).second) continue;
    asked.made_real.clear();
    asked.may_part = false;
    return Specialiser(s, asked).run();
  }
}

// Generators of scripts are followed; where that leaves something to the interpreter, it is looked whether less is left
// where they are the interpreter's.
static SpecialiseResult specialise_generators(Session& s, SpecialiseRequest& asked) {
  asked.generators = true;
  SpecialiseResult made = specialise_parted(s, asked);
  if (!made.generators || (made.ok && made.fallbacks.empty())) return made;
  asked.generators = false;
  SpecialiseResult other = specialise_parted(s, asked);
  return other.ok && (!made.ok || other.fallbacks.size() < made.fallbacks.size()) ? std::move(other) : std::move(made);
}

SpecialiseResult specialise(Session& s, const SpecialiseRequest& request) {
  constexpr int kMostRounds = 4;  // without this one and that, it may write to others
  std::set<std::string> written;
  SpecialiseRequest asked = request;
  for (int round = 0;; ++round) {
    SpecialiseResult made = specialise_generators(s, asked);
    const bool settled = made.written.empty() || round == kMostRounds;
    written.insert(made.written.begin(), made.written.end());
    asked.varying.insert(made.written.begin(), made.written.end());
    if (!settled) continue;
    made.written = std::move(written);
    return made;
  }
}

SpecialiseResult specialise_sizes(Session& s, SpecialiseRequest& request) {
  SpecialiseResult made = specialise(s, request);
  if (request.symbolic.empty()) return made;
  std::vector<Value> nodes, inputs;
  if (made.ok && made.access.load(s, request.function, request.args, nodes, inputs, nullptr)) {
    if (made.fallbacks.empty()) return made;
    // A loop over an axis is written out where its size is a number: that is worth a version for each size.
    SpecialiseRequest numbers = request;
    numbers.symbolic.clear();
    SpecialiseResult other = specialise(s, numbers);
    if (!other.ok || other.fallbacks.size() >= made.fallbacks.size()) return made;
    request.symbolic.clear();
    return other;
  }
  request.symbolic.clear();
  return specialise(s, request);
}

}  // namespace ouro::jit
