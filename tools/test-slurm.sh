#!/usr/bin/env bash
# Runs a plan in 4 shards on a Slurm of this machine, and compares the merged rows with those of one process. One shard is killed midway
# and run again. Slurm runs as root, with one node, without cgroups and without accounting.
#
# usage: tools/test-slurm.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
for command in slurmctld slurmd sbatch munged; do
    command -v "$command" > /dev/null || PATH=$PATH:/usr/sbin
    if ! command -v "$command" > /dev/null; then
        echo "UNPROVEN: Slurm: $command is not installed"
        exit 0
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "UNPROVEN: Slurm: only root can start it"
    exit 0
fi
work=$(mktemp -d)
pids=()
stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
    # slurmctld, slurmd and their children write until they end.
    for pid in "${pids[@]}"; do wait "$pid" 2> /dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
host=$(hostname -s)
mkdir -p "$work/state" "$work/spool" "$work/munge"
chmod 700 "$work/munge"
head -c 1024 /dev/urandom > "$work/munge/key"
chmod 400 "$work/munge/key"
export SLURM_CONF=$work/slurm.conf
cat > "$SLURM_CONF" << CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmctldPort=46817
SlurmdPort=46818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=10
MinJobAge=3600
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed" > /dev/null 2>&1 &
pids+=($!)
slurmctld -D > "$work/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D > "$work/slurmd.log" 2>&1 &
pids+=($!)
for _ in $(seq 60); do
    [ "$(sinfo --noheader --format=%t 2> /dev/null)" = idle ] && break
    sleep 1
done
if [ "$(sinfo --noheader --format=%t 2> /dev/null)" != idle ]; then
    tail -n 5 "$work"/slurm*.log
    echo "UNPROVEN: Slurm: it does not start on this machine"
    exit 0
fi
echo "$(sinfo --version): one node with $(nproc) CPUs"

plan=(quickstart --trials "${TRIALS:-400}" --agent scripted:typical)
cd "$work"
"$program" run "${plan[@]}" --quiet --out whole > /dev/null
HEALBENCH=$program "$program" slurm job --shards 4 --cpus 1 --time 00:10 --scratch "$work/scratch" -- "${plan[@]}"
job/submit
# Kill one shard while it runs, as a failing node would.
for _ in $(seq 600); do
    killed=$(pgrep -f "run quickstart .*--shard 2/4 " | head -n 1 || true)
    [ -n "$killed" ] && compgen -G "$work/scratch/*/run/calls.parquet.part" > /dev/null && break
    sleep 0.1
done
[ -n "$killed" ] || { echo "shard 2 did not start" >&2; exit 1; }
kill -KILL "$killed"
wait_for_end() {
    for _ in $(seq 600); do
        [ -z "$(squeue --noheader)" ] && return
        sleep 0.5
    done
    squeue >&2
    return 1
}
wait_for_end
test ! -e job/run
"$program" status job/shards --shards 4 || [ "$?" = 4 ]
[ "$("$program" status job/shards --shards 4 --todo || true)" = 2 ]
grep -q 'not all shards are complete' job/logs/merge.log
job/submit
wait_for_end
for frame in calls episodes responses; do cmp "whole/$frame.parquet" "job/run/$frame.parquet"; done
echo "Slurm: 4 shards, of which one was killed and run again, have the rows of one process to the byte"
cp -r job/shards/shard-1-of-4 job/shards/again
code=0
"$program" merge job/shards --out twice 2> refused || code=$?
[ "$code" = 4 ] && grep -q 'job/shards/shard-1-of-4.*is a duplicate: .*job/shards/again' refused
cat refused
rm -r job/shards/again job/shards/shard-1-of-4
"$program" run "${plan[@]}" --seed 2 --shard 1/4 --quiet --out job/shards/shard-1-of-4 > /dev/null
code=0
"$program" merge job/shards --out foreign 2> refused || code=$?
[ "$code" = 4 ] && grep -q 'job/shards/shard-1-of-4. is not of the same run' refused
cat refused
[ ! -e twice ] && [ ! -e foreign ]
