#!/bin/busybox sh
# The first program of an image: loads what its disk needs, finds the root, and hands over to it.
# The root is the partition that the kernel's command line names (linerate.root=).
/bin/busybox --install -s 2>/dev/null
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /mnt

while read -r module; do
    insmod "/lib/linerate/$module.ko"
done </etc/linerate/modules

for word in $(cat /proc/cmdline); do
    case $word in
        linerate.root=*) root=${word#*=} ;;
    esac
done
# A driver's probe may go on after its module is loaded.
said=
until found=$(grep -l -x "PARTNAME=$root" /sys/class/block/*/uevent 2>/dev/null); do
    [ "$said" ] || echo "linerate: waiting for the partition $root"
    said=yes
    usleep 100000
done
found=${found%%/uevent*}
if ! mount -t ext4 "/dev/${found##*/}" /mnt; then
    echo "linerate: the partition $root does not mount; this is a shell in the initial memory"
    exec setsid cttyhack sh
fi
for place in dev proc sys; do
    mount -o move "/$place" "/mnt/$place"
done
exec switch_root /mnt /usr/lib/linerate/boot
