// The safetensors format (https://github.com/huggingface/safetensors, format of version 0.4):
//
//     u64 little-endian n | n bytes of JSON, padded with spaces | data
//
// The JSON is one object: name -> {"dtype", "shape", "data_offsets": [begin, end)} with offsets
// into the data, and "__metadata__" -> {text: text}. Data is row-major, little-endian. Tensors lie
// in order without holes or overlap and fill the data: what does not is refused, so that a file has
// one reading.
//
// Nothing here knows a session: reader and writer work on names, shapes and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stdlib/native/file_problem.h"
#include "support/dtype.h"

namespace ouro::stdlib::safetensors {

constexpr uint64_t kMaxHeader = 100'000'000;  // as the reference implementation

struct Entry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // of its bytes in the data
  const void* data = nullptr;   // for write: its bytes, row-major
  uint64_t bytes() const { return end - begin; }
};

struct Header {
  std::vector<Entry> entries;                                 // in order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  // in order of the file
};

// Fills in begin and end: larger elements first, then by name, so that all are aligned; the order
// of `entries` becomes that one. The text is that of the JSON, padded so that the data starts at a
// multiple of 8.
std::string layout(Header& header);

// Reads JSON text against a file whose data has `data_bytes`.
[[nodiscard]] FileProblem parse_header(std::string_view json, uint64_t data_bytes, Header& out);

// Writes the file as AtomicFile does.
[[nodiscard]] FileProblem write(const std::string& path, Header header);

class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();
  // Opens and checks everything but the data itself.
  [[nodiscard]] FileProblem open(const std::string& path);
  const Header& header() const { return header_; }
  // Copies the bytes of an entry to `to`; bool elements become 0 or 1.
  [[nodiscard]] FileProblem read(const Entry& entry, void* to);

 private:
  int fd_ = -1;
  uint64_t data_start_ = 0;
  Header header_;
};

// A string as JSON, in quotes. UTF-8 passes; what stands for a lone surrogate becomes \udXXX.
std::string json_string(std::string_view text);
// The reverse; false if it is not exactly one JSON string.
bool parse_json_string(std::string_view json, std::string& out);

}  // namespace ouro::stdlib::safetensors
