// ouro.native.safetensors   save(path, tensors, scalars), load(path) -> (tensors, scalars)
// ouro.native.idx           read(path) -> tensor
// ouro.native.files         exists(path), cache_folder(kind)
//
// A scalar (None, bool, int, float, str) is kept in the file's metadata as JSON; ints of any size
// as their digits, floats so that they come back to the last bit (NaN, Infinity and -Infinity as
// Python's json writes them). Metadata that is no such text, as other programs write, is read as
// str.
#include "stdlib/native/file_modules.h"

#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"
#include "runtime/text/foreign.h"
#include "runtime/types/big_int.h"
#include "runtime/types/text_format.h"
#include "stdlib/native/idx_file.h"
#include "stdlib/native/safetensors_file.h"

namespace ouro::stdlib {

using namespace runtime;

namespace {

bool path_of(Session& s, const Value& v, std::string& out) {
  if (cast<Str>(v)) return system_text(s, v, out);
  raise_type_error(s, "a path must be str, not %s", type_name(s, v).c_str());
  return false;
}

Value raise_problem(Session& s, const FileProblem& p, const Value& path) {
  if (p.error_number) return raise_os_error(s, p.error_number, path);
  return raise_text(s, ExcKind::ValueError, text_of(s, path) + ": " + text::shown_text(p.text));
}

// ---------------------------------------------------------------- scalars as JSON

std::string float_json(double d) {
  if (d != d) return "NaN";
  if (d > std::numeric_limits<double>::max()) return "Infinity";
  if (d < std::numeric_limits<double>::lowest()) return "-Infinity";
  char buffer[40];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, d).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool scalar_json(Session& s, const Value& value, const std::string& name, std::string& out) {
  const Value& v = unwrap(value);
  if (v.is_none())
    out = "null";
  else if (v.is_bool())
    out = v.as_bool() ? "true" : "false";
  else if (is_int_value(v))
    out = int_text(v);
  else if (v.is_float())
    out = float_json(v.as_float());
  else if (Str* text = cast<Str>(v))
    out = safetensors::json_string(text->view());
  else {
    raise_type_error(s, "cannot store %s: it is of type '%s'", name.c_str(), type_name(s, value).c_str());
    return false;
  }
  return true;
}

bool is_digits(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Value scalar_of(Session& s, const std::string& json) {
  if (json == "null") return Value::none();
  if (json == "true" || json == "false") return Value::boolean(json == "true");
  if (json == "NaN") return Value::floating(std::numeric_limits<double>::quiet_NaN());
  if (json == "Infinity") return Value::floating(std::numeric_limits<double>::infinity());
  if (json == "-Infinity") return Value::floating(-std::numeric_limits<double>::infinity());
  if (is_digits(json)) {
    const bool negative = json[0] == '-';
    return int_from_digits(s, std::string_view(json).substr(negative), 10, negative);
  }
  double d = 0;
  const char* end = json.data() + json.size();
  if (auto [at, error] = std::from_chars(json.data(), end, d); !json.empty() && at == end && error == std::errc())
    return Value::floating(d);
  std::string text;
  if (json.starts_with('"') && safetensors::parse_json_string(json, text)) return make_str(text);
  return make_str(json);
}

// ---------------------------------------------------------------- safetensors

// f(name, value) -> bool for each entry of a dict with str keys.
template <class F>
bool for_each_named(Session& s, const Value& dict, const char* what, F&& f) {
  Dict* d = cast<Dict>(dict);
  if (!d) {
    raise_type_error(s, "%s must be a dict, not %s", what, type_name(s, dict).c_str());
    return false;
  }
  size_t at = 0;
  Value *key, *value;
  while (dict_next(d, at, key, value)) {
    Str* name = cast<Str>(*key);
    if (!name) {
      raise_type_error(s, "names of %s must be str, not %s", what, type_name(s, *key).c_str());
      return false;
    }
    if (!f(std::string(name->view()), *value)) return false;
  }
  return true;
}

Value save(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  safetensors::Header header;
  auto add_tensor = [&](const std::string& name, const Value& v) {
    if (name == "__metadata__") {
      raise_value_error(s, "a tensor cannot be called __metadata__");
      return false;
    }
    const Tensor* tensor = cast<Tensor>(v);
    if (!tensor) {
      raise_type_error(s, "%s must be a tensor, not %s", name.c_str(), type_name(s, v).c_str());
      return false;
    }
    const auto shape = tensor->shape();
    header.entries.push_back({name, tensor->dtype, {shape.begin(), shape.end()}, 0, 0, tensor->data()});
    return true;
  };
  auto add_scalar = [&](const std::string& name, const Value& v) {
    std::string json;
    if (!scalar_json(s, v, name, json)) return false;
    header.metadata.emplace_back(name, std::move(json));
    return true;
  };
  if (!for_each_named(s, a[1], "tensors", add_tensor) || !for_each_named(s, a[2], "scalars", add_scalar))
    return Value::error();
  if (FileProblem p = safetensors::write(path, std::move(header)); !p.ok()) return raise_problem(s, p, a[0]);
  return Value::none();
}

Value load(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  safetensors::Reader reader;
  if (FileProblem p = reader.open(path); !p.ok()) return raise_problem(s, p, a[0]);
  Value tensors = make_dict(), scalars = make_dict();
  for (const safetensors::Entry& e : reader.header().entries) {
    OURO_TRY(tensor, make_tensor(s, e.dtype, e.shape));
    if (FileProblem p = reader.read(e, tensor.as<Tensor>()->data()); !p.ok()) return raise_problem(s, p, a[0]);
    dict_set_str(s, tensors.as<Dict>(), e.name, std::move(tensor));
  }
  for (const auto& [name, json] : reader.header().metadata) {
    OURO_TRY(value, scalar_of(s, json));
    dict_set_str(s, scalars.as<Dict>(), name, std::move(value));
  }
  return make_tuple({tensors, scalars});
}

constexpr NativeDef kSafetensors[] = {
    {"save", "path, tensors, scalars", save,
     "Writes named tensors, and named numbers, strings, bools and None, to a .safetensors file: "
     "whole, or (OSError) not at all."},
    {"load", "path", load, "What `save` wrote: (tensors, scalars), two dicts."},
};
constexpr NativeModule kSafetensorsModule{.name = "ouro.native.safetensors", .functions = kSafetensors};

// ---------------------------------------------------------------- idx

Value read_idx(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  idx::Reader reader;
  if (FileProblem p = reader.open(path); !p.ok()) return raise_problem(s, p, a[0]);
  OURO_TRY(tensor, make_tensor(s, reader.header().dtype, reader.header().shape));
  if (FileProblem p = reader.read(tensor.as<Tensor>()->data()); !p.ok()) return raise_problem(s, p, a[0]);
  return tensor;
}

constexpr NativeDef kIdx[] = {
    {"read", "path", read_idx, "The tensor in an IDX file, plain or gzip'ed."},
};
constexpr NativeModule kIdxModule{.name = "ouro.native.idx", .functions = kIdx};

// ---------------------------------------------------------------- files

std::string home_folder() {
  if (const char* home = std::getenv("HOME"); home && home[0] == '/') return home;
  const passwd* user = getpwuid(getuid());
  return user && user->pw_dir ? user->pw_dir : "/";
}

// XDG Base Directory Specification: a relative path in the variable counts as none.
Value cache_folder(Session& s, const Args& a) {
  std::string kind;
  if (!path_of(s, a[0], kind)) return Value::error();
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const std::string base = xdg && xdg[0] == '/' ? xdg : home_folder() + "/.cache";
  return make_str(text::from_system(base + "/ouro/" + kind));
}

Value exists(Session& s, const Args& a) {
  std::string path;
  if (!path_of(s, a[0], path)) return Value::error();
  return Value::boolean(access(path.c_str(), F_OK) == 0);
}

constexpr NativeDef kFiles[] = {
    {"cache_folder", "kind", cache_folder,
     "Ouro's cache folder of that kind: $XDG_CACHE_HOME/ouro/KIND, else ~/.cache/ouro/KIND."},
    {"exists", "path", exists, "Is there a file or folder of that name?"},
};
constexpr NativeModule kFilesModule{.name = "ouro.native.files", .functions = kFiles};

}  // namespace

void register_file_modules(Session& s) {
  s.register_natives(&kSafetensorsModule);
  s.register_natives(&kIdxModule);
  s.register_natives(&kFilesModule);
}

}  // namespace ouro::stdlib
