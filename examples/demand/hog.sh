#!/bin/bash
# Trains examples/demand/hog.ouro in a control group with a limit, and lets a hog take memory in it: after eight seconds 8 MB every tenth of a
# second, then it holds what it has for twelve seconds, and ends. As root; OURO names the program, else build/ouro.
#
#     examples/demand/hog.sh [LIMIT_MB] [HOG_MB] [options of hog.ouro]
set -u
limit=${1:-400} hog=${2:-200}
here=$(cd "$(dirname "$0")" && pwd)
ouro=${OURO:-$here/../../build/ouro}
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
  root=/sys/fs/cgroup/memory file=memory.limit_in_bytes
else
  root=/sys/fs/cgroup file=memory.max
fi
group=$root/ouro-hog-$$
mkdir "$group" && echo $((limit << 20)) > "$group/$file" || { rmdir "$group"; echo "no control group can be made here" >&2; exit 1; }
[ -e "$group/memory.swap.max" ] && echo 0 > "$group/memory.swap.max"

# tail keeps what it reads until the end.
(
  echo $BASHPID > "$group/cgroup.procs"
  sleep 8
  (for ((i = 0; i < hog / 8; i++)); do head -c 8388608 /dev/zero; sleep 0.1; done; sleep 12) | tail -c $((2 * hog))M > /dev/null
) &
(
  echo $BASHPID > "$group/cgroup.procs"
  exec "$ouro" run --mode=graph "$here/hog.ouro" "${@:3}"
)
status=$?
echo "ended with status $status"
wait
rmdir "$group"
exit $status
