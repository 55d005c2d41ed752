/* The registry of the processes under Cleave on a machine: a folder with one small file for each process that
 * launches kernels. `cleave top` shows it, and with neighbours.source = peers it is counted.
 *
 * A file's name is PID.NONCE, in decimal and in 16 hexadecimal digits. It holds one cleave_registry_entry in
 * the machine's own byte order, padded with zeros to CLEAVE_REGISTRY_FILE_SIZE bytes, which its process
 * changes in place while it runs. The process holds a write lock on the file (F_OFD_SETLK, the whole file) as
 * long as it lives; the kernel lets go of it however the process ends. So:
 *
 *   - an empty file is one that is being made;
 *   - a file that nobody holds a write lock on (F_OFD_GETLK for a read lock says so without taking one)
 * belongs to a process that is gone. Whoever may is welcome to delete it;
 *   - a reader copies the file with read() and never maps it, believes nothing before
 *     cleave_registry_entry_is_sound() has been asked, and shows the name with only what is printable.
 *
 * The numbers are changed one by one, so a copy may hold a launch whose slices are not counted yet. */
#ifndef CLEAVE_REGISTRY_H_
#define CLEAVE_REGISTRY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where it is if nobody says otherwise. Everybody may write there, and delete what is theirs (mode 1777). */
#define CLEAVE_REGISTRY_FOLDER "/dev/shm/cleave"

#define CLEAVE_REGISTRY_MAGIC 0x65766c63u /* "clve" */
#define CLEAVE_REGISTRY_VERSION 1u
#define CLEAVE_REGISTRY_FILE_SIZE 4096
#define CLEAVE_REGISTRY_DEVICES 16
#define CLEAVE_REGISTRY_PROGRAM 32

/* Readers look at no more files than that. */
#define CLEAVE_REGISTRY_MOST_ENTRIES 1024

struct cleave_registry_entry {
  uint32_t magic;   /* written last when the entry is made */
  uint32_t version; /* CLEAVE_REGISTRY_VERSION */
  uint32_t pid;     /* as the process sees itself; another container may count differently */
  uint32_t vms;     /* the number that its next launch reckons with */
  uint64_t started; /* seconds since 1970 */
  char program[CLEAVE_REGISTRY_PROGRAM];     /* its name, cut, with a final NUL */
  uint64_t devices[CLEAVE_REGISTRY_DEVICES]; /* hashes of the devices it has queues on; 0: no more */
  uint64_t split;                            /* launches that were split */
  uint64_t slices;                           /* driver launches that these were made of */
  uint64_t whole;                            /* launches that stayed whole */
  /* Nanoseconds that the calls of split launches took after their first driver launch: enqueueing the others,
   * and in sequential mode waiting for them. It is time in the program's own thread, not on the device. */
  uint64_t added_ns;
};

/* Whether a copy of `size` bytes may be read as an entry at all. */
static inline int cleave_registry_entry_is_sound(const struct cleave_registry_entry* entry, uint64_t size) {
  return size == CLEAVE_REGISTRY_FILE_SIZE && entry->magic == CLEAVE_REGISTRY_MAGIC &&
         entry->version == CLEAVE_REGISTRY_VERSION && entry->vms >= 1 &&
         entry->program[CLEAVE_REGISTRY_PROGRAM - 1] == '\0';
}

#ifdef __cplusplus
}
#endif

#endif /* CLEAVE_REGISTRY_H_ */
