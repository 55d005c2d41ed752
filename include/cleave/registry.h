/* The registry of the processes under Cleave on a machine: a folder with one small file for each process that launches
 * kernels. `cleave top` displays it, and neighbours.source = peers counts it.
 *
 * A file's name is PID.NONCE, in decimal and in 16 hexadecimal digits. It holds one cleave_registry_entry in native byte
 * order, padded with zeros to CLEAVE_REGISTRY_FILE_SIZE bytes, which its process updates in place. The process holds a write
 * lock on the whole file (F_OFD_SETLK) as long as it lives; the kernel releases it however the process ends. So:
 *
 *   - an empty file is one that is being created;
 *   - a file without a write lock (test with F_OFD_GETLK for a read lock, which takes none) belongs to a dead process, and
 *     any process with the right to do so may delete it;
 *   - a reader copies the file with read() and never maps it, uses nothing before cleave_registry_entry_is_sound() has
 *     accepted the copy, and filters unprintable characters out of the name.
 *
 * The numbers are updated one by one, so a copy may include a launch without its slices. */
#ifndef CLEAVE_REGISTRY_H_
#define CLEAVE_REGISTRY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The default folder. All users may create files there, and delete their own (mode 1777). */
#define CLEAVE_REGISTRY_FOLDER "/dev/shm/cleave"

#define CLEAVE_REGISTRY_MAGIC 0x65766c63u /* "clve" */
#define CLEAVE_REGISTRY_VERSION 1u
#define CLEAVE_REGISTRY_FILE_SIZE 4096
#define CLEAVE_REGISTRY_DEVICES 16
#define CLEAVE_REGISTRY_PROGRAM 32

/* Readers read no more files than that of one owner. */
#define CLEAVE_REGISTRY_MAX_ENTRIES 256

struct cleave_registry_entry {
  uint32_t magic;   /* written last when the entry is created */
  uint32_t version; /* CLEAVE_REGISTRY_VERSION */
  uint32_t pid;     /* as the process sees itself; another container may count differently */
  uint32_t vms;     /* the number of VMs that its next launch will use */
  uint64_t started; /* seconds since 1970 */
  char program[CLEAVE_REGISTRY_PROGRAM];     /* its name, truncated, with a final NUL */
  uint64_t devices[CLEAVE_REGISTRY_DEVICES]; /* hashes of the devices it has queues on; 0: no more */
  uint64_t split;                            /* launches that were split */
  uint64_t slices;                           /* the driver launches that these became */
  /* Launches that were not split, of the first thread that made one, which alone writes this. Those of others are below. */
  uint64_t unsplit;
  /* Nanoseconds that split launches took in the program's thread after their first driver launch: to enqueue the other
   * slices, and in sequential mode or in a turn to wait for them, but not for others' turns. Not time on the device. */
  uint64_t added_ns;
  uint64_t unsplit_by_others; /* launches that were not split, of all other threads */
};

/* Whether a copy of `size` bytes is a valid entry. */
static inline int cleave_registry_entry_is_sound(const struct cleave_registry_entry* entry, uint64_t size) {
  return size == CLEAVE_REGISTRY_FILE_SIZE && entry->magic == CLEAVE_REGISTRY_MAGIC &&
         entry->version == CLEAVE_REGISTRY_VERSION && entry->vms >= 1 &&
         entry->program[CLEAVE_REGISTRY_PROGRAM - 1] == '\0';
}

/* The launches of a sound entry that were not split. */
static inline uint64_t cleave_registry_unsplit(const struct cleave_registry_entry* entry) {
  return entry->unsplit + entry->unsplit_by_others;
}

#ifdef __cplusplus
}
#endif

#endif /* CLEAVE_REGISTRY_H_ */
