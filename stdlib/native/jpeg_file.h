// JPEG images (ITU T.81) in memory, by libjpeg-turbo. Knows no session.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/machine/client.h"
#include "stdlib/native/file_problem.h"

namespace ouro::stdlib::jpeg {

struct Decoder;  // libjpeg's state

class Reader {
 public:
  Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader();
  // Reads the header; `data` must outlive this. Grey images have one channel, all others become RGB.
  // Reading ends early, as a problem, where it is asked to stop.
  [[nodiscard]] FileProblem open(std::string_view data, runtime::PollWord poll = nullptr);
  // Bytes that libjpeg takes to read it, at most.
  size_t memory() const;
  int64_t height() const;
  int64_t width() const;
  int64_t channels() const;
  // Reads up to `rows` rows of width() pixels, channels side by side; how many there were is added to `done`.
  [[nodiscard]] FileProblem read(uint8_t* to, int64_t rows, int64_t& done);

 private:
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace ouro::stdlib::jpeg
