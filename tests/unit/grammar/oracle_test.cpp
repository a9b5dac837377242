// The comparisons with CPython, as test cases: the scripts in tests/grammar do the work.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace {

// The program made from tests/grammar/ast_dump.cpp stands beside this one.
std::string dump_program() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  REQUIRE(n > 0);
  std::string self(path, static_cast<size_t>(n));
  return self.substr(0, self.rfind('/')) + "/ast_dump";
}

int run_script(const char* name) {
  std::string command =
      "/usr/bin/python3 " OURO_SOURCE_DIR "/tests/grammar/" + std::string(name) + " " + dump_program() + " 1>&2";
  return std::system(command.c_str());
}

}  // namespace

TEST_CASE("trees and positions of the corpus are those of python3") { CHECK(run_script("check_ast.py") == 0); }
TEST_CASE("messages for wrong programs are those of python3") { CHECK(run_script("check_errors.py") == 0); }
