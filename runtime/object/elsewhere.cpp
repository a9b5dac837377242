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
    {" torch functorch ",
     "tensors and their operations are built in under PyTorch's names (zeros, randn, relu, cross_entropy); layers are "
     "in `from ouro import nn`, optimizers in `from ouro import optim`"},
    {" numpy np ",
     "tensors and their operations are built in (tensor, arange, linspace, where), with NumPy's indexing; NumPy's "
     "default dtype is f64, Ouro's f32"},
    {" jax jnp ", "tensors and their operations are built in, and so are grad, value_and_grad, vjp and jit"},
    {" lax ", "write if, for and while, which are compiled and differentiated as they stand; operations are built in"},
    {" flax linen haiku hk equinox eqx ",
     "layers are in `from ouro import nn`; a model is an object that holds its parameters, and grad takes the object"},
    {" optax ", "optimizers are in `from ouro import optim`: opt.update(grads) moves the parameters of the model"},
    {" tensorflow tf keras ",
     "tensors and their operations are built in; layers are in `from ouro import nn`, derivatives are grad(f)"},
    {" mindspore ms mint ",
     "tensors and their operations are built in; layers are in `from ouro import nn`; value_and_grad(f) and jit(f) "
     "take functions"},
    {" torchvision ", "data sets are in `from ouro import data`; `./dev data` lists them"},
    {" torchmetrics sklearn ", "metrics are in `from ouro import metrics`, data sets in `from ouro import data`"},
    {" PIL cv2 imageio ", "images are read by data.read_image(path), after `from ouro import data`"},
    {" einops ", "reshape, permute, unflatten, flatten and einsum are built in"},
    {" scipy ", "operations of tensors are built in; distributions are in `from ouro import distributions`"},
    {" pickle dill joblib ", "tensors, models and optimizers are kept by nn.save(path, model=model) and nn.load"},
    {" matplotlib plt seaborn ", "plots are in `from ouro import plot`"},
    {" tensorboard tensorboardX wandb ",
     "logs are written by `from ouro import train`: train.TensorBoard and train.CSVLog"},
    {" pandas pd ", "tables of numbers are read by `from ouro import data`"},
    {" tqdm ", "write `from ouro import progress`: progress(items)"},
};

// Names of those libraries that stand alone after `from torch import …`: said before a name that is near.
constexpr Row kNames[] = {
    {" FloatTensor LongTensor DoubleTensor IntTensor BoolTensor ",
     "a tensor is made by tensor(data, dtype=f32), zeros(2, 3), randn(2, 3); its class is `Tensor`"},
    {" eig eigvals ",
     "eigenvalues of a matrix that is not symmetric are complex numbers, which are not part of Ouro; for symmetric "
     "ones there are linalg.eigh(x) and linalg.eigvalsh(x)"},
    {" long LongType ", "the dtype is i64: zeros(2, dtype=i64), x.to(i64)"},
    {" double DoubleType ", "the dtype is f64: zeros(2, dtype=f64), x.to(f64)"},
    {" Size ", "a shape is a tuple: x.shape"},
    {" pad_sequence pack_padded_sequence pad_packed_sequence pack_sequence ",
     "write `from ouro.nn.utils.rnn import pad_sequence`"},
    {" from_numpy ", "tensor(data) makes a tensor of nested lists of numbers; data.read_npy(path) reads one"},
    {" Parameter ", "every float tensor in an attribute of a model is a parameter: write self.name = x"},
    {" Cell ", "layers and their base class nn.Module are in `from ouro import nn`; its __call__ calls forward"},
    {" no_grad inference_mode enable_grad set_grad_enabled ",
     "nothing is recorded unless grad(f) or value_and_grad(f) asks for a derivative: leave it out; stop_gradient(x) "
     "holds "
     "one back"},
    {" autograd GradientTape GradOperation ",
     "derivatives are of functions: g = grad(f)(x), or y, g = value_and_grad(f)(x)"},
    {" autocast amp ",
     "demand.set(precision=\"bf16\"), after `from ouro import demand`, lets contractions take bf16 operands"},
    {" GradScaler ", "write `from ouro import optim`: optim.GradScaler()"},
    {" ms_function ", "write jit(f), or @jit"},
    {" pmap ", "it is not part of Ouro: vmap(f) calls f for each lane of a batch axis"},
    {" linearize ", "y, dy = jvp(f, (x,), (t,)) gives the derivative in the direction t"},
    {" while_loop fori_loop ", "write if, for and while: they are compiled and differentiated as they stand"},
    {" tree_util tree_flatten tree_unflatten pytree ",
     "write `from ouro import tree_map, tree_leaves`: tree_map(f, x) goes through lists, tuples, dicts, models and "
     "gradients; optimizers take a gradient as it is: opt.update(grads)"},
    {" PRNGKey set_seed ",
     "random numbers have one state: manual_seed(0) sets it, get_rng_state() and set_rng_state(s) keep it"},
    {" device_put ", "a tensor's device is x.device, x.to(\"cuda\") moves it, and --device=cuda moves the program"},
    {" set_context ", "how a program runs is said when it starts: ouro run --mode=graph --device=cuda FILE"},
    {" set_default_dtype get_default_dtype ", "the default is f32; dtype=f64 and x.to(f64) say another one"},
    {" DataLoader ", "write `from ouro import data`: data.loader(items, size=64, shuffle=True, seed=0)"},
    {" Dataset TensorDataset GeneratorDataset ",
     "write `from ouro import data`: data.TensorDataset(x, y); anything with len and items is a data set"},
    {" functional_call ", "a model is called as it is: grad(lambda m: loss(m(x), y))(model)"},
    {" inf nan ", "write float('inf'), float('nan'), or `from math import inf, nan`"},
    {" nn ", "write `from ouro import nn`"},
};

// Words of every day: said only where no name is near.
constexpr Row kWords[] = {
    {" optim ", "write `from ouro import optim`"},
    {" data ", "write `from ouro import data`"},
    {" array Variable ", "tensor(data) makes a tensor of nested lists of numbers"},
    {" Module ", "layers and their base class nn.Module are in `from ouro import nn`"},
    {" cond scan switch ", "write if, for and while: they are compiled and differentiated as they stand"},
    {" seed Generator ", "random numbers have one state: manual_seed(0) sets it"},
    {" device ", "a tensor's device is x.device, x.to(\"cuda\") moves it, and --device=cuda moves the program"},
    {" train ", "write `from ouro import train`"},
    {" linalg ", "write `from ouro import linalg`"},
    {" tree_map tree_leaves ", "write `from ouro import tree_map, tree_leaves`"},
    {" metrics ", "write `from ouro import metrics`"},
    {" plot ", "write `from ouro import plot`"},
    {" demand ", "write `from ouro import demand`"},
    {" distributions ", "write `from ouro import distributions`"},
    {" progress ", "write `from ouro import progress`"},
    {" F functional ops ", "the functions are built in: relu(x), cross_entropy(y, t)"},
    {" cuda npu mps ", "x.to(\"opencl\") or x.to(\"cuda\") moves a tensor; --device=NAME moves the program"},
    {" save load ", "write `from ouro import nn`: nn.save(path, model=model), nn.load(path, model=model)"},
    {" Linear Conv2d Sequential ReLU Dropout Embedding Dense ", "layers are in `from ouro import nn`"},
    {" Adam AdamW SGD ", "optimizers are in `from ouro import optim`"},
};

constexpr Row kTensors[] = {
    {" backward grad_fn retain_grad is_leaf register_hook retain_graph ",
     "derivatives are of functions: g = grad(f)(x), or y, g = value_and_grad(f)(x)"},
    {" grad ", "a gradient is a value that a function gives: g = grad(f)(x), or y, g = value_and_grad(f)(x)"},
    {" requires_grad requires_grad_ ",
     "what is differentiated is said where the derivative is asked for: grad(f, argnums=0)(x); stop_gradient(x) holds "
     "it back, nn.freeze(model) a model's parameters, which nn.parameter_count(model) counts"},
    {" data value ", "tensors are values: x itself, or stop_gradient(x)"},
    {" numpy asnumpy to_numpy ", "x.tolist() gives lists, x.item() a number, data.write_npy(path, x) a file"},
    {" cuda mps npu xpu ", "x.to(\"opencl\") or x.to(\"cuda\") moves it; --device=NAME moves the program"},
    {" is_cuda is_cpu get_device devices sharding ", "x.device tells where it is"},
    {" at ",
     "tensors are values: y = x, then y[i] = v or y[i] += v leaves x as it is, and costs no copy where nobody else "
     "holds it"},
    {" copy ", "tensors are values: y = x is a copy, made when one of the two is written"},
    {" copy_ set_data set_value assign_value ", "tensors are values: write x = y, or x[:] = y"},
    {" zero_ fill_ ", "tensors are values: write x[:] = 0, or x = zeros_like(x), full_like(x, v)"},
    {" uniform_ normal_ random_ bernoulli_ exponential_ ",
     "tensors are values: write x = rand_like(x), x = randn_like(x); starts of layers are in ouro.nn.init"},
    {" index_put_ ", "tensors are values: write x[i, j] = v, or x[i, j] += v to accumulate"},
    {" fill_diagonal_ ", "tensors are values: i = arange(n), then x[i, i] = v"},
    {" ndimension ", "write x.ndim"},
    {" element_size ", "write x.itemsize"},
    {" byte ", "write x.to(u8)"},
    {" char ", "write x.to(i8)"},
    {" short ", "write x.to(i16)"},
    {" real imag conj is_complex mH adjoint ",
     "complex numbers are not part of Ouro; x.mT exchanges the last two axes"},
    {" eig eigvals ",
     "eigenvalues of a matrix that is not symmetric are complex numbers, which are not part of Ouro; for symmetric "
     "ones "
     "there are linalg.eigh(x) and linalg.eigvalsh(x)"},
    {" apply_ map_ ", "write the function with operations on whole tensors, or tensor([f(v) for v in x.tolist()])"},
    {" as_strided ",
     "tensors are values and show no memory: write x.unfold(axis, size, step), x[:, ::2] or x.expand(sizes)"},
    {" names rename align_to ", "axes have numbers, no names"},
    {" block_until_ready synchronize ", "results are there when they are looked at: nothing has to be waited for"},
    {" storage untyped_storage data_ptr share_memory_ stride is_contiguous storage_offset layout pin_memory is_pinned ",
     "tensors are values and show no memory"},
};

// Of the tuples that operations give.
constexpr Row kTuples[] = {
    {" values indices ",
     "max, min, sort, topk and others give a tuple along an axis: values, indices = x.max(dim=1), or x.max(dim=1)[0]"},
    {" numel size ", "a shape is a tuple of numbers: math.prod(x.shape), or x.numel() of the tensor"},
};

// Of layers and of optimizers.
constexpr Row kModules[] = {
    {" zero_grad ",
     "gradients are values that value_and_grad(f)(model) gives anew each time: nothing is to be set to zero"},
    {" backward ", "derivatives are of functions: loss, grads = value_and_grad(f)(model), then opt.update(grads)"},
    {" requires_grad set_grad ",
     "what is differentiated is said where the derivative is asked for: grad(f)(model); nn.freeze(model) leaves one "
     "out"},
    {" step minimize apply_gradients apply_updates ",
     "an optimizer is given the gradient: loss, grads = value_and_grad(f)(model), then opt.update(grads)"},
    {" add_param_group ",
     "groups are given when the optimizer is made: optim.Adam([{\"params\": model.a, \"lr\": 1e-4}], model=model)"},
    {" state state_dict load_state_dict ",
     "nn.save(path, opt=opt) and nn.load(path, opt=opt) keep an optimizer's state"},
    {" register_forward_hook register_forward_pre_hook register_full_backward_hook register_backward_hook ",
     "a layer is called by a function: put another one around it, or override forward"},
    {" share_memory xpu ipu to_empty ", "tensors are values and show no memory; m.to(\"cuda\") moves them"},
    {" type to_float ", "m.to(f16), m.half() and their kin change the dtype"},
    {" compile ", "jit(f) compiles a function, with all that it calls: @jit on the step of a training loop"},
    {" trainable_params get_parameters parameters_and_names params variables weights trainable_weights "
     "trainable_variables ",
     "m.parameters() and m.named_parameters() give them; grad(f)(m) takes the model itself"},
    {" cells cells_and_names name_cells ", "m.modules(), m.named_modules() and m.children() give them"},
    {" set_train ", "write m.train(), m.eval()"},
    {" construct ", "write forward(self, x); m(x) calls it"},
    {" init init_with_output bind tabulate apply_fn ",
     "a layer's parameters are made with it and stand in it: m(x) is the call, nn.summary(m, x) the table"},
    {" fit ", "write `from ouro import train`: train.fit(model, loss, opt, batches)"},
    {" predict ", "write m(x), after m.eval()"},
    {" summary ", "write nn.summary(m, x)"},
};

// Of the packages themselves: `nn.Dense`.
constexpr Row kPackages[] = {
    {" Dense ", "here it is nn.Linear"},
    {" SequentialCell ", "here it is nn.Sequential"},
    {" CellList ", "here it is nn.ModuleList"},
    {" Embed ", "here it is nn.Embedding"},
    {" Conv ", "here it is nn.Conv1d, nn.Conv2d, nn.Conv3d"},
    {" Cell ", "here it is nn.Module, whose __call__ calls forward"},
    {" DataParallel DistributedDataParallel ", "a model runs on one device; threads=N of a demand are its workers"},
    {" Momentum ", "here it is optim.SGD(model, lr, momentum=0.9)"},
    {" RMSProp ", "here it is optim.RMSprop"},
    {" chain apply_updates ", "opt.update(grads) moves the parameters; nn.clip_grad_norm(grads, 1.0) stands before it"},
    {" clip_by_global_norm clip_by_value ", "nn.clip_grad_norm(grads, 1.0), nn.clip_grad_value(grads, 1.0)"},
    {" exponential_decay cosine_decay_schedule warmup_cosine_decay_schedule ", "schedules are in optim.lr_scheduler"},
    {" init ", "starts of layers are in `from ouro import nn`: nn.init"},
    {" utils ", "data.loader is in `from ouro import data`, clip_grad_norm in `from ouro import nn`"},
    {" t ", "write x.t(), or x.T"},
    {" pi inf nan e ", "write `from math import pi, inf, nan`"},
    {" random ", "random numbers are built in: manual_seed, rand, randn, randint; Python's are in `import random`"},
    {" fft ", "there is no fft yet"},
    {" func stack_module_state ",
     "grad, vjp, jvp, jacrev, jacfwd, hessian and vmap are built in, and a model is called as it is: "
     "grad(lambda m: loss(m(x), y))(model)"},
    {" special ",
     "its functions are built in: erf(x), lgamma(x), digamma(x), i0(x), sigmoid(x), logit(x), xlogy(x, y)"},
    {" LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyBatchNorm1d LazyBatchNorm2d ",
     "layers are told their sizes when they are made: nn.Linear(in_features, out_features)"},
    {" swa_utils ", "nn.EMA(model) keeps an average of the parameters"},
    {" WeightedRandomSampler ", "data.weighted(weights, count) gives such an order to data.loader"},
    {" complex64 complex128 ", "complex numbers are not part of Ouro"},
};

// Arguments of operations.
constexpr Row kArguments[] = {
    {" device ", "a new tensor is where the program computes (--device=cuda); x.to(\"cuda\") places one"},
    {" requires_grad ", "what is differentiated is said where the derivative is asked for: grad(f)(x)"},
    {" inplace out ", "operations give values: x = f(x), which is done in place where nobody else holds x"},
    {" generator key rng ", "random numbers have one state: manual_seed(0), get_rng_state(), set_rng_state(s)"},
    {" layout pin_memory memory_format copy ", "tensors are values and show no memory"},
};

// Operations that PyTorch has with fewer arguments, too.
constexpr Row kMissing[] = {
    {" where ", "where(condition, x, y) chooses; where(condition) alone gives the places where it holds"},
    {" type astype ", "x.dtype tells the dtype, x.to(f64) changes it"},
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

std::string of_another_name(std::string_view name) { return behind(found(kNames, name)); }

std::string of_library(std::string_view name) { return behind(found(kWords, name)); }

std::string of_another_tensor(std::string_view attribute, bool without_is_one) {
  if (const std::string_view says = found(kTensors, attribute); !says.empty()) return behind(says);
  if (!without_is_one) return {};
  const std::string plain(attribute.substr(0, attribute.size() - 1));
  return ": tensors are values: write x = x." + plain + "(…), which is done in place where nobody else holds x";
}

std::string of_another_tuple(std::string_view attribute) { return behind(found(kTuples, attribute)); }

std::string of_another_module(std::string_view attribute) { return behind(found(kModules, attribute)); }

std::string of_another_package(std::string_view package, std::string_view attribute) {
  if (package != "ouro" && !package.starts_with("ouro.")) return {};
  for (std::span<const Row> rows : {std::span<const Row>(kPackages), std::span<const Row>(kNames),
                                    std::span<const Row>(kLibraries), std::span<const Row>(kWords)})
    if (const std::string_view says = found(rows, attribute); !says.empty()) return behind(says);
  return {};
}

std::string of_another_argument(std::string_view name) { return behind(found(kArguments, name)); }

std::string of_a_missing_argument(std::string_view operation) { return behind(found(kMissing, operation)); }

}  // namespace ouro::runtime
