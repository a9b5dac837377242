// The frames that sys._getframe and tracebacks show: pictures of calls, taken when asked for.
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/model/model.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {
namespace {

struct FrameInfo {
  ir::FunctionRef code;
  Span span;
  const Frame* frame = nullptr;  // compared with the running ones, never followed otherwise
};
struct FrameClass {
  Value type;
};

const FrameInfo& info(const Value& v) { return *static_cast<FrameInfo*>(v.as<Opaque>()->data.get()); }
const Value& module_of(const Value& v) { return v.as<Opaque>()->values[0]; }

Span place_of(const Frame& f) { return f.code->spans[f.code->pc_of(f.pc)]; }

// Where the call stands now, or where it stood when the picture was taken, if it is over.
int64_t line_of(Session& s, const Value& v) {
  Span span = info(v).span;
  if (info(v).frame)
    for (const Frame* f = s.interpreter ? s.interpreter->top : nullptr; f; f = f->caller)
      if (f == info(v).frame && f->code->function == info(v).code) span = place_of(*f);
  const SourceFile* file = s.sources.file(span.file);
  return file ? file->line_col(span.begin).line : 0;
}
Value frame_code(Session& s, const Value& v) { return code_object(s, info(v).code); }
Value frame_line(Session& s, const Value& v) { return Value::integer(line_of(s, v)); }
Value frame_back(Session&, const Value& v) { return v.as<Opaque>()->values[1]; }
Value frame_globals(Session& s, const Value& v) { return get_attr(s, module_of(v), "__dict__"); }
Value frame_locals(Session& s, const Value& v) {
  if (info(v).code->kind == ir::Function::Kind::module) return frame_globals(s, v);
  return raise_error(s, ExcKind::NotImplementedError,
                     "f_locals of a function or class body: Ouro keeps no dict of its variables");
}
Value frame_trace(Session&, const Value&) { return Value::none(); }
Value frame_repr(Session& s, const Value& v) {
  const SourceFile* f = s.sources.file(info(v).span.file);
  char address[32];
  std::snprintf(address, sizeof address, "0x%012llx", static_cast<unsigned long long>(v.bits()));
  return make_str("<frame at " + std::string(address) + ", file '" + (f ? f->name() : "<unknown>") + "', line " +
                  std::to_string(line_of(s, v)) + ", code " + info(v).code->name.str() + ">");
}

constexpr GetSetDef kGetSet[] = {{"f_code", frame_code},       {"f_lineno", frame_line},   {"f_back", frame_back},
                                 {"f_globals", frame_globals}, {"f_locals", frame_locals}, {"f_trace", frame_trace}};
constexpr TypeSlots kSlots{.repr = frame_repr};
const TypeDef kFrame{
    .name = "frame", .kind = ObjectKind::opaque, .slots = &kSlots, .getset = kGetSet, .subclassable = false};

}  // namespace

Value make_frame(Session& s, const ir::FunctionRef& code, Span span, const Value& module, const Value& back) {
  auto& cls = s.state<FrameClass>();
  if (cls.type.is_unbound()) {
    Type* t = define_type(s, kFrame);
    cls.type = s.type(ObjectKind::opaque) == t ? Value::share(t) : Value::steal(t);
  }
  Value v = make_opaque(cls.type.as<Type>(), std::make_shared<FrameInfo>(FrameInfo{code, span}));
  v.as<Opaque>()->values = {module, back};
  return v;
}

Value current_frame(Session& s, int64_t depth) {
  std::vector<Frame*> frames;
  for (Frame* f = s.interpreter ? s.interpreter->top : nullptr; f; f = f->caller)
    if (depth > 0)
      --depth;
    else
      frames.push_back(f);
  if (frames.empty()) return raise_value_error(s, "call stack is not deep enough");
  Value made = Value::none();
  for (size_t i = frames.size(); i-- > 0;) {
    Frame* f = frames[i];
    made = make_frame(s, f->code->function, place_of(*f), f->function.as<Function>()->globals, made);
    static_cast<FrameInfo*>(made.as<Opaque>()->data.get())->frame = f;
  }
  return made;
}

}  // namespace ouro::runtime
