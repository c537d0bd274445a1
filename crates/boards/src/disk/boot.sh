#!/bin/busybox sh
# The first program of an image's root: drivers, network, linerate, a shell on the console.
/bin/busybox --install -s 2>/dev/null
export PATH=/usr/sbin:/usr/bin HOME=/root TERM=vt100
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
hostname -F /etc/hostname
linerate board-seed
# A seed is used once.
head -c 32 /dev/urandom >/etc/linerate/seed

# Drivers of what is there. A device tree has devices that an emulator lacks, and their drivers would end the kernel.
grep -q linerate.emulated= /proc/cmdline ||
    cat /sys/bus/*/devices/*/modalias 2>/dev/null | sort -u | xargs modprobe -a -b -q 2>/dev/null

for word in $(cat /proc/cmdline); do
    case $word in
        linerate.address=*) address=${word#*=} ;;
        linerate.gateway=*) gateway=${word#*=} ;;
    esac
done
interfaces() {
    for path in /sys/class/net/*/device; do
        [ -e "$path" ] || continue
        path=${path%/device}
        echo "${path##*/}"
    done
}
ip link set lo up
if [ "$address" ]; then
    # A driver's probe may go on after its module is loaded.
    until first=$(interfaces | head -n 1) && [ "$first" ]; do usleep 10000; done
    ip address add "$address" dev "$first"
    ip link set "$first" up
    [ "$gateway" ] && ip route add default via "$gateway"
else
    for interface in $(interfaces); do
        ip link set "$interface" up
        udhcpc -b -S -i "$interface" -s /usr/lib/linerate/dhcp >/dev/null 2>&1 &
    done
fi

# Keys only: the image may be on a network of others.
[ -s "$HOME/.ssh/authorized_keys" ] && dropbear -R -s -p 22
# Again when it ends, at most once a second.
while :; do
    linerate serve
    sleep 1
done &
echo "linerate: started"
# The console: a shell, and another one after its end.
while :; do
    setsid cttyhack sh
done
