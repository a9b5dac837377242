// Inference of dtypes and shapes, concrete and symbolic, and its messages.
#include <catch2/catch.hpp>

#include "ir/ops/sig.h"

using namespace ouro;
using namespace ouro::ir;

namespace {

TensorType f32(std::vector<Dim> d) { return {DType::f32, std::move(d), false}; }
TensorType of(DType t, std::vector<Dim> d) { return {t, std::move(d), false}; }
Param list(std::vector<Param> l) {
  Param p;
  p.kind = Param::Kind::list;
  p.list = std::move(l);
  return p;
}

struct Result {
  bool ok;
  std::string text;
};
Result call(std::string_view name, std::vector<std::optional<TensorType>> in, std::vector<Param> params = {}) {
  SigCall c;
  c.op = find_op(name);
  for (size_t i = params.size(); i < c.op->param_at.size(); ++i)
    params.push_back(default_of(c.op->params[c.op->param_at[i]]));
  c.inputs = in, c.params = params;
  if (!infer(c)) return {false, c.error->kind + ": " + c.error->text};
  return {true, std::string(ouro::name(c.results[0].dtype)) + to_text(c.results[0].dims)};
}

}  // namespace

TEST_CASE("messages name the operation, the shapes and what does not fit") {
  CHECK(call("matmul", {f32({dim(64), dim(784)}), f32({dim(256), dim(10)})}).text ==
        "ValueError: matmul: (64, 784) and (256, 10) do not multiply: 784 is not 256");
  CHECK(call("add", {f32({dim(3)}), f32({dim(4)})}).text == "ValueError: add: (3,) and (4,) do not broadcast");
  CHECK(call("sum", {f32({dim(3)})}, {Param::of(1)}).text ==
        "IndexError: sum: axis 1 is out of range for a tensor of 1 dimensions");
  CHECK(call("reshape", {f32({dim(2), dim(3)})}, {list({Param::of(4), Param::of(2)})}).text ==
        "ValueError: reshape: a tensor of shape (2, 3) has 6 elements, which do not fit (4, 2)");
  CHECK(call("sub", {of(DType::boolean, {dim(1)}), of(DType::boolean, {dim(1)})})
            .text.starts_with("TypeError: sub: not defined for bool and bool"));
  CHECK(call("bitwise_and", {f32({dim(1)}), f32({dim(1)})}).text ==
        "TypeError: bitwise_and: integers or bools expected, not f32 and f32");
  CHECK(call("amax", {f32({dim(0)})}).text == "ValueError: amax: an empty axis has no extremum; the shape is (0,)");
  CHECK(call("cat", {f32({dim(2), dim(3)}), f32({dim(2), dim(4)})}).text ==
        "RuntimeError: cat: (2, 3) and (2, 4) do not fit along axis 0");
}

TEST_CASE("dtypes follow PyTorch") {
  CHECK(call("div", {of(DType::i64, {}), of(DType::i64, {})}).text == "f32()");
  CHECK(call("add", {of(DType::i32, {dim(2)}), of(DType::i64, {})}).text == "i32(2,)");
  CHECK(call("add", {of(DType::i32, {dim(2)}), TensorType{DType::f32, {}, true}}).text == "f32(2,)");
  CHECK(call("add", {of(DType::f16, {dim(2)}), TensorType{DType::f32, {}, true}}).text == "f16(2,)");
  CHECK(call("sum", {of(DType::boolean, {dim(2)})}).text == "i64()");
  CHECK(call("lt", {f32({dim(2)}), of(DType::i64, {dim(2)})}).text == "bool(2,)");
  CHECK(call("exp", {of(DType::u8, {dim(2)})}).text == "f32(2,)");
}

TEST_CASE("shapes may be symbols") {
  Dim n = Dim::of(fresh_symbol()), m = Dim::of(fresh_symbol());
  std::string sn = "s" + std::to_string(n.symbol), sm = "s" + std::to_string(m.symbol);
  CHECK(call("matmul", {f32({n, dim(784)}), f32({dim(784), dim(10)})}).text == "f32(" + sn + ", 10)");
  CHECK(call("matmul_nt", {f32({n, m}), f32({dim(10), m})}).text == "f32(" + sn + ", 10)");
  CHECK(call("matmul", {f32({n, m}), f32({n, m})}).ok);  // m and n may be equal: a guard's business
  CHECK(call("add", {f32({n, dim(10)}), f32({dim(10)})}).text == "f32(" + sn + ", 10)");
  CHECK(call("add", {f32({n, dim(1)}), f32({m})}).text == "f32(" + sn + ", " + sm + ")");
  CHECK(call("flatten", {f32({n, dim(16), dim(5), dim(5)})}, {Param::of(1), Param::of(-1)}).text ==
        "f32(" + sn + ", 400)");
  CHECK(call("reshape", {f32({n, dim(4)})}, {list({Param::of(-1)})}).text == "f32(4*" + sn + ",)");
  CHECK(call("reshape", {f32({n, dim(4)})}, {list({Param::of_dim(n), Param::of(2), Param::of(-1)})}).text ==
        "f32(" + sn + ", 2, 2)");
  CHECK(call("cat", {f32({n, dim(2)}), f32({dim(3), dim(2)})}).text == "f32(" + sn + "+3, 2)");
  CHECK(call("sum", {f32({n, dim(3)})}, {Param::of(1), Param::of_bool(true)}).text == "f32(" + sn + ", 1)");
  std::vector<Param> geometry{list({Param::of(1), Param::of(1)}), list({Param::of(2), Param::of(2)}),
                              list({Param::of(1), Param::of(1)}), Param::of(1)};
  CHECK(call("convolve", {f32({n, dim(1), dim(28), dim(28)}), f32({dim(6), dim(1), dim(5), dim(5)})}, geometry).text ==
        "f32(" + sn + ", 6, 28, 28)");
  CHECK(call("expand", {f32({dim(1), dim(3)})}, {list({Param::of_dim(n), Param::of(-1)})}).text ==
        "f32(" + sn + ", 3)");
}

TEST_CASE("derived rows are found by name, to any order") {
  const OpInfo* d = find_op("tanh.d0");
  REQUIRE(d);
  CHECK(to_text(d->body) == "(1 - (x1 * x1))");
  CHECK(find_op("tanh.d0") == d);
  REQUIRE(find_op("tanh.d0.d1"));
  CHECK(find_op("tanh.d0.d0") == nullptr);  // zero
  CHECK(find_op("floor.d0") == nullptr);
  CHECK(find_op("add.d7") == nullptr);
}
