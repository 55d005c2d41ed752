"""What is printed of a program's runs, and the same as JSON."""

import fnmatch


def is_exception(program, kernel):
    return any(fnmatch.fnmatchcase(kernel, pattern) for pattern in program.exceptions)


def figures(program, run):
    """The sums over a run's kernels, as JSON has them. `share` is in percent, None where nothing could be split."""
    counted = [kernel for name, kernel in run.kernels.items() if not is_exception(program, name)]
    splittable = sum(kernel.splittable for kernel in counted)
    split = sum(kernel.split for kernel in counted)
    return {
        "run": run.number,
        "seconds": round(run.seconds, 3),
        "status": run.results.status,
        "identical": not run.difference,
        "difference": run.difference,
        "launches": sum(kernel.launches for kernel in run.kernels.values()),
        "splittable": splittable,
        "split": split,
        "share": 100 * split / splittable if splittable else None,
        "kernels": [{"name": name, "launches": kernel.launches, "splittable": kernel.splittable, "split": kernel.split,
                     "unsplit": dict(sorted(kernel.unsplit.items())), "causes": sorted(kernel.causes),
                     "exception": is_exception(program, name)} for name, kernel in sorted(run.kernels.items())],
    }


def has_reached(figures_, least):
    """Identical results, and at least `least` percent of what could be split were split; something was launched."""
    return figures_["identical"] and figures_["launches"] > 0 and (figures_["share"] is None or figures_["share"] >= least)


HEADER = f"{'program':<18}{'way':<9}{'run':>4}{'launches':>10}{'could be':>10}{'split':>7}{'%':>6}  results"


def line(name, way, found):
    share = "-" if found["share"] is None else f"{found['share']:.0f}"
    verdict = "identical" if found["identical"] else found["difference"]
    return (f"{name:<18}{way:<9}{found['run']:>4}{found['launches']:>10}{found['splittable']:>10}{found['split']:>7}{share:>6}"
            f"  {verdict}")


def kernel_lines(found):
    """One line for each kernel with launches that could be split and were not."""
    for kernel in found["kernels"]:
        if kernel["unsplit"]:
            reasons = ", ".join(f"{count} {reason}" for reason, count in kernel["unsplit"].items())
            exception = " (listed as an exception)" if kernel["exception"] else ""
            yield f"    {kernel['name']}: {reasons}{exception}"
            yield from (f"        {cause}" for cause in kernel["causes"])
