#include "runtime/object/elsewhere.h"

#include <iterator>
#include <span>

namespace ouro::runtime {

namespace {

struct Row {
  std::string_view names;  // with a space on both sides of each
  std::string_view says;
};

constexpr Row kLanguage[] = {
    {" complex ", "complex numbers are not part of Ouro: use two floats"},
    {" eval exec compile ", "programs as text are not part of Ouro"},
};

constexpr Row kLibraries[] = {
    {" torch Tensor Variable ",
     "tensors and their operations are built in under PyTorch's names (zeros, randn, relu, cross_entropy); layers are "
     "in `from ouro import nn`, optimizers in `from ouro import optim`"},
    {" numpy np ",
     "tensors and their operations are built in (tensor, arange, linspace, where), with NumPy's indexing; NumPy's "
     "default dtype is f64, Ouro's f32"},
    {" jax jnp lax ", "tensors and their operations are built in, and so are grad, value_and_grad, vjp and jit"},
    {" tensorflow tf keras ",
     "tensors and their operations are built in; layers are in `from ouro import nn`, derivatives are grad(f)"},
    {" mindspore ms mint ",
     "tensors and their operations are built in; layers are in `from ouro import nn`; value_and_grad(f) and jit(f) "
     "take functions"},
    {" torchvision ", "data sets are in `from ouro import data`; `./dev data` lists them"},
    {" matplotlib plt seaborn ", "plots are in `from ouro import plot`"},
    {" pandas pd ", "tables of numbers are read by `from ouro import data`"},
    {" tqdm ", "write `from ouro import progress`: progress(items)"},
};

// Words of every day: said only where no name is near.
constexpr Row kWords[] = {
    {" nn ", "write `from ouro import nn`"},
    {" optim ", "write `from ouro import optim`"},
    {" data ", "write `from ouro import data`"},
    {" progress ", "write `from ouro import progress`"},
    {" F ", "the functions are built in: relu(x), cross_entropy(y, t)"},
    {" device ", "a tensor's device is x.device, and x.to(\"opencl\") moves it"},
};

constexpr Row kTensors[] = {
    {" backward grad_fn retain_grad is_leaf register_hook retain_graph ",
     "derivatives are of functions: g = grad(f)(x), or y, g = value_and_grad(f)(x)"},
    {" grad ", "a gradient is a value that a function gives: g = grad(f)(x), or y, g = value_and_grad(f)(x)"},
    {" requires_grad requires_grad_ ",
     "what is differentiated is said where the derivative is asked for: grad(f, argnums=0)(x); stop_gradient(x) holds "
     "it back"},
    {" data ", "tensors are values: x itself, or stop_gradient(x)"},
    {" numpy asnumpy ", "x.tolist() gives lists, x.item() a number"},
    {" cuda mps npu ", "x.to(\"opencl\") or x.to(\"cuda\") moves it; --device=NAME moves the program"},
    {" at ",
     "tensors are values: y = x, then y[i] = v or y[i] += v leaves x as it is, and costs no copy where nobody else "
     "holds it"},
    {" block_until_ready synchronize ", "results are there when they are looked at: nothing has to be waited for"},
    {" type ", "x.dtype is its dtype, x.to(f64) changes it"},
    {" storage untyped_storage data_ptr share_memory_ ", "tensors are values and show no memory"},
};

constexpr Row kModules[] = {
    {" zero_grad ",
     "gradients are values that value_and_grad(f)(model) gives anew each time: nothing is to be set to zero"},
    {" backward ", "derivatives are of functions: loss, grads = value_and_grad(f)(model), then opt.update(grads)"},
    {" cuda cpu ", "m.to(\"opencl\") moves it; --device=NAME moves the program"},
    {" requires_grad_ requires_grad ",
     "what is differentiated is said where the derivative is asked for: grad(f)(model)"},
    {" half double float bfloat16 ", "m.to(f16) and its kin change the dtype"},
    {" register_buffer ", "write self.name = nn.buffer(x)"},
    {" register_parameter Parameter ", "every float tensor in an attribute is a parameter: write self.name = x"},
    {" param_groups ", "the learning rate is opt.lr"},
};

std::string_view found(std::span<const Row> rows, std::string_view name) {
  const std::string key = " " + std::string(name) + " ";
  for (const Row& r : rows)
    if (r.names.find(key) != r.names.npos) return r.says;
  return {};
}

std::string behind(std::string_view says) { return says.empty() ? std::string() : ": " + std::string(says); }

}  // namespace

std::string of_another_language(std::string_view name) { return behind(found(kLanguage, name)); }

std::string of_another_library(std::string_view name) {
  return behind(found(kLibraries, name.substr(0, name.find('.'))));
}

std::string of_library(std::string_view name) { return behind(found(kWords, name)); }

std::string of_another_tensor(std::string_view attribute, bool without_is_one) {
  if (const std::string_view says = found(kTensors, attribute); !says.empty()) return behind(says);
  if (!without_is_one) return {};
  const std::string plain(attribute.substr(0, attribute.size() - 1));
  return ": tensors are values: write x = x." + plain + "(…), which is done in place where nobody else holds x";
}

std::string of_another_module(std::string_view attribute) { return behind(found(kModules, attribute)); }

}  // namespace ouro::runtime
