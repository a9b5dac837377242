#include "include/source/core.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/text/foreign.h"

namespace ouro {
inline namespace v0 {

using runtime::text::shown_text;

struct Error::Data {
  std::string type, message, traceback;
  std::vector<Frame> frames;
  std::vector<std::string> classes;  // its class and those above it
  uint64_t serial = 0;               // of an exception of a session
  End end = End::raised;
};

namespace {

struct ClassRow {
  std::string_view name, base;
};
constexpr ClassRow kClasses[] = {
#define X(name, base) {#name, #base},
    OURO_EXCEPTIONS(X)
#undef X
};

std::vector<std::string> classes_above(std::string_view name) {
  std::vector<std::string> all{std::string(name)};
  for (bool found = true; found && all.back() != "BaseException";) {
    found = false;
    for (const ClassRow& row : kClasses)
      if (row.name == all.back()) {
        all.emplace_back(row.base);
        found = true;
        break;
      }
  }
  return all;
}

std::vector<Frame> frames_of(runtime::Session& s, const runtime::Value& traceback) {
  std::vector<Frame> out;
  for (const runtime::Value* at = &traceback; runtime::cast<runtime::Traceback>(*at);
       at = &at->as<runtime::Traceback>()->next) {
    auto* t = at->as<runtime::Traceback>();
    Frame f;
    f.function = t->code->name.str();
    if (const SourceFile* file = s.sources.file(t->span.file)) {
      LineCol place = file->line_col(t->span.begin);
      f.file = file->name();
      f.line = static_cast<int>(place.line);
      f.column = static_cast<int>(place.col) + 1;
      std::string_view line = file->line_text(place.line);
      size_t from = line.find_first_not_of(" \t\f");
      if (from != line.npos) f.text = line.substr(from, line.find_last_not_of(" \t\f\r\n") - from + 1);
    }
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace

Error::Error(std::string_view type, std::string_view message) {
  auto d = std::make_shared<Data>();
  d->type = shown_text(type);
  d->message = shown_text(message);
  d->traceback = d->type + (message.empty() ? "" : ": " + d->message) + "\n";
  d->classes = classes_above(type);
  data_ = std::move(d);
}

End Error::end() const { return data_->end; }
const std::string& Error::type() const { return data_->type; }
const std::string& Error::message() const { return data_->message; }
const std::string& Error::traceback() const { return data_->traceback; }
const std::vector<Frame>& Error::frames() const { return data_->frames; }
bool Error::is(std::string_view name) const {
  for (const std::string& c : data_->classes)
    if (c == name) return true;
  return false;
}

Error Access::take_error(Core& core) {
  static std::atomic<uint64_t> serials{0};
  runtime::Session& s = core.session;
  runtime::Value e;
  uint32_t why = runtime::take_outcome(s, e);
  std::string message = runtime::text_of(s, e);
  if (!why && s.met_end) {  // in the exception's own __str__
    why = runtime::take_outcome(s, e);
    message = runtime::text_of(s, e);
  }
  auto d = std::make_shared<Error::Data>();
  auto* x = e.as<runtime::Exception>();
  d->end = why == runtime::Session::kStop         ? End::stopped
           : why == runtime::Session::kTimeOver   ? End::time
           : why == runtime::Session::kStepsSpent ? End::steps
                                                  : End::raised;
  d->type = runtime::exception_class_text(s, x->type);
  d->message = shown_text(message);
  runtime::clear_pending(s);
  d->traceback = shown_text(runtime::format_exception(s, e));
  d->frames = frames_of(s, x->traceback);
  for (const runtime::Type* t : x->type->mro) d->classes.emplace_back(t->text());
  d->serial = ++serials;
  core.passing = std::move(e);
  core.passing_serial = d->serial;
  return Error(std::move(d));
}

void Access::raise(Core& core, const Error& error) {
  runtime::Session& s = core.session;
  if (error.data_->serial && error.data_->serial == core.passing_serial && core.passing.is_object()) {
    s.pending = std::move(core.passing);
    return;
  }
  runtime::Type* type = runtime::exception_type(s, runtime::ExcKind::RuntimeError);
  for (runtime::Type* t : s.exceptions)
    if (t->text() == error.type()) type = t;
  runtime::Value text = runtime::make_str(error.message());
  runtime::set_pending(s, runtime::make_exception(s, type, runtime::make_tuple({text})));
}

namespace detail {

void no_value(const Error& error) {
  std::fprintf(stderr, "ouro: the value of a failed Result was asked for\n%s", error.traceback().c_str());
  std::abort();
}

void no_error() {
  std::fputs("ouro: the error of a Result that has a value was asked for\n", stderr);
  std::abort();
}

}  // namespace detail

}  // namespace v0
}  // namespace ouro
