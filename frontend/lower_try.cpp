// try, and leaving statements early.
//
// A `finally` is one join point with the parameters (kind, value, previous): kind says how it was
// entered (fell through, raised, returned, broke out of a loop, ...; each in the order of first
// use), value is the exception or the value to return, previous the handled exception before. It
// ends in a switch that goes on as kind says (docs/design/rules.md A2).
//
// While an except clause, or a finally that was entered by an exception, runs, that exception is
// the handled one: exc.enter at its start, exc.leave on every way out, the exceptional ones by a
// handler of their own that leaves and raises again.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

uint32_t Lowerer::Frame::exit_index(const Exit& e) {
  for (size_t i = 0; i < exits.size(); ++i)
    if (exits[i] == e) return static_cast<uint32_t>(i);
  exits.push_back(e);
  return static_cast<uint32_t>(exits.size() - 1);
}

void Lowerer::rethrow(Atom exception) { b_.raise(exception, b_.unbound()); }

// What a frame wants done when control passes out of it.
void Lowerer::leave_frame(const Frame& f) {
  if (f.kind == Frame::Kind::handler) {
    if (f.name) forget(f.name);
    b_.let(prim::exc_leave, {f.previous});
  } else if (f.kind == Frame::Kind::finally_body) {
    restore_if_raised(f.entered, f.selector, f.previous);
  }
}

void Lowerer::enter_finally(Frame& f, Exit exit, Atom value, Atom previous) {
  if (!b_.reachable()) return;
  f.at_exits.push_back(assigned_);
  b_.jump(f.join, {b_.integer(f.exit_index(exit)), value, previous});
}

// Passes control out through all frames up to the exit's target.
void Lowerer::leave(Exit exit, Atom value) {
  if (!b_.reachable()) return;
  std::vector<BlockId> handlers = b_.take_handlers(0);
  for (size_t i = frames_.size(); i-- > 0;) {
    Frame& f = *frames_[i];
    if (f.kind == Frame::Kind::finally) {
      enter_finally(f, exit, value, b_.none());
      break;
    }
    if (f.kind == Frame::Kind::loop && &f == exit.loop) {
      if (exit.kind == ExitKind::break_) f.at_breaks.push_back(assigned_);
      b_.jump(exit.kind == ExitKind::break_ ? f.on_break : f.on_continue, {});
      break;
    }
    b_.take_handlers(0);
    b_.restore_handlers({handlers.begin(), handlers.begin() + static_cast<ptrdiff_t>(f.handlers)});
    leave_frame(f);
  }
  if (b_.reachable()) b_.return_(value);
  b_.take_handlers(0);
  b_.restore_handlers(std::move(handlers));
}

Lowerer::Frame Lowerer::open_finally() {
  Frame f{.kind = Frame::Kind::finally, .handlers = b_.handler_depth()};
  f.join = b_.new_block();
  f.selector = b_.block_param(f.join, intern("kind"));
  f.value = b_.block_param(f.join, intern("value"));
  f.previous = b_.block_param(f.join, intern("previous"));
  return f;
}

void Lowerer::close_finally(Frame& f, BlockId handler, const Assigned& before, Span span) {
  start(handler);
  if (b_.reachable()) {
    assigned_ = before;
    Atom e = b_.exception_of(handler);
    Atom previous = let(span, prim::exc_enter, {e});
    enter_finally(f, {ExitKind::raise, nullptr}, e, previous);
  }
  start(f.join);
  if (f.at_exits.empty()) return;
  assigned_ = f.at_exits[0];
  for (const Assigned& a : f.at_exits) assigned_.meet(a);
}

// exc.leave if the finally body was entered by an exception.
void Lowerer::restore_if_raised(std::span<const Exit> exits, Atom selector, Atom previous) {
  bool raised = false;
  for (const Exit& e : exits) raised |= e.kind == ExitKind::raise;
  if (!raised || !b_.reachable()) return;
  BlockId restore = b_.new_block(), go = b_.new_block();
  SmallVec<BlockId, 4> targets;
  for (const Exit& e : exits) targets.push_back(e.kind == ExitKind::raise ? restore : go);
  select(selector, {targets.data(), targets.size()});
  start(restore);
  b_.let(prim::exc_leave, {previous});
  b_.jump(go, {});
  start(go);
}

void Lowerer::go_on(const Exit& exit, Atom value, Atom previous, BlockId after) {
  switch (exit.kind) {
    case ExitKind::fall:
      b_.jump(after, {});
      return;
    case ExitKind::raise:
      b_.let(prim::exc_leave, {previous});
      rethrow(value);
      return;
    default:
      leave(exit, value);
  }
}

void Lowerer::select(Atom selector, std::span<const BlockId> targets) {
  for (BlockId t : targets)
    if (t != targets[0]) return b_.switch_on(selector, targets);
  b_.jump(targets[0], {});
}

void Lowerer::dispatch(const Frame& f, BlockId after) {
  if (!b_.reachable()) return;
  SmallVec<BlockId, 4> targets;
  for (size_t i = 0; i < f.exits.size(); ++i) targets.push_back(b_.new_block());
  select(f.selector, {targets.data(), targets.size()});
  for (size_t i = 0; i < f.exits.size(); ++i) {
    start(targets[i]);
    go_on(f.exits[i], f.value, f.previous, after);
  }
}

void Lowerer::try_(const Try& s) { s.finalbody.empty() ? try_except(s) : try_finally(s); }

void Lowerer::try_finally(const Try& s) {
  Frame f = open_finally();
  BlockId handler = b_.new_handler();
  Assigned before = sure_anywhere();
  b_.push_handler(handler);
  frames_.push_back(&f);
  if (s.handlers.empty())
    statements(s.body);
  else
    try_except(s);
  frames_.pop_back();
  b_.pop_handler();
  Assigned fell = assigned_;
  enter_finally(f, {ExitKind::fall, nullptr}, b_.none(), b_.none());
  close_finally(f, handler, before, s.span);

  bool raised = b_.has_edges_to(handler);
  BlockId failed = b_.new_handler(), after = b_.new_block();
  Frame body{.kind = Frame::Kind::finally_body, .handlers = b_.handler_depth()};
  body.selector = f.selector;
  body.previous = f.previous;
  body.entered = f.exits;
  frames_.push_back(&body);
  if (raised) b_.push_handler(failed);
  statements(s.finalbody);
  if (raised) b_.pop_handler();
  frames_.pop_back();
  dispatch(f, after);
  Assigned at_end = assigned_;
  start(failed);
  if (b_.reachable()) {
    restore_if_raised(f.exits, f.selector, f.previous);
    rethrow(b_.exception_of(failed));
  }
  start(after);
  assigned_ = at_end;
  fell.remove(deletable_);
  assigned_.join(fell);  // what falls through has run the body
}

void Lowerer::try_except(const Try& s) {
  BlockId handler = b_.new_handler(), after = b_.new_block();
  Assigned before = sure_anywhere();
  b_.push_handler(handler);
  statements(s.body);
  b_.pop_handler();
  statements(s.orelse);
  Assigned at_end = assigned_;
  bool any_end = b_.reachable();
  b_.jump(after, {});
  start(handler);
  if (b_.reachable()) {
    assigned_ = before;
    except_clauses(s, handler, after, at_end, any_end);
  }
  start(after);
  if (any_end) assigned_ = at_end;
}

void Lowerer::except_clauses(const Try& s, BlockId handler, BlockId after, Assigned& at_end, bool& any_end) {
  Atom exception = b_.exception_of(handler);
  Atom previous = let(s.span, prim::exc_enter, {exception});
  Frame clause{.kind = Frame::Kind::handler, .handlers = b_.handler_depth()};
  clause.previous = previous;
  BlockId failed = b_.new_handler();
  b_.push_handler(failed);
  const Assigned before = assigned_;
  for (const ExceptHandler* h : s.handlers) {
    BlockId next = b_.new_block();
    if (h->type) {
      BlockId body = b_.new_block();
      Atom type = expr(h->type);
      Atom matches = let(h->span, prim::exc_match, {exception, type});
      b_.branch(matches, body, next);
      start(body);
    }
    except_body(*h, exception, clause);
    if (b_.reachable()) {
      b_.let(prim::exc_leave, {previous});
      if (any_end)
        at_end.meet(assigned_);
      else
        at_end = assigned_;
      any_end = true;
      b_.jump(after, {});
    }
    start(next);
    assigned_ = before;
  }
  b_.pop_handler();
  if (b_.reachable()) {  // no clause took it
    let(s.span, prim::exc_leave, {previous});
    rethrow(exception);
  }
  start(failed);
  if (b_.reachable()) {
    let(s.span, prim::exc_leave, {previous});
    rethrow(b_.exception_of(failed));
  }
}

// `except E as name`: whichever way the clause ends, the name is gone.
void Lowerer::except_body(const ExceptHandler& h, Atom exception, Frame& clause) {
  Frame frame = clause;
  if (!h.name) {
    frames_.push_back(&frame);
    statements(h.body);
    frames_.pop_back();
    return;
  }
  frame.name = mangled(h.name);
  assign(frame.name, exception, h.span);
  BlockId failed = b_.new_handler();
  b_.push_handler(failed);
  frames_.push_back(&frame);
  statements(h.body);
  frames_.pop_back();
  b_.pop_handler();
  b_.set_span(h.span);
  BlockId ended = b_.new_block();
  if (b_.reachable()) {
    forget(frame.name);
    b_.jump(ended, {});
  }
  start(failed);
  if (b_.reachable()) {
    forget(frame.name);
    rethrow(b_.exception_of(failed));
  }
  start(ended);
}

}  // namespace ouro::frontend
