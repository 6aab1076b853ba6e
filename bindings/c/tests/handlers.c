/*
 * A program with signal handlers of its own: it tells faults of guests from other ones, goes on in a child of fork, and frees handles while
 * they are in use and twice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warpjit.h>

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, warpjit_last_error());                  \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)
#define OK(call) CHECK((call) == WARPJIT_OK)

static volatile sig_atomic_t guests, others;

static void handler(int signal, siginfo_t *info, void *context)
{
    if (warpjit_handle_signal(signal, info, context))
        guests++;
    else
        others++;
}

/* Stores 5 where s0 and s1 say. */
static const char SOURCE[] = "v_mov_b32 v1, s0\n v_mov_b32 v2, s1\n v_mov_b32 v3, 5\n flat_store_dword v[1:2], v3\n s_endpgm\n";

static warpjit_engine *engine;
static warpjit_program *program;
static warpjit_memory *memory;

/* Runs the program: the kind of its fault. */
static warpjit_fault_kind run(uint64_t address)
{
    warpjit_launch *launch;
    warpjit_report *report;
    warpjit_fault fault;
    const uint32_t words[2] = {(uint32_t)address, (uint32_t)(address >> 32)};
    OK(warpjit_launch_new(&launch));
    OK(warpjit_launch_set_grid(launch, 1, 1, 1));
    OK(warpjit_launch_set_block(launch, 64, 1, 1));
    OK(warpjit_launch_set_user_data(launch, words, 2));
    OK(warpjit_engine_run(engine, program, memory, launch, &report));
    OK(warpjit_report_fault(report, &fault, sizeof fault));
    if (fault.kind != WARPJIT_FAULT_NONE)
        CHECK(fault.has_address && fault.address == address && fault.store);
    OK(warpjit_free(launch));
    OK(warpjit_free(report));
    return fault.kind;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t n = 0; n < sizeof signals / sizeof *signals; n++)
        CHECK(sigaction(signals[n], &action, NULL) == 0);

    warpjit_config *config;
    OK(warpjit_config_new(&config));
    OK(warpjit_config_set_tier(config, WARPJIT_TIER_JIT, 0));
    OK(warpjit_config_set_signals(config, WARPJIT_SIGNALS_EMBEDDER));
    OK(warpjit_engine_new(config, &engine));

    warpjit_bytes *code;
    const char *words;
    size_t size;
    warpjit_program_options *options;
    OK(warpjit_assemble(NULL, "ps4", WARPJIT_STAGE_COMPUTE, SOURCE, &code));
    OK(warpjit_bytes_get(code, &words, &size));
    OK(warpjit_program_options_new("gcn", &options));
    OK(warpjit_program_options_set_chip(options, "ps4"));
    OK(warpjit_program_options_set_raw(options, true));
    OK(warpjit_program_options_set_rsrc(options, 1 << 6, 2 << 1));
    OK(warpjit_program_load(engine, (const uint8_t *)words, size, options, NULL, &program));
    uint64_t buffer, value;
    OK(warpjit_memory_new(NULL, &memory));
    OK(warpjit_memory_map(memory, WARPJIT_ANYWHERE, 4096, WARPJIT_ACCESS_READ_WRITE, &buffer));

    CHECK(run(buffer) == WARPJIT_FAULT_NONE && guests == 0);
    CHECK(run(0x70000000) == WARPJIT_FAULT_MEMORY && guests > 0 && others == 0);
    CHECK(raise(SIGFPE) == 0 && others == 1);

    /* A child has its parent's handles. */
    const pid_t child = fork();
    if (child == 0) {
        CHECK(run(buffer + 8) == WARPJIT_FAULT_NONE && run(0x70000000) == WARPJIT_FAULT_MEMORY);
        OK(warpjit_memory_load(memory, buffer + 8, 4, &value));
        _exit(value == 5 ? 0 : 1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    OK(warpjit_memory_load(memory, buffer + 8, 4, &value));
    CHECK(value == 0);

    /* The text of a failure stays until the next one. */
    void *handles[] = {config, engine, code, options, program, memory};
    for (size_t n = 0; n < sizeof handles / sizeof *handles; n++) {
        OK(warpjit_free(handles[n]));
        CHECK(warpjit_free(handles[n]) == WARPJIT_ERROR_HANDLE);
    }
    CHECK(warpjit_memory_load(memory, buffer, 4, &value) == WARPJIT_ERROR_HANDLE);
    CHECK(warpjit_free(&value) == WARPJIT_ERROR_HANDLE);
    CHECK(warpjit_free(NULL) == WARPJIT_OK);
    puts("all is well");
    return 0;
}
