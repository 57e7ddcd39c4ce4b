# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that a file is a kernel image which powernv can start."""

import struct

from .errors import UserError

_EM_PPC64 = 21
_ET_EXEC, _ET_DYN = 2, 3
_PT_LOAD = 1


def check_kernel(path):
    """Refuse anything but a whole little-endian 64-bit Power executable."""
    try:
        with open(path, "rb") as stream:
            header = stream.read(64)
            if header[:4] != b"\x7fELF":
                raise UserError(f"{path}: not an ELF file; give the vmlinux "
                                "of a little-endian ppc64 kernel")
            if len(header) < 64:
                raise UserError(f"{path}: truncated ELF file")
            if header[4] != 2:
                raise UserError(f"{path}: a 32-bit ELF file; the kernel must "
                                "be 64-bit")
            if header[5] != 1:
                raise UserError(f"{path}: a big-endian ELF file; build the "
                                "kernel with CONFIG_CPU_LITTLE_ENDIAN")
            kind, machine = struct.unpack_from("<HH", header, 16)
            if machine != _EM_PPC64:
                raise UserError(f"{path}: an ELF file for machine {machine}, "
                                f"not 64-bit Power ({_EM_PPC64})")
            if kind not in (_ET_EXEC, _ET_DYN):
                raise UserError(f"{path}: no executable (ELF type {kind}); "
                                "give vmlinux, not an object or module")
            offset, = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            stream.seek(0, 2)
            length = stream.tell()
            loadable = False
            for index in range(count):
                stream.seek(offset + index * size)
                entry = stream.read(56)
                if len(entry) < 56:
                    raise UserError(f"{path}: truncated ELF file")
                if struct.unpack_from("<I", entry)[0] != _PT_LOAD:
                    continue
                loadable = True
                start, = struct.unpack_from("<Q", entry, 8)
                stored, = struct.unpack_from("<Q", entry, 32)
                if start + stored > length:
                    raise UserError(f"{path}: truncated ELF file")
            if not loadable:
                raise UserError(f"{path}: no executable: nothing to load")
    except OSError as err:
        raise UserError(f"{path}: cannot be read: {err.strerror}") from None
