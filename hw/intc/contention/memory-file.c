/*
 * Contention model: an image of the guest's memory at the end of the region
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The attribution file has addresses; which task's stack or which object is
 * there, only the guest knows, and only as long as it does not go on. The
 * image is an ELF core file of physical memory, as other tools read it too.
 * Pages of zeros are holes in the file.
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "elf.h"
#include "system/memory_mapping.h"
#include "device.h"

/* Written or left out as one: host pages are no larger anywhere. */
#define UNIT    (64 * KiB)

static bool write_at(int fd, const void *bytes, size_t size, off_t at)
{
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n ? errno : ENOSPC;
            return false;
        }
        bytes = (const char *)bytes + n;
        size -= n;
        at += n;
    }
    return true;
}

static bool write_block(int fd, const GuestPhysBlock *block, off_t at)
{
    uint64_t size = block->target_end - block->target_start;

    for (uint64_t i = 0; i < size; i += UNIT) {
        size_t n = MIN(UNIT, size - i);

        if (!buffer_is_zero(block->host_addr + i, n) &&
            !write_at(fd, block->host_addr + i, n, at + i)) {
            return false;
        }
    }
    return true;
}

static bool write_core(int fd, const GuestPhysBlockList *list)
{
    size_t room = sizeof(Elf64_Ehdr) + list->num * sizeof(Elf64_Phdr);
    off_t at = QEMU_ALIGN_UP(room, UNIT);
    g_autofree char *head = g_malloc0(room);
    Elf64_Ehdr *header = (Elf64_Ehdr *)head;
    Elf64_Phdr *p = (Elf64_Phdr *)(header + 1);
    GuestPhysBlock *block;

    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = cpu_to_le16(ET_CORE);
    header->e_machine = cpu_to_le16(EM_PPC64);
    header->e_version = cpu_to_le32(EV_CURRENT);
    header->e_phoff = cpu_to_le64(sizeof(*header));
    header->e_ehsize = cpu_to_le16(sizeof(*header));
    header->e_phentsize = cpu_to_le16(sizeof(*p));
    header->e_phnum = cpu_to_le16(list->num);

    QTAILQ_FOREACH(block, &list->head, next) {
        uint64_t size = block->target_end - block->target_start;

        p->p_type = cpu_to_le32(PT_LOAD);
        p->p_offset = cpu_to_le64(at);
        p->p_paddr = cpu_to_le64(block->target_start);
        p->p_filesz = p->p_memsz = cpu_to_le64(size);
        if (!write_block(fd, block, at)) {
            return false;
        }
        at = QEMU_ALIGN_UP(at + size, UNIT);
        p++;
    }
    /* The last pages may have been a hole: the file has its full size. */
    return !ftruncate(fd, at) && write_at(fd, head, room, 0);
}

bool contention_write_memory(const char *path, Error **errp)
{
    GuestPhysBlockList list;
    int fd = qemu_create(path, O_WRONLY | O_TRUNC | O_BINARY, 0600, errp);
    bool done;

    if (fd < 0) {
        return false;
    }
    guest_phys_blocks_init(&list);
    guest_phys_blocks_append(&list);
    done = write_core(fd, &list);
    if (!done) {
        error_setg_errno(errp, errno, "'%s' cannot be written", path);
    }
    guest_phys_blocks_free(&list);
    if (close(fd) && done) {
        error_setg_errno(errp, errno, "'%s' cannot be written", path);
        done = false;
    }
    return done;
}
