// Access paths: how a version finds its inputs, and what must hold when it does.
//
// A version reads its arguments, captures, globals and whatever hangs on them through a list of nodes, each one step
// from an earlier one (`arg 0`, `.c1 of 3`, `[2] of 5`). The same list is the guard: every node says what its value
// must be. Running it is one pass without allocation; nothing of the program's state is changed by it
// (docs/design/rules.md D20).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/anf.h"
#include "ir/ops/sig.h"
#include "ir/type.h"
#include "runtime/object/object.h"
#include "runtime/object/session.h"

namespace ouro::jit {

using runtime::Session;
using runtime::Value;

// What AccessNode::Step::function_text loads, by its index.
constexpr std::string_view kFunctionTexts[] = {"__name__", "__qualname__", "__doc__"};

struct AccessNode {
  enum class Step : uint8_t {
    argument,       // index
    function,       // the called function itself
    capture,        // of `parent` (a function), index
    default_,       // of `parent` (a function): positional default, index
    kwdefault,      // of `parent` (a function): name
    global,         // of module `object`, name
    attribute,      // instance `parent`, name: plain slot
    field,          // gradient of an object `parent`, name
    class_attr,     // of class `object`, name (by MRO)
    item,           // list or tuple `parent`, index
    dict_value,     // dict `parent`, key `object`
    cell,           // content of cell `parent`
    native,         // what the object `parent` of a class that extends a built-in one is of that
    function_dict,  // the attributes of the function `parent`, a dict
    function_text,  // the name, qualified name or docstring of the function `parent`: index
    wrapped,        // the function of the property, class method or static method `parent`
    method_self,    // of bound method `parent`
    method_function,
    slice_bound,  // start, stop or step of the slice `parent`: index
    numbers,      // those in the list `parent`, as a tensor (jit/specialise/outside/numbers.cpp)
  };
  enum class Guard : uint8_t {
    none,
    same,    // identity (or equal number, string) with `expected`
    alias,   // the same object as node `count`
    code,    // a function with `code`
    shape,   // instance of hidden class `shape` (and class version)
    length,  // list or tuple of `count` items
    keys,    // dict with `keys` in this order; set of `keys` (in this order if `count`), passed on boxed
    fields,  // gradient of an object of the class `expected`, with `fields` in this order
    cell,
    bound,  // bound method
    slice,
    tensor,  // dtype and dims of `type` (a symbolic dim takes any size, equal symbols equal sizes)
    integer,
    floating,
    boolean,
    text,    // a str
    set,     // a set or frozenset, passed on boxed
    list,    // a list of any length, passed on boxed: none of the distinct nodes
    any,     // no condition; passed on boxed
    absent,  // the attribute or cell has no value
  };
  // Of a number, bool, text or None that is a constant of the version (guard `same`), why it is one.
  enum class Pin : uint8_t {
    none,
    first,   // nobody has seen it change
    needed,  // an operation had to know it
  };
  Step step = Step::argument;
  Guard guard = Guard::none;
  Pin pin = Pin::none;
  bool distinct = false;  // a mutable object: must differ from all other distinct nodes
  uint32_t parent = 0, index = 0;
  Symbol name{};
  Value object, expected;
  const ir::Function* code = nullptr;
  ir::FunctionRef code_ref;
  const runtime::Shape* shape = nullptr;
  uint32_t type_version = 0;
  uint32_t count = 0;
  std::vector<Value> keys;
  std::vector<Symbol> fields;
  const ir::Type* type = nullptr;
  int input = -1;            // entry parameter of the typed function this value is passed to, or -1
  std::string text() const;  // "3.weight": of node 3
  bool has_parent() const {
    return step != Step::argument && step != Step::function && step != Step::global && step != Step::class_attr;
  }
};

// What did not hold: shown by explain.
struct Miss {
  uint32_t node = 0;
  bool dims_only = false;  // every mismatch is a tensor's dim: a symbol would do
};

/// What an operation on tensors of symbolic sizes was inferred from, and what it gave.
struct ShapeCheck {
  const ir::OpInfo* op = nullptr;
  std::vector<std::optional<ir::TensorType>> inputs;
  std::vector<ir::Param> params;
  std::vector<ir::Dims> results;
};

class AccessProgram {
 public:
  std::vector<AccessNode> nodes;
  std::vector<Value> pool;  // constants passed boxed
  std::vector<int> pool_inputs;
  size_t inputs = 0;  // entry parameters of the typed function
  // A symbol's size is an int input of its own, read off the first tensor that has it.
  struct Extent {
    uint32_t symbol = 0, node = 0;
    int axis = 0;
    int input = -1;
  };
  std::vector<Extent> extents;
  // With symbols, inference takes it that an axis of unknown size is not 1, that two sizes which must agree do, that a
  // window fits. So the operations are inferred again with the numbers, whenever these change.
  std::vector<ShapeCheck> checks;
  bool no_ends = false;  // holds only while no class has a __del__

  /// "model.c1.weight"; it names the same place in every version of a function.
  std::string path(uint32_t node) const;
  /// The beginning of the paths of what is reached from the node.
  std::string path_before(uint32_t node) const;

  /// Loads every node for a call. False when a guard fails. `values[i]` is node i's value, `inputs` are filled by
  /// position.
  bool load(Session& s, const Value& function, std::span<const Value> args, std::vector<Value>& values,
            std::vector<Value>& inputs, Miss* miss) const;

 private:
  bool holds(std::span<const Value> sizes) const;
  mutable std::vector<int64_t> verified_;  // sizes of the extents that the checks passed with last
};

/// The function of a property (its getter), class method or static method.
const Value& function_in(const Value& descriptor);

/// The value one step away, without running user code; unbound if it is not there.
Value access_step(Session& s, const AccessNode& n, const Value& parent, const Value& function,
                  std::span<const Value> args);
/// The numbers of a list, which may stand in tuples within it, as a tensor: of f64 if there are floats, else
/// of i64 or bool. Unbound: it holds something else or nothing, or the tensor would not have all digits.
Value numbers_in(Session& s, const Value& list);
/// Does the guard hold (dims excepted)?
bool access_guard(Session& s, const AccessNode& n, const Value& v);

/// What a call has otherwise than the program was made for.
struct Differences {
  bool structure = false;      // more than the values of constants and sizes
  std::vector<uint32_t> pins;  // nodes whose constant (AccessNode::pin) has another value of its type now
  /// The dims of tensors, by path and axis, in classes of equal sizes: they are to be symbols
  /// (SpecialiseRequest::symbolic). Empty where `structure`.
  std::map<std::string, std::map<int, uint32_t>> dims;
};
Differences differences(Session& s, const AccessProgram& access, const Value& function, std::span<const Value> args);

}  // namespace ouro::jit
