// The folder of a job on a node, in which its user has a private one of files that end with the job:
//
//   JOBS/job-NUMBER        root's; others may pass
//   JOBS/job-NUMBER/user   the user's alone (mode 0700)
//
// Made by the prolog, removed by the epilog, both of which are root. What is in the user's folder is not trusted.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <string>

#include <sys/types.h>

namespace cleave::slurm {

struct JobFolder {
  std::string path;
  std::string of_user;
};

JobFolder job_folder(const std::string& jobs, const std::string& job);

// Returns what went wrong, or an empty text. One that is left of a job that was requeued is used again.
std::string make_job_folder(const JobFolder& folder, uid_t user, gid_t group);

// With all that is in it; follows no symbolic link. Returns what went wrong, or an empty text.
std::string remove_job_folder(const JobFolder& folder);

// Whether the user's folder exists.
bool has_user_folder(const JobFolder& folder);

}  // namespace cleave::slurm
