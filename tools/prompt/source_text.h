// The text that a function or a class was defined by, from the file, the cell or the library's module that it stands
// in.
#pragma once

#include <optional>
#include <string>

#include "runtime/object/value.h"

namespace ouro::ir {
struct OpInfo;
}
namespace ouro::runtime {
class Session;
struct Native;
}  // namespace ouro::runtime

namespace ouro::tools {

struct SourceText {
  std::string place;  // "fit.ouro:12", "<cell 3>:1"
  std::string text;   // without its indentation
};

/// The row of a tensor operation; null: the function is none.
const ir::OpInfo* operation_row(const runtime::Native& n);

/// Nothing where the value was not defined by a text: a built-in function, a number, an object.
std::optional<SourceText> source_text(runtime::Session& s, const runtime::Value& v);

}  // namespace ouro::tools
