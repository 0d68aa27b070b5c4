"""Build the soft-RoCE machine of the ``vm`` tests from Debian packages: ``build.py FOLDER``.

The folder gets ``vmlinuz``, ``initrd.img``, ``root.img``, ``id`` (the SSH key), ``host_key.pub``
and, last of all, ``complete``. Needs root, a Debian system (its own apt configuration names the
mirror) and the packages of ``TOOLS``. Takes about 100 s and 400 MB.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    *("openssh-server", "iproute2", "kmod", "procps"),
    *("perftest", "rdma-core", "ibverbs-utils", "ibverbs-providers", "infiniband-diags"),
)
MODULES = (
    *("virtio_pci", "virtio_blk", "virtio_net", "ext4", "crc32c_generic", "crc32_generic"),
    *("rdma_rxe", "ib_uverbs", "rdma_ucm", "veth"),
)
MODULES_FOR_ROOT = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic")
TOOLS = {
    "apt-get": "apt",
    "debootstrap": "debootstrap",
    "busybox": "busybox-static",
    "mke2fs": "e2fsprogs",
    "depmod": "kmod",
    "ssh-keygen": "openssh-client",
    "qemu-system-x86_64": "qemu-system-x86",
}
UNUSED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man")
IMAGE_SIZE = "600M"
GUEST_INIT = Path(__file__).with_name("guest-init.sh")

INITRD_INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do insmod "$module"; done
tries=0; while [ ! -b /dev/vda ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
mount -t ext4 /dev/vda /root || { echo "RDMA-VM: no root file system"; poweroff -f; }
mount --move /dev /root/dev; umount /sys /proc
exec switch_root /root /sbin/guest-init
"""

SSHD_CONFIG = "MaxStartups 100\nMaxSessions 100\nUseDNS no\nPermitRootLogin prohibit-password\n"


class BuildError(Exception):
    """The machine cannot be built here, and what is needed."""


def run(*argv: object, cwd: Path | None = None) -> str:
    """Run a tool; its stdout. What it says is shown only when it fails."""
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise BuildError(f"{' '.join(map(str, argv))} ended with {done.returncode}:\n{said}")
    return done.stdout


def check_tools() -> None:
    missing = sorted(package for tool, package in TOOLS.items() if shutil.which(tool) is None)
    if missing:
        raise BuildError(f"install the Debian packages {' '.join(missing)} first")
    if os.geteuid() != 0:
        raise BuildError("debootstrap needs root")


def mirror() -> tuple[str, str]:
    """Address and release name of the mirror that apt itself uses."""
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
    targets = run("apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(SITE)")
    for line in targets.splitlines():
        codename, component, site = line.split(" ", 2)
        if found and (codename, component) == (found[1], "main"):
            return site, codename
    raise BuildError("apt knows no mirror of this Debian release; run apt-get update")


def unpack_kernel(folder: Path) -> Path:
    """Unpack (not install) Debian's kernel; the folder of its modules.

    The flavour for clouds has no rdma_rxe, so it is the generic one.
    """
    depends = run("apt-cache", "depends", "linux-image-amd64")
    package = re.search(r"Depends: (linux-image-[\w.+-]+)", depends)
    if package is None:
        raise BuildError("apt knows no linux-image-amd64; run apt-get update")
    folder.mkdir()
    # apt's own user may not write below a folder of root's
    run("apt-get", "download", "-o", "APT::Sandbox::User=root", package[1], cwd=folder)
    (deb,) = folder.glob("*.deb")
    run("dpkg-deb", "-x", deb, folder)
    (modules,) = (folder / "lib/modules").iterdir()
    run("depmod", "-b", folder, modules.name)
    return modules


def module_files(kernel: Path, modules: Path, names: tuple[str, ...]) -> list[Path]:
    """Module files with what they depend on, each after its own dependencies."""
    files: dict[Path, None] = {}
    for name in names:
        shown = run("modprobe", "-d", kernel, "-S", modules.name, "--show-depends", name)
        for line in shown.splitlines():
            if line.startswith("insmod "):
                files[Path(line.split()[1])] = None
    return list(files)


def make_root(root: Path, kernel: Path, modules: Path) -> None:
    """The root file system: packages, the modules it needs, sshd's settings and the first process.

    Args:
        root: the folder to fill; must not exist.
        kernel: where the kernel package was unpacked.
        modules: ``lib/modules/VERSION`` below it.
    """
    site, codename = mirror()
    include = "--include=" + ",".join(PACKAGES)
    run("debootstrap", "--variant=minbase", include, codename, root, site)
    for name in UNUSED:
        shutil.rmtree(root / name, ignore_errors=True)
    target = root / modules.relative_to(kernel)
    target.mkdir(parents=True)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        shutil.copy(modules / name, target)
    for file in module_files(kernel, modules, MODULES):
        copy = root / file.relative_to(kernel)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    run("depmod", "-b", root, modules.name)
    (root / "etc/ssh/sshd_config.d/rdma-vm.conf").write_text(SSHD_CONFIG, encoding="utf-8")
    (root / "etc/hosts").write_text(
        "127.0.0.1 localhost\n10.78.0.1 vm1\n10.78.0.2 vm2\n", encoding="utf-8"
    )
    init = root / "sbin/guest-init"
    shutil.copy(GUEST_INIT, init)
    init.chmod(0o755)


def cpio(entries: list[tuple[str, int, bytes]]) -> bytes:
    """An archive in the kernel's "newc" format of (name, mode with file type, content)."""
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        out += b"070701" + b"".join(b"%08X" % value for value in fields) + path
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return bytes(out)


def make_initrd(kernel: Path, modules: Path) -> bytes:
    """What mounts the root file system: Debian's kernel has its drivers as modules."""
    folder, program, plain = 0o40755, 0o100755, 0o100644
    names = ("bin", "dev", "proc", "sys", "root", "modules")
    entries = [(name, folder, b"") for name in names]
    entries.append(("init", program, INITRD_INIT.encode()))
    busybox = shutil.which("busybox")
    assert busybox is not None
    entries.append(("bin/busybox", program, Path(busybox).read_bytes()))
    for number, file in enumerate(module_files(kernel, modules, MODULES_FOR_ROOT)):
        entries.append((f"modules/{number:03}-{file.name}", plain, file.read_bytes()))
    return cpio(entries)


def build(folder: Path) -> None:
    """Build everything into a folder, from nothing.

    Raises:
        BuildError: a tool is missing or failed.
    """
    check_tools()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kernel, root = folder / "kernel", folder / "root"
    modules = unpack_kernel(kernel)
    make_root(root, kernel, modules)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rdma-vm", "-f", folder / "id")
    home = root / "root/.ssh"
    home.mkdir(mode=0o700)
    shutil.copy(folder / "id.pub", home / "authorized_keys")
    shutil.copy(root / "etc/ssh/ssh_host_ed25519_key.pub", folder / "host_key.pub")
    shutil.copy(kernel / f"boot/vmlinuz-{modules.name}", folder / "vmlinuz")
    (folder / "initrd.img").write_bytes(make_initrd(kernel, modules))
    image = folder / "root.img"
    run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", 0, "-d", root, image, IMAGE_SIZE)
    shutil.rmtree(root)
    shutil.rmtree(kernel)
    (folder / "complete").touch()


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]).resolve())
    except BuildError as error:
        sys.exit(f"rdma-vm: {error}")
