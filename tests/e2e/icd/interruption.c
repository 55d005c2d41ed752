// Preloaded into `cleave icd`: ends or disturbs it at one of the calls by which it changes the file system.
//
//   INTERRUPTION=kill:N    killed before the Nth such call (a write has written half by then)
//   INTERRUPTION=fail:N    the Nth such call fails with EIO
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

enum what { nothing, fails, dies };

static enum what comes_now(void) {
  static int calls = 0;
  const char* wanted = getenv("INTERRUPTION");
  if (wanted == NULL || ++calls != atoi(wanted + strlen("kill:"))) return nothing;
  return strncmp(wanted, "kill:", strlen("kill:")) == 0 ? dies : fails;
}

// Whether the call is to fail. Does not return where the process is to end.
static bool is_disturbed(void) {
  const enum what what = comes_now();
  if (what == dies) kill(getpid(), SIGKILL);
  if (what == fails) errno = EIO;
  return what != nothing;
}

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

int mkdir(const char* path, mode_t mode) { return is_disturbed() ? -1 : NEXT(mkdir)(path, mode); }
int chmod(const char* path, mode_t mode) { return is_disturbed() ? -1 : NEXT(chmod)(path, mode); }
int fchmod(int file, mode_t mode) { return is_disturbed() ? -1 : NEXT(fchmod)(file, mode); }
int fsync(int file) { return is_disturbed() ? -1 : NEXT(fsync)(file); }
int unlink(const char* path) { return is_disturbed() ? -1 : NEXT(unlink)(path); }
int rmdir(const char* path) { return is_disturbed() ? -1 : NEXT(rmdir)(path); }
int rename(const char* from, const char* to) { return is_disturbed() ? -1 : NEXT(rename)(from, to); }
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return is_disturbed() ? -1 : NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}
int utimensat(int folder, const char* path, const struct timespec times[2], int flags) {
  return is_disturbed() ? -1 : NEXT(utimensat)(folder, path, times, flags);
}

ssize_t write(int file, const void* bytes, size_t count) {
  const enum what what = file > STDERR_FILENO ? comes_now() : nothing;
  if (what == dies) {
    NEXT(write)(file, bytes, count / 2);
    kill(getpid(), SIGKILL);
  }
  if (what == fails) errno = EIO;
  return what != nothing ? -1 : NEXT(write)(file, bytes, count);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0 && is_disturbed()) return -1;
  return NEXT(open)(path, flags, mode);
}
