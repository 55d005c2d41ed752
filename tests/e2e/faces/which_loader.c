/* Prints which loader answers: where a fake one lies, or the name of a real one's first platform. Built by
 * test_native_loader.py as a library that is linked against a loader, as a program (-DPROGRAM) that uses that library or is
 * linked against a loader itself (-DLINKED), and as a library that opens a loader by its name (-DOPENS). */
#define _GNU_SOURCE
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef cl_int(CL_API_CALL* platforms_function)(cl_uint, cl_platform_id*, cl_uint*);
typedef cl_int(CL_API_CALL* info_function)(cl_platform_id, cl_platform_info, size_t, void*, size_t*);

void which_loader(void);

__attribute__((unused)) static void print_answer(platforms_function platforms, info_function info) {
  cl_uint count = 0;
  cl_platform_id first = NULL;
  char answer[4096] = "";
  platforms(0, NULL, &count);
  if (count > 0) platforms(1, &first, NULL);
  const cl_int error = info(first, CL_PLATFORM_NAME, sizeof answer, answer, NULL);
  printf("%u platforms, %s, %d\n", (unsigned)count, answer, (int)error);
}

__attribute__((unused)) static int open_and_print(const char* name, const char* later) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return printf("%s\n", dlerror());
  if (later != NULL && dlopen(later, RTLD_NOW | RTLD_LOCAL) == NULL) return printf("%s\n", dlerror());
  void* symbols[2] = {dlsym(library, "clGetPlatformIDs"), dlsym(library, "clGetPlatformInfo")};
  platforms_function platforms;
  info_function info;
  memcpy(&platforms, &symbols[0], sizeof platforms);
  memcpy(&info, &symbols[1], sizeof info);
  print_answer(platforms, info);
  return 0;
}

#if defined(OPENS)
void which_loader(void) { open_and_print("libOpenCL.so.1", NULL); }
#elif defined(LINKED) || !defined(PROGRAM)
void which_loader(void) { print_answer(clGetPlatformIDs, clGetPlatformInfo); }
#endif

#ifdef PROGRAM
/* Without arguments it asks what it is linked against; with "NAME" it opens a loader, with "NAME PATH" and then another
 * library before it asks; with "call PATH" it opens a library and asks that; "load PATH" before others opens a library. */
int main(int count, char** arguments) {
  int at = 1;
  if (at + 1 < count && strcmp(arguments[at], "load") == 0) {
    if (dlopen(arguments[at + 1], RTLD_NOW | RTLD_LOCAL) == NULL) return 2;
    at += 2;
  }
  if (at + 1 < count && strcmp(arguments[at], "call") == 0) {
    void* library = dlopen(arguments[at + 1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return printf("%s\n", dlerror());
    void (*function)(void);
    void* symbol = dlsym(library, "which_loader");
    memcpy(&function, &symbol, sizeof function);
    function();
    return 0;
  }
  if (at < count) return open_and_print(arguments[at], arguments[at + 1]);
#if defined(LINKED) || defined(USES)
  which_loader();
#endif
  return 0;
}
#endif
