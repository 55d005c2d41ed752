#include "kernels/program_scan.h"

#include "kernels/functions.h"
#include "kernels/variables.h"

namespace cleave::kernels {

ProgramScan::ProgramScan(std::string_view source, const Surroundings& surroundings) {
  const std::string text = without_splices(source);
  const std::string options = options_as_text(surroundings.options);
  std::vector<std::string> headers;
  for (const std::string& header : surroundings.headers) headers.push_back(without_splices(header));
  const Options parsed = parse_options(surroundings.options);

  std::vector<std::string_view> texts{text};
  texts.insert(texts.end(), headers.begin(), headers.end());
  Part part;
  part.options = scan_options(surroundings.options);
  part.whole = both(surroundings.complete ? part.options : Scan::doubtful(), scan_text(options));
  for (const std::string_view each : texts) part.whole = both(part.whole, scan_text(each));
  part.whole.keeps |= keeps_variables(texts, surroundings.options);
  if (part.whole.pastes) part.whole = both(part.whole, scan_pasted(texts, options));
  part.whole.meddles |= part.whole.pastes && part.whole.meddles_if;

  const Scan& whole = part.whole;
  if (!whole.pastes && !whole.includes && !whole.unsound && !parsed.cpp && functions_of(options)) {
    if (const auto functions = functions_of(text))
      part.reach = std::make_shared<Reach>(*functions, options, parsed.macros);
  }
  whole_ = part.whole;
  parts_.push_back(std::move(part));
}

ProgramScan::ProgramScan(const Scan& whole) : whole_(whole), parts_{{whole, {}, nullptr}} {}

Scan ProgramScan::of(const std::string& kernel) const {
  Scan all;
  for (const Part& part : parts_) {
    const auto own = part.reach ? part.reach->of(kernel) : std::nullopt;
    all = both(all, own ? both(*own, part.options) : part.whole);
    all.keeps |= part.whole.keeps;
  }
  return all;
}

void ProgramScan::add(const ProgramScan& other) {
  whole_ = both(whole_, other.whole_);
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
}

}  // namespace cleave::kernels
