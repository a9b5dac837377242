// The IDX format of MNIST and its kin (LeCun, http://yann.lecun.com/exdb/mnist), plain or gzip'ed:
//
//     0 0 type dims | dims big-endian u32 sizes | elements, row-major, big-endian
//
// type: 08 u8, 09 i8, 0B i16, 0C i32, 0D f32, 0E f64.
#pragma once

#include <string>
#include <vector>

#include "stdlib/native/file_problem.h"
#include "support/dtype.h"

namespace ouro::stdlib::idx {

struct Header {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;  // of the elements
};

class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();
  // Reads the header. A size that the file cannot hold is a problem here, before memory is asked
  // for.
  [[nodiscard]] FileProblem open(const std::string& path);
  const Header& header() const { return header_; }
  // Reads the elements into header().bytes bytes, in the machine's order; the file must end there.
  [[nodiscard]] FileProblem read(void* to);

 private:
  FileProblem fill(void* to, uint64_t size, std::string_view what);
  void* file_ = nullptr;  // gzFile
  Header header_;
};

}  // namespace ouro::stdlib::idx
