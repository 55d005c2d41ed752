// What in a program keeps its kernels from being split: the first construct that leads to each finding of a scan, for
// reports to the user.
//
// Thread-safe: values and pure functions. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/facts/scan.h"
#include "kernels/text/joined_text.h"
#include "kernels/text/preprocess.h"

namespace cleave::kernels {

struct Cause {
  // The members of Scan that keep a kernel unsplit, by themselves or together with others.
  enum class Finding : std::uint8_t {
    opaque,          // keeps the kernel whole
    breaks_prelude,  // keeps the program's kernels whole that have reads_ndrange
    reads_ndrange,   // keeps the kernel whole if the program has no prelude
    communicates,    // keeps launches whole that the device could hold at once, if the kernel may wait
    keeps_state,     // keeps the kernel whole on drivers that keep several copies of a program's variables
    pastes_tokens,   // the whole text counts for every kernel
    adds_to_global,  // no finding of its own: communicates if there is a loop
    fences_global,   // the same, if there is a loop that may wait
    shares_stores,   // keeps slices in order; communicates if there is a loop that may wait
    assembly,        // keeps the kernel unsplit unless it is allowed
  };
  enum class Way : std::uint8_t {
    uses,               // the construct is a name that is used
    changes,            // a name that is declared, defined, undefined or tested, or is not called
    makes_text,         // "#" or "defined" in a macro, which may concern any name
    pastes,             // a name that "##" could form
    directive,          // a directive, or a pragma, that is not known
    not_found,          // the name of a file that is included and was not found
    named_by_macro,     // what stands for the name of a file that is included
    unreadable,         // text that compilers could read in different ways
    declares,           // may declare a variable that keeps its value, or hides whether it does
    option,             // a build option, or the macro that one defines
    unsure_of_folders,  // an option or a variable of the environment that changes where files are searched
    in_module,          // a name, or the number of an instruction, that a SPIR-V module uses
    stores_to  // a pointer through which work-groups may store to the same memory, or read what others store
  };

  Finding finding = Finding::opaque;
  Way way = Way::uses;
  std::string construct;  // as it is written
  std::string file;       // of an included text: its path or name; empty: the program's own text
  unsigned line =
      0;  // of that text, counted from 1; 0: the construct is not in a text but in the build's options or a module

  friend bool operator==(const Cause&, const Cause&) = default;
};

constexpr Cause::Finding kLastFinding = Cause::Finding::assembly;
constexpr Cause::Way kLastWay = Cause::Way::stores_to;

// Why a program with such an include cannot be scanned: a cause of any finding.
Cause cause_of(const MissingInclude& missing);

// The cause in one sentence without a full stop: "`atomic_add` is used in line 12".
std::string sentence(const Cause& cause);

// The first cause of each finding.
class Causes {
 public:
  Causes() = default;
  explicit Causes(std::vector<Cause> list) : list_(std::move(list)) {}

  // Notes `construct` as the cause of each finding that `scan` has and that has no cause yet. `place` is a part of `text`.
  void note(const Scan& scan, Cause::Way way, std::string_view construct, const JoinedText& text,
            std::string_view place);

  // The same with everything but the finding and the construct from `like`.
  void note(const Scan& scan, const Cause& like, std::string_view construct);

  // The same for something that is in no text.
  void note(const Scan& scan, Cause::Way way, std::string_view construct);

  // Adds those of the findings that have none yet.
  void add(const std::vector<Cause>& causes);

  [[nodiscard]] const Cause* of(Cause::Finding finding) const;
  [[nodiscard]] const std::vector<Cause>& list() const { return list_; }

  friend bool operator==(const Causes&, const Causes&) = default;

 private:
  std::vector<Cause> list_;
};

// Where a scan notes the causes of what it finds in one text. Does nothing if default-constructed.
struct CauseNotes {
  const JoinedText* text = nullptr;
  Causes* causes = nullptr;

  void note(const Scan& scan, Cause::Way way, std::string_view construct, std::string_view place) const {
    if (causes != nullptr) causes->note(scan, way, construct, *text, place);
  }
};

}  // namespace cleave::kernels
