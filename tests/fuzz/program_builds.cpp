#include "program_builds.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "queries.h"

namespace fuzz {

namespace {

Program from_strings(cl_context context, const std::vector<std::string>& strings, bool lengths,
                     Observations& observations) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const std::string& string : strings) {
    pointers.push_back(string.data());
    // A length of zero means that the string ends with a NUL, as all of these do.
    sizes.push_back(sizes.size() % 3 == 2 ? 0 : string.size());
  }
  cl_int status = CL_SUCCESS;
  Program program =
      cl.own(clCreateProgramWithSource(context, static_cast<cl_uint>(pointers.size()), pointers.data(),
                                       lengths ? sizes.data() : nullptr, &status));
  observations.add("create", status);
  return program;
}

// Split anywhere, also within a word.
std::vector<std::string> in_pieces(const std::string& text) {
  const std::size_t piece = text.size() / 4 + 1;
  std::vector<std::string> pieces;
  for (std::size_t place = 0; place < text.size(); place += piece)
    pieces.push_back(text.substr(place, piece));
  return pieces;
}

void build(cl_program program, const Platform& platform, const std::string& options,
           Observations& observations) {
  observations.add("build", clBuildProgram(program, 1, &platform.device, options.c_str(), nullptr, nullptr));
}

}  // namespace

BuiltProgram::BuiltProgram(const Platform& platform, ProgramText text, BuildMethod way, std::string folder)
    : platform_(platform), text_(std::move(text)), method_(way), folder_(std::move(folder)) {}

cl_program BuiltProgram::program(unsigned context, Observations& observations) {
  Program& program = programs_[context];
  if (!program) {
    program = construct(context, observations);
    add_program(observations, program, platform_.device);
  }
  cl_build_status status = CL_BUILD_NONE;
  clGetProgramBuildInfo(program, platform_.device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr);
  return status == CL_BUILD_SUCCESS ? program.get() : nullptr;
}

Program BuiltProgram::construct(unsigned context, Observations& observations) const {
  const cl_context own = platform_.contexts[context];
  const std::string whole = text_.whole();
  std::string options = text_.options();
  observations.add("way", static_cast<int>(method_));
  switch (method_) {
    case BuildMethod::many_strings: {
      Program program = from_strings(own, in_pieces(whole), true, observations);
      build(program, platform_, options, observations);
      return program;
    }
    case BuildMethod::header_folder: {
      std::ofstream(folder_ + "/words.h")
          << text_.section(Section::macros) << text_.section(Section::functions);
      options += " -I " + folder_;
      Program program =
          from_strings(own, {"#include \"words.h\"\n", text_.section(Section::kernels)}, false, observations);
      build(program, platform_, options, observations);
      return program;
    }
    case BuildMethod::embedded_header:
      return linked(context, options, true, observations);
    case BuildMethod::linked:
      return linked(context, options, false, observations);
    default: {
      Program program = from_strings(own, {whole}, false, observations);
      build(program, platform_, options, observations);
      return method_ == BuildMethod::binary ? rebuilt(context, std::move(program), options, observations)
                                            : std::move(program);
    }
  }
}

// Either one object, which includes a header program, or two objects: the functions and the kernels.
Program BuiltProgram::linked(unsigned context, const std::string& options, bool header,
                             Observations& observations) const {
  const cl_context own = platform_.contexts[context];
  const std::string macros = text_.section(Section::macros);
  const std::string functions = macros + text_.section(Section::functions);
  const std::string kernels = text_.section(Section::kernels);
  Program first = from_strings(own, {functions}, false, observations);
  Program second =
      from_strings(own, {header ? "#include \"words/all.h\"\n" : macros + text_.prototypes(), kernels}, false,
                   observations);
  const char* name = "words/all.h";
  const cl_program headers[] = {first};
  const auto compile = [&](cl_program program, cl_uint count) {
    observations.add("compile", clCompileProgram(program, 1, &platform_.device, options.c_str(), count,
                                                 count == 0 ? nullptr : headers, count == 0 ? nullptr : &name,
                                                 nullptr, nullptr));
  };
  compile(second, header ? 1 : 0);
  if (!header) compile(first, 0);
  const cl_program objects[] = {second, first};
  cl_int status = CL_SUCCESS;
  Program program = cl.own(
      clLinkProgram(own, 1, &platform_.device, "", header ? 1 : 2, objects, nullptr, nullptr, &status));
  observations.add("link", status);
  return program;
}

// Created again from the driver's binary.
Program BuiltProgram::rebuilt(unsigned context, Program program, const std::string& options,
                              Observations& observations) const {
  std::size_t size = 0;
  clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (size == 0) return program;
  std::vector<unsigned char> binary(size);
  unsigned char* place = binary.data();
  observations.add("binary", clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof place,
                                              static_cast<void*>(&place), nullptr));
  const unsigned char* bytes = binary.data();
  cl_int of_it = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  Program again = cl.own(clCreateProgramWithBinary(platform_.contexts[context], 1, &platform_.device, &size,
                                                   &bytes, &of_it, &status));
  observations.add("create", status);
  observations.add("loaded", of_it);
  if (!again) return program;
  build(again, platform_, options, observations);
  return again;
}

BuildMethod choose_build_method(Random& random, const Capabilities& capabilities) {
  const unsigned kind = random.below(100);
  if (kind < 50) return BuildMethod::one_string;
  if (kind < 65) return BuildMethod::many_strings;
  if (kind < 72) return BuildMethod::header_folder;
  if (kind < 78) return BuildMethod::binary;
  if (!capabilities.libraries) return BuildMethod::one_string;
  return kind < 91 ? BuildMethod::embedded_header : BuildMethod::linked;
}

void build_invalid(const Platform& platform, const ProgramText& text, Random random,
                   Observations& observations) {
  static const std::vector<std::string> mistakes = {"  unknown_word += 1;\n",
                                                    "  acc += get_group_id(0, 1);\n", "#error here\n",
                                                    "  acc += get_group_id;\n", "  }}\n"};
  std::string whole = text.whole();
  std::vector<std::size_t> ends;
  for (std::size_t place = whole.find(";\n  acc"); place != std::string::npos;
       place = whole.find(";\n  acc", place + 1))
    ends.push_back(place + 2);
  whole.insert(ends.empty() ? whole.size() : random.one_of(ends), random.one_of(mistakes));
  const Program program = from_strings(platform.contexts[0], {whole}, false, observations);
  build(program, platform, text.options(), observations);
  add_program(observations, program, platform.device);
  cl_int status = CL_SUCCESS;
  const Kernel kernel = cl.own(clCreateKernel(program, "k0", &status));
  observations.add("kernel", status);
}

}  // namespace fuzz
