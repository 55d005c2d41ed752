// Generates OpenCL programs and sequences of calls, executes them, and prints a line for each case with everything that a
// program can observe. The same options give the same programs and cases on every machine. It does not depend on Cleave:
// fuzz.py runs it with and without, and compares the lines.
#include <cstdio>

#include "cases.h"
#include "queries.h"

namespace {

using namespace fuzz;

void print(unsigned program, const std::string& what, const Observations& observations) {
  std::printf("%u.%s%s\n", program, what.c_str(), observations.line().c_str());
  std::fflush(stdout);
}

void show_text(const ProgramText& text) {
  std::printf("# options:%s\n", text.options().c_str());
  for (std::size_t number = 0; number < text.pieces.size(); ++number)
    if (!text.pieces[number].fixed && !text.pieces[number].text.empty()) std::printf("# piece %zu\n", number);
  std::printf("# text begins\n%s# text ends\n", text.whole().c_str());
}

void print_program(BuiltProgram& built, const Platform& platform, unsigned number, const Options& options) {
  const bool attributes = options.without.count("attributes") == 0;
  Observations observations(options.show);
  const cl_program program = built.program(0, observations);
  for (const KernelSpec& head : built.text().kernels) {
    if (program == nullptr) break;
    cl_int status = CL_SUCCESS;
    const Kernel kernel = cl.own(clCreateKernel(program, head.name.c_str(), &status));
    if (kernel) add_kernel(observations, kernel, platform.device, attributes);
  }
  print(number, program == nullptr ? "unbuilt" : "built", observations);
}

void run_program(const Options& options, const Platform& platform, unsigned number) {
  Random random = Random::stream(options.seed, "program", number);
  ProgramText text = write_program(Random(random.next()), platform.capabilities);
  text.drop(options.dropped);
  if (options.show) show_text(text);
  const BuildMethod way = choose_build_method(random, platform.capabilities);
  BuiltProgram built(platform, text, way, options.folder);
  const Shapes shapes(Random(random.next()), platform.capabilities, options);
  print_program(built, platform, number, options);
  if (options.first_case == 0) {
    Observations observations(options.show);
    build_invalid(platform, text, Random(random.next()), observations);
    print(number, "mistaken", observations);
  }
  const Setting setting{options, platform, built, shapes};
  for (unsigned place = options.first_case; place < options.first_case + options.cases; ++place) {
    Random own = Random::stream(options.seed ^ number, "case", place);
    Observations observations(options.show);
    const bool sequence = own.chance(30);
    (sequence ? sequence_case : launch_case)(setting, own, observations);
    print(number, std::to_string(place) + (sequence ? " sequence" : " launch"), observations);
  }
}

}  // namespace

int main(int count, char** words) {
  const fuzz::Options options = fuzz::read_options(count, words);
  const fuzz::Platform platform = fuzz::find_platform(options);
  for (unsigned number = options.first_program; number < options.first_program + options.programs; ++number)
    run_program(options, platform, number);
  return 0;
}
