#!/bin/busybox sh
# The first process of the virtual machine: this machine's files, read-only, under a kernel that has
# all controllers in version 2. What to run lies beside this file.
b=/bin/busybox
fail() {
    echo "cannot $1"
    $b poweroff -f
}
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in /modules/*; do
    $b insmod "$module" || fail "load $module"
done
options=trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose
$b mount -t 9p -o $options host /host || fail "mount the files of the host"
# Not in memory: files in memory count as memory, and tests tell the two apart.
$b mount -t ext4 /dev/vda /host/tmp || fail "mount the disk"
$b chmod 1777 /host/tmp
$b mkdir /host/tmp/root
$b mount -t tmpfs tmpfs /host/run
$b ip link set lo up
$b cp /facts.sh /host/run/facts.sh
for each in proc sys dev; do
    $b mount -o move /$each /host/$each
done
$b mount -t cgroup2 cgroup2 /host/sys/fs/cgroup
$b mkdir -p /host/dev/shm /host/dev/pts
$b mount -t tmpfs tmpfs /host/dev/shm
$b mount -t devpts devpts /host/dev/pts
exec $b switch_root -c /dev/console /host /usr/bin/env -i \
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp/root TMPDIR=/tmp /bin/sh -c '
        sh -e /run/facts.sh
        echo "the machine ends with $?"
        /bin/busybox poweroff -f'
