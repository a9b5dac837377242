// Names from other systems, and what Ouro has in their place. An error about such a name says so.
#pragma once

#include <string>
#include <string_view>

namespace ouro::runtime {

// Each is ": …", to stand behind the message, or "".
std::string of_another_language(std::string_view name);                          // what CPython has and Ouro leaves out
std::string of_another_library(std::string_view name);                           // an unknown name, or a module
std::string of_another_name(std::string_view name);                              // a name that stands alone there
std::string of_library(std::string_view name);                                   // what is to be imported first
std::string of_another_tensor(std::string_view attribute, bool without_is_one);  // `add` is a method, if it is `add_`
std::string of_another_tuple(std::string_view attribute);                        // of what operations give
std::string of_another_module(std::string_view attribute);  // of layers and optimizers of the library
std::string of_another_package(std::string_view package, std::string_view attribute);  // of `ouro` and what is in it
std::string of_another_argument(std::string_view name);                                // of an operation
std::string of_a_missing_argument(std::string_view operation);  // of one that PyTorch calls with fewer

}  // namespace ouro::runtime
