// What the compiler made of a session's functions, gathered for whoever prints it (jit/report/explain.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/versions/place.h"
#include "jit/versions/version.h"
#include "runtime/object/session.h"

namespace ouro::jit {

/// Something that was not compiled: notes of one place and reason are one.
struct HoleReport {
  Place place;
  Because why;
  uint32_t count = 1;         // operations
  uint64_t runs = 0, ns = 0;  // of these, and all that they called
};

enum class Reached : uint8_t {
  whole,        // every version is one program, and no operation of it is the interpreter's
  holes,        // some operations are
  interpreted,  // there is no version
};
std::string_view reached_text(Reached r);  // "compiled whole", …

struct FunctionReport {
  const FunctionVersions* of = nullptr;
  std::string name;  // of a gradient: grad(f)
  Place place;       // where it begins; of a gradient, where the function begins that it is of
  Reached reached = Reached::whole;
  uint64_t compiled_calls = 0, compiled_ns = 0;
  uint64_t interpreted_calls = 0, interpreted_ns = 0;
  std::vector<std::vector<HoleReport>> holes;  // by version, as `of->versions`
  std::vector<std::string> micro_batches;      // by version: what came of the demand; empty: there was none
  std::vector<HoleReport> failures;            // why no version could be made
  std::vector<HoleReport> before_failure;      // what the last attempt had left to the interpreter by then
  uint64_t ns() const { return compiled_ns + interpreted_ns; }
};

/// A function or loop of plain code (jit/versions/plain_tier.h).
struct PlainReport {
  std::string name;
  Place place;  // of the function, or of the loop's head
  bool loop = false;
  std::string_view state;
  size_t native = 0, steps = 0;  // instructions: with machine code, and done by the interpreter in place
  std::vector<Place> stepped;    // the lines of these
  uint64_t entered = 0, left = 0;
};

struct Report {
  uint64_t ns = 0;  // since the session began
  std::vector<FunctionReport> functions;
  std::vector<PlainReport> plain;
  /// The holes of all functions, those that take most time first.
  std::vector<HoleReport> ranked() const;
};

Report make_report(runtime::Session& s);

/// Are these the versions of that function, of a closure over the same functions, or of a gradient of it?
bool concerns(const FunctionVersions& versions, const runtime::Function& f);

}  // namespace ouro::jit
