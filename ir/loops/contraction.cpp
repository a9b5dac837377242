#include "ir/loops/contraction.h"

#include <vector>

namespace ouro::ir::loops {
namespace {

// The one form: loops over the result, a sum of products, a store.
class Contraction {
 public:
  Contraction(DType dtype, bool round_operands) : round_(round_operands && dtype == DType::f32) {
    for (Access a : {Access::in, Access::in, Access::out}) b.buffer(dtype, a);
  }

  // A loop over the result, inside of those before it.
  NodeId loop(NodeId extent) { return add(loops_, extent); }
  // A contracted variable, faster than those before it.
  NodeId sum(NodeId extent) { return add(sums_, extent); }

  NodeId load(uint32_t buffer, NodeId at, NodeId condition = NodeId::none) {
    DType t = loaded_type(b.kernel().buffers[buffer].type);
    NodeId v = condition == NodeId::none ? b.load(buffer, at) : b.load_if(buffer, at, condition, b.constant(t, 0));
    return round_ ? b.leaf(Leaf::cast, t, b.leaf(Leaf::cast, DType::bf16, v)) : v;
  }

  Kernel finish(NodeId x, NodeId y, NodeId at) {
    DType t = b.node(x).type;
    Stmt sum{.kind = Stmt::Kind::reduce, .order = ReduceOrder::serial};
    for (const Var& v : sums_) sum.vars.push_back(v.id), sum.extents.push_back(v.extent);
    sum.combine.push_back(Leaf::add);
    sum.values.push_back(b.leaf(Leaf::mul, t, x, y));
    sum.results.push_back(b.result());
    Stmt store{.kind = Stmt::Kind::store, .buffer = 2, .at = at, .value = b.result_node(sum.results[0], t)};
    std::vector<Stmt> body{std::move(sum), std::move(store)};
    for (size_t i = loops_.size(); i-- > 0;) {
      Stmt loop{.kind = Stmt::Kind::parallel, .vars = {loops_[i].id}, .extents = {loops_[i].extent}};
      loop.body = std::move(body);
      body = {std::move(loop)};
    }
    b.body() = std::move(body);
    return b.finish();
  }

  KernelBuilder b;

 private:
  struct Var {
    uint32_t id;
    NodeId extent;
  };
  NodeId add(std::vector<Var>& to, NodeId extent) {
    to.push_back({b.var(), extent});
    return b.var_node(to.back().id);
  }
  bool round_;
  std::vector<Var> loops_, sums_;
};

class ConvolutionBuilder {
 public:
  explicit ConvolutionBuilder(const ConvolutionForm& form) : f_(form), c_(form.dtype, form.round_operands) {
    batch_ = b().size(), in_channels_ = b().size(), out_channels_ = b().size();
    for (auto* dims : {&in_, &out_, &kernel_})
      for (int d = 0; d < f_.rank; ++d) dims->push_back(b().size());
  }

  Kernel build() {
    switch (f_.kind) {
      case ConvolutionForm::Kind::forward:
        return forward();
      case ConvolutionForm::Kind::input:
        return input();
      case ConvolutionForm::Kind::weight:
        break;
    }
    return weight();
  }

 private:
  using Nodes = std::vector<NodeId>;
  KernelBuilder& b() { return c_.b; }

  Nodes loops(const Nodes& extents) {
    Nodes v;
    for (NodeId e : extents) v.push_back(c_.loop(e));
    return v;
  }
  Nodes sums(const Nodes& extents) {
    Nodes v;
    for (NodeId e : extents) v.push_back(c_.sum(e));
    return v;
  }
  NodeId both(NodeId a, NodeId x) { return a == NodeId::none ? x : b().leaf(Leaf::and_, DType::boolean, a, x); }
  NodeId in_group(NodeId channels) { return b().ix(Leaf::idiv, channels, b().ix(f_.groups)); }
  NodeId group_loop() { return f_.groups == 1 ? b().ix(0) : c_.loop(b().ix(f_.groups)); }
  NodeId channel(NodeId group, NodeId channels, NodeId c) {
    return b().ix_add(b().ix_mul(group, in_group(channels)), c);
  }

  // Element [n, c, at...] of a dense tensor with these inner extents.
  NodeId element(NodeId n, NodeId channels, NodeId c, const Nodes& extents, const Nodes& at) {
    NodeId i = b().ix_add(b().ix_mul(n, channels), c);
    for (size_t d = 0; d < at.size(); ++d) i = b().ix_add(b().ix_mul(i, extents[d]), at[d]);
    return i;
  }
  NodeId weight_element(NodeId out_channel, NodeId c, const Nodes& tap) {
    return element(out_channel, in_group(in_channels_), c, kernel_, tap);
  }

  // The image at each place's tap: place * stride + tap * dilation - padding, 0 outside.
  NodeId image(uint32_t buffer, NodeId n, NodeId c, const Nodes& place, const Nodes& tap) {
    NodeId inside = NodeId::none;
    Nodes at;
    for (size_t d = 0; d < place.size(); ++d) {
      NodeId p = b().ix_add(b().ix_mul(place[d], b().ix(f_.stride[d])), b().ix_mul(tap[d], b().ix(f_.dilation[d])));
      if (f_.padding[d] > 0) {
        NodeId pad = b().ix(f_.padding[d]);
        inside = both(inside, b().leaf(Leaf::ge, DType::boolean, p, pad));
        inside = both(inside, b().leaf(Leaf::lt, DType::boolean, p, b().ix_add(in_[d], pad)));
        p = b().ix(Leaf::sub, b().ix(Leaf::max, p, pad), pad);
      }
      at.push_back(p);
    }
    return c_.load(buffer, element(n, in_channels_, c, in_, at), inside);
  }

  // The result at the place whose tap the pixel is: (pixel + padding - tap * dilation) / stride, 0 where there is none.
  NodeId result(uint32_t buffer, NodeId n, NodeId c, const Nodes& pixel, const Nodes& tap) {
    NodeId inside = NodeId::none;
    Nodes at;
    for (size_t d = 0; d < pixel.size(); ++d) {
      NodeId p = b().ix_add(pixel[d], b().ix(f_.padding[d])), shift = b().ix_mul(tap[d], b().ix(f_.dilation[d]));
      NodeId step = b().ix(f_.stride[d]);
      inside = both(inside, b().leaf(Leaf::ge, DType::boolean, p, shift));
      NodeId ahead = b().ix(Leaf::sub, b().ix(Leaf::max, p, shift), shift), place = b().ix(Leaf::idiv, ahead, step);
      if (f_.stride[d] > 1)
        inside = both(inside, b().leaf(Leaf::eq, DType::boolean, b().ix(Leaf::irem, ahead, step), b().ix(0)));
      inside = both(inside, b().leaf(Leaf::lt, DType::boolean, place, out_[d]));
      at.push_back(place);
    }
    return c_.load(buffer, element(n, out_channels_, c, out_, at), inside);
  }

  Kernel forward() {
    NodeId n = c_.loop(batch_), g = group_loop(), oc = channel(g, out_channels_, c_.loop(in_group(out_channels_)));
    Nodes place = loops(out_);
    NodeId c = c_.sum(in_group(in_channels_));
    Nodes tap = sums(kernel_);
    return c_.finish(image(0, n, channel(g, in_channels_, c), place, tap), c_.load(1, weight_element(oc, c, tap)),
                     element(n, out_channels_, oc, out_, place));
  }

  Kernel input() {
    NodeId n = c_.loop(batch_), g = group_loop(), c = c_.loop(in_group(in_channels_));
    Nodes pixel = loops(in_);
    NodeId oc = channel(g, out_channels_, c_.sum(in_group(out_channels_)));
    Nodes tap = sums(kernel_);
    return c_.finish(result(0, n, oc, pixel, tap), c_.load(1, weight_element(oc, c, tap)),
                     element(n, in_channels_, channel(g, in_channels_, c), in_, pixel));
  }

  Kernel weight() {
    NodeId g = group_loop(), oc = channel(g, out_channels_, c_.loop(in_group(out_channels_)));
    NodeId c = c_.loop(in_group(in_channels_));
    Nodes tap = loops(kernel_);
    NodeId n = c_.sum(batch_);
    Nodes place = sums(out_);
    return c_.finish(c_.load(0, element(n, out_channels_, oc, out_, place)),
                     image(1, n, channel(g, in_channels_, c), place, tap), weight_element(oc, c, tap));
  }

  const ConvolutionForm& f_;
  Contraction c_;
  NodeId batch_, in_channels_, out_channels_;
  Nodes in_, out_, kernel_;
};

}  // namespace

Kernel matmul_kernel(const MatmulForm& f) {
  Contraction c(f.dtype, f.round_operands);
  KernelBuilder& b = c.b;
  NodeId m = b.size(), n = b.size(), k = b.size();
  NodeId offset[3] = {b.ix(0), b.ix(0), b.ix(0)};
  if (f.batched) {
    NodeId product = c.loop(b.size());
    for (NodeId& o : offset) o = b.ix_mul(product, b.size());
  }
  NodeId i = c.loop(m), j = c.loop(n), p = c.sum(k);
  auto element = [&](int operand, NodeId row, NodeId width, NodeId column) {
    return b.ix_add(offset[operand], b.ix_add(b.ix_mul(row, width), column));
  };
  NodeId a = f.a_transposed ? element(0, p, m, i) : element(0, i, k, p);
  NodeId y = f.b_transposed ? element(1, j, k, p) : element(1, p, n, j);
  return c.finish(c.load(0, a), c.load(1, y), element(2, i, n, j));
}

Kernel convolution_kernel(const ConvolutionForm& form) { return ConvolutionBuilder(form).build(); }

}  // namespace ouro::ir::loops
