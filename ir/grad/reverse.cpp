// Reverse mode: a function f becomes a forward form, which does what f does and also makes a pullback. Source
// transformation of SSA, after Innes, "Don't Unroll Adjoint: Differentiating SSA-Form Programs" (2018), with the heap
// of van Merrienboer et al. (2018) replaced by shadow maps (docs/design/rules.md B8).
//
//   forward f(x...)            = as f; collects residuals; returns (y, pullback)
//   pullback(dy, env; residuals...) = cotangents of x...
//
// Control flow. The pullback walks the forward control flow graph backwards. Where a block has several predecessors,
// the forward form keeps which of them was taken (a parameter more, a constant on each edge); the pullback switches on
// it. A let inside a `try` ends a *node*: its handler is entered from the point before it, so the pullback of a handler
// goes to the rest of the node, without that let.
//
// Residuals. What a rule needs is kept where it is computed: outside loops in a variable of the forward form (None on
// paths that do not pass there), which the closure captures at the exit; inside a loop in a record of the node's `seq`,
// one record per passage, read backwards by index. Nothing else is kept; the pullback is a function of (dy, env) and
// can be called any number of times.
//
// Cotangents. Names are values: the pullback has one variable per name of f, zero until something is added, zero again
// behind its binding (the next passage of a loop binds another value). Tuples have tuples of cotangents. Objects,
// lists, dicts, cells, closures, iterators are variables by identity: their cotangents stand in `env`, keyed by
// (object, slot); reading a slot adds there, writing one takes. The zero is symbolic: rules are not run for it, except
// where they take from env.
//
// Exceptions. What is raised in the function itself goes its edges; calls inside of a `try` are made to return what
// they raise (raising.h).
//
// Calls become calls of forward forms, found when they run (`ad.forward`), and so do operators that call a method
// (`ad.special`): then the rule is the pullback. The rules of primitives are functions in Ouro
// (stdlib/grad_rules), found by name (`ad.rule`).
//
// Order two and higher: forward form and pullback are ANF of the same language; the ad.* and seq.* operations have
// rules here as any other (take <-> put, acc <-> peek), env being one more object with slots. A dynamic derivative has
// its own env, and closures hold only primals: there is nothing to confuse perturbations with.
#include "ir/grad/reverse.h"

#include "ir/grad/generator.h"
#include "ir/grad/held_places.h"
#include "ir/grad/places.h"
#include "ir/grad/raising.h"
#include "ir/grad/reverser.h"
#include "ir/verify.h"

namespace ouro::ir::grad {

FunctionRef reverse(const Function& f, bool flat, std::string* error, bool tests) {
  FunctionRef made = f.is_generator ? as_steps(f) : nullptr;
  FunctionRef followed = without_held_places(made ? *made : f);
  const Function& runs = followed ? *followed : made ? *made : f;
  FunctionRef simple = with_simple_places(runs);
  const Function& plain = simple ? *simple : runs;
  // Of higher order: the calls of a forward form have been made so.
  FunctionRef calm = is_forward_form(f) ? nullptr : with_caught_calls(plain);
#ifdef OURO_ASSERTS
  for (const FunctionRef& g : {made, followed, simple, calm})
    if (g) check(*g);
#endif
  return Reverse(calm ? *calm : plain, flat, tests).run(error);
}

bool is_forward_form(const Function& f) {
  static const Symbol self = intern("<self>");
  return !f.captures.empty() && f.captures.back().name == self;
}

}  // namespace ouro::ir::grad
