// A neighbour: products of two N x N matrices of doubles on so many threads, repeated until a signal ends it.
//
//   cleave_neighbour N THREADS
//
// Prints a line for each product: when it began and ended, in seconds of CLOCK_MONOTONIC, which all processes
// of a host share. Ends with status 1 if a sample of the result is wrong.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Matrix = std::vector<double>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Small whole numbers: every sum of their products is exact.
Matrix make_matrix(std::size_t n, std::size_t step) {
  Matrix matrix(n * n);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i * step % 13) - 6;
  return matrix;
}

void multiply_row(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n, std::size_t row) {
  double* const sums = &c[row * n];
  std::fill_n(sums, n, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double factor = a[row * n + k];
    for (std::size_t column = 0; column < n; ++column) sums[column] += factor * b[k * n + column];
  }
}

void multiply(const Matrix& a, const Matrix& b, Matrix& c, std::size_t n, unsigned threads) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (std::size_t row = next++; row < n; row = next++) multiply_row(a, b, c, n, row);
    });
  }
}

bool sample_is_right(const Matrix& a, const Matrix& b, const Matrix& c, std::size_t n) {
  for (std::size_t row = 0; row < n; row += 7) {
    const std::size_t column = row * 31 % n;
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    if (c[row * n + column] != sum) return false;
  }
  return true;
}

int run(std::size_t n, unsigned threads) {
  const Matrix a = make_matrix(n, 5);
  const Matrix b = make_matrix(n, 7);
  Matrix c(n * n);
  for (;;) {
    const double begin = now();
    multiply(a, b, c, n, threads);
    std::printf("%.6f %.6f\n", begin, now());
    std::fflush(stdout);
    if (!sample_is_right(a, b, c, n)) return 1;
  }
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3) throw std::invalid_argument("two numbers");
  return run(std::stoul(arguments[1]), static_cast<unsigned>(std::stoul(arguments[2])));
} catch (const std::exception&) {
  std::fputs("usage: cleave_neighbour N THREADS\n", stderr);
  return 2;
}
