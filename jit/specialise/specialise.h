// specialise: a function and its arguments → a typed program, how to find its inputs, and what to do with its results.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/anf.h"
#include "jit/specialise/outside/access.h"
#include "jit/specialise/reasons.h"
#include "runtime/object/session.h"

namespace ouro::jit {

// What two branches may leave in different ways, where they meet in some function.
struct Parted {
  enum class What : uint8_t { variable, result, objects } what = What::objects;
  const ir::Function* code = nullptr;
  ir::BlockId meet{};
  uint32_t begin = 0;     // of the text where they parted
  uint32_t variable = 0;  // name
  auto operator<=>(const Parted&) const = default;
};

// Which dims are symbols: of the tensor at an access path (by its text), which axes; `*` of everything is decided by
// the caller.
struct SpecialiseRequest {
  Value function;           // the script function to specialise
  std::vector<Value> args;  // positional, already bound (kwargs folded in)
  std::vector<bool>
      fixed;  // by argument: numbers in it are part of the program (`jit(static=)`); what is missing: false
  std::map<std::string, std::map<int, uint32_t>>
      symbolic;  // path → axis → symbol class (equal classes are equal sizes)
  // Numbers, bools and texts from outside are constants of the program (AccessNode::Pin::first), but for those at the
  // paths that vary. An operation that has to know such a one makes it a constant, but for those that are spent.
  bool constants = false;
  // (In `varying`, x[*] stands for each item of x.)
  std::set<std::string> varying, spent;
  bool varies(const std::string& path) const;
  // What is made for the interpreter at the end of both branches, since it differs and is used.
  std::set<Parted> made_real;
  bool parts = true;                 // that may be done
  class Attempt* attempt = nullptr;  // it is done in slices (jit/specialise/attempt.h)
  bool generators = true;            // scripts' functions with yield may be followed
  bool holes = false;                // what cannot be followed in the function's own text the interpreter does
                                     // (jit/specialise/execute/holes.cpp)
  bool any_holes = false;            // also where nothing is left but these
  bool waits = false;                // a forward form: the program has the pullback behind an ad.wait (Back)
  bool probes = false;               // a forward form: only the kinds of its result are asked for
  bool shallow = false;              // lists, dicts and tuples within those that are arguments are not looked into
  std::shared_ptr<size_t> steps;     // counts the operations that are executed for it, in all attempts
  bool may_part = false;             // what differs and is used is to be in `made_real`: SpecialiseResult::parted
};

// How a value is made: of the typed function's outputs when it ends, or of the operands that an operation of the
// interpreter has it made of (jit/specialise/residual/output.h).
struct OutputTree {
  enum class Kind : uint8_t {
    output,
    constant,
    node,
    tuple,  // constant: the class, of an object that extends it
    list,
    dict,
    set,
    instance,
    record,
    cell,     // parts[0]: what it holds, an unbound constant if nothing
    closure,  // parts as for runtime::make_function: defaults, keyword defaults, annotations, then captures
    bound,    // parts: function, receiver
    slice,    // parts: start, stop, step; so does a range
    range,
    view,  // of a dict: parts[0]
  } kind = Kind::constant;
  int index = 0;   // output: position among the outputs; node: access node
  Value constant;  // constant; set: one like it; of instance and view the class, of record the name, of closure the
                   // module
  ir::FunctionRef code;  // closure
  std::vector<OutputTree> parts;
  std::vector<Value> keys;      // dict
  std::vector<Symbol> names;    // instance, record
  uint32_t share = UINT32_MAX;  // the same object occurring again has the same number
};

struct WriteBack {
  enum class Kind : uint8_t {
    attribute,
    item,
    cell,
    global,
    list_contents,
    dict_contents,
    dict_anew
  } kind = Kind::attribute;
  uint32_t node = 0;  // the object, an access node
  Symbol name{};
  Value object;  // module of a global
  uint32_t index = 0;
  OutputTree value;
};

// A forward form's program behind ad.wait: its pullback. (The operands of ad.wait are what the result is made of.)
struct Back {
  using Path = std::vector<uint32_t>;  // through tuples
  std::vector<Path> leaves;            // the tensors and numbers in the result that have a cotangent
  struct Sent {                        // what the shadow map gets, in this order
    OutputTree object, slot, cotangent;
  };
  // The branch for the case that these leaves have cotangents, and the others are the symbolic zero.
  struct Way {
    uint32_t leaves = 0;    // bits
    OutputTree cotangents;  // of the arguments, as a pullback gives them
    std::vector<Sent> sent;
  };
  // ad.wait gives a tuple: the cotangents, then for each way but the last whether it is this one, then the shadow map
  // where the pullback calls others (jit/specialise/residual/apart.cpp).
  std::vector<Way> ways;
  bool calls_apart = false;
};

struct SpecialiseNote {
  Because why;
  Span span{};  // what could not be done in the program
  Symbol function{};
  Span hole{};  // the operation that the interpreter does instead: it, or a call around it
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t cause = kNone;  // the note of the hole that gave an operand: only because of that one
};

struct SpecialiseResult {
  bool ok = false;
  size_t steps = 0;              // operations that all attempts of specialise_pinned executed
  SpecialiseNote failure;        // when not ok: why the function stays interpreted
  std::optional<Parted> parted;  // when not ok: what would have to be made real
  ir::FunctionRef typed;         // returns a tuple of outputs
  AccessProgram access;
  OutputTree result;
  std::optional<Back> back;       // of a forward form
  std::vector<WriteBack> writes;  // in order of first write
  std::vector<SpecialiseNote> fallbacks;
  std::set<std::string> written;  // paths of numbers that the function writes itself: no constants
  bool places = false;            // x.to("cpu"), as long as the program uses no other device
  bool makes_tensors = false;     // the script makes tensors of nothing: zeros(3)
  bool has_effects = false;       // boxed operations with effects stand inside
  bool draws = false;             // random numbers
  bool generators = false;        // scripts' functions with yield were followed
  bool holds_containers = false;  // an argument is a list, dict or tuple that holds others
  bool recursive = false;         // a function of the script calls itself inside: with parts of a tree, for example
};

/// Numbers that turn out to be written are no constants of what is made.
SpecialiseResult specialise(Session& s, const SpecialiseRequest& request);
/// As specialise(); with numbers for the symbols where sizes have to be numbers, where these are not what symbols are
/// taken for (AccessProgram::checks), or where less is left to the interpreter then: `request.symbolic` is empty.
SpecialiseResult specialise_sizes(Session& s, SpecialiseRequest& request);

}  // namespace ouro::jit
