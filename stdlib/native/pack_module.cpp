// ouro.native.pack   tensor_of(bytes, dtype, shape, offset=0)   bytes_of(tensor)
//                    deflate(bytes, form, level=6)   inflate(bytes, form, size=None)
//                    crc32(bytes, start=0)   crc32c(bytes)
//                    unfilter(rows, height, stride, step)   jpeg_pixels(bytes)
//                    write(path, bytes)   names(folder)   make_folder(path)   remove(path)
//
// What file formats need that are written in Ouro: the bytes of tensors (row-major, little-endian), zlib, check sums,
// files that appear whole or not at all, and the names in a folder.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"
#include "runtime/text/foreign.h"
#include "runtime/types/text_format.h"
#include "stdlib/native/atomic_file.h"
#include "stdlib/native/jpeg_file.h"
#include "stdlib/native/pack_module.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

constexpr size_t kPiece = 1 << 20;  // between two looks at interrupts

bool view_of(Session& s, const Value& v, std::string_view& out) {
  if (const Bytes* b = cast<Bytes>(v)) return out = b->view(), true;
  raise_type_error(s, "a bytes object is expected, not '%s'", type_name(s, v).c_str());
  return false;
}

bool path_of(Session& s, const Value& v, std::string& out) {
  if (cast<Str>(v)) return system_text(s, v, out);
  raise_type_error(s, "a path must be str, not %s", type_name(s, v).c_str());
  return false;
}

const uint8_t* raw(std::string_view v) { return reinterpret_cast<const uint8_t*>(v.data()); }

// Bytes whose text is filled in by the caller.
Value room(size_t size) {
  Bytes* b = new (allocate_memory(bytes_memory(size))) Bytes;
  b->kind = static_cast<uint8_t>(ObjectKind::bytes);
  b->size = size;
  b->data[size] = 0;
  return Value::steal(b);
}

// ---------------------------------------------------------------- tensors

Value tensor_of(Session& s, const Args& a) {
  std::string_view data;
  DType dtype;
  if (!view_of(s, a[0], data) || !to_dtype(s, a[1], dtype)) return Value::error();
  OURO_TRY(dims, tuple_of(s, a[2]));
  std::vector<int64_t> shape;
  for (const Value& d : *dims.as<Tuple>()) {
    int64_t n;
    if (!to_index(s, d, n)) return Value::error();
    if (n < 0) return raise_value_error(s, "tensor_of: a negative size in the shape");
    shape.push_back(n);
  }
  int64_t offset = 0;
  if (!a[3].is_unbound() && !to_index(s, a[3], offset)) return Value::error();
  const int64_t count = element_count(shape);
  const uint64_t room_left = offset < 0 || static_cast<uint64_t>(offset) > data.size() ? 0 : data.size() - offset;
  if (offset < 0 || count < 0 || static_cast<uint64_t>(count) > room_left / size_of(dtype))
    return raise_value_error(s, "tensor_of: %s%s does not fit into %zu bytes", std::string(name(dtype)).c_str(),
                             shape_text(shape).c_str(), static_cast<size_t>(room_left));
  OURO_TRY(tensor, make_tensor(s, dtype, shape));
  Tensor* t = tensor.as<Tensor>();
  const char* from = data.data() + offset;
  if (t->nbytes()) copy_in_pieces(t->data(), from, t->nbytes());
  if (dtype == DType::boolean)
    for (char* p = t->bytes(); p != t->bytes() + t->nbytes(); ++p) *p = *p != 0;
  return tensor;
}

Value bytes_of(Session& s, const Args& a) {
  const Tensor* t = cast<Tensor>(a[0]);
  if (!t) return raise_type_error(s, "a tensor is expected, not '%s'", type_name(s, a[0]).c_str());
  return t->nbytes() ? make_bytes({t->bytes(), t->nbytes()}) : make_bytes({});
}

// ---------------------------------------------------------------- zlib

// The form of the stream as zlib's windowBits: "raw", "zlib", "gzip".
bool window_of(Session& s, const Value& v, int& bits) {
  const Str* form = cast<Str>(v);
  if (form && form->view() == "raw") return bits = -15, true;
  if (form && form->view() == "zlib") return bits = 15, true;
  if (form && form->view() == "gzip") return bits = 31, true;
  raise_value_error(s, "the form of a stream is 'raw', 'zlib' or 'gzip'");
  return false;
}

struct Deflating : z_stream {
  ~Deflating() { deflateEnd(this); }
};
struct Inflating : z_stream {
  ~Inflating() { inflateEnd(this); }
};

Value deflate_bytes(Session& s, const Args& a) {
  std::string_view in;
  int bits;
  int64_t level = 6;
  if (!view_of(s, a[0], in) || !window_of(s, a[1], bits)) return Value::error();
  if (!a[2].is_unbound() && !to_index(s, a[2], level)) return Value::error();
  Deflating z{};
  if (deflateInit2(&z, static_cast<int>(std::clamp<int64_t>(level, 0, 9)), Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return raise_value_error(s, "deflate: %s", z.msg ? z.msg : "no memory");
  Value buffer = room(deflateBound(&z, in.size()) + 32);
  Bytes* out = buffer.as<Bytes>();
  z.next_out = reinterpret_cast<uint8_t*>(out->data);
  z.next_in = const_cast<uint8_t*>(raw(in));
  size_t left_in = in.size(), left_out = out->size;
  int code = Z_OK;
  while (code == Z_OK) {
    poll_interrupt(s);
    z.avail_in = static_cast<uInt>(std::min(left_in, kPiece));
    z.avail_out = static_cast<uInt>(std::min<size_t>(left_out, 1u << 30));
    const size_t given_in = z.avail_in, given_out = z.avail_out;
    code = deflate(&z, left_in > kPiece ? Z_NO_FLUSH : Z_FINISH);
    left_in -= given_in - z.avail_in;
    left_out -= given_out - z.avail_out;
    if (code == Z_BUF_ERROR && left_out) code = Z_OK;
  }
  if (code != Z_STREAM_END) return raise_value_error(s, "deflate: %s", z.msg ? z.msg : "no room");
  return make_bytes({out->data, out->size - left_out});
}

// Inflates into `to`, or only counts where that is null. Members of a gzip file that follow each other are one text.
bool inflate_into(Session& s, std::string_view in, int bits, char* to, size_t room_left, size_t& size) {
  Inflating z{};
  if (inflateInit2(&z, bits) != Z_OK) return raise_value_error(s, "inflate: no memory"), false;
  std::string scratch;
  if (!to) scratch.resize(kPiece);
  z.next_in = const_cast<uint8_t*>(raw(in));
  size_t left_in = in.size();
  size = 0;
  for (;;) {
    poll_interrupt(s);
    z.avail_in = static_cast<uInt>(std::min(left_in, kPiece));
    z.avail_out = static_cast<uInt>(to ? std::min(room_left - size, kPiece) : kPiece);
    uint8_t none = 0;
    const bool full = z.avail_out == 0;  // only the end of the stream may still come
    z.next_out = full ? &none : reinterpret_cast<uint8_t*>(to ? to + size : scratch.data());
    if (full) z.avail_out = 1;
    const size_t given_in = z.avail_in, given_out = z.avail_out;
    const int code = inflate(&z, Z_NO_FLUSH);
    const size_t made = given_out - z.avail_out;
    left_in -= given_in - z.avail_in;
    if (full && made) return raise_value_error(s, "damaged compressed data: more of it than is told"), false;
    size += made;
    if (code == Z_STREAM_END) {
      if (bits != 31 || left_in < 2 || z.next_in[0] != 0x1f || z.next_in[1] != 0x8b) return true;
      inflateReset(&z);
    } else if (code != Z_OK) {
      raise_value_error(s, "damaged compressed data (%s)", code == Z_BUF_ERROR || !z.msg ? "it ends early" : z.msg);
      return false;
    }
  }
}

Value inflate_bytes(Session& s, const Args& a) {
  std::string_view in;
  int bits;
  if (!view_of(s, a[0], in) || !window_of(s, a[1], bits)) return Value::error();
  size_t size = 0;
  if (a[2].is_unbound() || a[2].is_none()) {
    if (!inflate_into(s, in, bits, nullptr, 0, size)) return Value::error();
  } else {
    int64_t told;
    if (!to_index(s, a[2], told)) return Value::error();
    if (told < 0 || static_cast<uint64_t>(told) / 1032 > in.size() + 1)  // deflate makes at most 1032 bytes of one
      return raise_value_error(s, "damaged compressed data: %zu bytes cannot hold what is told", in.size());
    size = static_cast<size_t>(told);
  }
  Value out = room(size);
  size_t made = 0;
  if (!inflate_into(s, in, bits, out.as<Bytes>()->data, size, made)) return Value::error();
  if (made != size) return raise_value_error(s, "damaged compressed data: %zu bytes, not %zu", made, size);
  return out;
}

// ---------------------------------------------------------------- check sums

Value crc32_of(Session& s, const Args& a) {
  std::string_view in;
  int64_t start = 0;
  if (!view_of(s, a[0], in)) return Value::error();
  if (!a[1].is_unbound() && !to_index(s, a[1], start)) return Value::error();
  return Value::integer(static_cast<int64_t>(crc32_z(static_cast<uLong>(start), raw(in), in.size())));
}

// Castagnoli's polynomial, reflected, as TFRecord files use it (RFC 3720, B.4).
constexpr std::array<uint32_t, 256> kCrc32c = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0x82f63b78u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}();

Value crc32c_of(Session& s, const Args& a) {
  std::string_view in;
  if (!view_of(s, a[0], in)) return Value::error();
  uint32_t c = ~0u;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i % kPiece == 0) poll_interrupt(s);
    c = kCrc32c[(c ^ raw(in)[i]) & 255] ^ (c >> 8);
  }
  return Value::integer(static_cast<int64_t>(~c));
}

// ---------------------------------------------------------------- PNG rows

uint8_t paeth(int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return static_cast<uint8_t>(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

// Undoes the filters of PNG (RFC 2083, 6): `height` rows of a filter byte and `stride` bytes, pixels `step` bytes
// apart.
Value unfilter(Session& s, const Args& a) {
  std::string_view in;
  int64_t height, stride, step;
  if (!view_of(s, a[0], in) || !to_index(s, a[1], height) || !to_index(s, a[2], stride) || !to_index(s, a[3], step))
    return Value::error();
  if (height < 0 || step < 1 || stride < 1 || static_cast<uint64_t>(stride) >= in.size() ||
      in.size() / static_cast<uint64_t>(stride + 1) < static_cast<uint64_t>(height))
    return raise_value_error(s, "unfilter: rows are missing");
  const size_t n = static_cast<size_t>(stride), bpp = static_cast<size_t>(step);
  Value out = room(static_cast<size_t>(height) * n);
  auto* row = reinterpret_cast<uint8_t*>(out.as<Bytes>()->data);
  const std::vector<uint8_t> zeros(n);
  const uint8_t* above = zeros.data();
  const uint8_t* from = raw(in);
  for (int64_t y = 0; y < height; ++y, above = row, row += n, from += n) {
    poll_interrupt(s);
    const uint8_t filter = *from++;
    if (filter > 4)
      return raise_value_error(s, "row %lld has the filter %d, which PNG does not know", static_cast<long long>(y),
                               filter);
    for (size_t i = 0; i < n; ++i) {
      const int left = i >= bpp ? row[i - bpp] : 0, up = above[i], corner = i >= bpp ? above[i - bpp] : 0;
      const int guess = filter == 0   ? 0
                        : filter == 1 ? left
                        : filter == 2 ? up
                        : filter == 3 ? (left + up) / 2
                                      : paeth(left, up, corner);
      row[i] = static_cast<uint8_t>(from[i] + guess);
    }
  }
  return out;
}

// ---------------------------------------------------------------- JPEG

Value jpeg_pixels(Session& s, const Args& a) {
  std::string_view data;
  if (!view_of(s, a[0], data)) return Value::error();
  jpeg::Reader reader;
  FileProblem p = reader.open(data, poll_word(s));
  if (!p.ok()) return raise_text(s, ExcKind::ValueError, p.text);
  const HeldMemory held(reader.memory());
  const int64_t shape[] = {reader.height(), reader.width(), reader.channels()};
  OURO_TRY(tensor, make_tensor(s, DType::u8, shape));
  auto* to = tensor.as<Tensor>()->data<uint8_t>();
  for (int64_t done = 0; done < shape[0];) {
    poll_interrupt(s);
    if (p = reader.read(to + done * shape[1] * shape[2], 64, done); !p.ok()) {
      poll_interrupt(s);
      return raise_text(s, ExcKind::ValueError, p.text);
    }
  }
  return tensor;
}

// ---------------------------------------------------------------- files

Value write_file(Session& s, const Args& a) {
  std::string path;
  std::string_view data;
  if (!path_of(s, a[0], path) || !view_of(s, a[1], data)) return Value::error();
  AtomicFile file;
  FileProblem p = file.open(path);
  if (p.ok()) p = file.write(data.data(), data.size());
  if (p.ok()) p = file.commit();
  return p.ok() ? Value::none() : raise_os_error(s, p.error_number, a[0]);
}

Value folder_names(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  DIR* folder = opendir(path.c_str());
  if (!folder) return raise_os_error(s, errno, a[0]);
  std::vector<std::string> found;
  while (const dirent* e = readdir(folder)) {
    const std::string_view n = e->d_name;
    if (n != "." && n != "..") found.emplace_back(n);
  }
  closedir(folder);
  std::sort(found.begin(), found.end());
  std::vector<Value> out;
  for (const std::string& n : found) out.push_back(make_str(text::from_system(n)));
  return make_list(out);
}

Value make_folder(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  struct stat st {};
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) == 0) continue;
    const int error_number = errno;
    if (stat(part.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return raise_os_error(s, error_number, a[0]);
  }
  return Value::none();
}

Value remove_file(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  return unlink(path.c_str()) == 0 ? Value::none() : raise_os_error(s, errno, a[0]);
}

constexpr NativeDef kPack[] = {
    {"tensor_of", "data, dtype, shape, offset=0", tensor_of,
     "The tensor whose elements lie in bytes, from an offset on."},
    {"bytes_of", "x, /", bytes_of, "The elements of a tensor as bytes: row-major, little-endian."},
    {"deflate", "data, form, level=6", deflate_bytes, "Compressed bytes; the form is 'raw', 'zlib' or 'gzip'."},
    {"inflate", "data, form, size=None", inflate_bytes,
     "Bytes out of a compressed stream; ValueError if it is damaged or not of the size told."},
    {"crc32", "data, start=0", crc32_of, "The check sum of zip, gzip and PNG."},
    {"crc32c", "data", crc32c_of, "The check sum of TFRecord files."},
    {"unfilter", "rows, height, stride, step", unfilter, "The bytes of a PNG's pixels, its rows' filters undone."},
    {"jpeg_pixels", "data", jpeg_pixels,
     "The pixels of a JPEG image, u8 [h, w, channels]; ValueError if it is damaged."},
    {"write", "path, data", write_file, "Writes a file: whole, or (OSError) not at all."},
    {"names", "folder", folder_names, "The names in a folder, sorted."},
    {"make_folder", "path", make_folder, "Makes a folder, and those above it, where there is none."},
    {"remove", "path", remove_file, "Removes a file."},
};
constexpr NativeModule kPackModule{.name = "ouro.native.pack", .functions = kPack};

}  // namespace

void register_pack_module(Session& s) { s.register_natives(&kPackModule); }

}  // namespace ouro::stdlib
