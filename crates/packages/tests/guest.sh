#!/bin/bash
# What a user of the package does, on a machine that has nothing else: started by systemd in a guest, says each step's
# outcome on the serial line, and turns the guest off. Packages are in /packages: linerate 0.0.9, and linerate.
exec >/dev/ttyS0 2>&1 </dev/null
export HOME=/root LC_ALL=C.UTF-8

step() {
    local name=$1 began=$EPOCHREALTIME out
    shift
    if out=$("$@" 2>&1); then
        printf 'ok: %s (%d ms)\n' "$name" $(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
    else
        printf 'FAILED: %s: %s\n' "$name" "$(tail -n 5 <<<"$out" | tr '\n' ' ')"
    fi
}

# Files of the system, but for what programs of Debian keep for themselves.
files() {
    find /etc /usr /var /opt /srv -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /var/lib/systemd -o -path /var/tmp \) -prune -o -print | sort
}

is() {
    local want=$1
    shift
    local got
    got=$("$@")
    [ "$got" = "$want" ] || { echo "$* says $got"; return 1; }
}

nothing_listens() { ! ss -Hltun | grep -E ':5301\b'; }

exposure() {
    systemd-analyze security --no-pager linerate.service | tail -n 1
    systemd-analyze security --no-pager linerate.service | tail -n 1 | grep -Eq ': [01]\.[0-9] '
}

by_socket() {
    systemctl start linerate.socket && ! systemctl is-active -q linerate.service &&
        linerate tcp 127.0.0.1 -t 1 --no-store -q && is active systemctl is-active linerate.service
}

reloaded() {
    local pid
    pid=$(systemctl show -P MainPID linerate)
    echo 'max-duration = "2s"' >>/etc/linerate/serve.toml
    systemctl reload linerate && ! linerate tcp 127.0.0.1 -t 3 --no-store -q &&
        echo 'nonsense' >>/etc/linerate/serve.toml && systemctl reload linerate &&
        linerate tcp 127.0.0.1 -t 1 --no-store -q && journalctl -u linerate | grep -q 'not reloaded' &&
        sed -i '/^max-duration = "2s"$/d;/nonsense/d' /etc/linerate/serve.toml && systemctl reload linerate &&
        [ "$(systemctl show -P MainPID linerate)" = "$pid" ]
}

started() {
    systemctl start linerate && for _ in {1..50}; do
        ss -Hltn | grep -q ':5301\b' && return
        sleep 0.1
    done
    systemctl status linerate
    return 1
}

is_nobody() {
    local status
    status=/proc/$(systemctl show -P MainPID linerate)/status
    grep -Eq '^CapEff:\s0+$' "$status" && ! grep -Eq '^Uid:\s0\s' "$status"
}

upgraded_during_a_test() {
    local pid out=/tmp/during code=0
    pid=$(systemctl show -P MainPID linerate)
    linerate udp 127.0.0.1 --rate 1M -t 20 --no-store -q >"$out" 2>&1 &
    sleep 2
    dpkg -i /packages/linerate_0.1.0_*.deb || return
    wait $! || code=$?
    cat "$out"
    # The test was cut short, and says so; or it was the server's last.
    [ "$code" -ne 2 ] && grep -q . "$out" && [ "$(systemctl show -P MainPID linerate)" != "$pid" ] && is active systemctl is-active linerate
}

by_ssh() {
    ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/id_ed25519" && cat "$HOME/.ssh/id_ed25519.pub" >>"$HOME/.ssh/authorized_keys" &&
        systemctl start ssh && ssh -o StrictHostKeyChecking=accept-new root@127.0.0.1 true &&
        linerate tcp ssh://root@127.0.0.1 -t 1 --no-store -q
}

no_trace() {
    files >/tmp/after
    diff /tmp/before /tmp/after
}

mkdir -p -m 700 "$HOME/.ssh"
step 'no compiler here' eval '! command -v cc && ! command -v cargo'
files >/tmp/before
step 'the version before is installed' dpkg -i /packages/linerate_0.0.9_*.deb
step 'it is disabled' is disabled eval 'systemctl is-enabled linerate || true'
step 'nothing listens' nothing_listens
step 'systemd takes the units' systemd-analyze verify /usr/lib/systemd/system/linerate.service /usr/lib/systemd/system/linerate.socket
step 'it is exposed little' exposure
step 'man finds its pages' man -w linerate linerate-tcp linerate-p4
step 'its socket starts it' by_socket
step 'it ends' systemctl stop linerate.socket linerate.service
step 'it starts' started
step 'it is reloaded, and a mistake changes nothing' reloaded
step 'it runs as nobody, without capabilities' is_nobody
step 'it answers a test' linerate tcp 127.0.0.1 -t 1 --no-store -q
step 'it is upgraded during a test' upgraded_during_a_test
step 'it answers after that' linerate udp 127.0.0.1 --rate 10M -t 1 --no-store -q
step 'the hub is installed' dpkg -i /packages/linerate-hub_0.1.0_*.deb
step 'it is disabled too' is disabled eval 'systemctl is-enabled linerate-hub || true'
step 'systemd takes its unit' systemd-analyze verify /usr/lib/systemd/system/linerate-hub.service
step 'linerate starts it' eval 'linerate hub --help | grep -q serve && man -w linerate-hub-serve'
step 'the hub is purged' dpkg -P linerate-hub
step 'linerate demo' linerate demo --no-store -q -o /tmp/report.html
step 'linerate tcp ssh://' by_ssh
step 'it is enabled' systemctl enable linerate
step 'it is removed' dpkg -r linerate
step 'it does not run' nothing_listens
step 'it is purged' dpkg -P linerate
step 'nothing is left' no_trace
echo 'done'
systemctl poweroff --force
