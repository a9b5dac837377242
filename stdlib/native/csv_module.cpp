// ouro.native.csv    reader, writer, field_size_limit: what module csv stands on (python/_csv.ouro)
//
// A dialect comes as its object and, checked, as the tuple (delimiter, doublequote, escapechar, lineterminator,
// quotechar, quoting, skipinitialspace, strict); characters are texts of one code point, or None.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "runtime/machine/memory.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/text/utf8.h"
#include "runtime/types/args.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

enum class Quoting : uint8_t { minimal, all, nonnumeric, none };

constexpr uint32_t kNoChar = 0xffffffff;

struct Form {
  uint32_t delimiter = ',', escape = kNoChar, quote = kNoChar;
  bool doublequote = true, skip_space = false, strict = false;
  Quoting quoting = Quoting::minimal;
  Value terminator;  // Str
};

bool char_of(const Value& v, uint32_t& out) {
  out = kNoChar;
  if (v.is_none()) return true;
  Str* t = cast<Str>(v);
  if (!t || str_length(t) != 1) return false;
  const char* p = t->data;
  out = text::decode(p);
  return true;
}

bool form_of(Session& s, const Value& v, Form& f) {
  Tuple* t = cast<Tuple>(v);
  bool ok = t && t->size == 8 && char_of((*t)[0], f.delimiter) && char_of((*t)[2], f.escape) &&
            char_of((*t)[4], f.quote) && cast<Str>((*t)[3]) && (*t)[1].is_bool() && (*t)[6].is_bool() &&
            (*t)[7].is_bool() && (*t)[5].is_int() && (*t)[5].as_int() >= 0 && (*t)[5].as_int() <= 3;
  if (!ok || f.delimiter == kNoChar) {
    raise_type_error(s, "this is no tuple of a csv dialect");
    return false;
  }
  f.doublequote = (*t)[1].as_bool();
  f.terminator = (*t)[3];
  f.quoting = static_cast<Quoting>((*t)[5].as_int());
  f.skip_space = (*t)[6].as_bool();
  f.strict = (*t)[7].as_bool();
  if (f.quote == kNoChar && f.quoting != Quoting::none) {
    raise_type_error(s, "quotechar must be set if quoting enabled");
    return false;
  }
  return true;
}

struct CsvState {
  Value reader_type, writer_type;
  int64_t field_limit = 128 * 1024;
};

// Bytes that begin none of these characters.
std::array<bool, 256> plain_bytes(const Session& s, std::initializer_list<uint32_t> special, std::string_view more) {
  std::array<bool, 256> plain;
  plain.fill(true);
  for (uint32_t c : special) {
    std::string bytes;
    if (c == kNoChar) continue;
    text::append(bytes, c);
    plain[static_cast<unsigned char>(bytes[0])] = false;
  }
  for (uint32_t polls = 0; char c : more) {
    poll_interrupt(s, polls);
    if (!text::is_continuation(c)) plain[static_cast<unsigned char>(c)] = false;
  }
  return plain;
}

// The characters of a text, which may be long: a bit for each code point up to the largest.
class CharSet {
 public:
  void fill(const Session& s, std::string_view text) {
    uint32_t polls = 0;
    for (uint32_t c : text::Points(text)) {
      poll_interrupt(s, polls);
      if (c / 64 >= bits_.size()) bits_.resize(c < 0x80 ? 2 : kPoints / 64);
      bits_[c / 64] |= uint64_t{1} << c % 64;
    }
  }
  bool has(uint32_t c) const { return c / 64 < bits_.size() && bits_[c / 64] >> c % 64 & 1; }

 private:
  static constexpr size_t kPoints = 0x110000;
  CountedVector<uint64_t> bits_;
};

// values: the iterator (a writer's `write`), the dialect, the class Error.
enum : size_t { kSource, kDialect, kError };

Value raise_csv(Session& s, const Value& self, std::string_view text) {
  const Value error = self.as<Opaque>()->values[kError];
  return set_pending(s, make_exception(s, error.as<Type>(), make_tuple({make_str(text)})));
}

void append_char(CountedText& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  std::string bytes;
  text::append(bytes, c);
  out += bytes;
}

// ---------------------------------------------------------------- reader

enum class At : uint8_t {
  start_record,
  start_field,
  escaped,  // behind an escape character
  in_field,
  in_quotes,
  escaped_in_quotes,
  quote_in_quotes,  // behind a quote inside of quotes: the end, or the first of two
  line_end,
  after_escaped_line_end,
};

constexpr uint32_t kEndOfLine = 0xfffffffe;  // behind each text that the iterator gives

struct Reader {
  Form form;
  At at = At::start_record;
  bool numeric = false;
  CountedText field;
  int64_t points = 0;  // of `field`
  int64_t line = 0;
  std::array<bool, 256> plain{};  // bytes that mean nothing inside of a field
};

Reader& reader_of(const Value& v) { return *static_cast<Reader*>(v.as<Opaque>()->data.get()); }

class RowReader {
 public:
  RowReader(Session& s, const Value& self) : s_(s), self_(self), r_(reader_of(self)), fields_(make_list()) {
    r_.at = At::start_record;
    r_.field.clear();
    r_.points = 0;
    r_.numeric = false;
  }
  Value row();

 private:
  bool take(std::string_view line);
  bool take(uint32_t c);
  bool end_field(uint32_t c) { return save() && (r_.at = c == kEndOfLine ? At::start_record : At::line_end, true); }
  bool save();
  bool add(uint32_t c, At next);
  bool add_run(std::string_view run);
  bool count(int64_t points);
  bool fail(std::string_view text) { return raise_csv(s_, self_, text), false; }

  Session& s_;
  const Value& self_;
  Reader& r_;
  Value fields_;
};

bool ends_line(uint32_t c) { return c == '\n' || c == '\r' || c == kEndOfLine; }

bool RowReader::save() {
  Value v = make_str(r_.field);
  r_.field.clear();
  r_.points = 0;
  if (r_.numeric) {
    r_.numeric = false;
    v = to_float(s_, v);
    if (v.is_error()) return false;
  }
  fields_.as<List>()->push(std::move(v));
  return true;
}

bool RowReader::count(int64_t points) {
  const int64_t limit = s_.state<CsvState>().field_limit;
  r_.points += points;
  return r_.points <= limit || fail("field larger than field limit (" + std::to_string(limit) + ")");
}

bool RowReader::add(uint32_t c, At next) {
  append_char(r_.field, c);
  r_.at = next;
  return count(1);
}

bool RowReader::add_run(std::string_view run) {
  r_.field += run;
  return count(static_cast<int64_t>(text::count_points(run)));
}

bool RowReader::take(uint32_t c) {
  const Form& f = r_.form;
  switch (r_.at) {
    case At::start_record:
      if (c == kEndOfLine) return true;
      if (ends_line(c)) return r_.at = At::line_end, true;
      [[fallthrough]];
    case At::start_field:
      if (ends_line(c)) return end_field(c);
      if (c == f.quote && f.quoting != Quoting::none) return r_.at = At::in_quotes, true;
      if (c == f.escape) return r_.at = At::escaped, true;
      if (c == ' ' && f.skip_space) return r_.at = At::start_field, true;
      if (c == f.delimiter) return r_.at = At::start_field, save();
      r_.numeric = f.quoting == Quoting::nonnumeric;
      return add(c, At::in_field);
    case At::escaped:
      if (c == '\n' || c == '\r') return add(c, At::after_escaped_line_end);
      return add(c == kEndOfLine ? '\n' : c, At::in_field);
    case At::after_escaped_line_end:
      if (c == kEndOfLine) return true;
      [[fallthrough]];
    case At::in_field:
      if (ends_line(c)) return end_field(c);
      if (c == f.escape) return r_.at = At::escaped, true;
      if (c == f.delimiter) return r_.at = At::start_field, save();
      return add(c, r_.at);
    case At::in_quotes:
      if (c == kEndOfLine) return true;
      if (c == f.escape) return r_.at = At::escaped_in_quotes, true;
      if (c == f.quote && f.quoting != Quoting::none)
        return r_.at = f.doublequote ? At::quote_in_quotes : At::in_field, true;
      return add(c, At::in_quotes);
    case At::escaped_in_quotes:
      return add(c == kEndOfLine ? '\n' : c, At::in_quotes);
    case At::quote_in_quotes:
      if (c == f.quote && f.quoting != Quoting::none) return add(c, At::in_quotes);
      if (c == f.delimiter) return r_.at = At::start_field, save();
      if (ends_line(c)) return end_field(c);
      if (f.strict) {
        std::string text = "'";
        text::append(text, f.delimiter);
        text += "' expected after '";
        text::append(text, f.quote);
        return fail(text + "'");
      }
      return add(c, At::in_field);
    case At::line_end:
      if (c == '\n' || c == '\r') return true;
      if (c == kEndOfLine) return r_.at = At::start_record, true;
      return fail(
          "new-line character seen in unquoted field - do you need to open the file in universal-newline mode?");
  }
  return true;
}

bool RowReader::take(std::string_view line) {
  const char *p = line.data(), *const end = p + line.size();
  for (uint32_t polls = 0; p != end;) {
    if (r_.at == At::in_field || r_.at == At::in_quotes) {
      const char* run = p;
      const char* piece = p + std::min<ptrdiff_t>(end - p, ptrdiff_t{text::kPiece});
      while (p != piece && r_.plain[static_cast<unsigned char>(*p)]) ++p;
      while (p != end && text::is_continuation(*p)) ++p;
      if (p != run) {
        if (!add_run({run, p})) return false;
        poll_interrupt(s_);
        continue;
      }
    }
    poll_interrupt(s_, polls);
    if (!take(text::decode(p))) return false;
  }
  return take(kEndOfLine);
}

Value RowReader::row() {
  do {
    poll_interrupt(s_);
    Value line = next(s_, self_.as<Opaque>()->values[kSource]);
    if (line.is_error()) return line;
    if (line.is_end()) {
      if (r_.points == 0 && r_.at != At::in_quotes) return line;
      if (r_.form.strict) return raise_csv(s_, self_, "unexpected end of data");
      return save() ? std::move(fields_) : Value::error();
    }
    Str* text = cast<Str>(line);
    if (!text)
      return raise_csv(
          s_, self_,
          "iterator should return strings, not " + type_name(s_, line) + " (the file should be opened in text mode)");
    ++r_.line;
    if (!take(text->view())) return Value::error();
  } while (r_.at != At::start_record);
  return std::move(fields_);
}

Value reader_next(Session& s, const Value& v) { return RowReader(s, v).row(); }
Value reader_iter(Session&, const Value& v) { return v; }

Value get_dialect(Session&, const Value& v) { return v.as<Opaque>()->values[kDialect]; }

constexpr GetSetDef kReaderGetSet[] = {
    {.name = "dialect", .get = get_dialect},
    {.name = "line_num", .get = [](Session&, const Value& v) { return Value::integer(reader_of(v).line); }},
};
constexpr TypeSlots kReaderSlots{.iter = reader_iter, .next = reader_next};
const TypeDef kReaderDef{.name = "reader",
                         .kind = ObjectKind::opaque,
                         .slots = &kReaderSlots,
                         .getset = kReaderGetSet,
                         .subclassable = false,
                         .module = "_csv"};

// ---------------------------------------------------------------- writer

struct Writer {
  Form form;
  CharSet in_terminator;
  std::array<bool, 256> plain{};  // bytes that need nothing
};

const Writer& writer_of(const Value& v) { return *static_cast<Writer*>(v.as<Opaque>()->data.get()); }

bool is_number(Session& s, const Value& v) {
  if (v.is_float() || is_integer(v)) return true;
  Type* t = type_of(s, v);
  for (Dunder d : {Dunder::float_, Dunder::int_, Dunder::index_})
    if (!find_dunder(s, t, d).is_unbound()) return true;
  return false;
}

class RowWriter {
 public:
  RowWriter(Session& s, const Value& self) : s_(s), self_(self), w_(writer_of(self)), f_(w_.form) {}
  Value write(const Value& row);

 private:
  bool add(const Value& field);
  bool is_plain(std::string_view text) const {
    for (uint32_t polls = 0; char c : text) {
      poll_interrupt(s_, polls);
      if (!w_.plain[static_cast<unsigned char>(c)]) return false;
    }
    return true;
  }
  bool add_text(std::string_view text, bool quoted, bool& must_quote, CountedText& out);

  Session& s_;
  const Value& self_;
  const Writer& w_;
  const Form& f_;
  CountedText line_;
  size_t count_ = 0;
};

// A field's characters, with what has to stand before them. Without quotes around it (`quoted`), `must_quote` tells
// that there have to be some.
bool RowWriter::add_text(std::string_view text, bool quoted, bool& must_quote, CountedText& out) {
  uint32_t polls = 0;
  for (uint32_t c : text::Points(text)) {
    poll_interrupt(s_, polls);
    bool escape = false;
    if (c == f_.delimiter || c == f_.escape || c == f_.quote || w_.in_terminator.has(c)) {
      if (f_.quoting == Quoting::none) {
        escape = true;
      } else {
        if (c == f_.quote) {
          if (f_.doublequote)
            append_char(out, c);
          else
            escape = true;
        } else if (c == f_.escape) {
          escape = true;
        }
        if (!escape) must_quote = !quoted;
      }
      if (escape) {
        if (f_.escape == kNoChar) return raise_csv(s_, self_, "need to escape, but no escapechar set"), false;
        append_char(out, f_.escape);
      }
    }
    append_char(out, c);
  }
  return true;
}

bool RowWriter::add(const Value& field) {
  poll_interrupt(s_);
  Value text = field;
  if (field.is_none())
    text = make_str("");
  else if (!cast<Str>(field))
    text = str(s_, field);
  if (text.is_error()) return false;
  if (count_++) append_char(line_, f_.delimiter);
  bool quoted = f_.quoting == Quoting::all || (f_.quoting == Quoting::nonnumeric && !is_number(s_, field));
  const std::string_view view = cast<Str>(text)->view();
  CountedText changed;
  const bool plain = is_plain(view);
  if (!plain) {
    bool must_quote = false;
    if (!add_text(view, quoted, must_quote, changed)) return false;
    quoted |= must_quote;
  }
  if (quoted) append_char(line_, f_.quote);
  line_ += plain ? view : std::string_view(changed);
  if (quoted) append_char(line_, f_.quote);
  return true;
}

Value RowWriter::write(const Value& row) {
  Value it = iter(s_, row);
  if (it.is_error()) {
    if (!pending_is(s_, ExcKind::TypeError)) return it;
    clear_pending(s_);
    return raise_csv(s_, self_, "iterable expected, not " + type_name(s_, row));
  }
  if (!for_each_of(s_, it, [&](Value& field) { return add(field); })) return Value::error();
  if (count_ == 1 && line_.empty()) {
    // A record of one empty field would be none.
    if (f_.quoting == Quoting::none) return raise_csv(s_, self_, "single empty field record must be quoted");
    append_char(line_, f_.quote);
    append_char(line_, f_.quote);
  }
  line_ += cast<Str>(f_.terminator)->view();
  return call(s_, self_.as<Opaque>()->values[kSource], {make_str(line_)});
}

Value m_writerow(Session& s, const Args& a) {
  return takes_one(s, a, "writer.writerow") ? RowWriter(s, a[0]).write(a[1]) : Value::error();
}
Value m_writerows(Session& s, const Args& a) {
  if (!takes_one(s, a, "writer.writerows")) return Value::error();
  bool ok = for_each(s, a[1], [&](Value& row) { return !RowWriter(s, a[0]).write(row).is_error(); });
  return ok ? Value::none() : Value::error();
}

constexpr NativeDef kWriterMethods[] = {
    {.name = "writerow", .fn = m_writerow, .doc = "Writes one row, and returns what the file's write() does."},
    {.name = "writerows", .fn = m_writerows, .doc = "Writes each row of an iterable."},
};
constexpr GetSetDef kWriterGetSet[] = {{.name = "dialect", .get = get_dialect}};
constexpr TypeSlots kWriterSlots{};
const TypeDef kWriterDef{.name = "writer",
                         .kind = ObjectKind::opaque,
                         .slots = &kWriterSlots,
                         .methods = kWriterMethods,
                         .getset = kWriterGetSet,
                         .subclassable = false,
                         .module = "_csv"};

// ---------------------------------------------------------------- rows

Value make_one(Session& s, Value& type, const TypeDef& def, std::shared_ptr<void> data, const Args& a) {
  if (!cast_exact<Type>(a[3]) || !a[3].as<Type>()->is_exception)
    return raise_type_error(s, "the error is no class of exceptions");
  if (type.is_unbound()) type = make_late_type(s, def);
  Value v = make_opaque(type.as<Type>(), std::move(data));
  for (size_t i : {size_t{0}, size_t{1}, size_t{3}}) v.as<Opaque>()->values.push_back(a[i]);
  return v;
}

Value f_reader(Session& s, const Args& a) {
  auto reader = std::make_shared<Reader>();
  if (!form_of(s, a[2], reader->form)) return Value::error();
  const Form& f = reader->form;
  reader->plain = plain_bytes(s, {f.delimiter, f.escape, f.quote}, "\r\n");
  OURO_TRY(it, iter(s, a[0]));
  const Value with[] = {it, a[1], a[2], a[3]};
  return make_one(s, s.state<CsvState>().reader_type, kReaderDef, std::move(reader), Args{with, {}, {}});
}
Value f_writer(Session& s, const Args& a) {
  auto writer = std::make_shared<Writer>();
  const Form& f = writer->form;
  if (!form_of(s, a[2], writer->form)) return Value::error();
  const std::string_view terminator = cast<Str>(f.terminator)->view();
  writer->plain = plain_bytes(s, {f.delimiter, f.escape, f.quote}, terminator);
  writer->in_terminator.fill(s, terminator);
  return make_one(s, s.state<CsvState>().writer_type, kWriterDef, std::move(writer), a);
}

Value f_field_size_limit(Session& s, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "field_size_limit() takes no keyword arguments");
  if (a.size() > 1) return raise_type_error(s, "field_size_limit() takes at most 1 argument (%zu given)", a.size());
  int64_t& limit = s.state<CsvState>().field_limit;
  const int64_t before = limit;
  if (a.size() == 1) {
    if (!is_integer(a[0])) return raise_type_error(s, "limit must be an integer");
    if (!unwrap(a[0]).is_int() && !unwrap(a[0]).is_bool())
      return raise_error(s, ExcKind::OverflowError, "Python int too large to convert to C long");
    limit = unwrap(a[0]).bits();
  }
  return Value::integer(before);
}

constexpr NativeDef kFunctions[] = {
    {.name = "reader",
     .params = "iterable, dialect, form, error, /",
     .fn = f_reader,
     .doc = "An iterator over the rows of the texts that an iterable gives."},
    {.name = "writer",
     .params = "write, dialect, form, error, /",
     .fn = f_writer,
     .doc = "What turns rows into texts and calls `write` with each."},
    {.name = "field_size_limit",
     .fn = f_field_size_limit,
     .doc = "The longest field that a reader takes; with an argument, what it is from now on."},
};

}  // namespace

const NativeModule kCsvModule{.name = "ouro.native.csv", .functions = kFunctions};

}  // namespace ouro::stdlib
