/*
 * warpjit: runs GPU machine code on the CPU.
 *
 * Generated from the Rust source of bindings/c by its test 'header'. Do not edit.
 *
 * RULES THAT ALL CALLS SHARE
 *
 * Results. A call returns WARPJIT_OK or an error (WARPJIT_ERROR_...), and its results by pointers. warpjit_last_error gives the text of
 * the calling thread's last error. If a call fails, a handle that it would have returned is NULL. Pointers for results must not be NULL
 * unless the comment allows it.
 *
 * Handles. Types like warpjit_engine are handles. They are not pointers to anything: they are numbers, and each call checks them. A handle
 * that was freed, one of another kind, and a pointer that never was a handle are WARPJIT_ERROR_HANDLE. Free each handle with warpjit_free.
 * Objects keep what they need: an engine may be freed while its launches run, a memory while a launch uses it, options after they have
 * been used. A child of fork has the handles of its parent.
 *
 * Threads. All calls may be made from any thread at the same time, also with the same handles, unless a comment says otherwise.
 *
 * Memory of the caller. Bytes, texts and arrays that a call is given are copied before it returns, unless the comment says otherwise. Texts
 * are UTF-8 and end with a zero byte.
 *
 * Units. Sizes are bytes, times are nanoseconds, addresses are guest addresses in bytes unless they are called host addresses.
 *
 * Callbacks. They get the user pointer that came with them. A 'drop' function is called once, when nobody needs the user pointer any more.
 * Callbacks of devices, pagers, watches and progress may come on any thread, by several at the same time, while the call that runs the
 * launch waits. They may make any calls of this library, but a launch in a callback waits for threads that may be waiting for this one. A
 * callback must not leave by longjmp or by a C++ exception: the process is aborted then. A panic of Rust ends the call that waits with
 * WARPJIT_ERROR_CALLBACK.
 *
 * Signals. An engine installs handlers of SIGSEGV, SIGBUS, SIGILL and SIGFPE, because compiled code finds out by signals what is not
 * mapped (WARPJIT_SIGNALS_OWN). What is no fault of a guest goes to the handlers that were there before. A handler of the program that is
 * to come first calls warpjit_handle_signal. AddressSanitizer needs ASAN_OPTIONS=allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0:
 * handle_sigfpe=0:handle_sigill=0 and valgrind cannot run compiled code with AVX-512 (warpjit_config_set_host).
 */


#ifndef WARPJIT_H
#define WARPJIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The version of this header. */
#define WARPJIT_VERSION_MAJOR 0
#define WARPJIT_VERSION_MINOR 1
#define WARPJIT_VERSION_PATCH 0
#define WARPJIT_VERSION_STRING "0.1.0"
/** As one number, for comparisons. */
#define WARPJIT_VERSION \
    (WARPJIT_VERSION_MAJOR * 1000000 + WARPJIT_VERSION_MINOR * 1000 + WARPJIT_VERSION_PATCH)


/**
 * As an address of a mapping: the library chooses one.
 */
#define WARPJIT_ANYWHERE 18446744073709551615ull

/**
 * Bytes on both sides of the range of warpjit_memory_over that must be the caller's, too.
 */
#define WARPJIT_GUARD_BYTES 2151677952

/**
 * What one call runs a stage over, with the arrays of its inputs and outputs. They are the caller's, and must exist when a call runs the
 * batch (warpjit_engine_run_stage), not before. A batch can be run again.
 */
typedef struct warpjit_batch warpjit_batch;

/**
 * Bytes or a text that a call has returned.
 */
typedef struct warpjit_bytes warpjit_bytes;

/**
 * Cancels launches and the loading of programs.
 */
typedef struct warpjit_cancel warpjit_cancel;

/**
 * Code that is being compiled ahead of launches. To free it cancels nothing.
 */
typedef struct warpjit_compilation warpjit_compilation;

/**
 * Settings of an engine.
 */
typedef struct warpjit_config warpjit_config;

/**
 * Runs launches with the settings of a configuration. It has threads that run blocks, and one that compiles. One engine serves any
 * number of programs, memories and threads of the caller.
 */
typedef struct warpjit_engine warpjit_engine;

/**
 * One run of a kernel: grid, block, arguments and all else that the hardware would be given. It can be used any number of times, by
 * several threads at the same time, and be changed while launches that use it run: they have a copy.
 */
typedef struct warpjit_launch warpjit_launch;

/**
 * A guest address space. All calls may be made by any thread, also while launches run in it: a launch sees a change at its next access.
 */
typedef struct warpjit_memory warpjit_memory;

/**
 * The form of an address space.
 */
typedef struct warpjit_memory_options warpjit_memory_options;

/**
 * A launch that is set up and can be run again and again: a run costs about a microsecond plus what the guest does. It is for one thread
 * at a time, another one gets WARPJIT_ERROR_ARGUMENT; warpjit_prepared_clone makes one for another thread.
 */
typedef struct warpjit_prepared warpjit_prepared;

/**
 * A kernel that can be launched any number of times, by any thread. It keeps the code that was compiled for it.
 */
typedef struct warpjit_program warpjit_program;

/**
 * Programs in guest memory. A program is loaded when it is first asked for, and again when its code has changed. The cache does not see
 * changes by itself: tell it when the guest flushes instruction caches. Engines and threads can share it.
 *
 * Code with the same bytes and options is one program, compiled once, if it is at the same address again, or if nothing in it depends on
 * its address.
 */
typedef struct warpjit_program_cache warpjit_program_cache;

/**
 * What loading a program needs besides the bytes. Containers (cubins, fat binaries, AMD code objects) contain most of it.
 */
typedef struct warpjit_program_options warpjit_program_options;

/**
 * A queue of launches of one engine. Submissions run one after another, in order, on the engine's threads. Several queues run side by
 * side: those of equal priority get equal time, higher ones go first, and none starves. A submission that faults does not keep later ones
 * of its queue from running, unless they were told to wait for it.
 */
typedef struct warpjit_queue warpjit_queue;

/**
 * What a launch did.
 */
typedef struct warpjit_report warpjit_report;

/**
 * Asks launches to stop, so that they can be saved. It stays asked: continue with another token.
 */
typedef struct warpjit_save warpjit_save;

/**
 * A launch that was stopped before its end, between regions of code. Guest memory is not part of it, unless it was made from bytes that
 * have it.
 */
typedef struct warpjit_saved_launch warpjit_saved_launch;

/**
 * Inputs and outputs of a program of a graphics stage.
 */
typedef struct warpjit_stage warpjit_stage;

/**
 * Something to run, and when. It can be submitted once.
 */
typedef struct warpjit_submission warpjit_submission;

/**
 * A submission that was made. It may be freed before it is done; the submission goes on.
 */
typedef struct warpjit_ticket warpjit_ticket;

/**
 * A video processor with a program. One thread at a time can use it; another one gets WARPJIT_ERROR_ARGUMENT.
 */
typedef struct warpjit_vp1 warpjit_vp1;

/**
 * The result of a call: WARPJIT_OK or one of WARPJIT_ERROR_... . Values that a program does not know are errors.
 */
typedef int32_t warpjit_status;

/**
 * What the engine's threads do while there is nothing to run: WARPJIT_IDLE_... .
 */
typedef uint32_t warpjit_idle;

/**
 * Which machinery executes guest code: WARPJIT_TIER_... . All give the same results.
 */
typedef uint32_t warpjit_tier;

/**
 * Who installs the handlers of SIGSEGV, SIGBUS, SIGILL and SIGFPE: WARPJIT_SIGNALS_... .
 */
typedef uint32_t warpjit_signals;

/**
 * Accuracy of float results: WARPJIT_NUMERICS_... .
 */
typedef uint32_t warpjit_numerics;

/**
 * Instructions of the host that compiled code may use: WARPJIT_HOST_... .
 */
typedef uint32_t warpjit_host;

/**
 * An update of a word that a device executes: gives the new value for the old one. It may be called any number of times until the
 * callback returns.
 */
typedef uint64_t (*warpjit_apply)(void *context, uint64_t old);

/**
 * Called when an object does not need its user pointer any more: once, on any thread, after the last callback with it has returned. May be
 * NULL.
 */
typedef void (*warpjit_drop)(void *user);

/**
 * A device in guest memory. Its functions are called by any thread that makes an access, by several at the same time, in any tier. A
 * lane's access is one call; lanes of a warp come in the order of their numbers. A scalar load or store of GCN is one call for the wave.
 * Wide accesses come as words of 4 or 8 bytes.
 *
 * Another result than WARPJIT_OK ends the launch: the call that runs it returns WARPJIT_ERROR_CALLBACK.
 */
typedef struct warpjit_device {
  /**
   * Loads 'bytes' (1, 2, 4 or 8) at an offset in the device. Bits of '*value' beyond so many bytes are ignored.
   */
  warpjit_status (*load)(void *user, uint64_t offset, uint32_t bytes, uint64_t *value);
  /**
   * Stores the low 'bytes' of a value.
   */
  warpjit_status (*store)(void *user, uint64_t offset, uint32_t bytes, uint64_t value);
  /**
   * Executes an atomic on an aligned word of 4 or 8 bytes: replaces it by 'apply(context, word)', and gives what it was. NULL: a load
   * and a store.
   */
  warpjit_status (*update)(void *user,
                           uint64_t offset,
                           uint32_t bytes,
                           warpjit_apply apply,
                           void *context,
                           uint64_t *old);
  /**
   * Called when the device is unmapped and nothing uses it any more. May be NULL.
   */
  warpjit_drop drop;
  /**
   * Passed to the functions.
   */
  void *user;
} warpjit_device;

/**
 * Mends accesses to pages that are not mapped, or that may not be written: maps or unprotects the page that holds 'address'. 'store': the
 * access is a store or an atomic. 'is_mapped': the page is mapped, and only the store is not allowed.
 *
 * true: the access is tried again. false: it is a fault of the guest. Several threads may call it at the same time, also for one page.
 */
typedef bool (*warpjit_pager)(void *user, uint64_t address, bool store, bool is_mapped);

/**
 * Hears of the first store of guests to a page of a watched range; 'page' is the address of its first byte. The store is done after it has
 * returned.
 */
typedef void (*warpjit_write_watch)(void *user, uint64_t page);

/**
 * What guests may do with memory: WARPJIT_ACCESS_... .
 */
typedef uint32_t warpjit_access;

/**
 * Gets a mapping: its addresses, 'start' included, 'end' not, and what guests may do there.
 */
typedef void (*warpjit_each_mapping)(void *user, uint64_t start, uint64_t end, warpjit_access access);

/**
 * Gets a range of addresses, 'start' included, 'end' not.
 */
typedef void (*warpjit_each_range)(void *user, uint64_t start, uint64_t end);

/**
 * An atomic operation: WARPJIT_ATOMIC_... .
 */
typedef uint32_t warpjit_atomic;

/**
 * A stage of the pipeline: WARPJIT_STAGE_... .
 */
typedef uint32_t warpjit_stage_kind;

/**
 * Where a program of a stage finds an input: WARPJIT_INPUT_... .
 */
typedef uint32_t warpjit_input_place;

/**
 * What has a row of an input for itself: WARPJIT_PER_... .
 */
typedef uint32_t warpjit_per;

/**
 * Where a program leaves an output: WARPJIT_OUTPUT_... .
 */
typedef uint32_t warpjit_output_place;

/**
 * Four pixels that run side by side.
 */
typedef struct warpjit_quad {
  /**
   * Column of the left two pixels, an even number.
   */
  uint32_t x;
  /**
   * Row of the upper two pixels, an even number.
   */
  uint32_t y;
  /**
   * The primitive that has the pixels: which rows of inputs per plane and per primitive they get.
   */
  uint32_t primitive;
  /**
   * Which pixels are covered: bit 0 top left, 1 top right, 2 bottom left, 3 bottom right. The others run as helpers.
   */
  uint32_t mask;
} warpjit_quad;

/**
 * Gets a piece of code: guest address of its first byte (of code that was not loaded from guest memory it counts from the code's first
 * byte), and the bytes, which are valid until the function returns.
 */
typedef void (*warpjit_each_piece)(void *user, uint64_t address, const uint8_t *code, size_t bytes);

/**
 * Gets a name. It is valid until the function returns.
 */
typedef void (*warpjit_each_name)(void *user, const char *name);

/**
 * What a cache has done and holds.
 */
typedef struct warpjit_program_cache_statistics {
  /**
   * Programs that were there, without a look at their code.
   */
  uint64_t hits;
  /**
   * Programs that were there, after their code was compared.
   */
  uint64_t confirmed;
  /**
   * Programs that were there for another address, or for what had been at this address before.
   */
  uint64_t shared;
  /**
   * Programs that were lifted.
   */
  uint64_t loads;
  /**
   * Programs that were dropped because the limit was reached.
   */
  uint64_t evictions;
  /**
   * Programs now.
   */
  uint64_t programs;
  /**
   * Bytes of host memory that they took when each was last got.
   */
  uint64_t bytes;
} warpjit_program_cache_statistics;

/**
 * Hears of the progress of a launch: blocks finished, and blocks in all.
 */
typedef void (*warpjit_progress)(void *user, uint64_t finished, uint64_t all);

/**
 * A kind of fault: WARPJIT_FAULT_... .
 */
typedef uint32_t warpjit_fault_kind;

/**
 * The fault that ended a launch: that of the lowest block that faulted. Memory keeps what was stored before.
 */
typedef struct warpjit_fault {
  /**
   * What happened; WARPJIT_FAULT_NONE: nothing, and the rest is 0.
   */
  warpjit_fault_kind kind;
  /**
   * The block, by its coordinates in the grid. Of a batch: the warp along x.
   */
  uint32_t block[3];
  /**
   * Guest address of the instruction. Of code that was not loaded from guest memory it counts from the code's first byte.
   */
  uint64_t pc;
  /**
   * The guest address that was accessed, if 'has_address'.
   */
  uint64_t address;
  /**
   * The warp in the block.
   */
  uint32_t warp;
  /**
   * The lowest lane of the warp that faulted.
   */
  uint32_t lane;
  /**
   * The slot of the texture, sampler or surface, if 'has_slot'.
   */
  uint32_t slot;
  /**
   * Illegal: how many of 'bytes' there are.
   */
  uint32_t bytes_count;
  /**
   * Illegal: the instruction's bytes, as far as they are in the code.
   */
  uint8_t bytes[32];
  /**
   * Memory: name of the address space.
   */
  char space[16];
  /**
   * Texture: what is wrong.
   */
  char reason[96];
  /**
   * Whether 'address' is known.
   */
  bool has_address;
  /**
   * Whether 'slot' is known.
   */
  bool has_slot;
  /**
   * Memory: whether it was a store. Atomics count as stores.
   */
  bool store;
} warpjit_fault;

/**
 * What a launch executed. Counts are exact in the interpreter; see warpjit_config_set_count.
 */
typedef struct warpjit_statistics {
  /**
   * Blocks that were run to their end.
   */
  uint64_t blocks;
  /**
   * Warps of these.
   */
  uint64_t warps;
  /**
   * Guest instructions executed by warps.
   */
  uint64_t warp_instructions;
  /**
   * Each instruction that a warp executed, times its lanes.
   */
  uint64_t thread_instructions;
  /**
   * What 'thread_instructions' would be if every such instruction had all lanes of the warp.
   */
  uint64_t lane_slots;
  /**
   * Regions loaded from the cache.
   */
  uint64_t cached_regions;
  /**
   * Nanoseconds from start to end, compiling excluded.
   */
  uint64_t run_nanoseconds;
  /**
   * Nanoseconds in which at least one thread of the launch was compiling.
   */
  uint64_t compile_nanoseconds;
  /**
   * Nanoseconds that the engine's compiler thread spent on regions that became ready meanwhile.
   */
  uint64_t compile_behind_nanoseconds;
  /**
   * The interpreter's share of thread instructions, from 0 to 1.
   */
  double interpreted;
  /**
   * The share of compiled code.
   */
  double compiled;
  /**
   * Whether instructions were counted. Otherwise the three counts of instructions are estimates.
   */
  bool counted;
  /**
   * Whether the interpreter ran code that should have been compiled, because a limit of the code generator was reached.
   */
  bool not_compiled;
} warpjit_statistics;

/**
 * Gets a name and two counts. The name is valid until the function returns.
 */
typedef void (*warpjit_each_count)(void *user, const char *name, uint64_t first, uint64_t second);

/**
 * How urgent the work of a queue is: WARPJIT_PRIORITY_... .
 */
typedef uint32_t warpjit_priority;

/**
 * Hears that a submission is done. 'status': what warpjit_ticket_wait returns. 'has_fault': whether the guest has faulted.
 */
typedef void (*warpjit_completion)(void *user, warpjit_status status, bool has_fault);

/**
 * A prepared launch in a batch, with other arguments.
 */
typedef struct warpjit_dispatch {
  /**
   * What is run.
   */
  const struct warpjit_prepared *prepared;
  /**
   * The grid; 0, 0, 0: as it was prepared.
   */
  uint32_t grid[3];
  /**
   * Number of the first word of user data that 'user_data' replaces.
   */
  uint32_t user_data_first;
  /**
   * Where in the arguments 'args' goes.
   */
  size_t args_offset;
  /**
   * Bytes of the arguments; may be NULL if there are none.
   */
  const void *args;
  /**
   * How many bytes.
   */
  size_t args_bytes;
  /**
   * Words of user data; may be NULL if there are none.
   */
  const uint32_t *user_data;
  /**
   * How many words.
   */
  size_t user_data_words;
} warpjit_dispatch;

/**
 * What is outside of the processor. Functions that are NULL do nothing: destinations keep what they have, and nothing is waited for.
 * They are called by the thread that runs the machine, and may not use it.
 */
typedef struct warpjit_vp1_outside {
  /**
   * The program reads a register of a file that is no part of the processor's state: 8 $sr, 9 $mi, 10 $uc (but 0 and 16), 22 $d, 23 $f;
   * others are unknown. false: the destination stays as it is.
   */
  bool (*read)(void *user, uint32_t file, uint32_t index, uint32_t *value);
  /**
   * The program writes such a register.
   */
  void (*write)(void *user, uint32_t file, uint32_t index, uint32_t value);
  /**
   * The program starts a transfer or waits for one (xdld, xdst, xdbar, xdwait, opcode db). 'word': the instruction. 'a': $a0 to $a31.
   * 'data_store': the data store in its raw layout, to be read and changed.
   */
  void (*transfer)(void *user,
                   uint32_t word,
                   const uint32_t *a,
                   uint8_t *data_store,
                   size_t data_store_bytes);
  /**
   * Passed to the functions.
   */
  void *user;
} warpjit_vp1_outside;

/**
 * Why a machine stopped: WARPJIT_VP1_STOP_... .
 */
typedef uint32_t warpjit_vp1_stop;

/**
 * All went well.
 */
#define WARPJIT_OK 0

/**
 * An argument is not allowed: a null pointer, a number out of range, a text that is not UTF-8.
 */
#define WARPJIT_ERROR_ARGUMENT 1

/**
 * A handle was freed, is of another kind, or is none.
 */
#define WARPJIT_ERROR_HANDLE 2

/**
 * The operating system refused memory or a signal handler.
 */
#define WARPJIT_ERROR_OS 3

/**
 * Guest memory cannot be mapped, unmapped, read or written.
 */
#define WARPJIT_ERROR_MEMORY 4

/**
 * The program (container, code, kernel name, chip) is unusable, or a source cannot be assembled.
 */
#define WARPJIT_ERROR_PROGRAM 5

/**
 * The launch or batch is unusable.
 */
#define WARPJIT_ERROR_LAUNCH 6

/**
 * The configuration asks for what this host or build cannot do.
 */
#define WARPJIT_ERROR_CONFIG 7

/**
 * Compiling failed: a limit of the code generator.
 */
#define WARPJIT_ERROR_COMPILE 8

/**
 * Loading or preparing a program took more time or memory than the budget allows.
 */
#define WARPJIT_ERROR_BUDGET 9

/**
 * A cancel token has ended the loading of a program, or a submission was cancelled before it began.
 */
#define WARPJIT_ERROR_CANCELLED 10

/**
 * A callback has reported a failure or panicked, and so ended the call.
 */
#define WARPJIT_ERROR_CALLBACK 11

/**
 * A defect of the library: it panicked. Other objects can still be used.
 */
#define WARPJIT_ERROR_INTERNAL 12

/**
 * What was asked for does not exist: a profile that was not recorded, a register without that name.
 */
#define WARPJIT_ERROR_NOT_FOUND 13

/**
 * A saved launch cannot be read, or not be continued by this launch.
 */
#define WARPJIT_ERROR_STATE 14

/**
 * The deadline of a submission passed before it began.
 */
#define WARPJIT_ERROR_DEADLINE 15

/**
 * A submission did not begin, because one that it waits for faulted, was cancelled or failed.
 */
#define WARPJIT_ERROR_DEPENDENCY 16

/**
 * What was waited for is not done yet.
 */
#define WARPJIT_ERROR_NOT_DONE 17

/**
 * Interprets first; code that is executed often is compiled on a thread of the engine. The default.
 */
#define WARPJIT_TIER_AUTO 0

/**
 * The interpreter: slow, and exact to the instruction in all it reports.
 */
#define WARPJIT_TIER_INTERPRETER 1

/**
 * Compiles each region of code when a warp first reaches it.
 */
#define WARPJIT_TIER_JIT 2

/**
 * The engine does. Handlers of others, installed before or later, get every signal that is no fault of compiled code. The default.
 */
#define WARPJIT_SIGNALS_OWN 0

/**
 * The program installs its own, which call warpjit_handle_signal.
 */
#define WARPJIT_SIGNALS_EMBEDDER 1

/**
 * The guest's bits, as far as they are known. The default.
 */
#define WARPJIT_NUMERICS_EXACT 0

/**
 * Some float instructions give results within a documented bound of the guest's (docs/numerics.md).
 */
#define WARPJIT_NUMERICS_FAST 1

/**
 * All that this processor has. The default.
 */
#define WARPJIT_HOST_NATIVE 0

/**
 * On x86-64, no AVX-512.
 */
#define WARPJIT_HOST_AVX2 1

/**
 * On x86-64, nothing newer than SSE4.1.
 */
#define WARPJIT_HOST_SSE41 2

/**
 * After work they poll for more as long as they have just worked, at most 2 ms, and then sleep. The default.
 */
#define WARPJIT_IDLE_ADAPTIVE 0

/**
 * They sleep at once.
 */
#define WARPJIT_IDLE_SLEEP 1

/**
 * They poll for a given time before they sleep.
 */
#define WARPJIT_IDLE_SPIN 2

/**
 * There are no such threads: the program calls warpjit_engine_work on its own. Calls that wait work meanwhile.
 */
#define WARPJIT_IDLE_EMBEDDER 3

/**
 * Loads and stores.
 */
#define WARPJIT_ACCESS_READ_WRITE 0

/**
 * Loads only: a store is a memory fault.
 */
#define WARPJIT_ACCESS_READ_ONLY 1

/**
 * Nothing: any access is a fault, as if nothing were mapped. The contents stay.
 */
#define WARPJIT_ACCESS_NONE 2

/**
 * Sum.
 */
#define WARPJIT_ATOMIC_ADD 0

/**
 * Exchange.
 */
#define WARPJIT_ATOMIC_EXCHANGE 1

/**
 * Stores 'second' where the word is 'value'.
 */
#define WARPJIT_ATOMIC_COMPARE_AND_SWAP 2

/**
 * Unsigned maximum.
 */
#define WARPJIT_ATOMIC_UMAX 3

/**
 * Unsigned minimum.
 */
#define WARPJIT_ATOMIC_UMIN 4

/**
 * Signed maximum.
 */
#define WARPJIT_ATOMIC_SMAX 5

/**
 * Signed minimum.
 */
#define WARPJIT_ATOMIC_SMIN 6

/**
 * Bitwise and.
 */
#define WARPJIT_ATOMIC_AND 7

/**
 * Bitwise or.
 */
#define WARPJIT_ATOMIC_OR 8

/**
 * Bitwise exclusive or.
 */
#define WARPJIT_ATOMIC_XOR 9

/**
 * Sum of floats, by size binary32 or binary64.
 */
#define WARPJIT_ATOMIC_FADD 10

/**
 * Lesser of two floats.
 */
#define WARPJIT_ATOMIC_FMIN 11

/**
 * Greater of two floats.
 */
#define WARPJIT_ATOMIC_FMAX 12

/**
 * Word + 1, or 0 if that is more than 'value'.
 */
#define WARPJIT_ATOMIC_INC 13

/**
 * Word - 1, or 'value' if that is more.
 */
#define WARPJIT_ATOMIC_DEC 14

/**
 * One thread a vertex.
 */
#define WARPJIT_STAGE_VERTEX 0

/**
 * Tessellation control: one thread an output vertex of a patch.
 */
#define WARPJIT_STAGE_TESS_CONTROL 1

/**
 * Tessellation evaluation: one thread a point of a patch.
 */
#define WARPJIT_STAGE_TESS_EVAL 2

/**
 * One thread a primitive, or an invocation of one.
 */
#define WARPJIT_STAGE_GEOMETRY 3

/**
 * One thread a pixel, quads side by side.
 */
#define WARPJIT_STAGE_FRAGMENT 4

/**
 * Blocks of threads in a grid.
 */
#define WARPJIT_STAGE_COMPUTE 5

/**
 * At a byte address in the stage's input space (Tesla, Fermi).
 */
#define WARPJIT_INPUT_ADDRESS 0

/**
 * In vector registers from a number on (GCN).
 */
#define WARPJIT_INPUT_REGISTER 1

/**
 * In a parameter that interpolation reads, by number (GCN).
 */
#define WARPJIT_INPUT_ATTRIBUTE 2

/**
 * Each vertex; of geometry and tessellation, each input vertex of each primitive or patch.
 */
#define WARPJIT_PER_VERTEX 0

/**
 * Each primitive or patch; of a fragment, the primitive of its quad.
 */
#define WARPJIT_PER_PRIMITIVE 1

/**
 * All have one row.
 */
#define WARPJIT_PER_LAUNCH 2

/**
 * Tessellation evaluation: each point.
 */
#define WARPJIT_PER_POINT 3

/**
 * Tessellation evaluation: each patch, in patch space.
 */
#define WARPJIT_PER_PATCH 4

/**
 * Each pixel.
 */
#define WARPJIT_PER_PIXEL 5

/**
 * The primitive of a fragment's quad, as a plane: three floats a word (value at x = y = 0, change by x, change by y).
 */
#define WARPJIT_PER_PLANE 6

/**
 * At a byte address in o[] (Tesla, Fermi).
 */
#define WARPJIT_OUTPUT_ADDRESS 0

/**
 * At a byte address in patch space (tessellation control).
 */
#define WARPJIT_OUTPUT_PATCH 1

/**
 * In general registers from a number on, at the end (fragment programs of Tesla and Fermi).
 */
#define WARPJIT_OUTPUT_REGISTER 2

/**
 * GCN export: colour, 0 to 7.
 */
#define WARPJIT_OUTPUT_MRT 3

/**
 * GCN export: depth, stencil, sample mask. The number is 0.
 */
#define WARPJIT_OUTPUT_MRTZ 4

/**
 * GCN export: position, 0 to 3.
 */
#define WARPJIT_OUTPUT_POSITION 5

/**
 * GCN export: parameter, 0 to 31.
 */
#define WARPJIT_OUTPUT_PARAMETER 6

/**
 * There was no fault.
 */
#define WARPJIT_FAULT_NONE 0

/**
 * An address that is not mapped, not writable or not aligned.
 */
#define WARPJIT_FAULT_MEMORY 1

/**
 * An instruction that does not exist, or that this program may not execute.
 */
#define WARPJIT_FAULT_ILLEGAL 2

/**
 * The guest's trap instruction.
 */
#define WARPJIT_FAULT_TRAP 3

/**
 * All living warps of a block wait and no barrier can open.
 */
#define WARPJIT_FAULT_BARRIER 4

/**
 * The divergence stack overflowed, or had no matching entry.
 */
#define WARPJIT_FAULT_STACK 5

/**
 * The limit of warpjit_launch_set_max_steps was reached.
 */
#define WARPJIT_FAULT_TIMEOUT 6

/**
 * What a texture instruction needs is missing or undefined.
 */
#define WARPJIT_FAULT_TEXTURE 7

/**
 * Another one, which warpjit_report_fault_text describes.
 */
#define WARPJIT_FAULT_OTHER 8

/**
 * The usual one.
 */
#define WARPJIT_PRIORITY_NORMAL 0

/**
 * When nothing else is to do; also a little of the time while there is.
 */
#define WARPJIT_PRIORITY_LOW 1

/**
 * Before all others.
 */
#define WARPJIT_PRIORITY_HIGH 2

/**
 * The program has executed an 'exit'. Running again continues after it.
 */
#define WARPJIT_VP1_STOP_EXIT 0

/**
 * The bundles that were asked for have been executed.
 */
#define WARPJIT_VP1_STOP_LIMIT 1

/**
 * There is no code where the machine stands.
 */
#define WARPJIT_VP1_STOP_ILLEGAL 2

/**
 * The token was used.
 */
#define WARPJIT_VP1_STOP_CANCELLED 3

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that runs, as WARPJIT_VERSION: major * 1000000 + minor * 1000 + patch.
 */
uint32_t warpjit_version(void);

/**
 * The same as text, as WARPJIT_VERSION_STRING. It is valid for ever.
 */
const char *warpjit_version_string(void);

/**
 * What went wrong in the last call of this thread that returned an error; empty if there was none. The text is valid until the next call
 * on this thread that fails. It is never NULL.
 */
const char *warpjit_last_error(void);

/**
 * Which kind of error the last call of this thread that failed has returned: the name that the Rust library has for it ("Overlap" of
 * 'MemoryError::Overlap'), which stays when the text changes. Empty if the error is of this interface alone (a null pointer, a handle) or
 * of the assembler.
 * The text is valid until the next call on this thread that fails. It is never NULL.
 */
const char *warpjit_last_error_kind(void);

/**
 * A number of the last error of this thread: of the field with that name ("address", "limit", "found", ..: those of the kind in the Rust
 * documentation). WARPJIT_ERROR_NOT_FOUND if it has none, which leaves the last error as it is.
 */
warpjit_status warpjit_last_error_number(const char *name,
                                         uint64_t *out);

/**
 * A short name of a status. It is never NULL and valid for ever.
 */
const char *warpjit_status_name(warpjit_status status);

/**
 * Frees a handle of any kind. NULL is allowed and does nothing. What the handle named lives on while calls that use it run, and as long as
 * other objects need it: a launch keeps the memory that it runs in.
 *
 * A handle that was freed before, or that never was one, is WARPJIT_ERROR_HANDLE.
 */
warpjit_status warpjit_free(void *handle);

/**
 * Where the bytes are and how many. A zero byte follows that is not counted, so a text can be used as a C string. 'size' may be NULL.
 * The bytes stay there until the handle is freed.
 */
warpjit_status warpjit_bytes_get(const struct warpjit_bytes *bytes,
                                 const char **data,
                                 size_t *size);

/**
 * Makes settings: the defaults, which warpjit_engine_new takes for NULL, too.
 */
warpjit_status warpjit_config_new(struct warpjit_config **config);

/**
 * Number of host threads that run blocks. 0, the default: one for each processor.
 */
warpjit_status warpjit_config_set_threads(struct warpjit_config *config, size_t threads);

/**
 * What the engine's threads do while there is nothing to run. 'nanoseconds' matters for WARPJIT_IDLE_SPIN.
 */
warpjit_status warpjit_config_set_idle(struct warpjit_config *config,
                                       warpjit_idle idle,
                                       uint64_t nanoseconds);

/**
 * Threads that compile (WARPJIT_TIER_AUTO, warpjit_engine_precompile): how many, 0: one; their nice value, 0: that of the process; and most
 * regions that wait for them, 0: any number. Nothing is dropped: if so many wait, a launch that needs one more compiles it itself.
 */
warpjit_status warpjit_config_set_compiler(struct warpjit_config *config,
                                           size_t threads,
                                           int32_t nice,
                                           size_t most_waiting);

/**
 * Which tier runs guest code. 'hot_after', for WARPJIT_TIER_AUTO: how often a block of code is interpreted before it is compiled; 0: the
 * usual number.
 */
warpjit_status warpjit_config_set_tier(struct warpjit_config *config,
                                       warpjit_tier tier,
                                       uint32_t hot_after);

/**
 * How often warps go from one compiled region to another by the runtime before the regions of their kernel are joined to one function.
 * -1, the default: so often that joining them pays; 4294967295: never.
 */
warpjit_status warpjit_config_set_join_after(struct warpjit_config *config,
                                             int64_t times);

/**
 * Keeps compiled code in a folder, for later processes that run the same programs. The folder is made when it is needed; it must belong to
 * this user alone. 'most_bytes': size of all files in it; 0: 256 MiB. 'folder' NULL, the default: no cache.
 */
warpjit_status warpjit_config_set_cache(struct warpjit_config *config,
                                        const char *folder,
                                        uint64_t most_bytes);

/**
 * Keeps compiled code in the folder 'warpjit' in the user's cache folder ($XDG_CACHE_HOME, or else ~/.cache).
 * WARPJIT_ERROR_NOT_FOUND: the environment names neither.
 */
warpjit_status warpjit_config_set_user_cache(struct warpjit_config *config);

/**
 * Size of a chunk of lanes in groups of four: 0 (one lane after another), 1, 2, 4, 8 or 16. -1, the default: the compiler chooses.
 */
warpjit_status warpjit_config_set_chunk_groups(struct warpjit_config *config,
                                               int32_t groups);

/**
 * Whether compiled code checks each address itself instead of relying on signals. Slower.
 */
warpjit_status warpjit_config_set_checked_memory(struct warpjit_config *config, bool checked);

/**
 * Who installs signal handlers.
 */
warpjit_status warpjit_config_set_signals(struct warpjit_config *config, warpjit_signals signals);

/**
 * Whether accesses to global memory are ordered between the lanes of a warp, for guests that rely on more than the programming model
 * promises. Slower.
 */
warpjit_status warpjit_config_set_lockstep(struct warpjit_config *config,
                                           bool lockstep);

/**
 * Accuracy of float results.
 */
warpjit_status warpjit_config_set_numerics(struct warpjit_config *config,
                                           warpjit_numerics numerics);

/**
 * Host instructions that compiled code may use.
 */
warpjit_status warpjit_config_set_host(struct warpjit_config *config, warpjit_host host);

/**
 * Whether to count instructions, lanes and memory traffic, and in the interpreter also groups of instructions. Slower.
 */
warpjit_status warpjit_config_set_count(struct warpjit_config *config,
                                        bool count);

/**
 * What to record of launches. 'perf': announce compiled code to Linux perf (/tmp/perf-PID.map, /tmp/jit-PID.dump). 'samples_per_second'
 * of each thread, and 'count' of blocks, lanes and accesses by the interpreter: for warpjit_report_profile. 'listings': keep compiled code
 * as text, for warpjit_report_listings; then the cache is not used. The default is nothing.
 */
warpjit_status warpjit_config_set_observe(struct warpjit_config *config,
                                          bool perf,
                                          uint32_t samples_per_second,
                                          bool count,
                                          bool listings);

/**
 * Limits for loading a program, and separately for compiling it with these settings in all launches together: nanoseconds, and bytes of
 * tables, instructions and code. UINT64_MAX is no limit. The defaults, two minutes and 4 GiB, are many times what ordinary code needs.
 */
warpjit_status warpjit_config_set_budget(struct warpjit_config *config,
                                         uint64_t nanoseconds,
                                         uint64_t bytes);

/**
 * Lets a device answer accesses to a range: each load and store of a guest calls it, with the offset in the range. Address and size are
 * multiples of the host's page size. The space is careful from then on. The structure is copied. Its 'drop' is not called if this call
 * fails because the structure is unusable; if it fails later, it is.
 */
warpjit_status warpjit_memory_map_device(const struct warpjit_memory *memory,
                                         uint64_t address,
                                         uint64_t bytes,
                                         const struct warpjit_device *callbacks,
                                         uint64_t *mapped);

/**
 * Lets a function mend accesses of guests before they become faults. 'pager' NULL: nobody does. The memory is careful from then on
 * (warpjit_memory_is_careful). 'drop' is called when the pager is not needed any more, also if this call fails.
 */
warpjit_status warpjit_memory_set_pager(const struct warpjit_memory *memory,
                                        warpjit_pager pager,
                                        void *user,
                                        warpjit_drop drop);

/**
 * Calls a function before the first store of a guest to each page of the range from 'start' to 'end', all of which is mapped; both are at
 * pages. A later call for the same range watches its pages anew. 'watch' NULL: they are not watched any more. The memory is careful from
 * then on. 'drop' is called when the function is not needed any more, also if this call fails.
 */
warpjit_status warpjit_memory_watch_writes(const struct warpjit_memory *memory,
                                           uint64_t start,
                                           uint64_t end,
                                           warpjit_write_watch watch,
                                           void *user,
                                           warpjit_drop drop);

/**
 * Makes options: the usual form, 48-bit sign-extended addresses.
 */
warpjit_status warpjit_memory_options_new(struct warpjit_memory_options **options);

/**
 * The form that a chip's addresses have: 32 bits on Tesla, 40 on Fermi, 48 sign-extended on GCN. It replaces all that was set before.
 */
warpjit_status warpjit_memory_options_set_chip(struct warpjit_memory_options *options,
                                               const char *name);

/**
 * Addresses have so many bits, from 32 to 48. With 48, the highest one is repeated in the bits above; with fewer, there are none above.
 */
warpjit_status warpjit_memory_options_set_address_bits(struct warpjit_memory_options *options,
                                                       uint32_t bits);

/**
 * Only addresses below 'bytes' can be mapped, a multiple of 64 KiB up to 4 GiB. The space takes that many of the host's addresses and one
 * megabyte more, and hardly any memory. Code for it looks each page up.
 */
warpjit_status warpjit_memory_options_set_size(struct warpjit_memory_options *options,
                                               uint64_t bytes);

/**
 * The device ignores so many of the highest bits of a 64-bit address, up to 32: the address is sign-extended from the bit below them.
 */
warpjit_status warpjit_memory_options_set_ignored_high_bits(struct warpjit_memory_options *options,
                                                            uint32_t bits);

/**
 * Guest addresses are host addresses, as with unified addressing: memory that is mapped without an address, and host memory
 * (warpjit_memory_map_host), is reached by its own pointer. Anything else is a fault. For guests with 64-bit addresses. This cannot be
 * taken back.
 */
warpjit_status warpjit_memory_options_set_identity(struct warpjit_memory_options *options);

/**
 * Launches look each page up from the start, so that also those that are running see a device, a pager or a watch that comes later. This
 * cannot be taken back.
 */
warpjit_status warpjit_memory_options_set_careful(struct warpjit_memory_options *options);

/**
 * Makes an empty address space. 'options' NULL: the usual form, which takes about a terabyte of the host's addresses, and hardly any
 * memory.
 */
warpjit_status warpjit_memory_new(const struct warpjit_memory_options *options,
                                  struct warpjit_memory **memory);

/**
 * Makes a space over a range of host addresses that the caller has reserved, and maps and unmaps by itself. Guest address 0 is 'base'; a
 * guest may access what is accessible there, and anything else is a fault. Calls that map, unmap and protect are errors. 'bytes' is a
 * power of two, at least 4 GiB; 'base' is at a page. It is an error (kind RangePlace) if no process can have these addresses.
 *
 * Until the memory is freed, and launches that ran in it have ended, the addresses from 'base - WARPJIT_GUARD_BYTES' to 'base + bytes +
 * WARPJIT_GUARD_BYTES' hold nothing but what guests may access, and pages without access.
 */
warpjit_status warpjit_memory_over(void *base,
                                   uint64_t bytes,
                                   struct warpjit_memory **memory);

/**
 * Maps 'bytes' zeroed bytes at 'address', or with WARPJIT_ANYWHERE at a page that the library chooses. 'mapped' gets the address; it may
 * be NULL. A chosen address is never in the first 64 KiB, and a page without rights follows the memory.
 *
 * An explicit address need not be at a page. Then whole pages become accessible. Mappings may share a page if they have the same access;
 * they may not overlap.
 */
warpjit_status warpjit_memory_map(const struct warpjit_memory *memory,
                                  uint64_t address,
                                  uint64_t bytes,
                                  warpjit_access access,
                                  uint64_t *mapped);

/**
 * As warpjit_memory_map, but memory that warpjit_memory_map_alias can show at other addresses without any cost. Address and size are
 * multiples of the host's page size. A child of 'fork' shares it with its parent.
 */
warpjit_status warpjit_memory_map_shared(const struct warpjit_memory *memory,
                                         uint64_t address,
                                         uint64_t bytes,
                                         warpjit_access access,
                                         uint64_t *mapped);

/**
 * Maps 'bytes' bytes of a file from byte 'offset' on, which are copied nowhere. All are multiples of the host's page size. The descriptor
 * may be closed afterwards. 'is_private': stores of guests are seen in this mapping only, not in the file. Reading beyond the end of the
 * file is a fault.
 */
warpjit_status warpjit_memory_map_file(const struct warpjit_memory *memory,
                                       uint64_t address,
                                       int file,
                                       uint64_t offset,
                                       uint64_t bytes,
                                       warpjit_access access,
                                       bool is_private,
                                       uint64_t *mapped);

/**
 * Maps host memory: guest and host see the same bytes at once. 'pointer', address and size are multiples of the host's page size.
 *
 * Shared mappings of the process (of a file, of a memfd, MAP_SHARED | MAP_ANONYMOUS) are as fast as other memory. Anything else makes the
 * space careful (warpjit_memory_is_careful). In a space of warpjit_memory_options_set_identity the address is the pointer, and host memory,
 * of either kind, makes no space careful.
 *
 * Until it is unmapped, and launches that ran then have ended, the memory stays mapped for reading, and for writing if 'access' says so;
 * while guests run, others access it by atomics or volatile accesses. If it vanishes all the same, accesses of guests are faults, as long
 * as nothing else takes its place.
 */
warpjit_status warpjit_memory_map_host(const struct warpjit_memory *memory,
                                       uint64_t address,
                                       void *pointer,
                                       uint64_t bytes,
                                       warpjit_access access,
                                       uint64_t *mapped);

/**
 * Maps the bytes of mapped memory, which begin at guest address 'of', at a second address: stores through one are seen through the other.
 * Addresses and size are multiples of the host's page size, and the memory lies in one mapping.
 *
 * Of memory of warpjit_memory_map_shared, shared files and shared host memory, an alias is as fast as other memory. An alias of anything
 * else makes the space careful. Unmapping the memory does not unmap its aliases.
 */
warpjit_status warpjit_memory_map_alias(const struct warpjit_memory *memory,
                                        uint64_t address,
                                        uint64_t of,
                                        uint64_t bytes,
                                        warpjit_access access,
                                        uint64_t *mapped);

/**
 * Changes what guests may do with the pages from 'start' to 'end'. Both are at pages of the host.
 */
warpjit_status warpjit_memory_protect(const struct warpjit_memory *memory,
                                      uint64_t start,
                                      uint64_t end,
                                      warpjit_access access);

/**
 * Unmaps what was mapped at 'address'; its pages are faults from then on.
 */
warpjit_status warpjit_memory_unmap(const struct warpjit_memory *memory, uint64_t address);

/**
 * Calls a function for each mapping, in order of address, before it returns.
 */
warpjit_status warpjit_memory_buffers(const struct warpjit_memory *memory,
                                      warpjit_each_mapping each,
                                      void *user);

/**
 * Calls a function for each run of pages of the range from 'start' to 'end' that have been written since the last call for them, in order
 * of address. The first call tells all that are mapped and that guests may store to: pages that they may only read never count, though
 * warpjit_memory_write may store to them. From then on each first store to a page costs a signal (a few microseconds).
 *
 * Stores by guests, by texture units, by warpjit_memory_write and by the caller's code through a pointer into the space are seen. Stores
 * through another mapping of the same bytes (an alias, the file, the caller's own pointer) are not. System calls do not store to a page
 * that has been looked at: they fail with EFAULT, unless warpjit_memory_mark_dirty is called first.
 *
 * Memory that cannot be tracked counts as written in each call: private host memory and its aliases; in a space of identity all that the
 * space has not handed out, which is host memory and what is mapped at an address that the caller chose. Devices never count.
 */
warpjit_status warpjit_memory_take_dirty(const struct warpjit_memory *memory,
                                         uint64_t start,
                                         uint64_t end,
                                         warpjit_each_range each,
                                         void *user);

/**
 * Counts the mapped pages that the range from 'start' to 'end' touches as written: the next warpjit_memory_take_dirty gives those that
 * guests may store to. Until then stores to them cost no signal, and system calls may store to them (read of a file).
 */
warpjit_status warpjit_memory_mark_dirty(const struct warpjit_memory *memory,
                                         uint64_t start,
                                         uint64_t end);

/**
 * Whether code for this memory looks each page up. That is so where accesses need help (devices, pagers, write watches, private host
 * memory, small spaces), and where there are very many mappings. Such code is slower. A launch that is running when a space becomes
 * careful goes on as it is: for it, special pages are not mapped.
 */
warpjit_status warpjit_memory_is_careful(const struct warpjit_memory *memory,
                                         bool *is_careful);

/**
 * The host address of guest address 0, and how many bytes from there on are laid out as the guest sees them. Mapped memory in this window
 * may be accessed through it, by atomics while guests run. Devices and private host memory are not there.
 */
warpjit_status warpjit_memory_window(const struct warpjit_memory *memory,
                                     void **base,
                                     uint64_t *bytes);

/**
 * Copies guest memory to 'out'. All of it must be mapped.
 */
warpjit_status warpjit_memory_read(const struct warpjit_memory *memory,
                                   uint64_t address,
                                   void *out,
                                   size_t bytes);

/**
 * Copies 'data' to guest memory, whether guests may write there or not. All of it must be mapped. Pages that guests may only read are
 * writable for that moment.
 */
warpjit_status warpjit_memory_write(const struct warpjit_memory *memory,
                                    uint64_t address,
                                    const void *data,
                                    size_t bytes);

/**
 * Loads 1, 2, 4 or 8 bytes as a guest would, zero-extended. An aligned load is atomic.
 */
warpjit_status warpjit_memory_load(const struct warpjit_memory *memory,
                                   uint64_t address,
                                   uint32_t bytes,
                                   uint64_t *value);

/**
 * Stores the low 1, 2, 4 or 8 bytes of a value as a guest would. An aligned store is atomic.
 */
warpjit_status warpjit_memory_store(const struct warpjit_memory *memory,
                                    uint64_t address,
                                    uint32_t bytes,
                                    uint64_t value);

/**
 * Executes an atomic operation on a word of 4 or 8 bytes, atomic with respect to guests. 'old' gets the old value; it may be NULL. A
 * misaligned address is rounded down. 'second' matters for WARPJIT_ATOMIC_COMPARE_AND_SWAP only.
 */
warpjit_status warpjit_memory_atomic(const struct warpjit_memory *memory,
                                     uint64_t address,
                                     uint32_t bytes,
                                     warpjit_atomic operation,
                                     uint64_t value,
                                     uint64_t second,
                                     uint64_t *old);

/**
 * Makes the interface of a stage, without inputs and outputs.
 */
warpjit_status warpjit_stage_new(warpjit_stage_kind kind, struct warpjit_stage **stage);

/**
 * Tessellation and geometry: input vertices of a primitive or patch; threads of a patch or primitive; most vertices that a thread of a
 * geometry program emits.
 */
warpjit_status warpjit_stage_set_primitive(struct warpjit_stage *stage,
                                           uint32_t vertices,
                                           uint32_t invocations,
                                           uint32_t max_vertices);

/**
 * Geometry: the number of vertex streams, at most 4. With 0 or 1, only vertices of the first stream count; with more, vertices of all
 * streams have rows, and the flags of 'warpjit_batch_set_emitted' say which stream a row is of.
 */
warpjit_status warpjit_stage_set_streams(struct warpjit_stage *stage,
                                         uint32_t streams);

/**
 * Adds an input of so many consecutive words or registers. 'at': the address or number that goes with the place.
 */
warpjit_status warpjit_stage_add_input(struct warpjit_stage *stage,
                                       warpjit_input_place place,
                                       uint32_t at,
                                       uint32_t words,
                                       warpjit_per per);

/**
 * Adds an output of so many consecutive words. 'at': the address or number that goes with the place. 'compressed', of exports: those of
 * two halves are written as the four floats of their halves. Ask for no more outputs than are used: others are not computed.
 */
warpjit_status warpjit_stage_add_output(struct warpjit_stage *stage,
                                        warpjit_output_place place,
                                        uint32_t at,
                                        uint32_t words,
                                        bool compressed);

/**
 * Makes the interface that Fermi's shader program header describes: the 80 bytes ahead of a program's code. What is not in the header:
 * the chip; 'vertices', input vertices of a primitive or patch (tessellation, geometry), and 'patch_words', words of patch space (tessellation
 * evaluation).
 */
warpjit_status warpjit_stage_from_fermi_header(const char *chip_name,
                                               const uint8_t *header,
                                               size_t bytes,
                                               uint32_t vertices,
                                               uint32_t patch_words,
                                               struct warpjit_stage **stage);

/**
 * Input number 'index' of an interface, as warpjit_stage_add_input describes it. WARPJIT_ERROR_NOT_FOUND: there are fewer.
 */
warpjit_status warpjit_stage_get_input(const struct warpjit_stage *stage,
                                       size_t index,
                                       warpjit_input_place *place,
                                       uint32_t *at,
                                       uint32_t *words,
                                       warpjit_per *per);

/**
 * Output number 'index' of an interface, as warpjit_stage_add_output describes it. WARPJIT_ERROR_NOT_FOUND: there are fewer.
 */
warpjit_status warpjit_stage_get_output(const struct warpjit_stage *stage,
                                        size_t index,
                                        warpjit_output_place *place,
                                        uint32_t *at,
                                        uint32_t *words);

/**
 * Makes a batch of nothing.
 */
warpjit_status warpjit_batch_new(struct warpjit_batch **batch);

/**
 * Runs over so many vertices: a lane and a row each.
 */
warpjit_status warpjit_batch_set_vertices(struct warpjit_batch *batch, uint32_t count);

/**
 * Tessellation control: runs over so many patches. Input rows are 'patch * vertices + vertex', output rows 'patch * invocations +
 * invocation', those of patch space one a patch.
 */
warpjit_status warpjit_batch_set_patches(struct warpjit_batch *batch,
                                         uint32_t count);

/**
 * Tessellation evaluation: runs over so many points of each of so many patches. A lane and an output row is 'patch * points + point'.
 */
warpjit_status warpjit_batch_set_points(struct warpjit_batch *batch,
                                        uint32_t patches,
                                        uint32_t points);

/**
 * Geometry: runs over so many primitives. A lane is 'primitive * invocations + invocation', and its rows begin at 'lane * max_vertices'.
 */
warpjit_status warpjit_batch_set_primitives(struct warpjit_batch *batch,
                                            uint32_t count);

/**
 * Fragments: runs over any quads. Pixel rows are 'quad * 4 + lane', the lanes in the order of the mask. The array is not copied.
 */
warpjit_status warpjit_batch_set_quads(struct warpjit_batch *batch,
                                       const struct warpjit_quad *quads,
                                       size_t count);

/**
 * Fragments: runs over any quads as parts of a picture. Pixel rows, coverage included, are those of the rectangle, which must hold all
 * quads; its numbers are even. What quads have in common is what they leave one after another. The array is not copied.
 */
warpjit_status warpjit_batch_set_picture(struct warpjit_batch *batch,
                                         const struct warpjit_quad *quads,
                                         size_t count,
                                         uint32_t x,
                                         uint32_t y,
                                         uint32_t width,
                                         uint32_t height);

/**
 * Fragments: runs over all pixels of a rectangle, all of primitive 0. Pixel rows are 'row * width + column'. The numbers are even.
 */
warpjit_status warpjit_batch_set_rect(struct warpjit_batch *batch,
                                      uint32_t x,
                                      uint32_t y,
                                      uint32_t width,
                                      uint32_t height);

/**
 * Removes all inputs and outputs, coverage, and emitted vertices.
 */
warpjit_status warpjit_batch_clear(struct warpjit_batch *batch);

/**
 * Adds the rows of an input, in the order of the program's inputs. Words are little endian, at any alignment. 'stride': bytes from row to
 * row, so that attributes of an array of structures can be used where they are; 0: rows follow each other.
 */
warpjit_status warpjit_batch_add_input(struct warpjit_batch *batch,
                                       const void *rows,
                                       size_t bytes,
                                       size_t stride);

/**
 * Adds the rows of an output, in the order of the program's outputs. 'bytes': from the first row to the end of the array. 'stride' as of
 * inputs. Outputs may be columns of one array; rows may not overlap.
 */
warpjit_status warpjit_batch_add_output(struct warpjit_batch *batch,
                                        void *rows,
                                        size_t bytes,
                                        size_t stride);

/**
 * Fragments: a byte for each pixel row. It becomes 1 if the pixel is covered and has not been discarded, and 0 if it has been discarded.
 * That of a pixel which is not covered stays on Tesla and Fermi, and becomes 0 on GCN. NULL: not wanted.
 */
warpjit_status warpjit_batch_set_coverage(struct warpjit_batch *batch,
                                          uint8_t *coverage,
                                          size_t bytes);

/**
 * Geometry: 'counts' gets the number of vertices that each lane emitted; 'cuts', for each row, 1 if the strip was cut behind that vertex,
 * else 0; with several streams, plus 256 times the vertex's stream. Both may be NULL: not wanted.
 */
warpjit_status warpjit_batch_set_emitted(struct warpjit_batch *batch,
                                         uint32_t *counts,
                                         size_t count_of_counts,
                                         uint32_t *cuts,
                                         size_t count_of_cuts);

/**
 * Makes options for a container that says everything itself, or for raw code. 'isa': "tesla", "fermi", "gcn" or "vp1".
 */
warpjit_status warpjit_program_options_new(const char *isa_name,
                                           struct warpjit_program_options **options);

/**
 * The chip, by its own name or that of a board or console with it ("g80", "gtx280", "ps4", "fiji"). Needed where the container does not
 * name one. It sets the instruction set, too. "g80" has shader processors and a video processor: it means the latter if the options are
 * those of "vp1".
 */
warpjit_status warpjit_program_options_set_chip(struct warpjit_program_options *options,
                                                const char *name);

/**
 * Whether to read the bytes as raw code, even if they look like a container.
 */
warpjit_status warpjit_program_options_set_raw(struct warpjit_program_options *options, bool raw);

/**
 * Which kernel of the container. NULL, the default: the only one.
 */
warpjit_status warpjit_program_options_set_kernel(struct warpjit_program_options *options,
                                                  const char *name);

/**
 * Raw code: byte offset of the first instruction.
 */
warpjit_status warpjit_program_options_set_entry(struct warpjit_program_options *options,
                                                 uint32_t entry_offset);

/**
 * Raw code: registers of a thread.
 */
warpjit_status warpjit_program_options_set_registers(struct warpjit_program_options *options,
                                                     uint32_t registers);

/**
 * Raw code with scalar registers: how many.
 */
warpjit_status warpjit_program_options_set_sgprs(struct warpjit_program_options *options,
                                                 uint32_t registers);

/**
 * Raw code: bytes of shared memory of a block.
 */
warpjit_status warpjit_program_options_set_shared(struct warpjit_program_options *options,
                                                  uint32_t bytes);

/**
 * Raw code: bytes of local memory of a thread.
 */
warpjit_status warpjit_program_options_set_local(struct warpjit_program_options *options,
                                                 uint32_t bytes);

/**
 * Raw GCN code: COMPUTE_PGM_RSRC1 and COMPUTE_PGM_RSRC2. With them the program starts as the hardware would start it, in a grid of any
 * size; they replace registers, scalar registers and shared memory. The second says how many words of user data there are
 * (warpjit_launch_set_user_data).
 */
warpjit_status warpjit_program_options_set_rsrc(struct warpjit_program_options *options,
                                                uint32_t rsrc1,
                                                uint32_t rsrc2);

/**
 * Raw GCN code with warpjit_program_options_set_rsrc: a word of user data, by number from 0, that is the same in all launches. A jump to an
 * address in such words, as a vertex program calls its fetch shader, is followed when the program is loaded. A launch with another word is
 * an error.
 */
warpjit_status warpjit_program_options_set_known_user_data(struct warpjit_program_options *options,
                                                           uint32_t number,
                                                           uint32_t word);

/**
 * Raw GCN code with warpjit_program_options_set_rsrc, before 1.4: whether the program knows where LDS and scratch are among flat addresses,
 * as HSA's queues tell it. The default: all flat addresses are global, which is faster. From 1.4 on every program knows.
 */
warpjit_status warpjit_program_options_set_flat_apertures(struct warpjit_program_options *options,
                                                          bool known);

/**
 * warpjit_program_load_at on GCN: guest addresses of 'count' functions. Jumps to addresses that are not known when the program is loaded
 * (virtual calls, pointers to functions) may lead to them, besides the addresses that the code itself computes.
 */
warpjit_status warpjit_program_options_set_jump_targets(struct warpjit_program_options *options,
                                                        const uint64_t *addresses,
                                                        size_t count);

/**
 * warpjit_program_load_at on GCN: whether the global data share is memory that was mapped at 0xf13000000 (warpjit_memory_map), and
 * keeps what it holds from launch to launch. The default: each launch has one.
 */
warpjit_status warpjit_program_options_set_data_share_given(struct warpjit_program_options *options,
                                                            bool given);

/**
 * warpjit_program_load_at on Tesla and Fermi: guest address of the stage's code segment, which absolute targets count from. The default:
 * it begins where the program does.
 */
warpjit_status warpjit_program_options_set_segment(struct warpjit_program_options *options,
                                                   uint64_t address);

/**
 * warpjit_program_load_at on Tesla and Fermi: how many bytes belong to the program, from its entry on. Branches to addresses that are
 * computed may lead to any instruction among them; without this call they are illegal.
 */
warpjit_status warpjit_program_options_set_code_bytes(struct warpjit_program_options *options,
                                                      uint32_t bytes);

/**
 * Raw code of Tesla and Fermi: address of the first byte in the stage's code segment. The entry, absolute targets and the addresses of
 * faults are addresses in the segment.
 */
warpjit_status warpjit_program_options_set_base(struct warpjit_program_options *options,
                                                uint32_t address);

/**
 * Raw Fermi code: a launch writes nothing into c0[].
 */
warpjit_status warpjit_program_options_set_c0_given(struct warpjit_program_options *options,
                                                    bool given);

/**
 * GK104: the constant bank whose words are texture handles. The default is 15.
 */
warpjit_status warpjit_program_options_set_texture_handles(struct warpjit_program_options *options,
                                                           uint32_t bank);

/**
 * Raw code: it is a program of a graphics stage with this interface, of which a copy is taken. NULL: a compute program.
 */
warpjit_status warpjit_program_options_set_stage(struct warpjit_program_options *options,
                                                 const struct warpjit_stage *stage);

/**
 * Loads a program: reads the container or raw words, picks the kernel and lifts it. Nothing is compiled yet. 'engine': its budget is the
 * limit; NULL: the default one. 'cancel': a token that ends it with WARPJIT_ERROR_CANCELLED; may be NULL. The bytes are copied.
 */
warpjit_status warpjit_program_load(const struct warpjit_engine *engine,
                                    const uint8_t *code,
                                    size_t bytes,
                                    const struct warpjit_program_options *options,
                                    const struct warpjit_cancel *cancel,
                                    struct warpjit_program **program);

/**
 * Loads the program whose first instruction is at an address of guest memory. It is raw code; how long it is need not be known: what can be
 * reached is found. The code is read now; what the guest writes there later does not change the program (warpjit_program_is_current,
 * and the cache warpjit_program_cache). 'budget_of': an engine whose budget is the limit; NULL: the default one.
 */
warpjit_status warpjit_program_load_at(const struct warpjit_engine *budget_of,
                                       const struct warpjit_memory *memory,
                                       uint64_t address,
                                       const struct warpjit_program_options *options,
                                       const struct warpjit_cancel *cancel,
                                       struct warpjit_program **program);

/**
 * Calls a function for each range of guest memory that was read as code when the program was loaded by warpjit_program_load_at, in order
 * of address. Other programs have none.
 */
warpjit_status warpjit_program_code_ranges(const struct warpjit_program *program,
                                           warpjit_each_range each,
                                           void *user);

/**
 * Whether guest memory still holds the code that the program was loaded from. True of programs that were not loaded from guest memory.
 */
warpjit_status warpjit_program_is_current(const struct warpjit_program *program,
                                          const struct warpjit_memory *memory,
                                          bool *is_current);

/**
 * About how many bytes of host memory the program takes: its lifted form, and what has been compiled of it so far.
 */
warpjit_status warpjit_program_bytes_used(const struct warpjit_program *program,
                                          size_t *bytes);

/**
 * The kernel's name.
 */
warpjit_status warpjit_program_name(const struct warpjit_program *program,
                                    struct warpjit_bytes **name);

/**
 * What a kernel needs: registers of a thread, bytes of shared memory of a block and of local memory of a thread, lanes of a warp. Each
 * pointer may be NULL.
 */
warpjit_status warpjit_program_needs(const struct warpjit_program *program,
                                     uint32_t *registers,
                                     uint32_t *shared_bytes,
                                     uint32_t *local_bytes,
                                     uint32_t *lanes);

/**
 * The kernel as it was lifted, before it is compiled: text of the intermediate representation (docs/ir.md).
 */
warpjit_status warpjit_program_ir(const struct warpjit_program *program,
                                  struct warpjit_bytes **ir);

/**
 * Calls a function for each piece of machine code that the program consists of. What a container has of a kernel, and what was read of
 * guest memory, is one or more pieces; warpjit_disassemble lists each.
 */
warpjit_status warpjit_program_code(const struct warpjit_program *program,
                                    warpjit_each_piece each,
                                    void *user);

/**
 * The interface of a program of a graphics stage. WARPJIT_ERROR_NOT_FOUND: it is a compute program.
 */
warpjit_status warpjit_program_stage(const struct warpjit_program *program,
                                     struct warpjit_stage **stage);

/**
 * Assembles a source or a listing for a chip. The result is raw code. If the text is wrong, the status is WARPJIT_ERROR_PROGRAM, and
 * warpjit_last_error has a line for each mistake, with line and column. 'stage': WARPJIT_STAGE_COMPUTE for kernels. 'isa_name' NULL: that of
 * the chip's shader processors; "vp1" of its video processor.
 */
warpjit_status warpjit_assemble(const char *isa_name,
                                const char *chip_name,
                                warpjit_stage_kind stage,
                                const char *source,
                                struct warpjit_bytes **code);

/**
 * Lists raw code of a chip, a line for each instruction with its address and words. The first byte is at address 'base'. 'syntax': the
 * name of a syntax; NULL: the usual one, which warpjit_assemble reads. 'isa_name' as in warpjit_assemble.
 */
warpjit_status warpjit_disassemble(const char *isa_name,
                                   const char *chip_name,
                                   warpjit_stage_kind stage,
                                   const char *syntax,
                                   const uint8_t *code,
                                   size_t bytes,
                                   uint32_t base,
                                   struct warpjit_bytes **listing);

/**
 * Calls a function for each kernel of a container, in the order of the file. 'chip_name', if it is not NULL, gets the name of the chip that
 * the container names, valid for ever, or NULL. Raw words have one kernel, whose name is empty.
 */
warpjit_status warpjit_kernels(const uint8_t *code,
                               size_t bytes,
                               warpjit_each_name each,
                               void *user,
                               const char **chip_name);

/**
 * Calls a function with the name of each instruction set.
 */
warpjit_status warpjit_isas(warpjit_each_name each, void *user);

/**
 * Calls a function with the name of each chip of an instruction set. Boards and consoles have further names, which
 * warpjit_program_options_set_chip knows, too.
 */
warpjit_status warpjit_chips(const char *isa_name,
                             warpjit_each_name each,
                             void *user);

/**
 * The instruction set of a chip ("tesla", "fermi", "gcn" or "vp1"). The text is valid for ever.
 */
warpjit_status warpjit_chip_isa(const char *chip_name, const char **isa_name);

/**
 * Makes an empty cache. When its programs, with what has been compiled of them, take more than 'most_bytes', those that were not got for
 * the longest time are dropped. 'budget_of': an engine whose budget is the limit of each loading; NULL: the default one.
 */
warpjit_status warpjit_program_cache_new(size_t most_bytes,
                                         const struct warpjit_engine *budget_of,
                                         struct warpjit_program_cache **cache);

/**
 * The program whose first instruction is at a guest address, as warpjit_program_load_at loads it. The result is a handle of its own, to be
 * freed. The memory must be the same in all calls, or warpjit_program_cache_flush must come between. Errors are not kept.
 */
warpjit_status warpjit_program_cache_get(const struct warpjit_program_cache *cache,
                                         const struct warpjit_memory *memory,
                                         uint64_t address,
                                         const struct warpjit_program_options *options,
                                         struct warpjit_program **program);

/**
 * The guest may have changed the code from 'start' to 'end': programs that depend on it are compared with memory when they are next got.
 * A launch that runs uses the old code as a whole.
 */
warpjit_status warpjit_program_cache_invalidate(const struct warpjit_program_cache *cache,
                                                uint64_t start,
                                                uint64_t end);

/**
 * The guest may have changed any code: each program is compared with memory when it is next got. Costs nothing by itself.
 */
warpjit_status warpjit_program_cache_flush(const struct warpjit_program_cache *cache);

/**
 * Drops all programs. Those that somebody has a handle of live on.
 */
warpjit_status warpjit_program_cache_clear(const struct warpjit_program_cache *cache);

/**
 * The statistics. 'size' is sizeof(warpjit_program_cache_statistics).
 */
warpjit_status warpjit_program_cache_get_statistics(const struct warpjit_program_cache *cache,
                                                    struct warpjit_program_cache_statistics *statistics,
                                                    size_t size);

/**
 * Makes a launch without blocks and arguments.
 */
warpjit_status warpjit_launch_new(struct warpjit_launch **launch);

/**
 * Blocks along each axis.
 */
warpjit_status warpjit_launch_set_grid(struct warpjit_launch *launch,
                                       uint32_t x,
                                       uint32_t y,
                                       uint32_t z);

/**
 * Threads of a block along each axis.
 */
warpjit_status warpjit_launch_set_block(struct warpjit_launch *launch,
                                        uint32_t x,
                                        uint32_t y,
                                        uint32_t z);

/**
 * Coordinates of the first block: the blocks of the grid are counted from there along each axis (GCN's COMPUTE_START_X, Y and Z). The
 * default is 0.
 */
warpjit_status warpjit_launch_set_grid_start(struct warpjit_launch *launch,
                                             uint32_t x,
                                             uint32_t y,
                                             uint32_t z);

/**
 * Threads of the last block along each axis (GCN's NUM_THREAD_PARTIAL). 0, the default: as many as of all others.
 */
warpjit_status warpjit_launch_set_last_block(struct warpjit_launch *launch,
                                             uint32_t x,
                                             uint32_t y,
                                             uint32_t z);

/**
 * Bytes of shared memory beyond what the kernel has of its own.
 */
warpjit_status warpjit_launch_set_dynamic_shared(struct warpjit_launch *launch, uint32_t bytes);

/**
 * Most instructions a warp may execute; one more is a timeout fault. 0, the default: no limit. The limit is exact and slows the kernel
 * down. A cancel token stops a runaway launch at no cost.
 */
warpjit_status warpjit_launch_set_max_steps(struct warpjit_launch *launch,
                                            uint64_t instructions);

/**
 * Adds an argument: its bytes, little endian, and its alignment, a power of two up to 64. Arguments are laid out in order. If the program
 * states the layout of its parameters, the size must be the stated one, and the alignment is ignored.
 */
warpjit_status warpjit_launch_add_arg(struct warpjit_launch *launch,
                                      const void *value,
                                      size_t bytes,
                                      size_t align);

/**
 * Adds a 32-bit argument: a number or a 32-bit pointer.
 */
warpjit_status warpjit_launch_add_arg_u32(struct warpjit_launch *launch, uint32_t value);

/**
 * Adds a 64-bit argument: a number or a pointer.
 */
warpjit_status warpjit_launch_add_arg_u64(struct warpjit_launch *launch, uint64_t value);

/**
 * Adds a binary32 argument.
 */
warpjit_status warpjit_launch_add_arg_f32(struct warpjit_launch *launch, float value);

/**
 * Adds a pointer (32 bits) to so many bytes of dynamic shared memory, if the instruction set has such arguments.
 */
warpjit_status warpjit_launch_add_arg_shared(struct warpjit_launch *launch,
                                             uint32_t bytes);

/**
 * Removes all arguments.
 */
warpjit_status warpjit_launch_clear_args(struct warpjit_launch *launch);

/**
 * Contents of a constant bank, which are copied. They override what the container puts there, and what an earlier call gave for the bank.
 */
warpjit_status warpjit_launch_set_constants(struct warpjit_launch *launch,
                                            uint32_t bank,
                                            const void *contents,
                                            size_t bytes);

/**
 * Adds a window to global memory: Tesla's g0[] to g15[]. Without any, every window is the whole address space.
 */
warpjit_status warpjit_launch_add_global(struct warpjit_launch *launch,
                                         uint32_t index,
                                         uint64_t address,
                                         uint64_t bytes);

/**
 * The same of an image in tiles of 64 bytes by '4 << tile_mode' rows. The low half of a guest's address is x in bytes, the high half is y.
 * 'pitch': bytes from one row to the next, a multiple of 64. 'width': bytes of a row that exist. 'height': rows.
 */
warpjit_status warpjit_launch_add_global_tiled(struct warpjit_launch *launch,
                                               uint32_t index,
                                               uint64_t address,
                                               uint64_t bytes,
                                               uint32_t pitch,
                                               uint32_t width,
                                               uint32_t height,
                                               uint32_t tile_mode);

/**
 * Words that the hardware loads into the first scalar registers of each wave, from s0 on: raw GCN code with
 * warpjit_program_options_set_rsrc. Registers without a word start at zero.
 */
warpjit_status warpjit_launch_set_user_data(struct warpjit_launch *launch,
                                            const uint32_t *words,
                                            size_t count);

/**
 * How the program's scratch buffer is divided: into so many parts, one for each wave that exists at a time, of so many bytes. Raw GCN
 * code whose COMPUTE_PGM_RSRC2 enables scratch.
 */
warpjit_status warpjit_launch_set_scratch_ring(struct warpjit_launch *launch,
                                               uint32_t warps,
                                               uint32_t warp_bytes);

/**
 * Initial value of a register by its name ("s4", "v0", "r3"): one value for all lanes, or one for each lane. It replaces an earlier one.
 */
warpjit_status warpjit_launch_set_register(struct warpjit_launch *launch,
                                           const char *name,
                                           const uint64_t *values,
                                           size_t count);

/**
 * What to return at the end: registers (launches of one warp only; warpjit_report_register), shared memory (launches of one block only;
 * warpjit_report_shared).
 */
warpjit_status warpjit_launch_set_capture(struct warpjit_launch *launch,
                                          bool registers,
                                          bool shared);

/**
 * Initial shared memory of each block; the rest is zero. The contents are copied.
 */
warpjit_status warpjit_launch_set_shared(struct warpjit_launch *launch,
                                         const void *contents,
                                         size_t bytes);

/**
 * Runs blocks 'first' to 'end - 1' only, by linear index. 'first' = 'end' = 0, the default: all.
 */
warpjit_status warpjit_launch_set_blocks(struct warpjit_launch *launch,
                                         uint64_t first,
                                         uint64_t end);

/**
 * A token that ends the launch early when it is used. NULL: none.
 */
warpjit_status warpjit_launch_set_cancel(struct warpjit_launch *launch,
                                         const struct warpjit_cancel *cancel);

/**
 * A function that is called now and then, on any thread, while a launch runs. NULL: none. 'drop' is called when neither the launch nor a
 * copy of it needs the function any more, also if this call fails.
 */
warpjit_status warpjit_launch_set_progress(struct warpjit_launch *launch,
                                           warpjit_progress progress,
                                           void *user,
                                           warpjit_drop drop);

/**
 * The header of a texture slot (Tesla, Fermi): eight words as the hardware reads them. NULL: none.
 */
warpjit_status warpjit_launch_set_texture(struct warpjit_launch *launch,
                                          uint32_t slot,
                                          const uint32_t *words);

/**
 * The sampler of a slot: eight words. NULL: none.
 */
warpjit_status warpjit_launch_set_sampler(struct warpjit_launch *launch,
                                          uint32_t slot,
                                          const uint32_t *words);

/**
 * The surface of a slot: six words. NULL: none.
 */
warpjit_status warpjit_launch_set_surface(struct warpjit_launch *launch,
                                          uint32_t slot,
                                          const uint32_t *words);

/**
 * Tables of texture headers and samplers in guest memory: address and bytes of each. Slots are bound to their entries by
 * warpjit_launch_bind_texture and warpjit_launch_bind_sampler. Bytes 0: no table.
 */
warpjit_status warpjit_launch_set_texture_tables(struct warpjit_launch *launch,
                                                 uint64_t headers,
                                                 uint64_t header_bytes,
                                                 uint64_t samplers,
                                                 uint64_t sampler_bytes);

/**
 * Binds a texture slot to an entry of the table of headers.
 */
warpjit_status warpjit_launch_bind_texture(struct warpjit_launch *launch,
                                           uint32_t slot,
                                           uint32_t index);

/**
 * Binds a sampler slot to an entry of the table of samplers.
 */
warpjit_status warpjit_launch_bind_sampler(struct warpjit_launch *launch,
                                           uint32_t slot,
                                           uint32_t index);

/**
 * Constant bank whose words are texture handles (GK104). The default is 15.
 */
warpjit_status warpjit_launch_set_texture_handles(struct warpjit_launch *launch, uint32_t bank);

/**
 * GCN's tiling: 32 words of GB_TILE_MODE and 16 of GB_MACROTILE_MODE, either of which may be NULL, and GB_ADDR_CONFIG. Without this call
 * they are what the chip's driver sets.
 */
warpjit_status warpjit_launch_set_tiling(struct warpjit_launch *launch,
                                         const uint32_t *tile_modes,
                                         const uint32_t *macrotile_modes,
                                         uint32_t address_config);

/**
 * Address of the table of border colours in guest memory, 16 bytes each.
 */
warpjit_status warpjit_launch_set_border_colors(struct warpjit_launch *launch, uint64_t address);

/**
 * Makes an engine, and installs signal handlers (WARPJIT_SIGNALS_OWN). 'config' NULL: the defaults. Later changes of 'config' do not
 * concern the engine.
 */
warpjit_status warpjit_engine_new(const struct warpjit_config *config,
                                  struct warpjit_engine **engine);

/**
 * Number of host threads that run blocks.
 */
warpjit_status warpjit_engine_threads(const struct warpjit_engine *engine, size_t *threads);

/**
 * Installs the signal handlers again if somebody has replaced them (WARPJIT_SIGNALS_OWN). A launch does so by itself, unless another one
 * has done so within the last 20 microseconds.
 */
warpjit_status warpjit_engine_ensure_handlers(const struct warpjit_engine *engine);

/**
 * Waits until all code that launches have requested so far is compiled (WARPJIT_TIER_AUTO). Later launches start with it.
 */
warpjit_status warpjit_engine_wait_for_compiler(const struct warpjit_engine *engine);

/**
 * For the end of a process that frees no programs: lets compiler threads go on for at most so many nanoseconds with what launches have
 * asked for, forgets the rest, and stores what was compiled (warpjit_config_set_cache). Programs that are freed store theirs by themselves.
 */
warpjit_status warpjit_engine_settle(const struct warpjit_engine *engine,
                                     uint64_t nanoseconds);

/**
 * Works on this thread for so many nanoseconds: runs what queues have, and helps with launches of other threads. It sleeps while there is
 * nothing to do. 'has_worked' says whether there was anything; it may be NULL. For WARPJIT_IDLE_EMBEDDER, where nobody else works; with
 * the engine's own threads this is one more.
 */
warpjit_status warpjit_engine_work(const struct warpjit_engine *engine,
                                   uint64_t nanoseconds,
                                   bool *has_worked);

/**
 * Runs a launch to its end: all blocks done, a fault, or cancelled. The caller waits. An error means that nothing was run, or that a
 * callback has failed; what the guest does wrong is in the report (warpjit_report_fault).
 *
 * Any number of threads may run launches on one engine, in one memory, and of one program at the same time. Guest accesses then race as
 * on the chip.
 */
warpjit_status warpjit_engine_run(const struct warpjit_engine *engine,
                                  const struct warpjit_program *program,
                                  const struct warpjit_memory *memory,
                                  const struct warpjit_launch *launch,
                                  struct warpjit_report **report);

/**
 * Runs a program of a graphics stage over a batch, to its end. The arrays of the batch are read and written where they are, by threads
 * of the engine, until the call returns; meanwhile nobody else may use them.
 *
 * Grid and block of the launch are not used, and a stage takes no arguments. If the guest faults, arrays keep what warps have written
 * that had ended before. An error means that nothing was run, or that a callback has failed.
 */
warpjit_status warpjit_engine_run_stage(const struct warpjit_engine *engine,
                                        const struct warpjit_program *program,
                                        const struct warpjit_memory *memory,
                                        const struct warpjit_launch *launch,
                                        const struct warpjit_batch *batch,
                                        struct warpjit_report **report);

/**
 * Makes a token that has not been used.
 */
warpjit_status warpjit_cancel_new(struct warpjit_cancel **cancel);

/**
 * Uses a token: the launches and loads that have it stop soon. It stays used. Any thread may call this.
 */
warpjit_status warpjit_cancel_now(const struct warpjit_cancel *cancel);

/**
 * For a signal handler of the program (WARPJIT_SIGNALS_EMBEDDER; with WARPJIT_SIGNALS_OWN it may be called, too). The arguments are those
 * that the kernel has passed to a handler with SA_SIGINFO of SIGSEGV, SIGBUS, SIGILL or SIGFPE which runs on this thread: the number,
 * the siginfo_t and the ucontext_t.
 *
 * true: the signal was a fault of compiled code or of an access to guest memory, and the handler must return at once. false: it is none
 * of the library's, and nothing has been changed. Async-signal-safe; any stack will do.
 */
bool warpjit_handle_signal(int signal,
                           void *info,
                           void *context);

/**
 * The fault that ended the launch. 'size' is sizeof(warpjit_fault).
 */
warpjit_status warpjit_report_fault(const struct warpjit_report *report,
                                    struct warpjit_fault *fault,
                                    size_t size);

/**
 * The fault in words, in one line; an empty text if there was none.
 */
warpjit_status warpjit_report_fault_text(const struct warpjit_report *report,
                                         struct warpjit_bytes **words);

/**
 * Whether a cancel token has ended the launch.
 */
warpjit_status warpjit_report_is_cancelled(const struct warpjit_report *report, bool *cancelled);

/**
 * The statistics. 'size' is sizeof(warpjit_statistics).
 */
warpjit_status warpjit_report_statistics(const struct warpjit_report *report,
                                         struct warpjit_statistics *statistics,
                                         size_t size);

/**
 * Calls a function for what warpjit_config_set_count has counted. 'is_traffic' false: for each topic of instructions; 'first': how many
 * warps have executed. true: for each space of memory; 'first': bytes loaded, 'second': bytes stored.
 */
warpjit_status warpjit_report_counts(const struct warpjit_report *report,
                                     bool is_traffic,
                                     warpjit_each_count each,
                                     void *user);

/**
 * The values of a register at the end, one a lane (warpjit_launch_set_capture). 'count': in, room in 'values'; out, how many there are,
 * of which no more are written than there is room for.
 */
warpjit_status warpjit_report_register(const struct warpjit_report *report,
                                       const char *name,
                                       uint64_t *values,
                                       size_t *count);

/**
 * Shared memory of the only block at the end (warpjit_launch_set_capture). 'bytes': in, room in 'out'; out, how many there are.
 */
warpjit_status warpjit_report_shared(const struct warpjit_report *report,
                                     uint8_t *out,
                                     size_t *bytes);

/**
 * The profile, as JSON: samples of what threads were doing, and what the interpreter counted of blocks, instructions and accesses.
 * WARPJIT_ERROR_NOT_FOUND if warpjit_config_set_observe did not ask for one.
 */
warpjit_status warpjit_report_profile(const struct warpjit_report *report,
                                      struct warpjit_bytes **profile_json);

/**
 * All code compiled so far for the program with the engine's settings, as text: for each function its name, what it was compiled from,
 * and host instructions. WARPJIT_ERROR_NOT_FOUND if warpjit_config_set_observe did not ask for listings.
 */
warpjit_status warpjit_report_listings(const struct warpjit_report *report,
                                       struct warpjit_bytes **listing);

/**
 * Makes a token. 'after': it asks by itself when warps have run so many blocks or regions of code; 0: only warpjit_save_now asks.
 */
warpjit_status warpjit_save_new(uint64_t after,
                                struct warpjit_save **save);

/**
 * Asks the launches that have the token to stop soon. One that has ended meanwhile has nothing to save. Any thread may call this.
 */
warpjit_status warpjit_save_now(const struct warpjit_save *save);

/**
 * A token that stops the launch when it asks to, for compute programs. Loops of such launches run slower. NULL: none.
 */
warpjit_status warpjit_launch_set_save(struct warpjit_launch *launch,
                                       const struct warpjit_save *save);

/**
 * The launch that a token has stopped before its end. WARPJIT_ERROR_NOT_FOUND: it has ended.
 */
warpjit_status warpjit_report_saved_launch(const struct warpjit_report *report,
                                           struct warpjit_saved_launch **saved);

/**
 * How many of its blocks have not ended, and whether guest memory is part of it. Both pointers may be NULL.
 */
warpjit_status warpjit_saved_launch_info(const struct warpjit_saved_launch *saved,
                                         uint64_t *blocks_left,
                                         bool *has_memory);

/**
 * The launch as bytes. 'memory': all of its mappings and what they contain become part of them; NULL: guest memory must be as it is now
 * when the launch goes on.
 */
warpjit_status warpjit_saved_launch_to_bytes(const struct warpjit_saved_launch *saved,
                                             const struct warpjit_memory *memory,
                                             struct warpjit_bytes **bytes);

/**
 * Reads what warpjit_saved_launch_to_bytes has written, in any process, on any host. The bytes may come from anywhere: foreign, cut and
 * damaged ones are WARPJIT_ERROR_STATE.
 */
warpjit_status warpjit_saved_launch_from_bytes(const uint8_t *data,
                                               size_t size,
                                               struct warpjit_saved_launch **saved);

/**
 * Maps the memory that is part of the launch, where it is not mapped, and fills it with what it contained. WARPJIT_ERROR_STATE: it has
 * none.
 */
warpjit_status warpjit_saved_launch_restore_memory(const struct warpjit_saved_launch *saved,
                                                   const struct warpjit_memory *memory);

/**
 * Continues a launch, to its end or until it is saved again. The launch must be the same: program, grid, arguments, and whatever else its
 * blocks begin with. Tokens, callback and engine may be others, but for the accuracy of floats. The report tells of what runs now.
 * WARPJIT_ERROR_STATE: the state is not of this launch, or none that a launch can be in.
 */
warpjit_status warpjit_engine_resume(const struct warpjit_engine *engine,
                                     const struct warpjit_program *program,
                                     const struct warpjit_memory *memory,
                                     const struct warpjit_launch *launch,
                                     const struct warpjit_saved_launch *saved,
                                     struct warpjit_report **report);

/**
 * Sets a launch up. Later changes of 'launch' do not concern it. Launches that may be saved, or with last blocks of another size, cannot be
 * prepared.
 */
warpjit_status warpjit_engine_prepare(const struct warpjit_engine *engine,
                                      const struct warpjit_program *program,
                                      const struct warpjit_memory *memory,
                                      const struct warpjit_launch *launch,
                                      struct warpjit_prepared **prepared);

/**
 * One with the same arguments, for another thread. Compiled code is shared.
 */
warpjit_status warpjit_prepared_clone(const struct warpjit_prepared *prepared,
                                      struct warpjit_prepared **copy);

/**
 * Runs it to its end on this thread, as warpjit_engine_run does; threads of the engine help. 'report' may be NULL, which saves making one:
 * then a fault is told by 'has_fault' only, which may be NULL, too.
 */
warpjit_status warpjit_prepared_run(const struct warpjit_prepared *prepared,
                                    struct warpjit_report **report,
                                    bool *has_fault);

/**
 * Bytes of the arguments as they are laid out, and how many words of user data the program takes. Both pointers may be NULL.
 */
warpjit_status warpjit_prepared_sizes(const struct warpjit_prepared *prepared,
                                      size_t *args_bytes,
                                      size_t *user_data_words);

/**
 * Overwrites a part of the arguments: they are laid out in order with natural alignment, or as the container states.
 */
warpjit_status warpjit_prepared_set_args(const struct warpjit_prepared *prepared,
                                         size_t offset,
                                         const void *data,
                                         size_t bytes);

/**
 * Overwrites words of user data from word 'first' on.
 */
warpjit_status warpjit_prepared_set_user_data(const struct warpjit_prepared *prepared,
                                              size_t first,
                                              const uint32_t *words,
                                              size_t count);

/**
 * Overwrites a part of a constant bank. What a launch puts there itself (arguments, sizes) stays.
 */
warpjit_status warpjit_prepared_set_constants(const struct warpjit_prepared *prepared,
                                              uint32_t bank,
                                              uint32_t offset,
                                              const void *data,
                                              size_t bytes);

/**
 * Changes the grid, of which all blocks are run.
 */
warpjit_status warpjit_prepared_set_grid(const struct warpjit_prepared *prepared,
                                         uint32_t x,
                                         uint32_t y,
                                         uint32_t z);

/**
 * Runs blocks 'first' to 'end - 1' only, by linear index. 'first' = 'end' = 0: all.
 */
warpjit_status warpjit_prepared_set_blocks(const struct warpjit_prepared *prepared,
                                           uint64_t first,
                                           uint64_t end);

/**
 * The token that cancels runs from now on. NULL: none.
 */
warpjit_status warpjit_prepared_set_cancel(const struct warpjit_prepared *prepared,
                                           const struct warpjit_cancel *cancel);

/**
 * Compiles the code that 'count' launches will need in this memory, launch n of program n, on the engine's compiler threads, and comes back
 * at once. What running launches ask for goes first. Arguments do not matter. Nothing is run. What is wrong with a launch comes out of
 * warpjit_compilation_wait.
 */
warpjit_status warpjit_engine_precompile(const struct warpjit_engine *engine,
                                         const struct warpjit_memory *memory,
                                         const struct warpjit_program *const *programs,
                                         const struct warpjit_launch *const *launches,
                                         size_t count,
                                         struct warpjit_compilation **compilation);

/**
 * How many launches are done with, and how many there are.
 */
warpjit_status warpjit_compilation_progress(const struct warpjit_compilation *compilation,
                                            size_t *done,
                                            size_t *all);

/**
 * Waits until all is compiled or cancelled, for at most so many nanoseconds (WARPJIT_ERROR_NOT_DONE); UINT64_MAX: any time. Returns the
 * first error of a launch, and WARPJIT_ERROR_CANCELLED if some were not compiled.
 */
warpjit_status warpjit_compilation_wait(const struct warpjit_compilation *compilation,
                                        uint64_t nanoseconds);

/**
 * Compiles no more: what is being compiled ends soon, and the rest is not begun.
 */
warpjit_status warpjit_compilation_cancel(const struct warpjit_compilation *compilation);

/**
 * Makes a queue. 'cancel_at_end': when it is freed, what runs is cancelled, and what has not begun is done at once
 * (WARPJIT_ERROR_CANCELLED); else work goes on to its end. To free a queue never waits.
 */
warpjit_status warpjit_queue_new(const struct warpjit_engine *engine,
                                 warpjit_priority priority,
                                 bool cancel_at_end,
                                 struct warpjit_queue **queue);

/**
 * Waits until all that has been submitted is done.
 */
warpjit_status warpjit_queue_finish(const struct warpjit_queue *queue);

/**
 * Makes a submission of a launch that is run once. Later changes of 'launch' do not concern it.
 */
warpjit_status warpjit_submission_of_launch(const struct warpjit_program *program,
                                            const struct warpjit_memory *memory,
                                            const struct warpjit_launch *launch,
                                            struct warpjit_submission **submission);

/**
 * Makes a submission of a prepared launch with the arguments that it has now.
 */
warpjit_status warpjit_submission_of_prepared(const struct warpjit_prepared *prepared,
                                              struct warpjit_submission **submission);

/**
 * Makes a submission of a batch of a graphics stage. All arrays of the batch are copied now; warpjit_ticket_take_batch copies results to
 * the arrays that the batch names now.
 */
warpjit_status warpjit_submission_of_stage(const struct warpjit_program *program,
                                           const struct warpjit_memory *memory,
                                           const struct warpjit_launch *launch,
                                           const struct warpjit_batch *batch,
                                           struct warpjit_submission **submission);

/**
 * Begins only when another submission is done, which may be of any queue. If that one faults, is cancelled or fails, this one is not run
 * (WARPJIT_ERROR_DEPENDENCY).
 */
warpjit_status warpjit_submission_add_dependency(const struct warpjit_submission *submission,
                                                 const struct warpjit_ticket *ticket);

/**
 * Ends it so many nanoseconds from now at the latest: before it begins with WARPJIT_ERROR_DEADLINE, else as if it were cancelled.
 */
warpjit_status warpjit_submission_set_deadline(const struct warpjit_submission *submission,
                                               uint64_t nanoseconds);

/**
 * Calls a function when the submission is done, on the thread that has ended it. 'drop' is called after that, or when the submission is
 * freed without being submitted, also if this call fails.
 */
warpjit_status warpjit_submission_on_complete(const struct warpjit_submission *submission,
                                              warpjit_completion completion,
                                              void *user,
                                              warpjit_drop drop);

/**
 * Appends a submission to a queue, without waiting. What is wrong with it comes out of the ticket. 'ticket' may be NULL. The submission is
 * used up, and is still to be freed.
 */
warpjit_status warpjit_queue_submit(const struct warpjit_queue *queue,
                                    const struct warpjit_submission *submission,
                                    struct warpjit_ticket **ticket);

/**
 * Appends prepared launches as one submission: they run in order, and the report has the sums of their counts. The first one that faults or
 * is cancelled ends the batch (warpjit_ticket_dispatches). What dispatches name is copied. If one of them is unusable, nothing is
 * submitted. 'ticket' may be NULL.
 */
warpjit_status warpjit_queue_submit_batch(const struct warpjit_queue *queue,
                                          const struct warpjit_dispatch *dispatches,
                                          size_t count,
                                          struct warpjit_ticket **ticket);

/**
 * Whether the submission is done, its callbacks included.
 */
warpjit_status warpjit_ticket_poll(const struct warpjit_ticket *ticket, bool *is_done);

/**
 * Waits until the submission is done, for at most so many nanoseconds (WARPJIT_ERROR_NOT_DONE); UINT64_MAX: any time. 'report' gets its
 * report; it may be NULL. Errors are those of warpjit_engine_run, and WARPJIT_ERROR_CANCELLED, _DEADLINE and _DEPENDENCY if it has not
 * begun for that reason. It may be called again, also in callbacks.
 */
warpjit_status warpjit_ticket_wait(const struct warpjit_ticket *ticket,
                                   uint64_t nanoseconds,
                                   struct warpjit_report **report);

/**
 * Ends it soon if it runs; if it has not begun, it is done at once (WARPJIT_ERROR_CANCELLED).
 */
warpjit_status warpjit_ticket_cancel(const struct warpjit_ticket *ticket);

/**
 * How many of its dispatches have ended: of a batch any number, else 1 at the end.
 */
warpjit_status warpjit_ticket_dispatches(const struct warpjit_ticket *ticket, size_t *count);

/**
 * Copies the results of a batch of a graphics stage to the arrays that the batch named when its submission was made. It is done, or
 * WARPJIT_ERROR_NOT_DONE. This works once. WARPJIT_ERROR_NOT_FOUND: it has failed.
 */
warpjit_status warpjit_ticket_take_batch(const struct warpjit_ticket *ticket);

/**
 * Makes a machine with all registers and the data store zero, which stands at the first word of 'code': little-endian words, which are
 * copied. 'chip_name': "nv41", "nv44" or "g80". Of the settings, tier, host level and budget matter; NULL: the defaults.
 */
warpjit_status warpjit_vp1_new(const uint8_t *code,
                               size_t bytes,
                               const char *chip_name,
                               const struct warpjit_config *config,
                               struct warpjit_vp1 **vp1);

/**
 * Runs until the program exits, there is no code, or so many instruction bundles have been executed; UINT64_MAX: no limit. With a limit
 * the machine stops exactly there. 'outside' may be NULL: nothing is there. Of an exit, 'exit_code' gets its code and 'interrupt' whether
 * it asks for an interrupt; both may be NULL.
 */
warpjit_status warpjit_vp1_run(const struct warpjit_vp1 *vp1,
                               uint64_t bundles,
                               const struct warpjit_vp1_outside *outside,
                               warpjit_vp1_stop *stop,
                               uint32_t *exit_code,
                               bool *interrupt);

/**
 * A token that ends warpjit_vp1_run when it is used, also while the machine runs. NULL: nothing does.
 */
warpjit_status warpjit_vp1_set_cancel(const struct warpjit_vp1 *vp1,
                                      const struct warpjit_cancel *cancel);

/**
 * Where the machine stands: the word address of the next bundle.
 */
warpjit_status warpjit_vp1_pc(const struct warpjit_vp1 *vp1, uint32_t *pc);

/**
 * Continues at a word address. A pending branch is dropped.
 */
warpjit_status warpjit_vp1_set_pc(const struct warpjit_vp1 *vp1, uint32_t pc);

/**
 * The value of a register by its name ("r0", "a3", "v1"): one value, or one a component. 'count': in, room in 'values'; out, how many
 * there are.
 */
warpjit_status warpjit_vp1_register(const struct warpjit_vp1 *vp1,
                                    const char *name,
                                    uint64_t *values,
                                    size_t *count);

/**
 * Sets a register by its name: one value, or one a component.
 */
warpjit_status warpjit_vp1_set_register(const struct warpjit_vp1 *vp1,
                                        const char *name,
                                        const uint64_t *values,
                                        size_t count);

/**
 * Reads the data store in its raw layout: byte '16 * row + bank'. 'bytes': in, room in 'out'; out, how many there are.
 */
warpjit_status warpjit_vp1_data_store(const struct warpjit_vp1 *vp1,
                                      uint8_t *out,
                                      size_t *bytes);

/**
 * Writes a part of the data store.
 */
warpjit_status warpjit_vp1_set_data_store(const struct warpjit_vp1 *vp1,
                                          size_t offset,
                                          const uint8_t *data,
                                          size_t bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WARPJIT_H */
