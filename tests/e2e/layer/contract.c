/* Drives the layer as a loader does, but strictly. Usage: contract LAYER FUNCTION ENTRIES
 *
 * Initialises LAYER with FUNCTION (clInitLayer or clInitLayerWithProperties), on a table of ENTRIES functions that ends
 * right before unreadable memory, as a loader of another OpenCL version might have it. A violation of the specification
 * ends the program. */
#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

typedef cl_int(CL_API_CALL* init_with_properties)(cl_uint, const cl_icd_dispatch*, cl_uint*,
                                                  const cl_icd_dispatch**, const cl_properties*);

static void* library;
static pfn_clInitLayer init_layer;
static init_with_properties init_layer_with_properties;

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "contract: not true: %s\n", what);
  exit(1);
}

static void find(const char* name, void* function) {
  void* symbol = dlsym(library, name);
  require(symbol != NULL, name);
  memcpy(function, &symbol, sizeof symbol);
}

static cl_int init(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                   const cl_icd_dispatch** table_ret) {
  if (init_layer != NULL) return init_layer(entries, target, entries_ret, table_ret);
  return init_layer_with_properties(entries, target, entries_ret, table_ret, NULL);
}

static int platform_queries;

static cl_int CL_API_CALL one_platform(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  (void)entries;
  (void)platforms;
  ++platform_queries;
  if (count != NULL) *count = 1;
  return CL_SUCCESS;
}

static void CL_API_CALL never_called(void) {
  fprintf(stderr, "contract: not true: no function of the table is called while it is passed on\n");
  exit(1);
}

/* A table whose last entry is the last thing on its page; the next page cannot be read. */
static const cl_icd_dispatch* table_at_the_end_of_memory(cl_uint entries) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t size = entries * sizeof(void*);
  const size_t readable = (size + page - 1) / page * page;
  char* memory = mmap(NULL, readable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "there is memory");
  require(mprotect(memory + readable, page, PROT_NONE) == 0, "memory can be protected");
  char* table = memory + readable - size;
  void(CL_API_CALL * never)(void) = never_called;
  for (cl_uint i = 0; i < entries; ++i) memcpy(table + i * sizeof(void*), &never, sizeof never);
  const __typeof__(&clGetPlatformIDs) platforms = one_platform;
  if (entries > 0) memcpy(table, &platforms, sizeof platforms);
  return (const cl_icd_dispatch*)table;
}

static void check_info(pfn_clGetLayerInfo info) {
  cl_layer_api_version version = 0;
  size_t size = 0;
  char name[64] = {0};
  require(info(CL_LAYER_API_VERSION, sizeof version, &version, &size) == CL_SUCCESS,
          "the version is returned");
  require(version == CL_LAYER_API_VERSION_100 && size == sizeof version, "the version is 100, a cl_uint");
  require(info(CL_LAYER_API_VERSION, 0, NULL, &size) == CL_SUCCESS, "a size may be queried alone");
  require(info(CL_LAYER_API_VERSION, sizeof version, &version, NULL) == CL_SUCCESS, "a value alone too");
  require(info(CL_LAYER_API_VERSION, sizeof version - 1, &version, NULL) == CL_INVALID_VALUE,
          "too little room for the version is an error");
  require(info(CL_LAYER_NAME, 0, NULL, &size) == CL_SUCCESS && size > 1 && size <= sizeof name,
          "the name has a size");
  require(info(CL_LAYER_NAME, size, name, NULL) == CL_SUCCESS && strlen(name) + 1 == size,
          "the name ends where its size says");
  require(info(CL_LAYER_NAME, size - 1, name, NULL) == CL_INVALID_VALUE,
          "too little room for the name is an error");
  require(info(0, sizeof name, name, &size) == CL_INVALID_VALUE, "an unknown query is an error");
}

static void check_missing_arguments(cl_uint entries, const cl_icd_dispatch* target) {
  cl_uint entries_ret = 0;
  const cl_icd_dispatch* table = NULL;
  require(init(entries, NULL, &entries_ret, &table) == CL_INVALID_VALUE, "no target is an error");
  require(init(entries, target, NULL, &table) == CL_INVALID_VALUE, "no room for the count is an error");
  require(init(entries, target, &entries_ret, NULL) == CL_INVALID_VALUE, "no room for a table is an error");
}

static void check_table(cl_uint entries, const cl_icd_dispatch* target) {
  cl_uint entries_ret = 0;
  const cl_icd_dispatch* table = NULL;
  require(init(entries, target, &entries_ret, &table) == CL_SUCCESS, "it initialises");
  require(table != NULL && entries_ret > 0 && entries_ret <= entries,
          "its table is no longer than the target");
  for (cl_uint i = 0; i < entries_ret; ++i) {
    void* entry;
    memcpy(&entry, (const char*)table + i * sizeof entry, sizeof entry);
    require(entry != NULL, "no entry of its table is empty");
  }
  cl_uint platforms = 0;
  const int before = platform_queries;
  require(table->clGetPlatformIDs(0, NULL, &platforms) == CL_SUCCESS && platforms == 1,
          "calls are forwarded to the target");
  require(platform_queries == before + 1, "they are forwarded once");
}

int main(int count, char** arguments) {
  require(count == 4, "usage: contract LAYER FUNCTION ENTRIES");
  pfn_clGetLayerInfo info;
  const cl_uint entries = (cl_uint)strtoul(arguments[3], NULL, 10);
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  require(library != NULL, "the layer can be loaded");
  find("clGetLayerInfo", &info);
  if (strcmp(arguments[2], "clInitLayer") == 0) {
    find(arguments[2], &init_layer);
  } else {
    find(arguments[2], &init_layer_with_properties);
  }

  const cl_icd_dispatch* target = table_at_the_end_of_memory(entries);
  check_info(info);
  check_missing_arguments(entries, target);
  check_table(entries, target);
  check_table(entries, table_at_the_end_of_memory(entries)); /* a loader may initialise a layer again */
  printf("conforms\n");
  return 0;
}
