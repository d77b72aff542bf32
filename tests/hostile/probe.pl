# Runs inside a sandbox: tries what must be refused, and prints a line for each: name, errno or 0.
# No probe has an effect outside. Numbers of system calls: x86_64, then aarch64.
use strict; use warnings;
use Fcntl; use POSIX ();
my $arm = (POSIX::uname())[4] eq 'aarch64';
sub told { my ($name, $ok) = @_; print "$name ", ($ok ? 0 : $! + 0), "\n"; }
sub call { my ($name, $x86, $arm64, @with) = @_; $! = 0; told($name, syscall($arm ? $arm64 : $x86, @with) >= 0); }
sub child {
    my ($name, @call) = @_;
    my $pid = fork // die;
    if (!$pid) { $! = 0; my $r = syscall($arm ? $call[1] : $call[0], @call[2 .. $#call]); POSIX::_exit($r < 0 ? $! + 0 : 0) }
    waitpid $pid, 0; $! = $? >> 8; told($name, $? == 0);
}
sub opened { my ($name, $path) = @_; $! = 0; my $fh; told($name, sysopen($fh, $path, O_WRONLY)); }
sub socketed { my ($name, @with) = @_; $! = 0; my $fh; told($name, socket($fh, $with[0], $with[1], $with[2] // 0)); }
my $none = 'none'; my $root = '/'; my $tmp = '/tmp'; my $type = 'tmpfs'; my $kcore = '/proc/kcore'; my $zero = "\0" x 128;
mkdir '/tmp/m';  my $to = '/tmp/m';

call('X01 mount', 165, 40, $none, $to, $type, 0, 0);
call('X01 remount', 165, 40, $none, $root, $none, 0x20, 0);
call('X01 umount', 166, 39, $kcore, 2);
call('X01 pivot_root', 155, 41, $tmp, $to);
child('X02 unshare user', 272, 97, 0x10000000);
child('X02 unshare mount', 272, 97, 0x20000);
child('X02 unshare pid', 272, 97, 0x20000000);
child('X02 unshare net', 272, 97, 0x40000000);
child('X02 clone user', 56, 220, 0x10000000 | 17, 0, 0, 0, 0);
child('X02 clone3', 435, 435, $zero, 88);
{ my $fh; sysopen($fh, '/proc/1/ns/mnt', O_RDONLY) and child('X02 setns', 308, 268, fileno($fh), 0) or told('X02 setns', 0); }
opened('X04 sysrq', '/proc/sysrq-trigger');
opened('X04 core_pattern', '/proc/sys/kernel/core_pattern');
opened('X04 uevent_helper', '/sys/kernel/uevent_helper');
opened('X04 release_agent', '/sys/fs/cgroup/memory/release_agent');
opened('X04 procs of cgroup 1', '/sys/fs/cgroup/memory/cgroup.procs');
opened('X04 procs of cgroup 2', '/sys/fs/cgroup/cgroup.procs');
opened('X04 memory of cgroup 2', '/sys/fs/cgroup/memory.max');
socketed('X05 raw icmp', 2, 3, 1);
socketed('X05 packet', 17, 3, 0x300);
socketed('X05 xdp', 44, 3);
socketed('X06 vsock', 40, 1);
socketed('X06 alg', 38, 5);
call('X06 io_uring_setup', 425, 425, 4, $zero);
$! = 0; call('X10 mknod disk', 133, 33, $arm ? (-100, '/tmp/disk') : ('/tmp/disk'), 0060600, 254 << 8);
call('X10 mknod memory', 133, 33, $arm ? (-100, '/tmp/memory') : ('/tmp/memory'), 0020600, 1 << 8 | 1);
{ my $fh; $! = 0; told('X10 open disk', sysopen($fh, '/tmp/disk', O_RDONLY)); }
call('X12 keyctl', 250, 219, 0, -3, 1);
call('X12 add_key', 248, 217, $none, $none, $none, 1, -2);
call('X12 request_key', 249, 218, $none, $none, $none, -2);
call('X13 bpf', 321, 280, 0, $zero, 128);
call('X13 perf_event_open', 298, 241, $zero, 0, -1, -1, 0);
call('X13 userfaultfd', 323, 282, 0);
call('X13 kexec_load', 246, 104, 0, 0, 0, 0);
call('X13 init_module', 175, 105, 0, 0, $none);
call('X13 reboot', 169, 142, 0xfee1dead, 672274793, 0, 0);
call('X13 swapon', 167, 224, $none, 0);
call('X13 settimeofday', 164, 170, pack('qq', 1, 0), 0);
call('X13 sethostname', 170, 161, $none, 4);
call('X13 syslog', 103, 116, 3, $zero, 64);
call('X14 open_by_handle_at', 304, 265, -100, pack('IiQ', 8, 1, 2), 0);
child('X14 chroot', 161, 51, $tmp);
