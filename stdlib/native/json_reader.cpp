// The reader: RapidJSON's events become values. Numbers come as their text, so that ints have any size and floats are
// rounded as everywhere else. What RapidJSON calls an error is none of ours: python/json/decoder.ouro reads the text
// again, and finds what CPython says of it, or a value.
#include <rapidjson/reader.h>

#include <charconv>
#include <cstring>

#include "runtime/machine/memory.h"
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/float_text.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/json_text.h"

namespace ouro::stdlib::json {
namespace {

using namespace runtime;

// RapidJSON's own stack: the text between quotes that is being read.
struct CountedMemory {
  static constexpr bool kNeedFree = true;
  static constexpr size_t kHead = 16;  // before each block: its size
  void* Malloc(size_t n) {
    if (n == 0) return nullptr;
    auto* block = static_cast<char*>(allocate_counted(n + kHead));
    std::memcpy(block, &n, sizeof n);
    return block + kHead;
  }
  void* Realloc(void* old, size_t old_size, size_t n) {
    void* fresh = Malloc(n);
    if (old && fresh) std::memcpy(fresh, old, std::min(old_size, n));
    Free(old);
    return fresh;
  }
  static void Free(void* p) {
    if (!p) return;
    char* block = static_cast<char*>(p) - kHead;
    size_t n;
    std::memcpy(&n, block, sizeof n);
    free_counted(block, n + kHead);
  }
};

// The document, with a look for interrupts between its pieces.
class Text {
 public:
  using Ch = char;
  explicit Text(const char* at) : at_(at), begin_(at), piece_(at + text::kPiece) {}
  char Peek() const { return *at_; }
  char Take() {
    if (at_ == piece_) [[unlikely]] {
      piece_ += text::kPiece;
      poll_interrupt();
    }
    return *at_++;
  }
  size_t Tell() const { return static_cast<size_t>(at_ - begin_); }
  char* PutBegin() { return nullptr; }  // of writing in place, which is not done
  void Put(char) {}
  void Flush() {}
  size_t PutEnd(char*) { return 0; }

 private:
  const char* at_;
  const char* begin_;
  const char* piece_;  // its end
};

bool is_constant(std::string_view name) { return name == "NaN" || name == "Infinity" || name == "-Infinity"; }
// RapidJSON's NaN, Inf and Infinity; no number ends so.
bool is_word(std::string_view number) { return number.back() == 'N' || number.back() == 'f' || number.back() == 'y'; }

// How deep the reader is inside of containers; it is at home again when the reading ends.
class Nesting {
 public:
  explicit Nesting(Session& s) : s_(s) {}
  ~Nesting() { s_.depth -= open_; }
  bool enter(std::string_view what) {
    ++s_.depth, ++open_;
    if (s_.depth <= s_.recursion_limit && s_.has_stack()) return true;
    const std::string where = "maximum recursion depth exceeded while decoding a JSON " + std::string(what);
    raise_text(s_, ExcKind::RecursionError, where + " from a unicode string");
    return false;
  }
  void leave() { --s_.depth, --open_; }

 private:
  Session& s_;
  int open_ = 0;
};

// Is all of a value in the forms that the reader takes? Nothing is made of it.
class Checker : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Checker> {
 public:
  explicit Checker(Session& s) : nesting_(s) {}
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    return !is_word({text, size}) || is_constant({text, size});
  }
  bool StartArray() { return nesting_.enter("array"); }
  bool StartObject() { return nesting_.enter("object"); }
  bool EndArray(rapidjson::SizeType) { return nesting_.leave(), true; }
  bool EndObject(rapidjson::SizeType) { return nesting_.leave(), true; }

 private:
  Nesting nesting_;
};

class Builder {
 public:
  Builder(Session& s, const Hooks& hooks) : s_(s), hooks_(hooks), nesting_(s) {}
  Value result() { return values_.empty() ? Value::error() : std::move(values_.back()); }

  bool Null() { return push(Value::none()); }
  bool Bool(bool b) { return push(Value::boolean(b)); }
  bool Double(double) { return false; }
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }

  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view digits(text, size);
    if (is_word(digits)) return constant(digits);
    if (digits.find_first_of(".eE") != digits.npos) {
      if (!hooks_.to_float.is_none()) return push(call(s_, hooks_.to_float, {make_str(digits)}));
      double d;
      if (std::from_chars(text, text + size, d).ec != std::errc()) d = *text::parse_float(digits);  // 0 or infinite
      return push(Value::floating(d));
    }
    if (!hooks_.to_int.is_none()) return push(call(s_, hooks_.to_int, {make_str(digits)}));
    int64_t i;
    if (std::from_chars(text, text + size, i).ec == std::errc()) return push(Value::integer(i));
    return push(int_from_text(s_, digits, 10, make_str(digits)));
  }

  bool String(const char* text, rapidjson::SizeType size, bool) { return push(make_str({text, size})); }

  // Names recur in most documents: one str for each, whose hash is known.
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view name(text, size);
    if (size > kLongestName) return push(make_str(name));
    size_t at = size;
    for (size_t i = 0; i < size; ++i) at = at * 31 + static_cast<unsigned char>(text[i]);
    Value& known = names_[at % kNames];
    if (known.is_unbound() || known.as<Str>()->view() != name) known = make_str(name);
    return push(known);
  }

  bool StartArray() { return nesting_.enter("array"); }
  bool StartObject() { return nesting_.enter("object"); }

  bool EndArray(rapidjson::SizeType count) {
    nesting_.leave();
    Value list = make_list_moved(last(count));
    drop(count);
    return push(std::move(list));
  }

  bool EndObject(rapidjson::SizeType count) {
    nesting_.leave();
    const size_t cells = size_t{2} * count;
    std::span<Value> members = last(cells);
    Value made;
    if (!hooks_.pairs.is_none()) {
      made = make_list_reserved(count);
      for (size_t i = 0; i < cells; i += 2)
        made.as<List>()->push(make_tuple({std::move(members[i]), std::move(members[i + 1])}));
      drop(cells);
      return push(call(s_, hooks_.pairs, {made}));
    }
    made = make_dict();
    if (count > 4) dict_reserve(made.as<Dict>(), count);
    for (size_t i = 0; i < cells; i += 2)
      if (!dict_set(s_, made.as<Dict>(), members[i], std::move(members[i + 1]))) return false;
    drop(cells);
    return push(hooks_.object.is_none() ? std::move(made) : call(s_, hooks_.object, {made}));
  }

 private:
  static constexpr size_t kNames = 256, kLongestName = 64;

  bool push(Value v) {
    poll_interrupt(s_);
    if (v.is_error()) return false;
    values_.push_back(std::move(v));
    return true;
  }
  std::span<Value> last(size_t count) { return {values_.data() + (values_.size() - count), count}; }
  void drop(size_t count) { values_.resize(values_.size() - count); }
  bool constant(std::string_view name) {
    if (!is_constant(name)) return false;
    if (!hooks_.to_constant.is_none()) return push(call(s_, hooks_.to_constant, {make_str(name)}));
    return push(Value::floating(*text::parse_float(name)));
  }

  Session& s_;
  const Hooks& hooks_;
  CountedVector<Value> values_;  // finished ones whose container is not
  Value names_[kNames];
  Nesting nesting_;
};

}  // namespace
}  // namespace ouro::stdlib::json

template <>
struct rapidjson::StreamTraits<ouro::stdlib::json::Text> {
  enum { copyOptimization = 1 };
};

namespace ouro::stdlib::json {

Value decode(Session& s, Str* text, size_t start, const Hooks& hooks, size_t& end) {
  using namespace rapidjson;
  constexpr unsigned kFlags = kParseStopWhenDoneFlag | kParseNumbersAsStringsFlag | kParseNanAndInfFlag;
  using Reader = GenericReader<UTF8<>, UTF8<>, CountedMemory>;
  CountedMemory memory;
  // No hook is called of a text that will be read again.
  if (hooks.any()) {
    Checker checker(s);
    Text in(text->data + start);
    if (Reader(&memory).Parse<kFlags>(in, checker).IsError()) return s.has_error() ? Value::error() : Value();
  }
  Builder builder(s, hooks);
  Text in(text->data + start);
  if (Reader(&memory).Parse<kFlags>(in, builder).IsError()) return s.has_error() ? Value::error() : Value();
  end = start + in.Tell();
  return builder.result();
}

}  // namespace ouro::stdlib::json
