// The readers refuse every damaged file, and what the writers write is read back.
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "stdlib/native/idx_file.h"
#include "stdlib/native/safetensors_file.h"

namespace fs = std::filesystem;
using namespace ouro;
using namespace ouro::stdlib;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/ouro-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  fs::path path;
};

void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
std::string get(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string with_header(const std::string& json, const std::string& data) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(uint64_t{json.size()} >> (8 * i));
  return out + json + data;
}

std::string problem_of(const Folder& folder, const std::string& bytes) {
  put(folder.file("x"), bytes);
  safetensors::Reader reader;
  return reader.open(folder.file("x")).text;
}

const float kFloats[] = {1.5f, -2.0f, 3.25f, 0.0f, 5.0f, 6.0f};
const unsigned char kBools[] = {1, 0, 1};
const double kDouble[] = {0.1};

safetensors::Header example() {
  safetensors::Header h;
  h.entries.push_back({"b.mask", DType::boolean, {3}, 0, 0, kBools});
  h.entries.push_back({"a \"w\"", DType::f32, {2, 3}, 0, 0, kFloats});
  h.entries.push_back({"none", DType::i64, {0, 4}, 0, 0, nullptr});
  h.entries.push_back({"zero", DType::f64, {}, 0, 0, kDouble});
  h.metadata = {{"epoch", "3"}, {"text", "line\nü \"q\" \\"}};
  return h;
}

}  // namespace

TEST_CASE("safetensors_round_trip", "[stdlib]") {
  Folder folder;
  std::string path = folder.file("m.safetensors");
  REQUIRE(safetensors::write(path, example()).ok());
  CHECK(folder.count() == 1);
  safetensors::Reader reader;
  FileProblem p = reader.open(path);
  REQUIRE(p.text == "");
  REQUIRE(p.ok());
  CHECK(reader.header().metadata == example().metadata);
  REQUIRE(reader.header().entries.size() == 4);
  for (const safetensors::Entry& e : reader.header().entries) {
    std::string bytes(e.bytes(), '\0');
    REQUIRE(reader.read(e, bytes.data()).ok());
    for (const safetensors::Entry& want : example().entries) {
      if (want.name != e.name) continue;
      CHECK(want.shape == e.shape);
      CHECK(want.dtype == e.dtype);
      if (!bytes.empty()) CHECK(std::memcmp(bytes.data(), want.data, bytes.size()) == 0);
    }
  }
  CHECK(get(path).size() % 8 == 3);  // 8-aligned data, 3 bools last
}

TEST_CASE("safetensors_refuses_what_is_wrong", "[stdlib]") {
  Folder folder;
  auto one = [&](const std::string& json, size_t bytes) {
    return problem_of(folder, with_header(json, std::string(bytes, 'x')));
  };
  CHECK(problem_of(folder, "") == "0 bytes are too few for a safetensors file");
  CHECK(problem_of(folder, std::string(8, '\xff')).find("not a safetensors file") != std::string::npos);
  CHECK(problem_of(folder, std::string("\x10\0\0\0\0\0\0\0{", 9)).find("the file ends after 1") != std::string::npos);
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(one("{" + a + "}", 8) == "");
  CHECK(one("{" + a + "}", 7) == "'a': its data ends at byte 8, the file's at 7");
  CHECK(one("{" + a + "}", 9) == "1 bytes stand behind the last tensor");
  CHECK(one("{" + a + "," + a + "}", 8) == "the name 'a' stands twice");
  CHECK(one("{" + a, 8).find("not JSON") != std::string::npos);
  CHECK(one("[]", 0).find("does not start with '{'") != std::string::npos);
  CHECK(one(R"({"a":3})", 0) == "'a' is no JSON object");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[2]}})", 0).find("is missing") != std::string::npos);
  CHECK(one(R"({"a":{"dtype":"F9","shape":[],"data_offsets":[0,4]}})", 4) == "'a': dtype 'F9' is not known here");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4).find("2^63") != std::string::npos);
  CHECK(one(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4).find("2^63") != std::string::npos);
  CHECK(one(R"({"a":{"dtype":"F32","shape":"x","data_offsets":[0,4]}})", 4) == "'a': a value of the wrong kind");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4) == "'a': a value of the wrong kind");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4) == "'a': data_offsets run backwards");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4) ==
        "'a': data_offsets are not two numbers");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0) ==
        "'a': its data has 0 bytes, f32[4611686018427387904, 4] needs more than 2^64");
  CHECK(one(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8).find("needs 12") != std::string::npos);
  const std::string b = R"("b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]})";
  CHECK(one("{" + a + "," + b + "}", 10) == "'b': its data overlaps another tensor's");
  const std::string c = R"("c":{"dtype":"U8","shape":[4],"data_offsets":[10,14]})";
  CHECK(one("{" + a + "," + c + "}", 14) == "'c': there is a hole of 2 bytes before its data");
  CHECK(one(R"({"__metadata__":{"k":1}})", 0) == "__metadata__: a value is no string");
  CHECK(one(R"({"__metadata__":{"k":"v"}})", 0) == "");
  CHECK(one("{" + std::string(100000, '['), 0) != "");
  CHECK(one(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":{"x":[1,{"y":2}]}}})", 1) == "");
}

TEST_CASE("safetensors_survives_any_damage", "[stdlib]") {
  Folder folder;
  REQUIRE(safetensors::write(folder.file("m"), example()).ok());
  const std::string whole = get(folder.file("m"));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (unsigned k = 0; k <= random() % 3; ++k) bytes[random() % 300] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    put(folder.file("x"), bytes);
    safetensors::Reader reader;
    if (!reader.open(folder.file("x")).ok()) continue;
    for (const safetensors::Entry& e : reader.header().entries) {
      std::string data(e.bytes(), '\0');
      CHECK(reader.read(e, data.data()).ok());
    }
  }
}

TEST_CASE("safetensors_keeps_the_old_file_when_the_disk_is_full", "[stdlib]") {
  Folder folder;
  std::string path = folder.file("m");
  REQUIRE(safetensors::write(path, example()).ok());
  const std::string before = get(path);
  std::vector<float> large(1 << 16);
  safetensors::Header h;
  h.entries.push_back({"large", DType::f32, {1 << 16}, 0, 0, large.data()});
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit low{10000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &low);
  FileProblem p = safetensors::write(path, h);
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(p.error_number == EFBIG);
  CHECK(get(path) == before);
  CHECK(folder.count() == 1);
  REQUIRE(safetensors::write(path, h).ok());
  CHECK(folder.count() == 1);
  CHECK(safetensors::write(folder.file("no/such"), h).error_number == ENOENT);
}

TEST_CASE("idx_reads_plain_and_gzip_and_refuses_damage", "[stdlib]") {
  Folder folder;
  const std::string plain("\0\0\x0B\2\0\0\0\2\0\0\0\3\0\1\0\2\xff\xff\1\0\0\0\0\7", 24);
  auto read = [&](const std::string& bytes, std::vector<int16_t>* out = nullptr) -> std::string {
    put(folder.file("x"), bytes);
    idx::Reader reader;
    if (FileProblem p = reader.open(folder.file("x")); !p.ok()) return p.text;
    std::vector<int16_t> data(reader.header().bytes / 2 + 1);
    if (FileProblem p = reader.read(data.data()); !p.ok()) return p.text;
    if (out) *out = data;
    return "";
  };
  std::vector<int16_t> out;
  CHECK(read(plain, &out) == "");
  CHECK(std::vector<int16_t>(out.begin(), out.begin() + 6) == std::vector<int16_t>{1, 2, -1, 256, 0, 7});
  gzFile gz = gzopen(folder.file("g").c_str(), "wb");
  gzwrite(gz, plain.data(), static_cast<unsigned>(plain.size()));
  gzclose(gz);
  const std::string packed = get(folder.file("g"));
  out.clear();
  CHECK(read(packed, &out) == "");
  CHECK(out[3] == 256);
  for (size_t n = 0; n < plain.size(); ++n) CHECK(read(plain.substr(0, n)) != "");
  for (size_t n = 0; n < packed.size(); ++n) {
    CAPTURE(n);
    CHECK(read(packed.substr(0, n)) != "");
  }
  CHECK(read(plain + "x") == "more bytes than its header says");
  CHECK(read("hello world").find("not an IDX file") != std::string::npos);
  CHECK(read(std::string("\0\0\x0E\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16)).find("does not fit") !=
        std::string::npos);
  std::string damaged = packed;
  damaged[damaged.size() - 5] = static_cast<char>(damaged[damaged.size() - 5] ^ 1);  // the CRC
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
  CHECK(read(damaged).find("damaged gzip data") != std::string::npos);
}
