// `ouro run --profile`: where the time goes, by source line and by kernel, and a trace for a viewer (chrome://tracing,
// Perfetto).
#pragma once

#include <memory>
#include <string>

#include "runtime/interpreter/sampler.h"
#include "runtime/object/session.h"

namespace ouro::tools {

class Profile {
 public:
  /// Begins to look at the session, on its own thread.
  explicit Profile(runtime::Session& s);
  /// Ends that. The tables, and the trace in the file; `error` in words when it cannot be written.
  std::string finish(const std::string& trace_file, std::string& error);

 private:
  std::string lines_text();
  std::string kernels_text();
  bool write_trace(const std::string& file, std::string& error);

  runtime::Session& s_;
  const uint64_t begun_;
  std::unique_ptr<runtime::Sampler> sampler_;
};

}  // namespace ouro::tools
