#include "construct.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "queries.h"

namespace fuzz {

namespace {

Program from_strings(const Context& context, const std::vector<std::string>& strings, bool lengths,
                     Facts& facts) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const std::string& string : strings) {
    pointers.push_back(string.data());
    // A length of zero says that the string ends with a NUL, as all of these do.
    sizes.push_back(sizes.size() % 3 == 2 ? 0 : string.size());
  }
  cl_int status = CL_SUCCESS;
  Program program(clCreateProgramWithSource(context.get(), static_cast<cl_uint>(pointers.size()),
                                            pointers.data(), lengths ? sizes.data() : nullptr, &status));
  facts.add("create", status);
  return program;
}

// Cut anywhere, also amid a word.
std::vector<std::string> in_pieces(const std::string& text) {
  const std::size_t piece = text.size() / 4 + 1;
  std::vector<std::string> pieces;
  for (std::size_t place = 0; place < text.size(); place += piece)
    pieces.push_back(text.substr(place, piece));
  return pieces;
}

void build(const Program& program, const Platform& platform, const std::string& options, Facts& facts) {
  facts.add("build", clBuildProgram(program.get(), 1, &platform.device, options.c_str(), nullptr, nullptr));
}

}  // namespace

Built::Built(const Platform& platform, ProgramText text, Way way, std::string folder)
    : platform_(platform), text_(std::move(text)), way_(way), folder_(std::move(folder)) {}

cl_program Built::program(unsigned context, Facts& facts) {
  Program& program = programs_[context];
  if (!program) {
    program = construct(context, facts);
    add_program(facts, program.get(), platform_.device);
  }
  cl_build_status status = CL_BUILD_NONE;
  clGetProgramBuildInfo(program.get(), platform_.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status,
                        nullptr);
  return status == CL_BUILD_SUCCESS ? program.get() : nullptr;
}

Program Built::construct(unsigned context, Facts& facts) const {
  const Context& own = platform_.contexts[context];
  const std::string whole = text_.whole();
  std::string options = text_.options();
  facts.add("way", static_cast<int>(way_));
  switch (way_) {
    case Way::many_strings: {
      Program program = from_strings(own, in_pieces(whole), true, facts);
      build(program, platform_, options, facts);
      return program;
    }
    case Way::header_folder: {
      std::ofstream(folder_ + "/words.h")
          << text_.section(Section::macros) << text_.section(Section::functions);
      options += " -I " + folder_;
      Program program =
          from_strings(own, {"#include \"words.h\"\n", text_.section(Section::kernels)}, false, facts);
      build(program, platform_, options, facts);
      return program;
    }
    case Way::embedded_header:
      return linked(context, options, true, facts);
    case Way::linked:
      return linked(context, options, false, facts);
    default: {
      Program program = from_strings(own, {whole}, false, facts);
      build(program, platform_, options, facts);
      return way_ == Way::binary ? rebuilt(context, std::move(program), options, facts) : std::move(program);
    }
  }
}

// Either one object, which includes a header that is a program, or two objects, the functions and the
// kernels.
Program Built::linked(unsigned context, const std::string& options, bool header, Facts& facts) const {
  const Context& own = platform_.contexts[context];
  const std::string macros = text_.section(Section::macros);
  const std::string functions = macros + text_.section(Section::functions);
  const std::string kernels = text_.section(Section::kernels);
  Program first = from_strings(own, {functions}, false, facts);
  Program second = from_strings(
      own, {header ? "#include \"words/all.h\"\n" : macros + text_.prototypes(), kernels}, false, facts);
  const char* name = "words/all.h";
  const cl_program headers[] = {first.get()};
  const auto compile = [&](const Program& program, cl_uint count) {
    facts.add("compile", clCompileProgram(program.get(), 1, &platform_.device, options.c_str(), count,
                                          count == 0 ? nullptr : headers, count == 0 ? nullptr : &name,
                                          nullptr, nullptr));
  };
  compile(second, header ? 1 : 0);
  if (!header) compile(first, 0);
  const cl_program objects[] = {second.get(), first.get()};
  cl_int status = CL_SUCCESS;
  Program program(
      clLinkProgram(own.get(), 1, &platform_.device, "", header ? 1 : 2, objects, nullptr, nullptr, &status));
  facts.add("link", status);
  return program;
}

// Again, from the binary that the driver made of it.
Program Built::rebuilt(unsigned context, Program program, const std::string& options, Facts& facts) const {
  std::size_t size = 0;
  clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (size == 0) return program;
  std::vector<unsigned char> binary(size);
  unsigned char* place = binary.data();
  facts.add("binary", clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof place,
                                       static_cast<void*>(&place), nullptr));
  const unsigned char* bytes = binary.data();
  cl_int of_it = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  Program again(clCreateProgramWithBinary(platform_.contexts[context].get(), 1, &platform_.device, &size,
                                          &bytes, &of_it, &status));
  facts.add("create", status);
  facts.add("loaded", of_it);
  if (!again) return program;
  build(again, platform_, options, facts);
  return again;
}

Way choose_way(Random& random, const Dialect& dialect) {
  const unsigned kind = random.below(100);
  if (kind < 50) return Way::one_string;
  if (kind < 65) return Way::many_strings;
  if (kind < 72) return Way::header_folder;
  if (kind < 78) return Way::binary;
  if (!dialect.libraries) return Way::one_string;
  return kind < 91 ? Way::embedded_header : Way::linked;
}

void build_mistaken(const Platform& platform, const ProgramText& text, Random random, Facts& facts) {
  static const std::vector<std::string> mistakes = {"  unknown_word += 1;\n",
                                                    "  acc += get_group_id(0, 1);\n", "#error here\n",
                                                    "  acc += get_group_id;\n", "  }}\n"};
  std::string whole = text.whole();
  std::vector<std::size_t> ends;
  for (std::size_t place = whole.find(";\n  acc"); place != std::string::npos;
       place = whole.find(";\n  acc", place + 1))
    ends.push_back(place + 2);
  whole.insert(ends.empty() ? whole.size() : random.one_of(ends), random.one_of(mistakes));
  const Program program = from_strings(platform.contexts[0], {whole}, false, facts);
  build(program, platform, text.options(), facts);
  add_program(facts, program.get(), platform.device);
  cl_int status = CL_SUCCESS;
  const Kernel kernel(clCreateKernel(program.get(), "k0", &status));
  facts.add("kernel", status);
}

}  // namespace fuzz
