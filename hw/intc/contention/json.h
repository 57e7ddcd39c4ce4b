/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * JSON text of the contention model: members and elements with what stands
 * between them.
 */

#ifndef HW_INTC_CONTENTION_JSON_H
#define HW_INTC_CONTENTION_JSON_H

#include "hw/intc/contention/params.h"

typedef struct ContentionJson {
    GString *out;
    const char *separator;      /* before what comes next */
} ContentionJson;

/* The name of a member; NULL: an element of an array. */
static inline void contention_json_name(ContentionJson *json, const char *name)
{
    g_string_append(json->out, json->separator);
    json->separator = ", ";
    if (name) {
        g_string_append_c(json->out, '"');
        g_string_append(json->out, name);
        g_string_append(json->out, "\": ");
    }
}

/* @bracket: '{' or '[' */
static inline void contention_json_open(ContentionJson *json, const char *name,
                                        char bracket)
{
    contention_json_name(json, name);
    g_string_append_c(json->out, bracket);
    json->separator = "";
}

/* @bracket: '}' or ']' */
static inline void contention_json_close(ContentionJson *json, char bracket)
{
    g_string_append_c(json->out, bracket);
    json->separator = ", ";
}

static inline void contention_json_count(ContentionJson *json,
                                         const char *name, uint64_t value)
{
    contention_json_name(json, name);
    g_string_append_printf(json->out, "%" PRIu64, value);
}

static inline void contention_json_time(ContentionJson *json, const char *name,
                                        ContentionTime ps)
{
    contention_json_name(json, name);
    contention_append_ns(json->out, ps);
}

/* Addresses are strings: they do not fit the numbers of every reader. */
static inline void contention_json_address(ContentionJson *json,
                                           const char *name, uint64_t address)
{
    contention_json_name(json, name);
    g_string_append_printf(json->out, "\"0x%" PRIx64 "\"", address);
}

static inline void contention_json_string(ContentionJson *json,
                                          const char *name, const char *text)
{
    contention_json_name(json, name);
    g_string_append_printf(json->out, "\"%s\"", text);
}

static inline void contention_json_bool(ContentionJson *json,
                                        const char *name, bool value)
{
    contention_json_name(json, name);
    g_string_append(json->out, value ? "true" : "false");
}

#endif /* HW_INTC_CONTENTION_JSON_H */
