# ranks.sh - what the scripts of this folder share; they begin with `. "$(dirname "$0")/ranks.sh"` and
# get the program as their argument. MPIRUN names another mpirun, as that of MPICH, and
# LCSM_MPI_PLUGIN the plug-in that belongs to it.
set -eu
lcsm=$1
mpirun=${MPIRUN:-mpirun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none # which containers refuse, with a warning
export LSAN_OPTIONS=detect_leaks=0                   # MPI itself does not free all that it has

fail() {
    echo "$*"
    [ ! -f log ] || tail -20 log
    exit 1
}

# ranks N ARGUMENT...: lcsm on so many ranks, for at most two minutes; what it says is in log.
ranks() {
    size=$1
    shift
    timeout -k 5 120 "$mpirun" -n "$size" "$lcsm" "$@" >log 2>&1
}

alone() {
    "$lcsm" "$@" --distributed none >log 2>&1 || fail "one process: lcsm $* failed"
}

same_weights() {
    cmp "$1/model.safetensors" "$2/model.safetensors" || fail "$1 and $2 have other weights"
}

# Two parts of the optimiser at least, so that ranks have slices of it.
model="--d-model 48 --layers 2 --heads 2 --seq-len 32 --threads 1"
seq 1 3000 >text.txt
