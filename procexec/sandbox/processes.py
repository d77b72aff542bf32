"""Scripts that look at, and end, the processes of a sandbox."""

from procexec.sandbox import SCRATCH

# Fork-free, so that it works with the process limit reached: stops all, then kills all but PID 1,
# this shell and the keeper, which is PID 1's eldest child. Needs CAP_KILL. Measured: 0.1-0.6 s.
KILL_ALL = r"""
kill -STOP -1; keeper=; eldest=
for d in /proc/[0-9]*; do
 read -r l 2>/dev/null < $d/stat || continue; set -- ${l##*) }
 [ "$2" = 1 ] || continue
 if [ -z "$eldest" ] || [ "${20}" -lt "$eldest" ]; then eldest=${20}; keeper=${d#/proc/}; fi
done
n=0
while [ $n -lt 10 ]; do n=$((n+1)); hit=0
 for d in /proc/[0-9]*; do p=${d#/proc/}
  [ "$p" = 1 ] && continue; [ "$p" = $$ ] && continue; [ "$p" = "$keeper" ] && continue
  read -r l 2>/dev/null < $d/stat || continue; r=${l##*) }
  case "$r" in Z*|X*) continue;; esac
  kill -9 $p 2>/dev/null && hit=$((hit+1))
 done; [ $hit = 0 ] && break; done
kill -CONT $keeper 2>/dev/null; echo done
"""

# Prints who sleeps in a read of a terminal, of the terminal's foreground group: "shell" for the
# process that leads the session ("lost" if what it tells the end of a step with is gone),
# "program" for another, else "no", followed by the ids of those
# users whose processes would have to be asked by themselves: the kernel tells only the owner (and
# root with SYS_PTRACE) where a process sleeps.
# System calls: read 0 (x86_64) or 63 (arm64); a poll or select counts only if the terminal is in a
# program's own mode (-icanon), else it may be a server waiting for clients. A program that waits on
# behalf of a child on another terminal, as sudo does, waits for nothing itself: the child is asked.
# Where another user may not open the terminal, a bash that waits is taken to edit its line.
# Where /proc/PID/syscall is not told, the wait channel decides.
# "server": nobody reads, and a process of the foreground group listens on a TCP port.
# "subshell": a bash that reads what is typed next, but not the session's own, which is $main.
# $shell is the session's shell, to leave out what holds other terminals; without it all count.
WAITS = r"""
raw() {
 case $(stty -a 2>/dev/null </proc/$1/fd/0) in
  *-icanon*) return 0;; '') read -r name < /proc/$1/comm; [ "$name" = bash ];; *) return 1;;
 esac
}
who() {
 first=${main:-0}; [ "$first" = 0 ] && first=$2; read -r name 2>/dev/null < /proc/$1/comm
 if [ "$1" != "$first" ]; then
  if [ "$name" = bash ] && raw $1; then echo subshell; else echo program; fi
 elif [ -r SCRATCH/end ]; then echo shell; else echo lost; fi
 exit 0
}
kids=
for d in /proc/[0-9]*; do
 read -r l 2>/dev/null < $d/stat || continue; set -- ${l##*) }; kids="$kids $2:$5"
 eval "parent_${d#/proc/}=$2"
done
ours() {
 [ "${shell:-0}" = 0 ] && return 0
 q=$1
 while [ "${q:-0}" -gt 1 ]; do [ "$q" = "$shell" ] && return 0; eval "q=\${parent_$q:-0}"; done
 return 1
}
relays() { for k in $kids; do case $k in $1:0|$1:$2) ;; $1:*) return 0;; esac; done; return 1; }
listening=
while read -r _ _ _ state _ _ _ _ _ inode _; do
 [ "$state" = 0A ] && listening="$listening $inode"
done <<EOF
$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
EOF
serves() {
 [ -n "$listening" ] || return 1
 for f in $1/fd/*; do
  t=$(readlink $f 2>/dev/null)
  case $t in socket:*) t=${t#socket:?}; case " $listening " in *" ${t%?} "*) return 0;; esac;; esac
 done
 return 1
}
others= server=
for d in /proc/[0-9]*; do
 read -r l 2>/dev/null < $d/stat || continue
 r=${l##*) }; set -- $r; p=${d#/proc/}; leader=$4; tty=$5
 [ "$5" != 0 ] && [ "$3" = "$6" ] || continue
 case "$1" in S) ;; *) continue;; esac
 ours $p || continue
 w=; s=; read -r w 2>/dev/null < $d/wchan; read -r s 2>/dev/null < $d/syscall
 if [ -z "$s" ] && [ ! -O $d ]; then
  while read -r name uid _; do [ "$name" = Uid: ] && others="$others $uid"; done 2>/dev/null < $d/status
  continue
 fi
 serves $d && server=1
 case "$s" in 0\ 0x*|63\ 0x*)
  set -- $s; f=$(( $2 )); t=$(readlink $d/fd/$f 2>/dev/null)
  case "$t" in /dev/pts/*|/dev/tty|/dev/console) who $p $leader;; esac;; esac
 case "$s" in 7\ *|23\ *|270\ *|271\ *|72\ *|73\ *)
  t=$(readlink $d/fd/0 2>/dev/null)
  case "$t" in /dev/pts/*) if raw $p; then relays $p $tty || who $p $leader; fi;; esac;; esac
 [ -n "$s" ] && continue
 case "$w" in n_tty_read|wait_woken|tty_*) t=$(readlink $d/fd/0 2>/dev/null)
  case "$t" in /dev/pts/*) who $p $leader;; esac;; esac
done
if [ -n "$server" ]; then echo server; else echo no $others; fi
""".replace("SCRATCH", SCRATCH)

# Prints how often the kernel killed in this sandbox for want of memory: cgroup v1, then v2.
OOM_KILLS = r"""
for f in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
 while read -r name count; do [ "$name" = oom_kill ] && echo $count; done 2>/dev/null < $f
done
true
"""
