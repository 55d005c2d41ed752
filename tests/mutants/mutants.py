"""The list of mutants. `mutants.py` names each with its file; `mutants.py NAME SOURCE-FOLDER OUTPUT` writes one of them.

No text that a mutant replaces may be missing or stand there more than once, so that none is quietly the real thing.
"""

import sys
from pathlib import Path

LAUNCH = "src/launch/launch.cpp"
PIPELINE = "src/launch/pipeline.cpp"
TAG = "src/plan/tag.cpp"

# Enqueues one slice some time after the call has returned.
LATE = """
void enqueue_late(const Table& next, const Launch& launch, const plan::Slice& box) {
  std::thread([&next, launch, box] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    next.clEnqueueNDRangeKernel(launch.queue, launch.kernel, launch.range.dims, box.offset.data(), box.global.data(),
                                launch.range.local.data(), 0, nullptr, nullptr);
  }).detach();
}

// One launch on the program's queue."""

MUTANTS = {
    "last_slice_dropped": (LAUNCH, {"count = cut_.count();": "count = cut_.count() - 1;"}),
    "group_run_twice": (
        "src/plan/cut.cpp",
        {"base + (index < larger ? 1 : 0)}": "base + (index < larger ? 1 : 0) + (index + 2 == parts ? 1 : 0)}"},
    ),
    "first_slices_event_returned": (
        LAUNCH,
        {"result_.last = std::move(previous_);": "result_.last = std::move(previous_);\n"
         "      std::swap(result_.first, result_.last);"},
    ),
    "wait_list_on_the_last_slice_only": (
        LAUNCH,
        {
            ": std::span<const cl_event>(launch_.wait_list, launch_.waits)": ": "
            "std::span<const cl_event>(launch_.wait_list, is_last() ? launch_.waits : 0)",
            "if (chained_ && launch.waits > 0) prepare_chain();": "",
            "  cl_int enqueue_remainder(": "  bool is_last() const { return result_.slices + 1 == cut_.count(); }\n"
            "  cl_int enqueue_remainder(",
        },
    ),
    "failures_left_to_the_driver": (LAUNCH, {"if (chained_ && launch.waits > 0) prepare_chain();": ""}),
    "group_ids_not_repaired": (TAG, {"static_cast<std::uint32_t>(before << kHalf)": "0 * "
                                     "static_cast<std::uint32_t>(before << kHalf)"}),
    "totals_not_repaired": (TAG, {"bits_ |= static_cast<std::uint32_t>(groups);": "bits_ |= "
                                  "static_cast<std::uint32_t>(groups / 2);"}),
    "offset_leaked": (TAG, {"kDims) | (cut_dims << kCutDims)": "kDims) | ((cut_dims & 2U) << kCutDims)"}),
    "work_dimensions_not_repaired": (TAG, {"(range_.dims << kDims)": "(3U << kDims)"}),
    "tag_left_out": (LAUNCH, {"offset_of(launch_, box, tagged)": "result_.slices > 0 ? offset_of(launch_, box, tagged) : box.offset.data()"}),
    "error_codes_swallowed": (LAUNCH, {"result_.error = enqueue_remainder(i);": "static_cast<void>(enqueue_remainder(i));"}),
    "start_of_the_last_slice": (
        "src/interpose/launch/events.cpp",
        {"time = earliest(p.next, *record, name, time);": "static_cast<void>(earliest);"},
    ),
    "arguments_captured_late": (
        LAUNCH,
        {
            '#include <span>': '#include <span>\n#include <thread>',
            "\n// One launch on the program's queue.": LATE,
            "      if (failed_ ||": "      if (last && !event) {\n        enqueue_late(next_, launch_, cut_.slice(i));\n"
            "        break;\n      }\n      if (failed_ ||",
        },
    ),
    "out_of_order_slices_not_chained": (
        LAUNCH,
        {"chained_(!launch.in_order || launch.wants_event)": "chained_(launch.wants_event)"},
    ),
    "helpers_do_not_wait_for_what_came_before": (
        PIPELINE,
        {"before = gate();": "before = nullptr;"},
    ),
    "last_slice_does_not_wait_for_helpers": (
        PIPELINE,
        {"WaitList& list = all_helpers();": "WaitList& list = list_.fresh();"},
    ),
    "end_of_a_launch_without_an_event_does_not_wait": (
        PIPELINE,
        {"if (from == cut_.count()) return wait_for_helpers();": "if (from == cut_.count()) return CL_SUCCESS;"},
    ),
    "gate_not_flushed": (PIPELINE, {"marker_ = Event(next_, made);\n    next_.clFlush(launch_.queue);": "marker_ = "
                                    "Event(next_, made);"}),
    "failures_left_to_the_driver_on_helpers": (
        PIPELINE,
        {"std::copy_n(launch.wait_list, own_, events_);": "own_ = 0;"},
    ),
    "slices_of_a_helper_not_chained": (
        PIPELINE,
        {"if (first) [[unlikely]] {\n      before": "if (first || helper) {\n      before"},
    ),
    "order_not_kept_after_an_error": (PIPELINE, {"if (result_.error != CL_SUCCESS) enqueue_order_marker();": ""}),
    "tag_left_out_on_helpers": (PIPELINE, {"offset_of(launch_, box, tagged)": "lane.queue == launch_.queue ? offset_of(launch_, box, "
                                           "tagged) : box.offset.data()"}),
    "helpers_given_away_while_busy": ("src/interpose/queues/helper_queues.cpp", {"      status > CL_COMPLETE)\n    return false;":
                                                                    "      status > CL_QUEUED)\n    return false;"}),
    "talking_kernels_pipelined": ("src/plan/mode.cpp", {"if (needs_order(kernel)) return LaunchMethod::queue(SingleQueueReason::communicates);": ""}),
    "start_of_the_own_queues_first_slice": (
        "src/interpose/launch/executor.cpp",
        {"if (first != nullptr && next.clRetainEvent(first)": "if (false && next.clRetainEvent(first)"},
    ),
    "drivers_own_finish_left_out": (
        "src/interpose/waits/finish_and_wait_for_events.cpp",
        {"const cl_int error = p.next.clFinish(queue);": "const cl_int error = wait.sleeping() ? CL_SUCCESS : "
         "p.next.clFinish(queue);"},
    ),
    "transfer_out_of_order_waits_for_all": (
        "src/interpose/waits/wait.cpp",
        {"const bool for_all = in_order_ || kind_ == WaitKind::finish;": "const bool for_all = true;"},
    ),
    "watched_without_a_flush": (
        "src/interpose/waits/wait.cpp",
        {
            "return flush_pinned(context_.next, context_.records.queues, queue_) && marked;": ""
            "return static_cast<void>(context_.records.queues.unpin(queue_)), marked;"
        },
    ),
    "callbacks_watch": ("src/interpose/waits/wait.cpp", {"!CallbackScope::inside() && ": ""}),
    "pending_user_event_forgotten": (
        "src/interpose/waits/wait.cpp",
        {"(context.records.pending_user_events.empty() && !history_->shared())": "!history_->shared()"},
    ),
    "prelude_not_taken_back": (
        "src/interpose/programs/source_programs.cpp",
        {"!build_with_prelude(p, build, devices)) {": "(static_cast<void>(build_with_prelude(p, build, devices)), false)) {"},
    ),
    "binaries_of_any_driver_believed": (
        "src/interpose/programs/known_binaries.cpp",
        {'.append("\\n").append(driver);': '.append("\\n").append(driver, 0, 0);'},
    ),
    "binary_of_a_concurrent_build_noted": (
        "src/interpose/programs/program_info.cpp",
        {"if (same) return *after;": "if (same || after) return *after;"},
    ),
    "binaries_noted_by_each_cleave": (
        "src/interpose/programs/program_info.cpp",
        {"value != nullptr && p.owner.is_this();": "value != nullptr;"},
    ),
}


def main():
    if len(sys.argv) == 1:
        print(";".join(f"{name}:{file}" for name, (file, _) in MUTANTS.items()), end="")
        return
    name, sources, output = sys.argv[1:]
    file, changes = MUTANTS[name]
    text = (Path(sources) / file).read_text()
    for old, new in changes.items():
        if text.count(old) != 1:
            sys.exit(f"mutant {name}: {file} has {text.count(old)} times: {old}")
        text = text.replace(old, new)
    Path(output).write_text(text)


if __name__ == "__main__":
    main()
