/* Preloaded into a server (LD_PRELOAD): sees every call that changes a file in STORAGE_FOLDER.

   STORAGE_DIE_AT=n: the process dies at the n-th of them, as by kill -9; with STORAGE_TORN the write is done by half.
   STORAGE_LOG=file: each of them is entered there when it is done, with the time, for power_loss.py to play again.
   Entries: char what ('w'rite, 't'runcate, 's'ync, 'c'reate, 'u'nlink), double seconds, uint64 inode, uint64 offset,
   uint32 length, and so many bytes: data, or the path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *folder;
static size_t length;
static long count, die_at = -1;
static int torn, journal = -1;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

void storage_die_at(const char *within, long n, int by_half) {
    folder = within;
    length = strlen(within);
    count = 0;
    die_at = n;
    torn = by_half;
}

long storage_count(void) { return count; }

static int open_directly(const char *path, int flags, mode_t mode) {
    REAL(int, open, const char *, int, ...);
    return real(path, flags, mode);
}

__attribute__((constructor)) static void begin(void) {
    const char *n = getenv("STORAGE_DIE_AT"), *log = getenv("STORAGE_LOG"), *within = getenv("STORAGE_FOLDER");
    if (within) storage_die_at(strdup(within), n ? atol(n) : -1, getenv("STORAGE_TORN") != NULL);
    if (log) journal = open_directly(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int ours(const char *path) { return folder && path && !strncmp(path, folder, length); }

static int ours_open(int file) {
    char link[64], path[4096];
    if (!folder || file < 0 || file == journal) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return ours(path);
}

/* Whether the process is to die now; a caller that can leaves half of its work behind. */
static int due(void) { return __sync_add_and_fetch(&count, 1) == die_at; }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void enter(char what, int file, const char *path, uint64_t offset, const void *data, uint32_t size) {
    if (journal < 0) return;
    struct stat status;
    struct timespec now;
    memset(&status, 0, sizeof status);
    if (file >= 0) fstat(file, &status);
    else lstat(path, &status);
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct __attribute__((packed)) {
        char what;
        double at;
        uint64_t inode, offset;
        uint32_t size;
    } head = {what, now.tv_sec + now.tv_nsec / 1e9, status.st_ino, offset, size};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, size}};
    if (writev(journal, parts, 2) < 0) abort();
}

ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (file <= 2 || !ours_open(file)) return real(file, data, size);
    if (due()) {
        if (torn) real(file, data, size / 2);
        die();
    }
    ssize_t done = real(file, data, size);
    if (done > 0) enter('w', file, NULL, (uint64_t)lseek(file, 0, SEEK_CUR) - (uint64_t)done, data, (uint32_t)done);
    return done;
}

#define PWRITE(name, offset_t) \
    ssize_t name(int file, const void *data, size_t size, offset_t offset) { \
        REAL(ssize_t, name, int, const void *, size_t, offset_t); \
        if (!ours_open(file)) return real(file, data, size, offset); \
        if (due()) { \
            if (torn) real(file, data, size / 2, offset); \
            die(); \
        } \
        ssize_t done = real(file, data, size, offset); \
        if (done > 0) enter('w', file, NULL, (uint64_t)offset, data, (uint32_t)done); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name) \
    int name(int file) { \
        REAL(int, name, int); \
        if (!ours_open(file)) return real(file); \
        if (due()) die(); \
        int done = real(file); \
        if (!done) enter('s', file, NULL, 0, NULL, 0); \
        return done; \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset_t) \
    int name(int file, offset_t size) { \
        REAL(int, name, int, offset_t); \
        if (!ours_open(file)) return real(file, size); \
        if (due()) die(); \
        int done = real(file, size); \
        if (!done) enter('t', file, NULL, (uint64_t)size, NULL, 0); \
        return done; \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (!ours(path)) return real(path);
    if (due()) die();
    enter('u', -1, path, 0, path, (uint32_t)strlen(path));
    return real(path);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        int creates = ours(path) && (flags & O_CREAT) && access(path, F_OK); \
        if (creates && due()) die(); \
        int file = real(path, flags, mode); \
        if (file >= 0 && ours(path) && (flags & O_CREAT)) enter('c', file, NULL, 0, path, (uint32_t)strlen(path)); \
        if (file >= 0 && ours(path) && (flags & O_TRUNC)) enter('t', file, NULL, 0, NULL, 0); \
        return file; \
    }
OPEN(open)
OPEN(open64)
