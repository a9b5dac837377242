#include "jit/cache/remembered_store.h"

#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jit/cache/build_id.h"
#include "runtime/machine/machine_files.h"
#include "runtime/object/session.h"
#include "support/source.h"

namespace ouro::jit {

namespace {

// "model name : ..." of the first processor.
std::string processor() {
  std::ifstream file(runtime::machine_file("/proc/cpuinfo"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line;
  return {};
}

class OnDisk final : public runtime::RememberedStore {
 public:
  OnDisk(runtime::Session& s, std::shared_ptr<CodeCache> cache, std::string_view subject)
      : session_(s), cache_(std::move(cache)), subject_(subject) {}

  std::string load() override {
    std::string script;
    if (session_.argv.empty() || !read_file(session_.argv[0], script)) return {};
    std::vector<std::string> texts = {build_id(), subject_, processor(),
                                      std::to_string(std::thread::hardware_concurrency()), script};
    texts.insert(texts.end(), session_.argv.begin() + 1, session_.argv.end());
    key_ = digest_of(std::vector<std::string_view>(texts.begin(), texts.end()));
    known_ = true;
    return cache_->load_text(key_);
  }
  void store(std::string_view text) override {
    if (known_) cache_->store_text(key_, text);
  }

 private:
  runtime::Session& session_;
  std::shared_ptr<CodeCache> cache_;
  const std::string subject_;
  Digest key_{};
  bool known_ = false;
};

}  // namespace

std::unique_ptr<runtime::RememberedStore> remembered_on_disk(runtime::Session& s, std::shared_ptr<CodeCache> cache,
                                                             std::string_view subject) {
  return std::make_unique<OnDisk>(s, std::move(cache), subject);
}

}  // namespace ouro::jit
