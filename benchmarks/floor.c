// Starts a program, feeds it and reads it to its end with as little as a system lets one do that:
// a line "PARALLEL ITERATIONS" on stdin is answered with the nanoseconds it took on stdout.
//
// usage: floor PAYLOAD_FILE PROGRAM ARGUMENT...

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 256
#define STREAMS 3
#define CHUNK 65536

extern char **environ;

static char **program;
static char *payload;
static size_t payload_size;
static posix_spawnattr_t attributes;

static pid_t pids[MOST];
static size_t written[MOST];
// Our ends: stdin, stdout and stderr of each process in turn; poll passes over those that are -1.
static struct pollfd ends[MOST * STREAMS];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void open_pipe(int both[2]) {
#ifdef __linux__
  if (pipe2(both, O_CLOEXEC)) fail("pipe2");
#else
  if (pipe(both)) fail("pipe");
  fcntl(both[0], F_SETFD, FD_CLOEXEC);
  fcntl(both[1], F_SETFD, FD_CLOEXEC);
#endif
}

static void close_end(struct pollfd *end) {
  close(end->fd);
  end->fd = -1;
}

static void feed(int number) {
  struct pollfd *end = &ends[number * STREAMS];
  ssize_t count = write(end->fd, payload + written[number], payload_size - written[number]);
  if (count < 0 && errno == EAGAIN) return;
  if (count > 0) written[number] += (size_t)count;
  if (count < 0 || written[number] == payload_size) close_end(end);
}

static void start(int number) {
  int in[2], out[2], err[2];
  open_pipe(in);
  open_pipe(out);
  open_pipe(err);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  errno = posix_spawn(&pids[number], program[0], &actions, &attributes, program, environ);
  if (errno) fail(program[0]);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  close(err[1]);
  fcntl(in[1], F_SETFL, O_NONBLOCK);
  struct pollfd *own = &ends[number * STREAMS];
  own[0] = (struct pollfd){.fd = in[1], .events = POLLOUT};
  own[1] = (struct pollfd){.fd = out[0], .events = POLLIN};
  own[2] = (struct pollfd){.fd = err[0], .events = POLLIN};
  written[number] = 0;
  feed(number);
}

static void serve(int parallel) {
  static char chunk[CHUNK];
  int count = parallel * STREAMS, open = 0;
  for (int i = 0; i < count; i++) open += ends[i].fd >= 0;
  while (open > 0) {
    if (poll(ends, (nfds_t)count, -1) < 0) fail("poll");
    open = 0;
    for (int i = 0; i < count; i++) {
      if (ends[i].fd >= 0 && ends[i].revents) {
        if (i % STREAMS == 0) feed(i / STREAMS);
        else if (read(ends[i].fd, chunk, CHUNK) <= 0) close_end(&ends[i]);
      }
      open += ends[i].fd >= 0;
    }
  }
}

static void run(int parallel) {
  for (int i = 0; i < parallel; i++) start(i);
  serve(parallel);
  for (int i = 0; i < parallel; i++) {
    int status;
    if (waitpid(pids[i], &status, 0) < 0) fail("waitpid");
    if (status) {
      fprintf(stderr, "%s ended with status %d\n", program[0], status);
      exit(1);
    }
  }
}

static void read_payload(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail(path);
  payload_size = (size_t)ftell(file);
  rewind(file);
  payload = malloc(payload_size + 1);
  if (!payload || fread(payload, 1, payload_size, file) != payload_size) fail(path);
  fclose(file);
}

// Every hook has a session of its own. That costs nothing, but a scheduler may give each session a
// share of the processors, which counts on a busy machine. A broken pipe is no error here, since a
// hook need not read all it is sent; but what is ignored here would be ignored in hooks as well.
static void prepare(void) {
  sigset_t restored;
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&restored);
  sigaddset(&restored, SIGPIPE);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &restored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
  int parallel, iterations;
  if (count < 3) return 2;
  read_payload(arguments[1]);
  program = arguments + 2;
  prepare();
  puts("ready");
  fflush(stdout);
  while (scanf("%d %d", &parallel, &iterations) == 2) {
    if (parallel < 1 || parallel > MOST) return 2;
    long long started = now();
    for (int i = 0; i < iterations; i++) run(parallel);
    printf("%lld\n", now() - started);
    fflush(stdout);
  }
  return 0;
}
