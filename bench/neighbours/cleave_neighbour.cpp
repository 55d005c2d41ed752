// A neighbour: products of two N x N matrices of doubles on so many threads, repeated until a signal ends it.
//
//   cleave_neighbour N THREADS
//
// Prints a line for each product: when it began and ended, in seconds of CLOCK_MONOTONIC, which all processes
// of a host share. Ends with status 1 if a sample of the result is wrong.
#include <algorithm>
#include <atomic>
#include <barrier>
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

// The same threads for all products, as a virtual machine's processors are: what they lack the processor can be followed in
// /proc/PID/task.
class Multiplier {
 public:
  Multiplier(std::size_t n, unsigned threads)
      : n_(n), a_(make_matrix(n, 5)), b_(make_matrix(n, 7)), c_(n * n), meeting_(threads + 1) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;
  ~Multiplier() {
    ending_ = true;
    meeting_.arrive_and_wait();
  }

  void multiply() {
    next_ = 0;
    meeting_.arrive_and_wait();
    meeting_.arrive_and_wait();
  }

  [[nodiscard]] bool sample_is_right() const {
    for (std::size_t row = 0; row < n_; row += 7) {
      const std::size_t column = row * 31 % n_;
      double sum = 0;
      for (std::size_t k = 0; k < n_; ++k) sum += a_[row * n_ + k] * b_[k * n_ + column];
      if (c_[row * n_ + column] != sum) return false;
    }
    return true;
  }

 private:
  void work() {
    for (;;) {
      meeting_.arrive_and_wait();
      if (ending_) return;
      for (std::size_t row = next_++; row < n_; row = next_++) multiply_row(a_, b_, c_, n_, row);
      meeting_.arrive_and_wait();
    }
  }

  const std::size_t n_;
  const Matrix a_;
  const Matrix b_;
  Matrix c_;
  std::atomic<std::size_t> next_{0};
  bool ending_ = false;  // written before a meeting, read after it
  std::barrier<> meeting_;
  std::vector<std::jthread> threads_;  // the last member: they use the others
};

int run(std::size_t n, unsigned threads) {
  Multiplier multiplier(n, threads);
  for (;;) {
    const double begin = now();
    multiplier.multiply();
    std::printf("%.6f %.6f\n", begin, now());
    std::fflush(stdout);
    if (!multiplier.sample_is_right()) return 1;
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
