#!/bin/busybox sh
# The first program of an emulated board: kernel interfaces, modules, network, linerate, a shell on the console.
# What differs from start to start comes on the kernel's command line (linerate.address=, linerate.gateway=).
/bin/busybox --install -s 2>/dev/null
export PATH=/usr/sbin:/usr/bin HOME=/root TERM=vt100
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
hostname -F /etc/hostname
linerate board-seed

while read -r module; do
    insmod "/lib/linerate/$module.ko"
done </etc/linerate/modules

for word in $(cat /proc/cmdline); do
    case $word in
        linerate.address=*) address=${word#*=} ;;
        linerate.address6=*) address6=${word#*=} ;;
        linerate.gateway=*) gateway=${word#*=} ;;
    esac
done
ip link set lo up
# A driver's probe may go on after its module is loaded.
until [ -e /sys/class/net/eth0 ]; do usleep 10000; done
# Nobody else is on the link, so that addresses of IPv6 are usable at once.
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip address add "$address" dev eth0
ip -6 address add "$address6" dev eth0
ip link set eth0 up
ip route add default via "$gateway"

dropbear -R -B -E -p 22
# Only its host and other boards reach it, and may profile and pin what they like.
linerate serve --allow-intrusive 10.78.0.0/16,fd78::/16 &
# The console: a shell, and another one after its end.
while :; do
    setsid cttyhack sh
done
