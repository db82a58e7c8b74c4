#!/usr/bin/env bash
# A real Slurm on one machine, for tests: slurmctld on the host `login`, and slurmd on n1, n2 and so on, each in a network namespace with
# an address and a name of its own. Needs root, and the packages slurm-wlm, munge and iproute2 of Debian.
#
#   LAB=/tmp/lab lab.sh up              starts it, and waits until all hosts are idle
#   LAB=/tmp/lab lab.sh on HOST CMD...  executes a command on a host
#   LAB=/tmp/lab lab.sh down            ends all processes on its hosts, and removes them
#
# HOSTS is the number of hosts with a slurmd, 3 unless it is set. LAB is a folder of the lab alone. Labs in several folders do not meet.
set -euo pipefail
: "${LAB:?a folder for the lab}"
hosts="${HOSTS:-3}"
# Names of namespaces and interfaces are the machine's, and at most 15 bytes long.
id="$(cksum <<<"$LAB" | cut -d' ' -f1)"
id="l$((id % 100000))"
export SLURM_CONF="$LAB/slurm.conf"

names() {
    echo login
    seq -f 'n%g' "$hosts"
}

# on HOST COMMAND...: the command on the host, which has its own name and its own list of names.
on() {
    local host="$1"
    shift
    ip netns exec "$id-$host" unshare --uts -- bash -c 'hostname "$0" && exec "$@"' "$host" "$@"
}

network() {
    local number=1 host
    ip netns add "$id-switch"
    ip -n "$id-switch" link add br0 type bridge
    ip -n "$id-switch" link set br0 up
    echo '127.0.0.1 localhost' >"$LAB/hosts"
    for host in $(names); do
        echo "10.88.1.$number $host" >>"$LAB/hosts"
        number=$((number + 1))
    done
    number=1
    for host in $(names); do
        ip netns add "$id-$host"
        mkdir -p "/etc/netns/$id-$host"
        cp "$LAB/hosts" "/etc/netns/$id-$host/hosts"
        ip link add eth0 netns "$id-$host" type veth peer name "p$number" netns "$id-switch"
        ip -n "$id-switch" link set "p$number" master br0 up
        ip -n "$id-$host" addr add "10.88.1.$number/24" dev eth0
        ip -n "$id-$host" link set eth0 up
        ip -n "$id-$host" link set lo up
        number=$((number + 1))
    done
}

# Neither accounting nor control groups: their place in the file system is hidden in a namespace.
configuration() {
    cat >"$LAB/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$LAB/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$LAB/state
SlurmdSpoolDir=$LAB/spool/%n
SlurmctldPidFile=$LAB/slurmctld.pid
SlurmdPidFile=$LAB/%n.pid
SlurmctldLogFile=$LAB/slurmctld.log
SlurmdLogFile=$LAB/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
LaunchParameters=use_interactive_step
KillWait=20
MinJobAge=600
MailProg=/bin/true
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName=n[1-$hosts] CPUs=4 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES State=UP DefMemPerCPU=100
CONF
    echo 'CgroupPlugin=cgroup/v1' >"$LAB/cgroup.conf"
}

authentication() {
    mkdir -p "$LAB/munge"
    dd if=/dev/urandom of="$LAB/munge/key" bs=1024 count=1 status=none
    chmod 600 "$LAB/munge/key"
    chown -R munge: "$LAB/munge"
    setpriv --reuid=munge --regid=munge --clear-groups munged --force --socket="$LAB/munge/socket" --key-file="$LAB/munge/key" \
        --pid-file="$LAB/munge/pid" --log-file="$LAB/munge/log" --seed-file="$LAB/munge/seed"
}

up() {
    local host
    mkdir -p "$LAB/spool" "$LAB/state"
    chmod 755 "$LAB"
    network
    authentication
    configuration
    on login slurmctld
    for host in $(names | tail -n +2); do
        mkdir -p "$LAB/spool/$host"
        on "$host" slurmd -N "$host"
    done
    for _ in $(seq 80); do
        if [[ "$(on login sinfo -h -N -t idle 2>/dev/null | wc -l)" == "$hosts" ]]; then
            return
        fi
        sleep 0.25
    done
    cat "$LAB"/*.log >&2
    return 1
}

down() {
    local host pid
    for host in $(names) switch; do
        for pid in $(ip netns pids "$id-$host" 2>/dev/null); do
            kill -9 "$pid" 2>/dev/null || true
        done
        ip netns del "$id-$host" 2>/dev/null || true
        rm -rf "/etc/netns/$id-$host"
    done
    if [[ -f "$LAB/munge/pid" ]]; then
        kill "$(cat "$LAB/munge/pid")" 2>/dev/null || true
    fi
    rm -rf "$LAB"
}

case "${1:-}" in
up)
    # What has begun is removed if it does not succeed.
    up || {
        down
        exit 1
    }
    ;;
on | down) "$@" ;;
*)
    sed -n '2,9p' "$0" >&2
    exit 2
    ;;
esac
