// Runs the tensor lets of a typed function twice: value by value through the reference evaluator, and as clusters on
// the host.
#pragma once

#include "ir/loops/cluster.h"
#include "ir/ops/registry.h"
#include "ir/read.h"
#include "kernel_fixture.h"

namespace ouro::test {

inline ir::FunctionRef read_function(const std::string& text) {
  ir::ReadResult r = ir::read(text);
  if (!r.function) throw std::runtime_error(r.error);
  return r.function;
}

struct GraphRun {
  std::map<ir::loops::ValueId, std::vector<char>> buffers;
  std::string text;
  size_t kernels = 0;
};

/// Symbols have the value 5 + symbol. Scalar names have the value 0.25 (or 3 as integers).
inline GraphRun run_graph(const ir::loops::Graph& g, const ir::loops::Clustering& c, bool on_host) {
  using namespace ir::loops;
  GraphRun run;
  auto number = [](const Poly& p) { return p.evaluate([](uint32_t s) { return 5 + static_cast<int64_t>(s); }); };
  auto count = [&](ValueId v) {
    int64_t n = 1;
    for (const Poly& d : g[v].dims) n *= number(d);
    return static_cast<size_t>(n);
  };
  for (ValueId v = 0; v < g.values.size(); ++v) {
    bool input = g[v].is<form::Input>() || g[v].is<form::Opaque>();
    if (!input && !c.stored[v]) continue;
    run.buffers[v] = random_elements(g[v].type, count(v), 17 + v, false);
    if (input && g[v].type == DType::i64)
      for (size_t i = 0; i < count(v); ++i)
        reinterpret_cast<int64_t*>(run.buffers[v].data())[i] = static_cast<int64_t>(i * 7 % 3);
    if (!input) std::memset(run.buffers[v].data(), 0xCD, run.buffers[v].size());
  }
  for (const Step& s : c.steps) {
    if (s.kind != Step::Kind::kernel) continue;
    LoweredKernel k = lower(g, s.cluster, c.root);
    ++run.kernels;
    run.text += print(k.kernel);
    INFO(print(k.kernel));
    REQUIRE(verify(k.kernel) == "");
    std::vector<void*> p;
    for (ValueId v : k.buffers) {
      REQUIRE(run.buffers.count(v));
      p.push_back(run.buffers[v].data());
    }
    std::vector<int64_t> sizes;
    for (const Poly& x : k.sizes) sizes.push_back(number(x));
    sizes.resize(std::max<size_t>(sizes.size(), k.kernel.sizes));
    std::vector<runtime::ScalarArg> scalars;
    for (const Use& u : k.scalars) {
      runtime::ScalarArg a;
      if (is_float(u.type))
        a.f = 0.25;
      else
        a.i = 3;
      scalars.push_back(a);
    }
    int64_t range = number(k.range);
    REQUIRE(range == backends::launch_range(k.kernel, sizes.data()));
    std::vector<std::vector<char>> before;
    if (kernel_sink)
      for (ValueId v : k.buffers) before.push_back(run.buffers[v]);
    if (on_host && !kernel_sink) {
      std::string error;
      const Kernel* kernels[] = {&k.kernel};
      auto module = host().compile(kernels, error);
      INFO(error);
      REQUIRE(module);
      REQUIRE(host().launch(*module, 0, {p.data(), sizes.data(), scalars.data(), range, 1}, 1, error));
    } else {
      backends::evaluate(k.kernel, p.data(), sizes.data(), scalars.data(), 0, range);
    }
    if (kernel_sink && on_host) {
      std::vector<std::vector<char>> after;
      for (ValueId v : k.buffers) after.push_back(run.buffers[v]);
      kernel_sink({k.kernel, before, after, sizes, scalars});
    }
  }
  return run;
}

/// Every value in a kernel of its own and in memory.
inline ir::loops::Clustering unfused(const ir::loops::Graph& g) {
  using namespace ir::loops;
  Clustering c;
  c.stored.assign(g.values.size(), false);
  for (ValueId v = 0; v < g.values.size(); ++v) {
    const Value& x = g[v];
    c.root.push_back(x.is<form::Reshape>() ? c.root[x.inputs[0].value] : v);
    if (x.is<form::Input>() || x.is<form::Opaque>() || x.is<form::Reshape>()) continue;
    c.stored[v] = true;
    Step s{.kind = Step::Kind::kernel, .cluster = {}};
    s.cluster.members = s.cluster.outputs = {v};
    s.cluster.outer = x.dims;
    c.steps.push_back(std::move(s));
  }
  return c;
}

/// The clusters of the entry block give the bits of the operations one by one. Returns how many kernels there are.
inline size_t check_clusters(const std::string& function, std::string* text = nullptr) {
  ir::FunctionRef f = read_function(function);
  ir::loops::Graph g = ir::loops::build_graph(*f, ir::BlockId{0});
  ir::loops::Clustering fused = ir::loops::cluster(g);
  INFO(print(g));
  INFO(print(g, fused));
  GraphRun expected = run_graph(g, unfused(g), false);
  GraphRun reference = run_graph(g, fused, false), actual = run_graph(g, fused, true);
  if (text) *text = actual.text;
  for (ir::loops::ValueId v = 0; v < g.values.size(); ++v) {
    if (!g.live_out[v]) continue;
    ir::loops::ValueId r = fused.root[v];
    INFO("value v" << v << "\n" << actual.text);
    CHECK(!g[v].is<ir::loops::form::Opaque>());
    canonical_nans(g[r].type, expected.buffers[r]);
    canonical_nans(g[r].type, actual.buffers[r]);
    canonical_nans(g[r].type, reference.buffers[r]);
    size_t bytes = expected.buffers[r].size() - 64;
    CHECK(std::memcmp(reference.buffers[r].data(), expected.buffers[r].data(), bytes) == 0);
    CHECK(std::memcmp(actual.buffers[r].data(), expected.buffers[r].data(), bytes) == 0);
  }
  return actual.kernels;
}

}  // namespace ouro::test
