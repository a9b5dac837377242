#include "stdlib/native/safetensors_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "runtime/object/interrupt.h"
#include "runtime/text/utf8.h"
#include "stdlib/native/atomic_file.h"

namespace ouro::stdlib::safetensors {
namespace {

constexpr struct {
  std::string_view name;
  DType dtype;
} kDTypeNames[] = {{"BOOL", DType::boolean}, {"U8", DType::u8},   {"I8", DType::i8},   {"I16", DType::i16},
                   {"I32", DType::i32},      {"I64", DType::i64}, {"F16", DType::f16}, {"BF16", DType::bf16},
                   {"F32", DType::f32},      {"F64", DType::f64}};

std::string_view file_name(DType t) {
  for (const auto& row : kDTypeNames)
    if (row.dtype == t) return row.name;
  return {};
}

std::optional<DType> from_file_name(std::string_view name) {
  for (const auto& row : kDTypeNames)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string in_quotes(std::string_view name) { return "'" + std::string(name.substr(0, 200)) + "'"; }

// Reads the header's JSON by events, so that repeated names are seen and no tree is built.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(Header& out) : out_(out) {}
  std::string problem;

  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(number_integer_t v) override {
    return v < 0 ? number(std::nullopt) : number(static_cast<uint64_t>(v));
  }
  bool number_unsigned(number_unsigned_t v) override { return number(v); }
  bool number_float(number_float_t, const string_t&) override { return number(std::nullopt); }
  bool binary(binary_t&) override { return scalar(); }
  bool string(string_t& text) override;
  bool start_object(size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(size_t) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    const char* what = std::strstr(e.what(), ": ");
    return fail(fmt::format("the header is not JSON at byte {}: {}", position, what ? what + 2 : e.what()));
  }

 private:
  enum Field { kNone, kDType, kShape, kOffsets, kOther };

  bool fail(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }
  bool wrong(std::string_view what) {
    return fail(fmt::format("{}: {}", in_metadata_ ? std::string("__metadata__") : in_quotes(entry_.name), what));
  }
  bool number(std::optional<uint64_t> v);
  bool scalar();

  Header& out_;
  int depth_ = 0;  // 1 in the outer object, 2 in an entry or the metadata, more in what is not read
  bool in_metadata_ = false, in_array_ = false;
  Field field_ = kNone;
  bool has_[kOther] = {};
  Entry entry_;
  std::vector<uint64_t> offsets_;
  std::unordered_set<std::string> names_, keys_;
};

bool HeaderReader::scalar() {
  if (depth_ == 0) return fail("the header is no JSON object");
  if (depth_ == 1) return fail(in_quotes(entry_.name) + " is no JSON object");
  if (depth_ == 2 && in_metadata_) return wrong("a value is no string");
  if (depth_ == 2 && field_ != kOther) return wrong("a value of the wrong kind");
  return true;
}

bool HeaderReader::number(std::optional<uint64_t> v) {
  if (!(depth_ == 2 && in_array_ && field_ != kOther)) return scalar();
  if (!v || *v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return wrong("a number is no whole number from 0 to 2^63 - 1");
  if (field_ == kShape)
    entry_.shape.push_back(static_cast<int64_t>(*v));
  else
    offsets_.push_back(*v);
  return true;
}

bool HeaderReader::string(string_t& text) {
  if (depth_ == 2 && in_metadata_) {
    out_.metadata.back().second = std::move(text);
    return true;
  }
  if (depth_ == 2 && field_ == kDType && !in_array_) {
    std::optional<DType> dtype = from_file_name(text);
    if (!dtype) return wrong("dtype " + in_quotes(text) + " is not known here");
    entry_.dtype = *dtype;
    return true;
  }
  return scalar();
}

bool HeaderReader::start_object(size_t) {
  if (depth_ == 2 && (in_metadata_ || field_ != kOther)) return scalar();
  if (++depth_ == 2) {
    keys_.clear();
    field_ = kNone;
    std::fill(std::begin(has_), std::end(has_), false);
    entry_.shape.clear();
    offsets_.clear();
  }
  return true;
}

bool HeaderReader::key(string_t& name) {
  if (depth_ == 1) {
    if (!names_.insert(name).second) return fail("the name " + in_quotes(name) + " stands twice");
    in_metadata_ = name == "__metadata__";
    entry_.name = std::move(name);
  } else if (depth_ == 2) {
    if (!keys_.insert(name).second) return wrong(in_quotes(name) + " stands twice");
    if (in_metadata_) {
      out_.metadata.emplace_back(std::move(name), std::string());
      return true;
    }
    field_ = name == "dtype" ? kDType : name == "shape" ? kShape : name == "data_offsets" ? kOffsets : kOther;
    if (field_ != kOther) has_[field_] = true;
  }
  return true;
}

bool HeaderReader::end_object() {
  if (depth_-- != 2 || in_metadata_) return true;
  if (!has_[kDType] || !has_[kShape] || !has_[kOffsets]) return wrong("dtype, shape or data_offsets is missing");
  if (offsets_.size() != 2) return wrong("data_offsets are not two numbers");
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  out_.entries.push_back(entry_);
  return true;
}

bool HeaderReader::start_array(size_t) {
  if (depth_ < 2) return scalar();
  if (depth_ == 2 && field_ != kOther) {
    if (in_metadata_ || in_array_ || (field_ != kShape && field_ != kOffsets)) return scalar();
    in_array_ = true;
    return true;
  }
  ++depth_;
  return true;
}

bool HeaderReader::end_array() {
  if (in_array_)
    in_array_ = false;
  else
    --depth_;
  return true;
}

// Bytes of a tensor, or nothing if they are beyond 64 bits.
std::optional<uint64_t> bytes_of(const Entry& e) {
  uint64_t n = size_of(e.dtype);
  for (int64_t dim : e.shape)
    if (dim == 0) return 0;
  for (int64_t dim : e.shape)
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(dim), &n)) return std::nullopt;
  return n;
}

FileProblem read_at(int fd, uint64_t offset, void* to, uint64_t size) {
  char* p = static_cast<char*>(to);
  while (size > 0) {
    runtime::poll_interrupt();
    size_t want = static_cast<size_t>(std::min<uint64_t>(size, uint64_t{1} << 24));
    ssize_t n = pread(fd, p, want, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileProblem::os(errno);
    if (n == 0) return FileProblem::format("the file ends too early");
    p += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<uint64_t>(n);
  }
  return {};
}

}  // namespace

std::string layout(Header& header) {
  std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    size_t x = size_of(a.dtype), y = size_of(b.dtype);
    return x != y ? x > y : a.name < b.name;
  });
  std::string json = "{";
  auto separate = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!header.metadata.empty()) {
    json += "\"__metadata__\":{";
    for (size_t i = 0; i < header.metadata.size(); ++i) {
      if (i) json += ',';
      json += json_string(header.metadata[i].first) + ":" + json_string(header.metadata[i].second);
    }
    json += '}';
  }
  uint64_t at = 0;
  for (Entry& e : header.entries) {
    e.begin = at;
    e.end = at += bytes_of(e).value_or(0);
    separate();
    json += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_string(e.name),
                        file_name(e.dtype), fmt::join(e.shape, ","), e.begin, e.end);
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');
  return json;
}

FileProblem parse_header(std::string_view json, uint64_t data_bytes, Header& out) {
  out = {};
  if (json.empty() || json[0] != '{')
    return FileProblem::format("the header does not start with '{': not a safetensors file");
  if (!runtime::text::check_utf8(json).what.empty()) return FileProblem::format("the header is not UTF-8");
  HeaderReader reader(out);
  bool read = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  if (!read || !reader.problem.empty())
    return FileProblem::format(reader.problem.empty() ? "the header is not JSON" : reader.problem);
  std::stable_sort(out.entries.begin(), out.entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t at = 0;
  for (const Entry& e : out.entries) {
    std::optional<uint64_t> need = bytes_of(e);
    std::string wrong;
    if (e.begin > e.end)
      wrong = "data_offsets run backwards";
    else if (e.end > data_bytes)
      wrong = fmt::format("its data ends at byte {}, the file's at {}", e.end, data_bytes);
    else if (!need || *need != e.end - e.begin)
      wrong = fmt::format("its data has {} bytes, {}[{}] needs {}", e.end - e.begin, name(e.dtype),
                          fmt::join(e.shape, ", "), need ? std::to_string(*need) : "more than 2^64");
    else if (e.begin < at)
      wrong = "its data overlaps another tensor's";
    else if (e.begin > at)
      wrong = fmt::format("there is a hole of {} bytes before its data", e.begin - at);
    if (!wrong.empty()) return FileProblem::format(in_quotes(e.name) + ": " + wrong);
    at = e.end;
  }
  if (at != data_bytes)
    return FileProblem::format(fmt::format("{} bytes stand behind the last tensor", data_bytes - at));
  return {};
}

FileProblem write(const std::string& path, Header header) {
  for (const Entry& e : header.entries)
    if (!bytes_of(e)) return FileProblem::os(EFBIG);
  std::string json = layout(header);
  if (json.size() > kMaxHeader) return FileProblem::os(EFBIG);
  AtomicFile file;
  if (FileProblem p = file.open(path); !p.ok()) return p;
  unsigned char size[8];
  for (int i = 0; i < 8; ++i) size[i] = static_cast<unsigned char>(uint64_t{json.size()} >> (8 * i));
  if (FileProblem p = file.write(size, 8); !p.ok()) return p;
  if (FileProblem p = file.write(json.data(), json.size()); !p.ok()) return p;
  for (const Entry& e : header.entries)
    if (FileProblem p = file.write(e.data, e.bytes()); !p.ok()) return p;
  return file.commit();
}

Reader::~Reader() {
  if (fd_ >= 0) close(fd_);
}

FileProblem Reader::open(const std::string& path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a named pipe is told below
  if (fd_ < 0) return FileProblem::os(errno);
  struct stat st {};
  if (fstat(fd_, &st) != 0) return FileProblem::os(errno);
  if (S_ISDIR(st.st_mode)) return FileProblem::os(EISDIR);
  if (!S_ISREG(st.st_mode)) return FileProblem::format("not a regular file");
  uint64_t size = static_cast<uint64_t>(st.st_size);
  if (size < 8) return FileProblem::format(fmt::format("{} bytes are too few for a safetensors file", size));
  unsigned char raw[8];
  if (FileProblem p = read_at(fd_, 0, raw, 8); !p.ok()) return p;
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | raw[i];
  if (n > kMaxHeader) return FileProblem::format(fmt::format("a header of {} bytes: not a safetensors file", n));
  if (n > size - 8)
    return FileProblem::format(fmt::format("the header should have {} bytes, the file ends after {}", n, size - 8));
  std::string json(n, '\0');
  if (FileProblem p = read_at(fd_, 8, json.data(), n); !p.ok()) return p;
  data_start_ = 8 + n;
  return parse_header(json, size - data_start_, header_);
}

FileProblem Reader::read(const Entry& entry, void* to) {
  FileProblem p = read_at(fd_, data_start_ + entry.begin, to, entry.bytes());
  if (p.ok() && entry.dtype == DType::boolean) {
    auto* bytes = static_cast<unsigned char*>(to);
    for (uint64_t i = 0; i < entry.bytes(); ++i) bytes[i] = bytes[i] != 0;
  }
  return p;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    bool surrogate = c == 0xED && i + 2 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0xA0;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += fmt::format("\\u{:04x}", c);
    } else if (surrogate) {
      unsigned code =
          0xD000u | (static_cast<unsigned>(text[i + 1]) & 0x3F) << 6 | (static_cast<unsigned>(text[i + 2]) & 0x3F);
      out += fmt::format("\\u{:04x}", code);
      i += 2;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

bool parse_json_string(std::string_view json, std::string& out) {
  nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_string()) return false;
  out = parsed.get<std::string>();
  return true;
}

}  // namespace ouro::stdlib::safetensors
