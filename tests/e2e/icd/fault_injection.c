// Preloaded into `cleave icd`: kills it at one of the calls by which it changes the file system, or lets the call fail.
//
//   INJECT_FAULT=kill:N    killed before the Nth such call (a write has written half by then)
//   INJECT_FAULT=fail:N    the Nth such call call_fails with EIO
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

enum fault { no_fault, call_fails, process_dies };

static enum fault next_fault(void) {
  static int calls = 0;
  const char* wanted = getenv("INJECT_FAULT");
  if (wanted == NULL || ++calls != atoi(wanted + strlen("kill:"))) return no_fault;
  return strncmp(wanted, "kill:", strlen("kill:")) == 0 ? process_dies : call_fails;
}

// Whether the call must fail. Does not return if the process must die.
static bool inject_fault(void) {
  const enum fault fault = next_fault();
  if (fault == process_dies) kill(getpid(), SIGKILL);
  if (fault == call_fails) errno = EIO;
  return fault != no_fault;
}

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

int mkdir(const char* path, mode_t mode) { return inject_fault() ? -1 : NEXT(mkdir)(path, mode); }
int chmod(const char* path, mode_t mode) { return inject_fault() ? -1 : NEXT(chmod)(path, mode); }
int fchmod(int file, mode_t mode) { return inject_fault() ? -1 : NEXT(fchmod)(file, mode); }
int fsync(int file) { return inject_fault() ? -1 : NEXT(fsync)(file); }
int unlink(const char* path) { return inject_fault() ? -1 : NEXT(unlink)(path); }
int rmdir(const char* path) { return inject_fault() ? -1 : NEXT(rmdir)(path); }
int rename(const char* from, const char* to) { return inject_fault() ? -1 : NEXT(rename)(from, to); }
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return inject_fault() ? -1 : NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}
int utimensat(int folder, const char* path, const struct timespec times[2], int flags) {
  return inject_fault() ? -1 : NEXT(utimensat)(folder, path, times, flags);
}

ssize_t write(int file, const void* bytes, size_t count) {
  const enum fault fault = file > STDERR_FILENO ? next_fault() : no_fault;
  if (fault == process_dies) {
    NEXT(write)(file, bytes, count / 2);
    kill(getpid(), SIGKILL);
  }
  if (fault == call_fails) errno = EIO;
  return fault != no_fault ? -1 : NEXT(write)(file, bytes, count);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0 && inject_fault()) return -1;
  return NEXT(open)(path, flags, mode);
}
