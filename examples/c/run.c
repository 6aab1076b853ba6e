/*
 * Runs a GPU binary: the OpenCL kernel saxpy, y = 2.5 * x + y, which clang has compiled for Fiji (tests/corpus/gcn/saxpy).
 *
 *     run FOLDER
 *
 * FOLDER has fiji.co, x.in.bin, y.in.bin and y.out.bin. The exit status is 0 if the results are those of y.out.bin.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpjit.h>

/* Ends the program if a call has failed. */
static void check(warpjit_status status, const char *what)
{
    if (status != WARPJIT_OK) {
        fprintf(stderr, "error: %s: %s (%s)\n", what, warpjit_last_error(), warpjit_status_name(status));
        exit(2);
    }
}

/* The content of a file. */
static void *read_file(const char *folder, const char *name, size_t *bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *content = malloc(*bytes + 1);
    if (!content || fread(content, 1, *bytes, file) != *bytes) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return content;
}

static void print_name(void *user, const char *name)
{
    (void)user;
    printf("kernel %s\n", name);
}

/* A launch file of the command would say the same: tests/corpus/gcn/saxpy/fiji.launch.toml. */
int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: run FOLDER\n");
        return 2;
    }
    const char *folder = arguments[1];
    if (warpjit_version() / 1000 != WARPJIT_VERSION / 1000) {
        fprintf(stderr, "error: compiled for %s, runs with %s\n", WARPJIT_VERSION_STRING, warpjit_version_string());
        return 2;
    }
    size_t code_bytes, x_bytes, y_bytes, expected_bytes;
    uint8_t *code = read_file(folder, "fiji.co", &code_bytes);
    void *x = read_file(folder, "x.in.bin", &x_bytes);
    float *y = read_file(folder, "y.in.bin", &y_bytes);
    float *expected = read_file(folder, "y.out.bin", &expected_bytes);

    const char *chip = NULL;
    check(warpjit_kernels(code, code_bytes, print_name, NULL, &chip), "reading the container");
    printf("chip %s\n", chip ? chip : "unknown");

    warpjit_engine *engine;
    check(warpjit_engine_new(NULL, &engine), "making an engine");

    /* The container says which chip it is for and what its kernels need. */
    warpjit_program_options *options;
    warpjit_program *program;
    check(warpjit_program_options_new("gcn", &options), "options");
    check(warpjit_program_options_set_kernel(options, "saxpy"), "options");
    check(warpjit_program_load(engine, code, code_bytes, options, NULL, &program), "loading the program");

    /* Guest memory with two buffers. */
    warpjit_memory *memory;
    uint64_t guest_x, guest_y;
    check(warpjit_memory_new(NULL, &memory), "making guest memory");
    check(warpjit_memory_map(memory, WARPJIT_ANYWHERE, x_bytes, WARPJIT_ACCESS_READ_ONLY, &guest_x), "mapping x");
    check(warpjit_memory_map(memory, WARPJIT_ANYWHERE, y_bytes, WARPJIT_ACCESS_READ_WRITE, &guest_y), "mapping y");
    check(warpjit_memory_write(memory, guest_x, x, x_bytes), "writing x");
    check(warpjit_memory_write(memory, guest_y, y, y_bytes), "writing y");

    warpjit_launch *launch;
    check(warpjit_launch_new(&launch), "launch");
    check(warpjit_launch_set_grid(launch, 16, 1, 1), "launch");
    check(warpjit_launch_set_block(launch, 64, 1, 1), "launch");
    check(warpjit_launch_add_arg_u64(launch, guest_y), "launch");
    check(warpjit_launch_add_arg_u64(launch, guest_x), "launch");
    check(warpjit_launch_add_arg_f32(launch, 2.5F), "launch");
    check(warpjit_launch_add_arg_u32(launch, 1000), "launch");

    warpjit_report *report;
    warpjit_fault fault;
    warpjit_statistics statistics;
    check(warpjit_engine_run(engine, program, memory, launch, &report), "running");
    check(warpjit_report_fault(report, &fault, sizeof fault), "fault");
    if (fault.kind != WARPJIT_FAULT_NONE) {
        warpjit_bytes *words;
        const char *text;
        check(warpjit_report_fault_text(report, &words), "fault");
        check(warpjit_bytes_get(words, &text, NULL), "fault");
        fprintf(stderr, "%s\n", text);
        return 3;
    }
    check(warpjit_report_statistics(report, &statistics, sizeof statistics), "statistics");
    printf("%llu blocks\n", (unsigned long long)statistics.blocks);

    check(warpjit_memory_read(memory, guest_y, y, y_bytes), "reading y");
    size_t wrong = 0;
    for (size_t at = 0; at < expected_bytes / sizeof *expected; at++)
        wrong += !(fabsf(y[at] - expected[at]) <= 1e-6F * fabsf(expected[at]));
    printf("%s: y[0] = %g, %zu wrong\n", wrong ? "failed" : "ok", y[0], wrong);

    /* What belongs together can be freed in any order. A handle that is freed twice is an error, and no more than that. */
    check(warpjit_free(engine), "freeing");
    if (warpjit_free(engine) != WARPJIT_ERROR_HANDLE)
        return 2;
    void *handles[] = {options, program, memory, launch, report};
    for (size_t at = 0; at < sizeof handles / sizeof *handles; at++)
        check(warpjit_free(handles[at]), "freeing");
    free(code);
    free(x);
    free(y);
    free(expected);
    return wrong ? 1 : 0;
}
