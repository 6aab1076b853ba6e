// A context of OpenGL that asks to be told of resets, a shader that faults in it, and what the functions say before and after.
// Says "all right" at the end if it is what GL_KHR_robustness wants. clients.rs compiles and runs it. No headers of EGL or OpenGL are needed.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("FAIL line %d: %s\n", __LINE__, #x); exit(1); } } while (0)
enum { NO_ERROR = 0, GUILTY = 0x8253, INNOCENT = 0x8254, CONTEXT_LOST = 0x507, STORAGE = 0x90D2, COMPUTE = 0x91B9, BARRIERS = -1 };
typedef void *(*Getter)(const char *);
static Getter get;
#define F(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))get(#name); CHECK(name)
static void *display;
static void *make(void) {
  F(unsigned, eglBindAPI, unsigned);
  F(void *, eglCreateContext, void *, void *, void *, const int *);
  CHECK(eglBindAPI(0x30A2));
  // Version 4.5, the core profile, and to lose the context at a reset.
  const int attributes[] = {0x3098, 4, 0x30FB, 5, 0x30FD, 1, 0x31BD, 0x31BF, 0x3038};
  void *context = eglCreateContext(display, 0, 0, attributes);
  CHECK(context);
  return context;
}
static void current(void *context) { F(unsigned, eglMakeCurrent, void *, void *, void *, void *); CHECK(eglMakeCurrent(display, 0, 0, context)); }
static unsigned status(void) { F(unsigned, glGetGraphicsResetStatus, void); return glGetGraphicsResetStatus(); }
static unsigned error(void) { F(unsigned, glGetError, void); return glGetError(); }
// Runs a program over words; the first two are an image's handle. Gives what the third is afterwards.
static uint32_t run(const char *code, uint32_t low, uint32_t high) {
  F(unsigned, glCreateShader, unsigned); F(void, glShaderSource, unsigned, int, const char **, const int *);
  F(void, glCompileShader, unsigned); F(unsigned, glCreateProgram, void); F(void, glAttachShader, unsigned, unsigned);
  F(void, glLinkProgram, unsigned); F(void, glGetProgramiv, unsigned, unsigned, int *); F(void, glUseProgram, unsigned);
  F(void, glGetShaderInfoLog, unsigned, int, int *, char *);
  F(void, glCreateBuffers, int, unsigned *); F(void, glNamedBufferData, unsigned, intptr_t, const void *, unsigned);
  F(void, glBindBufferBase, unsigned, unsigned, unsigned); F(void, glDispatchCompute, unsigned, unsigned, unsigned);
  F(void, glMemoryBarrier, unsigned); F(void, glFinish, void); F(void, glGetNamedBufferSubData, unsigned, intptr_t, intptr_t, void *);
  unsigned shader = glCreateShader(COMPUTE), program = glCreateProgram(), buffer;
  int linked = 0;
  glShaderSource(shader, 1, &code, 0);
  glCompileShader(shader);
  glAttachShader(program, shader);
  glLinkProgram(program);
  glGetProgramiv(program, 0x8B82, &linked);
  char log[500] = "";
  if (!linked) { glGetShaderInfoLog(shader, sizeof log, 0, log); printf("%s\n", log); }
  CHECK(linked);
  glUseProgram(program);
  uint32_t words[4] = {low, high, 1, 2};
  glCreateBuffers(1, &buffer);
  glNamedBufferData(buffer, sizeof words, words, 0x88EA);
  glBindBufferBase(STORAGE, 0, buffer);
  CHECK(error() == NO_ERROR);
  glDispatchCompute(1, 1, 1);
  glMemoryBarrier(BARRIERS);
  glFinish();
  glGetNamedBufferSubData(buffer, 8, 4, words);
  return words[0];
}
int main(void) {
  void *egl = dlopen("libEGL.so.1", RTLD_NOW);
  if (!egl) { printf("skipped: there is no libEGL.so.1\n"); return 77; }
  get = (Getter)dlsym(egl, "eglGetProcAddress");
  CHECK(get);
  F(void *, eglGetPlatformDisplay, unsigned, void *, const intptr_t *);
  F(unsigned, eglInitialize, void *, int *, int *);
  display = eglGetPlatformDisplay(0x31DD, 0, 0);
  CHECK(display && eglInitialize(display, 0, 0));
  void *first = make(), *second = make();
  current(first);
  F(const char *, glGetString, unsigned);
  printf("%s\n", glGetString(0x1F01));
  const char *good = "#version 450\nlayout(local_size_x = 1) in; layout(std430, binding = 0) buffer B { uvec2 handle; uint x; }; void main() { x += 41; }";
  const char *bad = "#version 450\n#extension GL_ARB_bindless_texture : require\nlayout(local_size_x = 1) in; layout(std430, binding = 0) buffer B"
                    " { uvec2 handle; uint x; }; void main() { x = uint(texelFetch(sampler2D(handle), ivec2(x), 0).x) + 3u; }";
  CHECK(run(good, 0, 0) == 42);
  CHECK(status() == NO_ERROR);
  fflush(stdout);
  // No image has this handle: the descriptor would be where nothing is mapped.
  run(bad, 0x7ffffff0, 0);
  unsigned after = status();
  printf("status %x\n", after);
  CHECK(after == GUILTY);
  F(void, glMemoryBarrier, unsigned);
  while (error() != NO_ERROR && error() != CONTEXT_LOST) {}
  glMemoryBarrier(BARRIERS);
  unsigned lost = error();
  printf("error %x\n", lost);
  CHECK(lost == CONTEXT_LOST);
  // Mesa has a card's other contexts end too, but says that it was not their fault.
  current(second);
  CHECK(status() == INNOCENT);
  current(make());
  CHECK(status() == NO_ERROR);
  CHECK(run(good, 0, 0) == 42);
  CHECK(error() == NO_ERROR && status() == NO_ERROR);
  printf("all right\n");
  return 0;
}
