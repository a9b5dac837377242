// Convolutions whose columns are larger than a tile against sums written down. The numbers are small integers, so that
// every order of summation has one result.
#include <catch2/catch.hpp>

#include <atomic>
#include <new>
#include <vector>

#include "runtime/machine/client.h"
#include "runtime/machine/contract.h"
#include "runtime/machine/threads.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {

int64_t volume(const int64_t (&d)[3]) { return d[0] * d[1] * d[2]; }

Convolution described(int64_t batch, int64_t groups, int64_t in_channels, int64_t out_channels, std::vector<int64_t> in,
                      std::vector<int64_t> kernel, int64_t stride, int64_t padding, int64_t dilation) {
  Convolution d;
  d.rank = static_cast<int>(in.size());
  d.batch = batch, d.groups = groups, d.in_channels = in_channels, d.out_channels = out_channels;
  for (size_t i = 0; i < in.size(); ++i) {
    d.in[i] = in[i], d.kernel[i] = kernel[i];
    d.stride[i] = stride, d.padding[i] = padding, d.dilation[i] = dilation;
    d.out[i] = (in[i] + 2 * padding - dilation * (kernel[i] - 1) - 1) / stride + 1;
  }
  return d;
}

// f(element of the image, element of the weight, element of the result) for each product.
template <class F>
void each_product(const Convolution& d, F&& f) {
  const int64_t icg = d.in_channels / d.groups, ocg = d.out_channels / d.groups;
  struct OfChannel {  // where a product's factors and its sum are in their channels
    int64_t in, kernel, out;
  };
  std::vector<OfChannel> products;
  for (int64_t y = 0; y < volume(d.out); ++y)
    for (int64_t k = 0; k < volume(d.kernel); ++k) {
      int64_t rest_y = y, rest_k = k, at = 0, size = 1;
      bool inside = true;
      for (int i = d.rank - 1; i >= 0; --i) {
        const int64_t p = rest_y % d.out[i] * d.stride[i] + rest_k % d.kernel[i] * d.dilation[i] - d.padding[i];
        rest_y /= d.out[i], rest_k /= d.kernel[i];
        inside &= p >= 0 && p < d.in[i];
        at += p * size, size *= d.in[i];
      }
      if (inside) products.push_back({at, k, y});
    }
  for (int64_t n = 0; n < d.batch; ++n)
    for (int64_t o = 0; o < d.out_channels; ++o)
      for (int64_t c = 0; c < icg; ++c) {
        const int64_t in = (n * d.in_channels + o / ocg * icg + c) * volume(d.in),
                      kernel = (o * icg + c) * volume(d.kernel), out = (n * d.out_channels + o) * volume(d.out);
        for (const OfChannel& p : products) f(in + p.in, kernel + p.kernel, out + p.out);
      }
}

template <class T>
std::vector<T> numbers(int64_t n, int64_t turn) {
  std::vector<T> out(static_cast<size_t>(n));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>((static_cast<int64_t>(i) * turn >> 3) % 5 - 2);
  return out;
}

template <class T>
void check(Convolution d, int threads) {
  d.dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
  const auto image = numbers<T>(d.batch * d.in_channels * volume(d.in), 7),
             weight = numbers<T>(d.out_channels * (d.in_channels / d.groups) * volume(d.kernel), 11),
             result = numbers<T>(d.batch * d.out_channels * volume(d.out), 13);
  std::vector<T> y(result.size()), x(image.size()), w(weight.size());
  each_product(d, [&](int64_t i, int64_t k, int64_t r) {
    y[r] += image[i] * weight[k];
    x[i] += result[r] * weight[k];
    w[k] += result[r] * image[i];
  });
  std::vector<T> got(result.size(), T(99));
  d.kind = Convolution::Kind::forward;
  convolve(d, image.data(), weight.data(), got.data(), threads);
  CHECK((got == y));
  got.assign(image.size(), T(99));
  d.kind = Convolution::Kind::input;
  convolve(d, result.data(), weight.data(), got.data(), threads);
  CHECK((got == x));
  got.assign(weight.size(), T(99));
  d.kind = Convolution::Kind::weight;
  convolve(d, result.data(), image.data(), got.data(), threads);
  CHECK((got == w));
}

}  // namespace

TEST_CASE("convolutions_are_made_of_tiles", "[tensor]") {
  const Convolution cases[] = {
      described(2, 1, 3, 2, {9, 8}, {3, 3}, 1, 1, 1),           // one tile
      described(2, 1, 2, 2, {300, 310}, {4, 5}, 1, 2, 1),       // of several lines
      described(1, 2, 4, 4, {260, 270}, {3, 3}, 2, 1, 2),       // in groups, with steps
      described(1, 1, 1, 2, {200003}, {7}, 1, 3, 2),            // cut within the line
      described(1, 2, 2, 2, {90000}, {31}, 3, 40, 1),           // pieces that are all padding
      described(1, 1, 1, 1, {20000}, {20000}, 1, 50, 1),        // more taps than a tile has room for
      described(9, 1, 40, 1, {33, 32}, {28, 30}, 1, 0, 1),      // many taps, few places, chunks of images
      described(1, 1, 2, 1, {20, 60, 70}, {3, 2, 5}, 1, 1, 1),  // three axes
      described(33, 1, 256, 600, {2, 2}, {2, 2}, 1, 0, 1),      // more chunks than partial gradients at a time
  };
  for (const Convolution& d : cases) {
    INFO(d.in[0] << ", " << d.in[1] << ", " << d.in[2]);
    check<float>(d, 1);
    check<double>(d, 3);
  }
}

TEST_CASE("convolutions_take_fewer_threads_where_memory_is_short", "[tensor][threads]") {
  struct Limited : Client {
    explicit Limited(size_t limit) : Client(limit) {}
    bool may_stop() const override { return false; }
    void look() const override {}
    void collection_due() override {}
    void make_room() override {}
  };
  for (size_t limit : {size_t{64} << 20, size_t{9} << 20}) {
    Limited client(limit);
    Client* before = serve_client(&client);
    {
      MemoryLimited enforced(client.memory);
      check<float>(described(4, 1, 2, 2, {300, 310}, {4, 5}, 1, 2, 1), 4);
      CHECK(client.memory.used() == 0);
    }
    serve_client(before);
  }
  Limited client(kLeastMemory);
  Client* before = serve_client(&client);
  {
    MemoryLimited enforced(client.memory);
    CHECK_THROWS_AS(check<double>(described(4, 1, 2, 2, {300, 310}, {4, 5}, 1, 2, 1), 4), std::bad_alloc);
    CHECK(client.memory.used() == 0);
  }
  serve_client(before);
}

TEST_CASE("a_part_that_finds_no_memory_ends_its_job", "[tensor][threads]") {
  for (int threads : {1, 4}) {
    std::atomic<int> done{0};
    auto fails = [&](int64_t p) {
      if (p == 5) throw std::bad_alloc();
      ++done;
    };
    CHECK_THROWS_AS(parallel_for(threads, 1000, [&](int64_t p) { fails(p); }), std::bad_alloc);
    CHECK_THROWS_AS(parallel_for_or_stop(threads, 1000, [&](int64_t p) { fails(p); }), std::bad_alloc);
    CHECK(done < 2000);
    parallel_for(threads, 10, [&](int64_t) { ++done; });
  }
}
