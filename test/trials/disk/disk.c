/*
 * A layer between a program and its disk, loaded with LD_PRELOAD. It watches the files below one
 * folder and does two things:
 *
 *   - it keeps a log of what would be lost in a power cut: every write, cut, sync and change of a
 *     name, in order, and every byte that the program sends to a socket (disk-log.ts reads it);
 *   - it makes one operation fail: the n-th of a kind on files whose path contains a text.
 *
 *   DISK_FOLDER   the folder, absolute
 *   DISK_LOG      the log's path, outside the folder; without it nothing is logged
 *   DISK_FAULT    kind:text:n:what, for example write:journal.db-wal:7:ENOSPC
 *                 kind    open, read, write or sync
 *                 n       from 1; with a + behind it, every one from there on
 *                 what    EIO, ENOSPC, EDQUOT, short (half of it is done) or seconds to wait (3s)
 *                 It says on stderr when that happens.
 *
 * An entry of the log is 32 bytes, little-endian, and its payload:
 *
 *   u32 kind, u32 file, u64 offset, u32 length, u32 flags, u64 monotonic time in nanoseconds
 *
 * Invariant: a write is logged after it was done and before the caller knows it; a sync is
 * logged before it starts and after it has ended, so that only writes that were logged before its
 * start count as synced; what is sent is logged before it leaves the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, OPEN, WRITE, TRUNCATE, SYNC_START, SYNC_END, RENAME, UNLINK, MAKE_FOLDER, SEND, READ };
enum { MAX_FILES = 65536, MAX_PATH = 1024 };

struct entry {
  uint32_t kind, file;
  uint64_t offset;
  uint32_t length, flags;
  uint64_t nanoseconds;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char folder[MAX_PATH];
static size_t folder_length;
static int log_file = -1;
/* The path of each watched descriptor, relative to the folder; NULL: not watched. */
static char *watched[MAX_FILES];

static struct {
  char kind[8], text[128];
  long n, seen, seconds;
  int error, from_there_on, is_short;
} fault;

static void real_write(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    long done = syscall(SYS_write, log_file, at, length);
    if (done <= 0) abort();
    at += done;
    length -= done;
  }
}

/* With the mutex held, so that the order of the log is an order in which things happened. */
static void put(uint32_t kind, uint32_t file, uint64_t offset, const void *payload, size_t length, uint32_t flags) {
  if (log_file < 0) return;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct entry entry = {kind, file, offset, (uint32_t)length, flags,
                        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
  real_write(&entry, sizeof entry);
  if (length > 0) real_write(payload, length);
}

static void note(uint32_t kind, uint32_t file, uint64_t offset, const void *payload, size_t length, uint32_t flags) {
  pthread_mutex_lock(&mutex);
  put(kind, file, offset, payload, length, flags);
  pthread_mutex_unlock(&mutex);
}

static void read_fault(const char *text) {
  char what[16] = "", number[16] = "";
  if (sscanf(text, "%7[^:]:%127[^:]:%15[^:]:%15s", fault.kind, fault.text, number, what) != 4) {
    fprintf(stderr, "disk: DISK_FAULT=%s is not kind:text:n:what\n", text);
    _exit(97);
  }
  fault.n = strtol(number, NULL, 10);
  fault.from_there_on = strchr(number, '+') != NULL;
  if (strcmp(what, "EIO") == 0) fault.error = EIO;
  else if (strcmp(what, "ENOSPC") == 0) fault.error = ENOSPC;
  else if (strcmp(what, "EDQUOT") == 0) fault.error = EDQUOT;
  else if (strcmp(what, "short") == 0) fault.is_short = 1;
  else fault.seconds = strtol(what, NULL, 10);
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("DISK_FOLDER"), *log = getenv("DISK_LOG"), *text = getenv("DISK_FAULT");
  if (path == NULL) return;
  snprintf(folder, sizeof folder, "%s/", path);
  folder_length = strlen(folder);
  if (log != NULL) {
    log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) _exit(98);
  }
  if (text != NULL) read_fault(text);
  /* Only the first process: a child that has no such folder to write to runs as always. */
  unsetenv("LD_PRELOAD");
}

/* The path relative to the folder: "" for the folder itself, NULL outside of it. */
static const char *inside(const char *path) {
  if (folder_length == 0 || path == NULL) return NULL;
  if (strncmp(path, folder, folder_length - 1) != 0) return NULL;
  const char after = path[folder_length - 1];
  return after == 0 ? "" : after == '/' ? path + folder_length : NULL;
}

static const char *path_of(int file) {
  return file >= 0 && file < MAX_FILES ? watched[file] : NULL;
}

/* Returns 0: nothing; -1: fail with errno; 1: do half of it. Waits here when it is a slow disk. */
static int faulted(const char *kind, const char *path) {
  if (fault.n == 0 || path == NULL || strcmp(kind, fault.kind) != 0) return 0;
  if (strstr(path, fault.text) == NULL) return 0;
  pthread_mutex_lock(&mutex);
  const long seen = ++fault.seen;
  pthread_mutex_unlock(&mutex);
  if (seen != fault.n && !(fault.from_there_on && seen > fault.n)) return 0;
  const char note[] = "disk: the fault has happened\n";
  syscall(SYS_write, STDERR_FILENO, note, sizeof note - 1);
  if (fault.seconds > 0) {
    struct timespec wait = {fault.seconds, 0};
    nanosleep(&wait, NULL);
    return 0;
  }
  if (fault.is_short) return 1;
  errno = fault.error;
  return -1;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int opened(int file, const char *path, int flags, int existed) {
  if (file < 0 || file >= MAX_FILES) return file;
  const char *name = inside(path);
  pthread_mutex_lock(&mutex);
  free(watched[file]);
  watched[file] = name == NULL ? NULL : strdup(name);
  if (name != NULL) {
    if (!existed) put(CREATE, (uint32_t)file, 0, name, strlen(name), 0);
    put(OPEN, (uint32_t)file, 0, name, strlen(name), (uint32_t)flags);
    if (existed && (flags & O_TRUNC)) put(TRUNCATE, (uint32_t)file, 0, name, strlen(name), 0);
  }
  pthread_mutex_unlock(&mutex);
  return file;
}

static int exists(const char *path) {
  struct stat facts;
  const int before = errno;
  const int found = stat(path, &facts) == 0;
  errno = before;
  return found;
}

#define OPENING(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (inside(path) == NULL) return opened(real(path, flags, mode), NULL, 0, 1); \
    if (faulted("open", inside(path)) < 0) return -1; \
    const int existed = exists(path); \
    return opened(real(path, flags, mode), path, flags, existed); \
  }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name) \
  int name(int at, const char *path, int flags, ...) { \
    REAL(name); \
    va_list rest; \
    va_start(rest, flags); \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (inside(path) == NULL) return opened(real(at, path, flags, mode), NULL, 0, 1); \
    if (faulted("open", inside(path)) < 0) return -1; \
    const int existed = exists(path); \
    return opened(real(at, path, flags, mode), path, flags, existed); \
  }
OPENING_AT(openat)
OPENING_AT(openat64)

int close(int file) {
  REAL(close);
  if (path_of(file) != NULL) {
    pthread_mutex_lock(&mutex);
    free(watched[file]);
    watched[file] = NULL;
    pthread_mutex_unlock(&mutex);
  }
  return real(file);
}

/* Logs what of these buffers was written, as one write. */
static void wrote(int file, const char *path, const struct iovec *pieces, ssize_t done, off_t offset) {
  if (done <= 0 || log_file < 0) return;
  char *bytes = malloc((size_t)done);
  size_t at = 0;
  for (int i = 0; at < (size_t)done; i++) {
    const size_t left = (size_t)done - at;
    const size_t length = pieces[i].iov_len < left ? pieces[i].iov_len : left;
    memcpy(bytes + at, pieces[i].iov_base, length);
    at += length;
  }
  (void)path;
  note(WRITE, (uint32_t)file, (uint64_t)offset, bytes, (size_t)done, 0);
  free(bytes);
}

/*
 * Logs a write at the file's position. libuv closes files by a system call that is not seen here, so
 * the number may by now be of an eventfd or a socket, which has no position.
 */
static void wrote_here(int file, const char *path, const struct iovec *pieces, ssize_t done) {
  const off_t end = lseek(file, 0, SEEK_CUR);
  if (done > 0 && end >= done) wrote(file, path, pieces, done, end - done);
}

static ssize_t write_at(int file, const void *bytes, size_t length, off_t offset) {
  return syscall(SYS_pwrite64, file, bytes, length, offset);
}

#define POSITIONED_WRITE(name) \
  ssize_t name(int file, const void *bytes, size_t length, off_t offset) { \
    const char *path = path_of(file); \
    if (path == NULL) return write_at(file, bytes, length, offset); \
    const int how = faulted("write", path); \
    if (how < 0) return -1; \
    const ssize_t done = write_at(file, bytes, how > 0 ? length / 2 : length, offset); \
    const struct iovec piece = {(void *)bytes, length}; \
    wrote(file, path, &piece, done, offset); \
    return done; \
  }
POSITIONED_WRITE(pwrite)
POSITIONED_WRITE(pwrite64)

ssize_t write(int file, const void *bytes, size_t length) {
  const char *path = path_of(file);
  if (path == NULL) return syscall(SYS_write, file, bytes, length);
  const int how = faulted("write", path);
  if (how < 0) return -1;
  const ssize_t done = syscall(SYS_write, file, bytes, how > 0 ? length / 2 : length);
  const struct iovec piece = {(void *)bytes, length};
  wrote_here(file, path, &piece, done);
  return done;
}


ssize_t writev(int file, const struct iovec *pieces, int count) {
  REAL(writev);
  const char *path = path_of(file);
  if (path == NULL) {
    struct stat facts;
    if (log_file >= 0 && fstat(file, &facts) == 0 && S_ISSOCK(facts.st_mode)) {
      pthread_mutex_lock(&mutex);
      for (int i = 0; i < count; i++)
        put(SEND, (uint32_t)file, 0, pieces[i].iov_base, pieces[i].iov_len, 0);
      pthread_mutex_unlock(&mutex);
    }
    return real(file, pieces, count);
  }
  const int how = faulted("write", path);
  if (how < 0) return -1;
  const ssize_t done = how > 0 ? real(file, pieces, 1) : real(file, pieces, count);
  wrote_here(file, path, pieces, done);
  return done;
}

#define POSITIONED_VECTOR(name) \
  ssize_t name(int file, const struct iovec *pieces, int count, off_t offset) { \
    REAL(name); \
    const char *path = path_of(file); \
    if (path == NULL) return real(file, pieces, count, offset); \
    const int how = faulted("write", path); \
    if (how < 0) return -1; \
    const ssize_t done = real(file, pieces, how > 0 ? 1 : count, offset); \
    wrote(file, path, pieces, done, offset); \
    return done; \
  }
POSITIONED_VECTOR(pwritev)
POSITIONED_VECTOR(pwritev64)

#define POSITIONED_READ(name) \
  ssize_t name(int file, void *bytes, size_t length, off_t offset) { \
    const char *path = path_of(file); \
    if (path != NULL) { \
      const int how = faulted("read", path); \
      if (how < 0) return -1; \
      if (how > 0) length = length / 2; \
      note(READ, (uint32_t)file, (uint64_t)offset, NULL, 0, 0); \
    } \
    return syscall(SYS_pread64, file, bytes, length, offset); \
  }
POSITIONED_READ(pread)
POSITIONED_READ(pread64)

ssize_t read(int file, void *bytes, size_t length) {
  const char *path = path_of(file);
  if (path != NULL) {
    const int how = faulted("read", path);
    if (how < 0) return -1;
    if (how > 0 && length > 1) length = length / 2;
    note(READ, (uint32_t)file, 0, NULL, 0, 0);
  }
  return syscall(SYS_read, file, bytes, length);
}

#define TRUNCATING(name) \
  int name(int file, off_t length) { \
    const char *path = path_of(file); \
    if (path != NULL && faulted("write", path) < 0) return -1; \
    const int result = (int)syscall(SYS_ftruncate, file, length); \
    if (path != NULL && result == 0) note(TRUNCATE, (uint32_t)file, (uint64_t)length, NULL, 0, 0); \
    return result; \
  }
TRUNCATING(ftruncate)
TRUNCATING(ftruncate64)

/* SQLite allocates room only with a chunk size, which the exchange does not set. */
int posix_fallocate(int file, off_t offset, off_t length) {
  REAL(posix_fallocate);
  if (path_of(file) != NULL) abort();
  return real(file, offset, length);
}

static int synced(int file, long call) {
  const char *path = path_of(file);
  if (path == NULL) return (int)syscall(call, file);
  const int how = faulted("sync", path);
  if (how < 0) return -1;
  note(SYNC_START, (uint32_t)file, 0, path, strlen(path), 0);
  const int result = (int)syscall(call, file);
  if (result == 0) note(SYNC_END, (uint32_t)file, 0, path, strlen(path), 0);
  return result;
}
int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

int rename(const char *from, const char *to) {
  REAL(rename);
  const char *before = inside(from), *after = inside(to);
  if (before == NULL || after == NULL) return real(from, to);
  if (faulted("open", before) < 0) return -1;
  const int result = real(from, to);
  if (result == 0) {
    char both[2 * MAX_PATH];
    const int length = snprintf(both, sizeof both, "%s\n%s", before, after);
    note(RENAME, 0, 0, both, (size_t)length, 0);
  }
  return result;
}

static int removed(int result, const char *path) {
  const char *name = inside(path);
  if (name != NULL && result == 0) note(UNLINK, 0, 0, name, strlen(name), 0);
  return result;
}
int unlink(const char *path) {
  REAL(unlink);
  return removed(real(path), path);
}
int unlinkat(int at, const char *path, int flags) {
  REAL(unlinkat);
  return removed(real(at, path, flags), path);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  const int result = real(path, mode);
  const char *name = inside(path);
  if (name != NULL && result == 0) note(MAKE_FOLDER, 0, 0, name, strlen(name), 0);
  return result;
}

ssize_t send(int socket, const void *bytes, size_t length, int flags) {
  REAL(send);
  if (log_file >= 0) note(SEND, (uint32_t)socket, 0, bytes, length, 0);
  return real(socket, bytes, length, flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  if (log_file >= 0) {
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < message->msg_iovlen; i++)
      put(SEND, (uint32_t)socket, 0, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len, 0);
    pthread_mutex_unlock(&mutex);
  }
  return real(socket, message, flags);
}
