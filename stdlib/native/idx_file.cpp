#include "stdlib/native/idx_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "runtime/object/interrupt.h"

namespace ouro::stdlib::idx {
namespace {

std::optional<DType> dtype_of(unsigned char code) {
  switch (code) {
    case 0x08:
      return DType::u8;
    case 0x09:
      return DType::i8;
    case 0x0B:
      return DType::i16;
    case 0x0C:
      return DType::i32;
    case 0x0D:
      return DType::f32;
    case 0x0E:
      return DType::f64;
    default:
      return std::nullopt;
  }
}

// deflate makes at most 1032 bytes of one.
constexpr uint64_t kMostExpansion = 1032;

}  // namespace

Reader::~Reader() {
  if (file_) gzclose_r(static_cast<gzFile>(file_));
}

FileProblem Reader::open(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileProblem::os(errno);
  struct stat st {};
  if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
    int error_number = S_ISDIR(st.st_mode) ? EISDIR : errno;
    close(fd);
    return FileProblem::os(error_number);
  }
  if (!S_ISREG(st.st_mode)) {
    close(fd);
    return FileProblem::format("not a regular file");
  }
  file_ = gzdopen(fd, "rb");
  if (!file_) {
    close(fd);
    return FileProblem::os(ENOMEM);
  }
  gzbuffer(static_cast<gzFile>(file_), 1 << 17);
  unsigned char magic[4];
  if (FileProblem p = fill(magic, 4, "header"); !p.ok()) return p;
  std::optional<DType> dtype = dtype_of(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !dtype)
    return FileProblem::format(fmt::format("it starts with {:02x} {:02x} {:02x} {:02x}: not an IDX file", magic[0],
                                           magic[1], magic[2], magic[3]));
  header_.dtype = *dtype;
  header_.bytes = size_of(*dtype);
  bool too_large = false;
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char raw[4];
    if (FileProblem p = fill(raw, 4, "header"); !p.ok()) return p;
    uint64_t dim = uint64_t{raw[0]} << 24 | raw[1] << 16 | raw[2] << 8 | raw[3];
    header_.shape.push_back(static_cast<int64_t>(dim));
    too_large |= __builtin_mul_overflow(header_.bytes, dim, &header_.bytes);
  }
  bool plain = gzdirect(static_cast<gzFile>(file_)) != 0;
  uint64_t size = static_cast<uint64_t>(st.st_size);
  uint64_t most = plain ? size : size * kMostExpansion;
  if (too_large || header_.bytes > most)
    return FileProblem::format(fmt::format("{}[{}] does not fit into a file of {} bytes: truncated or corrupt",
                                           name(header_.dtype), fmt::join(header_.shape, ", "), size));
  return {};
}

FileProblem Reader::fill(void* to, uint64_t size, std::string_view what) {
  auto file = static_cast<gzFile>(file_);
  char* p = static_cast<char*>(to);
  while (size > 0) {
    runtime::poll_interrupt();
    int n = gzread(file, p, static_cast<unsigned>(std::min<uint64_t>(size, 1u << 22)));
    int code = Z_OK;
    const char* text = gzerror(file, &code);
    if (n < 0 && code == Z_ERRNO) return FileProblem::os(errno);
    if (n < 0) return FileProblem::format(fmt::format("damaged gzip data ({})", text));
    if (n == 0)
      return FileProblem::format(fmt::format("the file ends in the middle of its {}, {} bytes early", what, size));
    p += n;
    size -= static_cast<uint64_t>(n);
  }
  return {};
}

FileProblem Reader::read(void* to) {
  if (FileProblem p = fill(to, header_.bytes, "data"); !p.ok()) return p;
  auto file = static_cast<gzFile>(file_);
  char more;
  int n = gzread(file, &more, 1), code = Z_OK;  // also checks the sums behind the data
  const char* text = gzerror(file, &code);
  if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
    return FileProblem::format(fmt::format("damaged gzip data ({})", text));
  if (n > 0) return FileProblem::format("more bytes than its header says");
  size_t size = size_of(header_.dtype);
  if (size > 1) {
    char* p = static_cast<char*>(to);
    for (uint64_t i = 0; i < header_.bytes; i += size) std::reverse(p + i, p + i + size);
  }
  return {};
}

}  // namespace ouro::stdlib::idx
