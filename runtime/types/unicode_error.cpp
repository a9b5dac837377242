#include "runtime/types/unicode_error.h"

#include <cstdio>

#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/str_type.h"

namespace ouro::runtime {
namespace {

template <size_t i>
Value field(Session&, const Value& v) {
  Tuple* t = cast<Tuple>(v.as<Exception>()->args);
  return t && i < t->size ? (*t)[i] : Value::none();
}
constexpr GetSetDef kFields[] = {{.name = "encoding", .get = field<0>},
                                 {.name = "object", .get = field<1>},
                                 {.name = "start", .get = field<2>},
                                 {.name = "end", .get = field<3>},
                                 {.name = "reason", .get = field<4>}};
constexpr GetSetDef kTranslateFields[] = {{.name = "object", .get = field<0>},
                                          {.name = "start", .get = field<1>},
                                          {.name = "end", .get = field<2>},
                                          {.name = "reason", .get = field<3>}};

}  // namespace

std::span<const GetSetDef> unicode_error_fields(bool translate) {
  if (translate) return kTranslateFields;
  return kFields;
}

Value unicode_error_text(Session& s, const Exception* e) {
  Tuple* t = cast<Tuple>(e->args);
  bool decode = is_subtype(e->type, exception_type(s, ExcKind::UnicodeDecodeError));
  bool translate = is_subtype(e->type, exception_type(s, ExcKind::UnicodeTranslateError));
  if (!decode && !translate && !is_subtype(e->type, exception_type(s, ExcKind::UnicodeEncodeError))) return Value();
  size_t at = translate ? 0 : 1;
  if (!t || t->size != at + 4 || !(*t)[at + 1].is_int() || !(*t)[at + 2].is_int()) return Value();
  std::string out = translate ? "can't translate"
                              : "'" + text_of(s, (*t)[0]) + (decode ? "' codec can't decode" : "' codec can't encode");
  const Value& object = (*t)[at];
  int64_t start = (*t)[at + 1].as_int(), end = (*t)[at + 2].as_int();
  char buffer[32];
  if (end == start + 1 && start >= 0) {
    if (decode) {
      Bytes* b = cast<Bytes>(object);
      if (!b || static_cast<size_t>(start) >= b->size) return Value();
      std::snprintf(buffer, sizeof buffer, " byte 0x%02x", static_cast<unsigned char>(b->data[start]));
    } else {
      Str* text = cast<Str>(object);
      if (!text || start >= str_length(text)) return Value();
      const char* p = text->data + str_offset(s, object, start);
      uint32_t c = text::decode(p);
      std::snprintf(buffer, sizeof buffer,
                    c < 0x100     ? " character '\\x%02x'"
                    : c < 0x10000 ? " character '\\u%04x'"
                                  : " character '\\U%08x'",
                    c);
    }
    out += buffer;
    out += " in position " + std::to_string(start);
  } else {
    out += decode ? " bytes" : " characters";
    out += " in position " + std::to_string(start) + "-" + std::to_string(end - 1);
  }
  return make_str(out + ": " + text_of(s, (*t)[at + 3]));
}

}  // namespace ouro::runtime
