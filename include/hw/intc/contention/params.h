/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Parameters of the contention model.
 *
 * One table describes them all: it drives the properties of the QEMU device,
 * the keys of the machine files, the documentation and the result files.
 */

#ifndef HW_INTC_CONTENTION_PARAMS_H
#define HW_INTC_CONTENTION_PARAMS_H

/* Simulated time, in picoseconds */
typedef int64_t ContentionTime;

#define CONTENTION_PS_PER_NS 1000

/* What a slope of one per cent is stored as */
#define CONTENTION_PERCENT 1000

typedef enum ContentionHolderRule {
    CONTENTION_HOLDER_LOAD,         /* may load until the line leaves */
    CONTENTION_HOLDER_LOAD_STORE,   /* may load and store until then */
    CONTENTION_HOLDER_NONE,         /* loses it when it is requested */
} ContentionHolderRule;

typedef enum ContentionLoadRule {
    CONTENTION_LOAD_SHARED,         /* a load makes a sharer */
    CONTENTION_LOAD_MIGRATORY,      /* a load takes a line written elsewhere */
} ContentionLoadRule;

typedef enum ContentionLoadQueue {
    CONTENTION_LOADS_PARALLEL,      /* a load starts at once */
    CONTENTION_LOADS_SERIALISED,    /* a load waits for exclusive transfers */
} ContentionLoadQueue;

typedef enum ContentionMergeRule {
    CONTENTION_MERGE_ALL,           /* loads and stores join a fetch */
    CONTENTION_MERGE_LOADS,         /* a store makes a request of its own */
} ContentionMergeRule;

typedef enum ContentionUpgradeRule {
    CONTENTION_UPGRADE_NEAREST,     /* an upgrade costs the nearest holder */
    CONTENTION_UPGRADE_FURTHEST,    /* ... or the furthest */
} ContentionUpgradeRule;

typedef enum ContentionWaiterScope {
    CONTENTION_WAITERS_ALL,         /* every request that waits counts */
    CONTENTION_WAITERS_CHIP,        /* those of the chip that has the line */
} ContentionWaiterScope;

typedef enum ContentionArbitration {
    CONTENTION_ARBITRATE_RANDOM,    /* any of those who wait */
    CONTENTION_ARBITRATE_ARRIVAL,   /* the first who asked */
    CONTENTION_ARBITRATE_NEAREST,   /* the nearest to the owner */
} ContentionArbitration;

/*
 * All fields are int64_t so that one table can reach them; times are in
 * picoseconds, percentages in per cent, but the slope in 1/CONTENTION_PERCENT
 * of it, rules hold the enums above.
 */
typedef struct ContentionParams {
    /* lines */
    int64_t same_domain;
    int64_t same_chip;
    int64_t cross_chip;
    int64_t hop;
    int64_t waiter_slope;
    int64_t waiter_scope;
    int64_t load_occupancy;
    int64_t departure;
    int64_t holder_rule;
    int64_t load_rule;
    int64_t load_queue;
    int64_t merge_rule;
    int64_t upgrade_rule;
    int64_t arbitration;
    int64_t seed;
    int64_t cores_per_domain;
    int64_t line_bytes;
    int64_t filter_entries;
    /* interrupt fabric */
    int64_t trigger;
    int64_t fabric_hop;
    int64_t service;
    int64_t route;
    int64_t queue_write;
    int64_t notify;
    int64_t notify_spread;
    int64_t match;
    int64_t esb_load;
    int64_t esb_store;
    int64_t tima_load;
    int64_t tima_store;
} ContentionParams;

typedef enum ContentionParamType {
    CONTENTION_PARAM_DECIMAL,   /* stored in thousandths: a time in ps */
    CONTENTION_PARAM_INTEGER,
    CONTENTION_PARAM_ENUM,      /* written as one of @names, stored as index */
} ContentionParamType;

typedef struct ContentionParamInfo {
    const char *name;
    const char *unit;           /* "ns", "%", ...; "" for a rule */
    ContentionParamType type;
    int64_t value;              /* the default; like min and max, as stored */
    int64_t min;
    int64_t max;
    const char *const *names;   /* of an enum, by value, then NULL */
    const char *doc;            /* one sentence */
    size_t offset;              /* of the field in ContentionParams */
} ContentionParamInfo;

#define CONTENTION_ERROR contention_error_quark()

typedef enum ContentionError {
    CONTENTION_ERROR_NAME,      /* no parameter of that name */
    CONTENTION_ERROR_VALUE,     /* not a number, or none of the names */
    CONTENTION_ERROR_RANGE,     /* a number out of the parameter's range */
    CONTENTION_ERROR_TOPOLOGY,  /* CPUs or distances that make no machine */
} ContentionError;

GQuark contention_error_quark(void);

/* The table, in the order in which documents should list it. */
const ContentionParamInfo *contention_params_table(size_t *count);
/* One row of it; NULL and CONTENTION_ERROR_NAME if there is none. */
const ContentionParamInfo *contention_params_find(const char *name,
                                                  GError **errp);

/* Sets every field to its default. */
void contention_params_init(ContentionParams *params);

/*
 * Sets one parameter from text: a decimal number ("57", "0.58"; times in ns,
 * to the picosecond) or the name of a rule.  False with a message naming the
 * parameter, the value and the range if it cannot be; @params is unchanged.
 */
bool contention_params_set(ContentionParams *params, const char *name,
                           const char *text, GError **errp);

/* The value as contention_params_set() would take it; g_free() it. */
char *contention_params_get(const ContentionParams *params, const char *name,
                            GError **errp);

/* Are all values in range?  contention_new() asks too. */
bool contention_params_check(const ContentionParams *params, GError **errp);

/* Appends all parameters as one JSON object: times as numbers in ns. */
void contention_params_json(const ContentionParams *params, GString *out);

/* Appends @ps as a decimal number of ns, in any locale: 57500 is 57.5. */
void contention_append_ns(GString *out, ContentionTime ps);

#endif /* HW_INTC_CONTENTION_PARAMS_H */
