#include "stdlib/native/jpeg_file.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>  // needs <cstdio> before it
// after jpeglib.h
#include <jerror.h>

namespace ouro::stdlib::jpeg {

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = "";
  jpeg_progress_mgr watcher{};
  bool begun = false, ended = false;
  runtime::PollWord poll = nullptr;
};

namespace {

// A block of 64 pixels takes a bit at least, so a larger image is not in the file.
constexpr uint64_t kMostExpansion = 512;
constexpr int kMostScans = 500;  // of a progressive image: each is a walk over all of it

Decoder& of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  Decoder& d = of(info);
  (*info->err->format_message)(info, d.text);
  std::longjmp(d.jump, 1);
}

// libjpeg goes on with grey where data is missing: here that is an error.
void message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) leave(info);
}

// At each row of blocks of each scan.
void watch(j_common_ptr info) {
  Decoder& d = of(info);
  if (runtime::stop_asked(d.poll))
    std::snprintf(d.text, sizeof d.text, "interrupted");
  else if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
    std::snprintf(d.text, sizeof d.text, "more than %d scans", kMostScans);
  else
    return;
  std::longjmp(d.jump, 1);
}

FileProblem damaged(const Decoder& d) { return FileProblem::format(std::string("damaged JPEG data (") + d.text + ")"); }

// Between setjmp and longjmp stands nothing that has a destructor.
bool start(Decoder& d, const unsigned char* data, size_t size) {
  if (setjmp(d.jump)) return false;
  jpeg_create_decompress(&d.info);  // keeps err and client_data
  d.watcher.progress_monitor = watch;
  d.info.progress = &d.watcher;
  jpeg_mem_src(&d.info, data, static_cast<unsigned long>(size));
  jpeg_read_header(&d.info, TRUE);
  d.info.out_color_space = d.info.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  d.info.dct_method = JDCT_ISLOW;
  jpeg_calc_output_dimensions(&d.info);
  return true;
}

[[gnu::noinline]] void decode(Decoder& d, uint8_t* to, int64_t rows, int64_t& done) {
  if (!d.begun) {
    d.begun = true;
    jpeg_start_decompress(&d.info);
  }
  const size_t stride = size_t{d.info.output_width} * static_cast<size_t>(d.info.output_components);
  for (; rows > 0 && d.info.output_scanline < d.info.output_height; --rows, ++done, to += stride) {
    JSAMPROW row = to;
    jpeg_read_scanlines(&d.info, &row, 1);
  }
  if (!d.ended && d.info.output_scanline == d.info.output_height) {
    d.ended = true;
    jpeg_finish_decompress(&d.info);
  }
}

bool rows_of(Decoder& d, uint8_t* to, int64_t rows, int64_t& done) {
  if (setjmp(d.jump)) return false;
  decode(d, to, rows, done);
  return true;
}

}  // namespace

Reader::Reader() : decoder_(std::make_unique<Decoder>()) {
  Decoder& d = *decoder_;
  d.info.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = leave;
  d.errors.emit_message = message;
  d.info.client_data = &d;
}

Reader::~Reader() { jpeg_destroy_decompress(&decoder_->info); }

FileProblem Reader::open(std::string_view data, runtime::PollWord poll) {
  Decoder& d = *decoder_;
  d.poll = poll;
  if (!start(d, reinterpret_cast<const unsigned char*>(data.data()), data.size())) return damaged(d);
  if (uint64_t{d.info.output_width} * d.info.output_height / kMostExpansion > data.size())
    return FileProblem::format("damaged JPEG data (its header tells of more pixels than the file can hold)");
  return {};
}

int64_t Reader::height() const { return decoder_->info.output_height; }
int64_t Reader::width() const { return decoder_->info.output_width; }
int64_t Reader::channels() const { return decoder_->info.out_color_space == JCS_GRAYSCALE ? 1 : 3; }

// The coefficients of an image of several scans are all kept; else a few rows of blocks.
size_t Reader::memory() const {
  constexpr size_t kTables = size_t{1} << 17, kRows = 64;
  jpeg_decompress_struct& info = decoder_->info;
  size_t bytes = kTables + kRows * info.output_width * static_cast<size_t>(info.num_components);
  if (!jpeg_has_multiple_scans(&info)) return bytes;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& c = info.comp_info[i];
    auto whole = [](size_t blocks, int factor) { return blocks + static_cast<size_t>(factor); };
    bytes += whole(c.width_in_blocks, c.h_samp_factor) * whole(c.height_in_blocks, c.v_samp_factor) * sizeof(JBLOCK);
  }
  return bytes;
}

FileProblem Reader::read(uint8_t* to, int64_t rows, int64_t& done) {
  return rows_of(*decoder_, to, rows, done) ? FileProblem{} : damaged(*decoder_);
}

}  // namespace ouro::stdlib::jpeg
