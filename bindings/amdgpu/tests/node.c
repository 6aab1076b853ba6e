// A program without Mesa that speaks to the render node: it and its children. Ends with the status that it is told, if all is well.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%d: line %d: %s\n", (int)getpid(), __LINE__, #x); exit(99); } } while (0)
struct version { int numbers[3]; size_t lengths[1]; char *name; size_t date_length; char *date; size_t about_length; char *about; };
#define VERSION _IOWR('d', 0x00, struct version)
union create { struct { uint64_t bytes, align, domains, flags; } in; uint32_t handle; };
#define CREATE _IOWR('d', 0x40, union create)
union map { uint32_t handle; uint64_t offset; };
#define MAP _IOWR('d', 0x41, union map)

static int is_card(int node) {
  char name[16] = "";
  struct version v = {.lengths = {sizeof name}, .name = name};
  return !ioctl(node, VERSION, &v) && !strcmp(name, "amdgpu");
}

static volatile uint32_t *memory(int node) {
  union create create = {.in = {4096, 4096, 4, 0}};
  CHECK(!ioctl(node, CREATE, &create));
  union map map = {.handle = create.handle};
  CHECK(!ioctl(node, MAP, &map));
  void *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, node, (off_t)map.offset);
  CHECK(at != MAP_FAILED);
  return at;
}

int main(int argc, char **argv) {
  int node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  CHECK(node >= 0 && is_card(node));
  volatile uint32_t *mine = memory(node);
  *mine = 1;
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
      // What the parent opened is no card here; what the child opens is one of its own.
      CHECK(!is_card(node));
      int own = open("/dev/dri/renderD128", O_RDWR);
      CHECK(own >= 0 && is_card(own));
      volatile uint32_t *its = memory(own);
      CHECK(*its == 0);
      *its = 2;
      if (i == 1) abort();
      // A program started by the child finds the card, too.
      if (i == 2) { execl(argv[0], argv[0], "17", "alone", (char *)0); _exit(98); }
      _exit(40 + i);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (i == 0) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40);
    if (i == 1) CHECK(WIFSIGNALED(status) && WTERMSIG(status) == 6);
    if (i == 2) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17);
    if (argc > 2) break;
  }
  CHECK(*mine == 1 && is_card(node));
  // The parent's card is as it was.
  *memory(node) = 3;
  return argc > 1 ? atoi(argv[1]) : 0;
}
