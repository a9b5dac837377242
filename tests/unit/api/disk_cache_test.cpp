// A host's sessions use the disk cache only where the host or the environment asks for it.
#include <cstdlib>
#include <filesystem>

#include "fixture.h"

using namespace ouro;
namespace fs = std::filesystem;

namespace {

// The environment of one case, in a folder of its own.
struct Environment {
  std::string folder;
  explicit Environment(const char* ouro_cache) {
    std::string pattern = (fs::temp_directory_path() / "ouro-cache-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    if (ouro_cache)
      setenv("OURO_CACHE", ouro_cache, 1);
    else
      unsetenv("OURO_CACHE");
  }
  ~Environment() { fs::remove_all(folder); }

  size_t entries() const {
    size_t n = 0;
    if (fs::exists(folder + "/ouro/code"))
      for (const auto& e : fs::directory_iterator(folder + "/ouro/code")) n += e.path().extension() == ".code";
    return n;
  }
};

std::string run(bool disk_cache) {
  Options o;
  o.mode = Mode::graph;
  o.disk_cache = disk_cache;
  Session s(o);
  return std::string(*after(s, "def f(x): return (x * 0.3 + 1.0).sum()\ny = repr(f(ones(100)).item())", "y").as_str());
}

}  // namespace

TEST_CASE("compiled code is kept where the host asks for it") {
  Environment e(nullptr);
  std::string expected = run(false);
  CHECK(e.entries() == 0);
  CHECK(run(true) == expected);
  CHECK(e.entries() == 1);
  CHECK(run(true) == expected);
  CHECK(e.entries() == 1);
}

TEST_CASE("the environment has the last word on the disk cache") {
  {
    Environment e("off");
    run(true);
    CHECK(e.entries() == 0);
  }
  {
    Environment e("on");
    run(false);
    CHECK(e.entries() == 1);
  }
  {
    Environment e("nonsense");
    run(false);
    CHECK(e.entries() == 0);
  }
}
