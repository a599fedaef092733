#!/bin/sh
# Installs Debian's SLURM for test_slurm.py. Where it cannot, it says why and that is all: the test is skipped.
not() {
    echo "SLURM is not installed, its test will be skipped: $1" >&2
    exit 0
}

command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null && exit 0
[ "$(id -u)" = 0 ] || not "only root can install it"
command -v apt-get >/dev/null || not "there is no apt-get"
[ ! -e /etc/slurm/slurm.conf ] || not "there is another SLURM's /etc/slurm/slurm.conf"

export DEBIAN_FRONTEND=noninteractive
install() {
    timeout 300 apt-get install -qq -y --no-install-recommends slurm-wlm munge >/dev/null 2>&1
}
install || { timeout 120 apt-get update -qq >/dev/null 2>&1 && install; } || not "apt-get failed"
