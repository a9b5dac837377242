// The kernels of the host's tests, as cases for devices. Include once.
#pragma once

#include <map>

#include "../host/graph_fixture.h"

namespace ouro::test {

using HostTest = void (*)();
inline std::vector<HostTest>& host_tests() {
  static std::vector<HostTest> tests;
  return tests;
}
struct AddHostTest {
  explicit AddHostTest(HostTest t) { host_tests().push_back(t); }
};

/// Every kernel that the host's tests check, with its buffers. To be called in a test.
inline const std::vector<KernelCase>& recorded_kernels() {
  static std::vector<KernelCase> cases;
  if (cases.empty()) {
    kernel_sink = [](KernelCase c) { cases.push_back(std::move(c)); };
    for (HostTest t : host_tests()) t();
    kernel_sink = nullptr;
  }
  return cases;
}

}  // namespace ouro::test

// Their cases become functions here.
#pragma push_macro("TEST_CASE")
#undef TEST_CASE
#define OURO_HOST_TEST(fn)                                          \
  static void fn();                                                 \
  static const ouro::test::AddHostTest fn##_added(fn); /* NOLINT */ \
  static void fn()
#define OURO_HOST_TEST_AT(fn, line) OURO_HOST_TEST(fn##line)
#define OURO_HOST_TEST_HERE(fn, line) OURO_HOST_TEST_AT(fn, line)
#define TEST_CASE(...) OURO_HOST_TEST_HERE(OURO_HOST_FILE, __LINE__)
#define OURO_HOST_FILE cluster_case_
#include "../host/cluster_test.cpp"
#undef OURO_HOST_FILE
#define OURO_HOST_FILE kernel_case_
#include "../host/kernel_test.cpp"
#undef OURO_HOST_FILE
#pragma pop_macro("TEST_CASE")
