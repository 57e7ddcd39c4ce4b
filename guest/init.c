// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First and only program of the guest: does what the kernel command line asks,
 * reports in lines a program can read, and powers the machine off.
 *
 * The kernel passes the words after "--" as arguments:
 *
 *   storm KEY=VALUE ...   run the storm module with these parameters; may be
 *                         repeated, the storms then run one after the other.
 *                         cpulists=LIST;LIST... runs one with each list, for
 *                         the kernel passes no more than 32 words
 *   load NAME KEY=VALUE ...
 *                         load /NAME.ko with these parameters, report what
 *                         /proc/NAME then says, and remove it again
 *   exec WORD ...         give the remaining words to the shell, then go on
 *   (nothing)             interactive shell on the console
 *
 * Lines on the console, each beginning "XS: ":
 *
 *   XS: boot ns=N cpus=N      CLOCK_MONOTONIC on arrival; CPUs online
 *   XS: storm {...}           the module's JSON with two keys of our own:
 *                             interrupts_before, interrupts_after
 *   XS: load NAME {...}       the module's JSON
 *   XS: exec status=N
 *   XS: error TEXT            what failed; power-off follows
 *   XS: done                  all went well; power-off follows
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define STORM		"xs_storm"
#define SHELL		"/bin/busybox"

/* syslog(2) actions; glibc has no names for them */
#define KLOG_READ_ALL		3
#define KLOG_CONSOLE_LEVEL	8
#define KLOG_SIZE_BUFFER	10

/*
 * Messages of level "warning" and below (loading an out-of-tree module is one)
 * stay off the console, where they could fall into the middle of our lines.
 */
#define CONSOLE_LEVEL		4

static void power_off(void) __attribute__((noreturn));
static void fail(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

static void power_off(void)
{
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	sync();
	reboot(RB_POWER_OFF);
	/* Without a way to switch off, the kernel halts or reboot() returns. */
	printf("XS: error cannot power off: %s\n", strerror(errno));
	fflush(stdout);
	for (;;)
		pause();
}

static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("XS: error ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	power_off();
}

static void *need(void *p)
{
	if (!p)
		fail("out of memory");
	return p;
}

static void mount_at(const char *type, const char *dir)
{
	if (mkdir(dir, 0755) && errno != EEXIST)
		fail("cannot make %s: %s", dir, strerror(errno));
	/* EBUSY: the kernel has mounted it itself. */
	if (mount(type, dir, type, 0, NULL) && errno != EBUSY)
		fail("cannot mount %s on %s: %s (kernel configuration?)", type,
		     dir, strerror(errno));
}

/* Three strings as one; the caller frees. */
static char *join(const char *a, const char *b, const char *c)
{
	char *whole = need(malloc(strlen(a) + strlen(b) + strlen(c) + 1));

	return strcat(strcat(strcpy(whole, a), b), c);
}

/* Read a file of unknown size; the caller frees. NULL with errno on failure. */
static char *read_file(const char *path)
{
	size_t size = 0, room = 1 << 16;
	ssize_t n;
	char *buf;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	buf = need(malloc(room));
	while ((n = read(fd, buf + size, room - size - 1)) > 0) {
		size += n;
		if (room - size < 4096) {
			room *= 2;
			buf = need(realloc(buf, room));
		}
	}
	err = errno;
	close(fd);
	if (n < 0) {
		free(buf);
		errno = err;
		return NULL;
	}
	buf[size] = '\0';
	return buf;
}

/*
 * Mark the CPUs of a list such as "0-7,64-71:1/2" in a table. Only used to
 * choose columns of /proc/interrupts, after the module has accepted the list
 * or before it complains about it, so what is not understood is left out.
 */
static void mark_cpus(const char *list, bool *table, unsigned long n)
{
	const char *p = list;

	while (isdigit((unsigned char)*p)) {
		unsigned long used = 1, group = 1, first, last, cpu;
		char *end;

		first = last = strtoul(p, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (*end == ':')
			used = strtoul(end + 1, &end, 10);
		if (*end == '/')
			group = strtoul(end + 1, &end, 10);
		for (cpu = first; group && cpu <= last && cpu < n; cpu++)
			if ((cpu - first) % group < used)
				table[cpu] = true;
		p = *end == ',' ? end + 1 : end;
	}
}

/*
 * Sum the IPI lines of /proc/interrupts over the CPUs of a list. Its first line
 * names the CPU of each column; IPI lines are those of the XIVE IPI chip.
 */
static uint64_t count_ipis(const char *list)
{
	unsigned long max_cpu = 0, ncols = 0, cols, *column, i;
	char *text, *line, *next, *p;
	uint64_t sum = 0;
	bool *wanted;

	text = read_file("/proc/interrupts");
	if (!text)
		fail("cannot read /proc/interrupts: %s", strerror(errno));

	column = need(calloc(strlen(text) / 4 + 1, sizeof(*column)));
	next = strchr(text, '\n');
	if (next)
		*next++ = '\0';
	for (p = text; (p = strstr(p, "CPU")) != NULL; ) {
		column[ncols] = strtoul(p + 3, &p, 10);
		if (column[ncols] > max_cpu)
			max_cpu = column[ncols];
		ncols++;
	}
	wanted = need(calloc(max_cpu + 1, sizeof(*wanted)));
	mark_cpus(list, wanted, max_cpu + 1);

	for (line = next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strstr(line, "XIVE-IPI"))
			continue;
		p = strchr(line, ':');
		if (!p)
			continue;
		p++;
		cols = ncols;
		for (i = 0; i < cols; i++) {
			uint64_t count = strtoull(p, &p, 10);

			if (wanted[column[i]])
				sum += count;
		}
	}
	free(wanted);
	free(column);
	free(text);
	return sum;
}

/*
 * The module's last message in the kernel log says what it did not like. The
 * caller frees; NULL if there is none.
 */
static char *module_message(const char *name)
{
	char *buf, *line, *last = NULL, *tag;
	int size, n;

	tag = join(name, ": ", "");
	size = klogctl(KLOG_SIZE_BUFFER, NULL, 0);
	if (size <= 0) {
		free(tag);
		return NULL;
	}
	buf = need(malloc(size + 1));
	n = klogctl(KLOG_READ_ALL, buf, size);
	buf[n < 0 ? 0 : n] = '\0';
	for (line = buf; (line = strstr(line, tag)) != NULL; line++)
		last = line;
	if (!last) {
		free(tag);
		free(buf);
		return NULL;
	}
	last += strlen(tag);
	free(tag);
	last[strcspn(last, "\n")] = '\0';
	last = need(strdup(last));
	free(buf);
	return last;
}

static void load_module(const char *name, const char *options)
{
	char *message, *file = join("/", name, ".ko");
	int fd, err;

	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("no module %s in the image (%s: %s)", name, file,
		     strerror(errno));
	err = syscall(SYS_finit_module, fd, options, 0) ? errno : 0;
	close(fd);
	message = module_message(name);
	if (!err) {
		/* The kernel only mentions these, and goes on without. */
		if (message && !strncmp(message, "unknown parameter", 17))
			fail("%s %s: the module has no such parameter (%s)",
			     name, options, message);
		free(message);
		free(file);
		return;
	}
	if (message)
		fail("%s %s: %s", name, options, message);
	if (err == ENOEXEC || err == EINVAL)
		fail("%s %s: the kernel refuses the module (built for another kernel?): %s",
		     name, options, strerror(err));
	fail("%s %s: cannot load %s: %s", name, options, file, strerror(err));
}

static void unload_module(const char *name)
{
	if (syscall(SYS_delete_module, name, O_NONBLOCK))
		fail("cannot unload %s: %s", name, strerror(errno));
}

/* What /proc/NAME says, up to its last brace, which is cut off. */
static char *module_result(const char *name, const char *options)
{
	char *path = join("/proc/", name, "");
	char *result = read_file(path), *brace;

	if (!result)
		fail("%s %s: cannot read %s: %s", name, options, path,
		     strerror(errno));
	free(path);
	brace = strrchr(result, '}');
	if (!brace || !strncmp(result, "{\"error\"", 8)) {
		result[strcspn(result, "\n")] = '\0';
		fail("%s %s: %s", name, options, result);
	}
	*brace = '\0';
	return result;
}

/* The words up to the next command, which are module parameters, as one. */
static char *module_options(char **words, int n, int *used)
{
	size_t size = 1;
	char *options;
	int i;

	for (*used = 0; *used < n && strchr(words[*used], '='); (*used)++)
		size += strlen(words[*used]) + 1;
	options = need(calloc(1, size));
	for (i = 0; i < *used; i++) {
		if (i)
			strcat(options, " ");
		strcat(options, words[i]);
	}
	return options;
}

/* Returns words used. */
static int do_load(char **words, int n)
{
	const char *name = words[0];
	char *options, *result;
	int used;

	if (!n || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") !=
	    strlen(name))
		fail("load: no name of a module");
	options = module_options(words + 1, n - 1, &used);
	load_module(name, options);
	result = module_result(name, options);
	printf("XS: load %s %s}\n", name, result);
	fflush(stdout);
	unload_module(name);
	free(result);
	free(options);
	return used + 1;
}

static void run_storm(const char *list, const char *options)
{
	uint64_t before, after;
	char *result;

	before = count_ipis(list);
	load_module(STORM, options);
	after = count_ipis(list);

	result = module_result(STORM, options);
	printf("XS: storm %s,\"interrupts_before\":%llu,\"interrupts_after\":%llu}\n",
	       result, (unsigned long long)before, (unsigned long long)after);
	fflush(stdout);
	unload_module(STORM);
	free(result);
}

/* Returns words used. */
static int do_storm(char **words, int n)
{
	char *list = "", *next = NULL, *options;
	int used, i, lists = -1;

	for (i = 0; i < n && strchr(words[i], '='); i++) {
		if (!strncmp(words[i], "cpulist=", 8)) {
			list = words[i] + 8;
		} else if (!strncmp(words[i], "cpulists=", 9)) {
			list = words[i] + 9;
			lists = i;
		}
	}
	do {
		if (lists >= 0) {
			next = strchr(list, ';');
			if (next)
				*next++ = '\0';
			words[lists] = join("cpulist=", list, "");
		}
		options = module_options(words, n, &used);
		run_storm(list, options);
		free(options);
		if (lists >= 0)
			free(words[lists]);
		list = next;
	} while (list);
	return used;
}

/* Run argv with the console as controlling terminal; returns as a shell does. */
static int run(char *const argv[])
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("cannot fork: %s", strerror(errno));
	if (!pid) {
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 1);
		execv(argv[0], argv);
		printf("XS: error cannot run %s: %s\n", argv[0],
		       strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	/* Orphans of the shell come to us too. */
	for (;;) {
		pid_t got = wait(&status);

		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			fail("lost the shell: %s", strerror(errno));
	}
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static void need_shell(void)
{
	char *const install[] = { SHELL, "--install", "-s", "/bin", NULL };

	if (access(SHELL, X_OK))
		fail("no shell in the image: it was built without busybox");
	/* Its other names are links, made only when there is a use for them. */
	if (run(install))
		fail("%s --install failed", SHELL);
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/", 1);
}

static void do_exec(char **words, int n)
{
	char *argv[] = { SHELL, "sh", "-c", NULL, NULL };
	char *command;
	size_t size = 1;
	int i;

	if (!n)
		fail("exec: no command");
	for (i = 0; i < n; i++)
		size += strlen(words[i]) + 1;
	command = need(calloc(1, size));
	for (i = 0; i < n; i++) {
		if (i)
			strcat(command, " ");
		strcat(command, words[i]);
	}
	need_shell();
	argv[3] = command;
	printf("XS: exec status=%d\n", run(argv));
	free(command);
}

static void do_shell(void)
{
	char *const argv[] = { SHELL, "sh", NULL };

	need_shell();
	klogctl(KLOG_CONSOLE_LEVEL, NULL, 7);
	run(argv);
}

int main(int argc, char **argv)
{
	struct timespec now;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("devtmpfs", "/dev");
	mount_at("debugfs", "/sys/kernel/debug");
	klogctl(KLOG_CONSOLE_LEVEL, NULL, CONSOLE_LEVEL);

	printf("XS: boot ns=%lld cpus=%d\n",
	       now.tv_sec * 1000000000LL + now.tv_nsec, get_nprocs());
	fflush(stdout);

	/* The kernel hands options that it does not know on to us. */
	if (getenv("xive_ipi"))
		fail("this kernel does not know xive_ipi=: IPIs would be doorbells (patch 0001 of patches/linux is missing)");

	if (argc < 2)
		do_shell();
	for (i = 1; i < argc; ) {
		char *word = argv[i++];

		if (!strcmp(word, "storm")) {
			i += do_storm(argv + i, argc - i);
		} else if (!strcmp(word, "load")) {
			i += do_load(argv + i, argc - i);
		} else if (!strcmp(word, "exec")) {
			do_exec(argv + i, argc - i);
			i = argc;
		} else {
			fail("'%s' is no command; known: storm KEY=VALUE..., load MODULE KEY=VALUE..., exec COMMAND...",
			     word);
		}
	}
	printf("XS: done\n");
	power_off();
}
