#include "include/source/core.h"

#include "runtime/interpreter/slow.h"
#include "runtime/object/interrupt.h"
#include "runtime/text/foreign.h"
#include "support/small_vec.h"

namespace ouro {
inline namespace v0 {

using runtime::ObjectKind;

static_assert(sizeof(runtime::Value) == 16 && alignof(runtime::Value) == 8);
static_assert(static_cast<int>(DType::boolean) == static_cast<int>(runtime::ElementType::boolean));
static_assert(static_cast<int>(DType::f16) == static_cast<int>(runtime::ElementType::f16));
static_assert(static_cast<int>(DType::f64) == static_cast<int>(runtime::ElementType::f64));

size_t size_of(DType t) { return kDTypes[static_cast<int>(t)].size; }

// ---------------------------------------------------------------- holding

Value::Value() noexcept { new (storage_) runtime::Value(runtime::Value::none()); }
Value::Value(Unboxed what, int64_t bits) noexcept {
  new (storage_)
      runtime::Value(what == Unboxed::boolean ? runtime::Value::boolean(bits != 0) : runtime::Value::integer(bits));
}
Value::Value(double f, int) noexcept { new (storage_) runtime::Value(runtime::Value::floating(f)); }
Value::Value(const Value& other) : core_(other.core_) {
  new (storage_) runtime::Value(Access::raw(other));
  if (core_) ++core_->refs;
}
Value::Value(Value&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {
  new (storage_) runtime::Value(std::move(Access::raw(other)));
}
Value& Value::operator=(const Value& other) {
  Value copy(other);
  return *this = std::move(copy);
}
Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  this->~Value();
  return *new (this) Value(std::move(other));
}
Value::~Value() {
  if (!core_) return;
  if (core_->inside()) {
    runtime::SessionScope scope(core_->session);
    Access::raw(*this) = runtime::Value();
    --core_->refs;
  } else {
    core_->drop(std::move(Access::raw(*this)));
  }
}

Value Access::wrap(Core& core, runtime::Value v) {
  Value out;
  if (v.is_object()) {
    out.core_ = &core;
    ++core.refs;
  }
  raw(out) = std::move(v);
  return out;
}

Result<Value> Access::result(Core& core, runtime::Value v) {
  if (v.is_error() || core.session.met_end) return take_error(core);
  return wrap(core, std::move(v));
}

Result<void> Access::done(Core& core, bool good) {
  if (!good || core.session.met_end) return take_error(core);
  return {};
}

bool Access::may_start(Core& core) {
  uint32_t asked = core.session.poll.load(std::memory_order_relaxed) & runtime::Session::kInterrupt;
  return !asked || runtime::safe_point(core.session);
}

std::optional<Error> Access::wrong_text(std::initializer_list<std::string_view> texts) {
  for (std::string_view text : texts)
    if (std::string problem = runtime::text::utf8_problem(text); !problem.empty()) return Error("ValueError", problem);
  return std::nullopt;
}

Error Access::foreign_value() { return Error("ValueError", "a value of another session was given"); }

// ---------------------------------------------------------------- reading

Kind Value::kind() const {
  switch (runtime::kind_of(runtime::unwrap(Access::raw(*this)))) {
    case ObjectKind::none:
    case ObjectKind::unbound_:
      return Kind::none;
    case ObjectKind::boolean:
      return Kind::boolean;
    case ObjectKind::integer:
    case ObjectKind::big_int:
      return Kind::integer;
    case ObjectKind::floating:
      return Kind::floating;
    case ObjectKind::str:
      return Kind::str;
    case ObjectKind::bytes:
      return Kind::bytes;
    case ObjectKind::list:
      return Kind::list;
    case ObjectKind::tuple:
      return Kind::tuple;
    case ObjectKind::dict:
      return Kind::dict;
    case ObjectKind::set:
    case ObjectKind::frozenset:
      return Kind::set;
    case ObjectKind::tensor:
      return Kind::tensor;
    case ObjectKind::function:
    case ObjectKind::native:
    case ObjectKind::bound_method:
    case ObjectKind::type:
      return Kind::callable;
    case ObjectKind::module:
      return Kind::module;
    default:
      return Kind::object;
  }
}

std::optional<bool> Value::as_bool() const {
  const runtime::Value& v = Access::raw(*this);
  if (!v.is_bool()) return std::nullopt;
  return v.as_bool();
}
std::optional<int64_t> Value::as_int() const {
  const runtime::Value& v = runtime::unwrap(Access::raw(*this));
  if (v.is_bool()) return v.as_bool();
  if (!v.is_int()) return std::nullopt;
  return v.as_int();
}
std::optional<double> Value::as_float() const {
  const runtime::Value& v = runtime::unwrap(Access::raw(*this));
  if (v.is_float()) return v.as_float();
  if (std::optional<int64_t> i = as_int()) return static_cast<double>(*i);
  return std::nullopt;
}
std::optional<std::string_view> Value::as_str() const {
  auto* s = runtime::cast<runtime::Str>(Access::raw(*this));
  if (!s) return std::nullopt;
  return s->view();
}
std::optional<std::string_view> Value::as_bytes() const {
  auto* b = runtime::cast<runtime::Bytes>(Access::raw(*this));
  if (!b) return std::nullopt;
  return b->view();
}
std::optional<TensorView> Value::as_tensor() const {
  auto* t = runtime::cast<runtime::Tensor>(Access::raw(*this));
  if (!t) return std::nullopt;
  runtime::InterruptsHeld held;  // a host's code is not unwound
  return TensorView{static_cast<DType>(t->dtype), t->shape(), t->size, t->data()};
}

// ---------------------------------------------------------------- what scripts do with it

namespace {

// The arguments of a call as the runtime takes them; false if one is of another session.
using Arguments = support::SmallVec<runtime::Value, 8>;
bool take(const Core& core, std::span<const Value> from, Arguments& to) {
  to.reserve(from.size());
  for (const Value& v : from) {
    if (!Access::fits(core, v)) return false;
    to.push_back(Access::raw(v));
  }
  return true;
}

}  // namespace

Value Value::text(std::string_view utf8, std::optional<Error>& wrong) const {
  if (std::optional<Error> problem = Access::wrong_text({utf8})) return wrong = problem, Value();
  Entry in(core_);
  return in.ok() ? Access::wrap(*core_, runtime::make_str(utf8)) : Value();
}

Result<Value> Value::call(std::span<const Value> arguments,
                          std::span<const std::pair<std::string_view, Value>> keywords) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  Arguments all, words, names;
  if (!take(*core_, arguments, all)) return Access::foreign_value();
  for (const auto& [name, value] : keywords) {
    if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
    if (!Access::fits(*core_, value)) return Access::foreign_value();
    names.push_back(runtime::make_str(name));
    words.push_back(Access::raw(value));
  }
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  runtime::Args args{{all.data(), all.size()}, {words.data(), words.size()}, {names.data(), names.size()}};
  return Access::result(*core_, runtime::call(core_->session, Access::raw(*this), args));
}

Result<Value> Value::method(std::string_view name, std::span<const Value> arguments) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  Arguments all;
  if (!take(*core_, arguments, all)) return Access::foreign_value();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  if (!Access::may_start(*core_)) return Access::take_error(*core_);
  runtime::Args args{{all.data(), all.size()}, {}, {}};
  return Access::result(*core_, runtime::call_method(core_->session, Access::raw(*this), intern(name), args));
}

Result<Value> Value::attr(std::string_view name) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  return Access::result(*core_, runtime::get_attr(core_->session, Access::raw(*this), intern(name)));
}

Result<void> Value::put_attr(std::string_view name, const Value& value) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, value)) return Access::foreign_value();
  if (std::optional<Error> wrong = Access::wrong_text({name})) return *wrong;
  return Access::done(*core_, runtime::set_attr(core_->session, Access::raw(*this), intern(name), Access::raw(value)));
}

Result<Value> Value::get_item(const Value& key) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, key)) return Access::foreign_value();
  return Access::result(*core_, runtime::get_item(core_->session, Access::raw(*this), Access::raw(key)));
}

Result<void> Value::put_item(const Value& key, const Value& value) const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  if (!Access::fits(*core_, key) || !Access::fits(*core_, value)) return Access::foreign_value();
  return Access::done(*core_,
                      runtime::set_item(core_->session, Access::raw(*this), Access::raw(key), Access::raw(value)));
}

Result<size_t> Value::size() const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  int64_t n = runtime::length(core_->session, Access::raw(*this));
  if (n < 0) return Access::take_error(*core_);
  return static_cast<size_t>(n);
}

Result<std::vector<Value>> Value::items() const {
  Entry in(core_);
  if (!in.ok()) return in.refusal();
  std::vector<Value> out;
  bool good = runtime::for_each(core_->session, Access::raw(*this), [&](runtime::Value& v) {
    out.push_back(Access::wrap(*core_, std::move(v)));
    return true;
  });
  if (!good) return Access::take_error(*core_);
  return out;
}

}  // namespace v0
}  // namespace ouro
