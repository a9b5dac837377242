#include "jit/specialise/reasons.h"

namespace ouro::jit {

namespace {
using R = Reason;
constexpr ReasonRow kRows[] = {
    {R::call, "call", ""},
    {R::raises, "raises", ""},
    {R::unknown_value, "unknown-value",
     "float() and len() of it give a number that the compiler knows; so does an item of a tensor, in place of a long "
     "list"},
    {R::unknown_object, "unknown-object", "make such an object outside of the function and hand it in"},
    {R::class_hook, "class-hook",
     "call a method by its name in place of what the class does by itself (__del__, __getattribute__, a metaclass)"},
    {R::interpreter_changed, "interpreter-changed", "read it into a variable before the call that may change it"},
    {R::container, "container", "make a new list, dict or set in place of changing this one"},
    {R::computed_number, "computed-number",
     "take the number from a shape, an argument or an attribute; or compute with the whole tensor and choose by "
     "where()"},
    {R::computed_length, "computed-length",
     "go through something of a known length, or let one operation do it for the whole tensor"},
    {R::computed_test, "computed-test", "let tensors decide: where(), maximum(), argmax(), sort()"},
    {R::branches, "branches", "leave the same kind of value on both branches: zeros for None, lists of one length"},
    {R::loop_state, "loop-state",
     "let every turn leave values of the same kinds and shapes; compute with whole tensors, not their elements"},
    {R::loop_growth, "loop-growth", "make the list before the loop, or fill a tensor of a known size"},
    {R::loop_on_data, "loop-on-data", "give the loop a bound: for i in range(n), with a break"},
    {R::derivative, "derivative", "give the function a derivative of its own: custom_vjp"},
    {R::recursion, "recursion", "a loop over a list of what is left to do, in place of recursion"},
    {R::language, "language", "do it outside of the function"},
    {R::crossing, "crossing", "hand tensors, numbers and lists to what the interpreter does"},
    {R::effects, "effects",
     "do what shows (print, writes) after the computation, and what the interpreter does outside of try"},
    {R::frames, "frames", "do it outside of the function"},
    {R::identity, "identity", "use a number or name of your own in place of id()"},
    {R::placement, "placement", "place tensors and make demands outside of the function"},
    {R::too_large, "too-large", "put the part into a function of its own under @jit, or the numbers into a tensor"},
    {R::internal, "internal", ""},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].reason != static_cast<Reason>(i)) return false;
  return std::size(kRows) == static_cast<size_t>(R::internal) + 1;
}
static_assert(in_order());
}  // namespace

const ReasonRow& row_of(Reason r) { return kRows[static_cast<size_t>(r)]; }

}  // namespace ouro::jit
