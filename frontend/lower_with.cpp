// with manager as x: body   means
//
//   enter, leave = the manager's methods, as its class has them
//   x = enter(); body   with a finally (lower_try.cpp) that calls leave(None, None, None)
//
// or, when an exception came, leave(type, exception, traceback), which ends the exception if it answers true.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

void Lowerer::with(const With& s, size_t i) {
  if (i == s.items.size()) return statements(s.body);
  const WithItem& item = *s.items[i];
  Atom methods = let(s.span, prim::with_methods, {expr(item.context_expr)});
  Atom enter = b_.let(prim::tuple_get, {methods}, 0u), leave = b_.let(prim::tuple_get, {methods}, 1u);
  Atom entered = b_.call(enter, {});
  Frame f = open_finally();
  BlockId handler = b_.new_handler(), after = b_.new_block();
  Assigned before = sure_anywhere();
  b_.push_handler(handler);
  frames_.push_back(&f);
  if (item.optional_vars) store(item.optional_vars, entered);
  with(s, i + 1);
  frames_.pop_back();
  b_.pop_handler();
  b_.set_span(s.span);
  enter_finally(f, {ExitKind::fall, nullptr}, b_.none(), b_.none());
  close_finally(f, handler, before, s.span);
  with_exit(leave, f, after);
  start(after);
}

void Lowerer::with_exit(Atom leave, const Frame& f, BlockId after) {
  if (!b_.reachable()) return;
  BlockId raised = b_.new_block(), calm = b_.new_block();
  SmallVec<BlockId, 4> targets;
  for (const Exit& e : f.exits) targets.push_back(e.kind == ExitKind::raise ? raised : calm);
  select(f.selector, {targets.data(), targets.size()});
  start(calm);
  with_exit_calm(leave, f, after);
  start(raised);
  with_exit_raised(leave, f, after);
}

void Lowerer::with_exit_calm(Atom leave, const Frame& f, BlockId after) {
  if (!b_.reachable()) return;
  b_.call(leave, {b_.none(), b_.none(), b_.none()});
  BlockId last = BlockId::none;  // also stands for kinds that do not come here
  SmallVec<BlockId, 4> targets;
  for (const Exit& e : f.exits) targets.push_back(e.kind == ExitKind::raise ? BlockId::none : last = b_.new_block());
  for (BlockId& t : targets)
    if (t == BlockId::none) t = last;
  select(f.selector, {targets.data(), targets.size()});
  for (size_t i = 0; i < f.exits.size(); ++i) {
    if (f.exits[i].kind == ExitKind::raise) continue;
    start(targets[i]);
    go_on(f.exits[i], f.value, f.previous, after);
  }
}

void Lowerer::with_exit_raised(Atom leave, const Frame& f, BlockId after) {
  if (!b_.reachable()) return;
  BlockId failed = b_.new_handler(), swallowed = b_.new_block(), goes_on = b_.new_block();
  b_.push_handler(failed);
  Atom type = builtin(b_.span(), "type");
  type = b_.call(type, {f.value});
  Atom traceback = b_.let(prim::attr_get, {f.value}, intern("__traceback__"));
  Atom answer = b_.call(leave, {type, f.value, traceback});
  answer = truth(b_.span(), answer);
  b_.pop_handler();
  b_.branch(answer, swallowed, goes_on);
  start(swallowed);
  b_.let(prim::exc_leave, {f.previous});
  b_.jump(after, {});
  start(goes_on);
  b_.let(prim::exc_leave, {f.previous});
  rethrow(f.value);
  start(failed);
  if (!b_.reachable()) return;
  b_.let(prim::exc_leave, {f.previous});
  rethrow(b_.exception_of(failed));
}

}  // namespace ouro::frontend
