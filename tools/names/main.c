/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names for addresses: requests on stdin, an answer of one line each on stdout.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"

static const char usage[] =
    "Usage: xs-names --kernel VMLINUX [--memory IMAGE] [--modules DIR]...\n"
    "                [--slide BYTES]\n"
    "Answers requests, one a line, with one line of JSON each:\n"
    "  code PC            function, file and line of an instruction\n"
    "  data ADDR [SIZE]   variable, stack or object at an address\n"
    "  access PC ADDR     type and field that the instruction accesses there\n"
    "Addresses are hexadecimal effective addresses of the guest's kernel. What\n"
    "is not known is not in the answer.\n"
    "  --kernel VMLINUX   the kernel that ran; VMLINUX.debug is taken in its\n"
    "                     place if it is there and of the same build\n"
    "  --memory IMAGE     memory of the guest, written by -device\n"
    "                     contention,memory-file=IMAGE\n"
    "  --modules DIR      where the NAME.ko.debug or NAME.ko of the guest's\n"
    "                     modules are\n"
    "  --slide BYTES      the kernel ran so much above its link address\n"
    "                     (default: found in the memory image, else 0)\n";

void fail(const char *format, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("xs-names: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void warn(const char *format, ...)
{
    va_list ap;

    fputs("xs-names: warning: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
}

static void json_name(GString *out, const char *name)
{
    if (out->len && out->str[out->len - 1] != '{') {
        g_string_append(out, ", ");
    }
    g_string_append_printf(out, "\"%s\": ", name);
}

void json_string(GString *out, const char *name, const char *value)
{
    json_name(out, name);
    g_string_append_c(out, '"');
    for (; *value; value++) {
        unsigned char c = *value;

        if (c == '"' || c == '\\') {
            g_string_append_c(out, '\\');
            g_string_append_c(out, c);
        } else if (c < 0x20 || c == 0x7f) {
            g_string_append_printf(out, "\\u%04x", c);
        } else {
            g_string_append_c(out, c);
        }
    }
    g_string_append_c(out, '"');
}

void json_number(GString *out, const char *name, int64_t value)
{
    json_name(out, name);
    g_string_append_printf(out, "%" PRId64, value);
}

static bool hexadecimal(const char *text, uint64_t *value)
{
    char *end;

    if (!text || !g_ascii_isxdigit(*text)) {
        return false;
    }
    *value = g_ascii_strtoull(text, &end, 16);
    return !*end;
}

/* Code of the kernel is looked up at its link address, modules as loaded. */
static uint64_t link_address(uint64_t pc)
{
    const File *kernel = file_nth(0);

    return symbol_at(kernel, pc - guest_slide(), true) ? pc - guest_slide()
                                                       : pc;
}

static void answer(const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    g_autoptr(GString) out = g_string_new("{");
    unsigned n = g_strv_length(words);
    uint64_t first = 0, second = 0;
    bool good = n >= 2 && n <= 3 && hexadecimal(words[1], &first) &&
                (n < 3 || hexadecimal(words[2], &second));

    if (good && n == 2 && !strcmp(words[0], "code")) {
        code_describe(link_address(first), out);
    } else if (good && !strcmp(words[0], "data")) {
        data_describe(first, second, out);
    } else if (good && n == 3 && !strcmp(words[0], "access")) {
        access_describe(link_address(first), second, out);
    } else {
        fail("'%s': no request; known: code PC, data ADDR [SIZE], "
             "access PC ADDR", line);
    }
    puts(g_string_append_c(out, '}')->str);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "kernel", required_argument, NULL, 'k' },
        { "memory", required_argument, NULL, 'm' },
        { "modules", required_argument, NULL, 'd' },
        { "slide", required_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },
        { }
    };
    g_autoptr(GPtrArray) dirs = g_ptr_array_new();
    const char *kernel_path = NULL, *memory_path = NULL;
    char *line = NULL, *end;
    size_t room = 0;
    ssize_t length;
    File *kernel;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'k':
            kernel_path = optarg;
            break;
        case 'm':
            memory_path = optarg;
            break;
        case 'd':
            g_ptr_array_add(dirs, optarg);
            break;
        case 's':
            guest_set_slide(g_ascii_strtoll(optarg, &end, 0));
            if (end == optarg || *end) {
                fail("--slide %s: not a number of bytes", optarg);
            }
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_FAILURE;
        }
    }
    if (!kernel_path || optind < argc) {
        fail("give --kernel VMLINUX and nothing but options (see --help)");
    }
    g_ptr_array_add(dirs, NULL);
    kernel = kernel_open(kernel_path);
    if (!kernel->dwarf) {
        warn("%s has no debug information (CONFIG_DEBUG_INFO), nor has "
             "%s.debug: symbols only", kernel_path, kernel_path);
    }
    if (memory_path) {
        memory_open(memory_path);
    }
    guest_read(kernel, (const char *const *)dirs->pdata);
    slab_init(kernel);
    while ((length = getline(&line, &room, stdin)) >= 0) {
        if (length && line[length - 1] == '\n') {
            line[length - 1] = '\0';
        }
        answer(line);
    }
    free(line);
    memory_close();
    files_close();
    if (fflush(stdout) || ferror(stdout)) {
        fail("the answers cannot be written: %s", g_strerror(errno));
    }
    return EXIT_SUCCESS;
}
