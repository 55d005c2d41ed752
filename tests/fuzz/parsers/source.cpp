// The scans of program texts and of build options. An input goes to both.
#include <string>
#include <vector>

#include "harness.h"
#include "kernels/facts/program_scan.h"
#include "kernels/facts/source_scan.h"
#include "kernels/text/lexer.h"

namespace {

using cleave::fuzz::require;
using cleave::kernels::BuildInputs;
using cleave::kernels::continues_name;
using cleave::kernels::ProgramScan;
using cleave::kernels::Scan;
using cleave::kernels::without_splices;

constexpr std::size_t kNamesTried = 8;

// The only functions here that depend on the members of a Scan.
bool is_harmless(const Scan& scan) {
  return !scan.reads_ndrange && !scan.breaks_prelude && !scan.opaque && !scan.assembly && !scan.has_includes;
}
bool is_covered(const Scan& less, const Scan& more) {
  return less.reads_ndrange <= more.reads_ndrange && less.breaks_prelude <= more.breaks_prelude &&
         less.opaque <= more.opaque && less.assembly <= more.assembly &&
         less.communicates <= more.communicates && less.reads_work_group <= more.reads_work_group &&
         less.pastes_tokens <= more.pastes_tokens &&
         less.breaks_prelude_if_pasting <= more.breaks_prelude_if_pasting &&
         less.has_includes <= more.has_includes && less.ambiguous <= more.ambiguous &&
         less.may_wait <= more.may_wait;
}
bool is_same(const Scan& a, const Scan& b) { return is_covered(a, b) && is_covered(b, a); }

// The last names of a text; with libFuzzer's inputs any would do.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t end = text.size(); end > 0 && names.size() < kNamesTried; --end) {
    std::size_t begin = end;
    while (begin > 0 && continues_name(text[begin - 1])) --begin;
    if (begin == end) continue;
    names.push_back(text.substr(begin, end - begin));
    end = begin + 1;
  }
  return names;
}

void check_kernels(const std::string& text, const ProgramScan& scan) {
  const ProgramScan commented("/* a comment */\n" + text);
  require(is_same(commented.whole(), scan.whole()), "a comment changes nothing");
  for (const std::string& name : names_in(text)) {
    require(is_covered(scan.of(name), scan.whole()), "a kernel may do no more than its program");
    require(is_same(commented.of(name), scan.of(name)), "a comment changes no kernel");
  }
}

void check_what_comes_in_front(const std::string& text) {
  for (const char* const line : {"size_t f(void) { return get_group_id(0); }\n", "#include \"f.h\"\n"}) {
    require(!is_harmless(ProgramScan(line + text).whole()), "a text that may see the cut is not harmless");
  }
  // Used outside of functions, so that every kernel may use it.
  const ProgramScan macro("#define F get_num_groups\nsize_t f = F;\n" + text);
  for (const std::string& name : names_in(text))
    require(!is_harmless(macro.of(name)), "a macro reaches every kernel");
}

// Code that is not compiled changes nothing, unless it makes the braces or conditionals of the whole uncertain.
void check_dead_branches(const std::string& text, const ProgramScan& scan) {
  const ProgramScan more("#ifdef FUZZ_NEVER\nvoid f(void) { asm(\"\"); }\n#endif\n" + text);
  require(is_covered(scan.whole(), more.whole()), "a dead branch hides nothing");
  const ProgramScan perhaps("#ifdef __fuzz\n#undef FUZZ\nvoid f(void) { asm(\"\"); }\n#endif\n" + text);
  require(perhaps.whole().opaque || perhaps.whole().assembly, "a branch that may be compiled counts");
}

void check_splices(const std::string& text, const ProgramScan& scan) {
  require(without_splices(text).size() <= text.size(), "joining lines adds nothing");
  if (text.find('\\') == std::string::npos) require(without_splices(text) == text, "no splice, no change");
  const std::size_t middle = text.size() / 2;
  if (text.size() < 2 || !continues_name(text[middle - 1]) || !continues_name(text[middle])) return;
  std::string spliced = text;
  spliced.insert(middle, "\\\n");
  require(without_splices(spliced) == without_splices(text), "a splice within a name is undone");
  require(is_same(ProgramScan(spliced).whole(), scan.whole()), "a splice changes nothing");
}

Scan with_options(const std::string& options) {
  BuildInputs inputs;
  inputs.options = options;
  return ProgramScan("kernel void k(global int* o) { *o = 1; }", inputs).whole();
}

void check_options(const std::string& options) {
  for (const char* const more : {"-include f.h ", "-DF=get_group_id ", "@file ", "-DF=get_gro\"\"up_id "}) {
    require(!is_harmless(with_options(more + options)), "options that may bring in more are not harmless");
  }
  const Scan scan = with_options(options);
  // Another name may be pasted.
  if (!scan.pastes_tokens)
    require(is_same(with_options("-DX=1 " + options), scan), "a plain definition changes nothing");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(cleave::fuzz::text_of(data, size));
  const ProgramScan scan(text);
  check_kernels(text, scan);
  check_what_comes_in_front(text);
  check_splices(text, scan);
  check_dead_branches(text, scan);
  check_options(text);
  return 0;
}
