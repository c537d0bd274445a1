#!/bin/busybox sh
# What udhcpc calls when an address was leased, changed or lost; the values are in its environment.
case $1 in
    deconfig)
        ip -4 address flush dev "$interface"
        ip link set "$interface" up
        ;;
    bound | renew)
        ip -4 address flush dev "$interface"
        ip address add "$ip/${mask:-24}" dev "$interface"
        for gateway in $router; do
            ip route add default via "$gateway" dev "$interface"
            break
        done
        : >/etc/resolv.conf
        for server in $dns; do
            echo "nameserver $server" >>/etc/resolv.conf
        done
        echo "linerate: $interface has $ip"
        ;;
esac
