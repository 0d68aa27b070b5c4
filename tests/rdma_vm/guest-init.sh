#!/bin/bash
# First process of the soft-RoCE machine: network, sshd, and two RDMA devices over one virtual cable.
#   rxe1 on va 10.78.0.1 ("vm1")  ---  rxe2 on vb 10.78.0.2 ("vm2")
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

mount -t proc proc /proc
mount -t sysfs sysfs /sys
for point in /dev/shm /run /tmp; do mkdir -p "$point" && mount -t tmpfs tmpfs "$point"; done
mkdir -p /dev/pts /run/sshd && mount -t devpts devpts /dev/pts
ulimit -l unlimited   # perftest pins its buffers
ulimit -n 8192
hostname vm1

for module in virtio_net ib_uverbs rdma_ucm rdma_rxe veth; do modprobe "$module"; done
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up
/usr/sbin/sshd

ip link add va type veth peer name vb
ip addr add 10.78.0.1/24 dev va && ip link set va up
ip addr add 10.78.0.2/24 dev vb && ip link set vb up
rdma link add rxe1 type rxe netdev va
rdma link add rxe2 type rxe netdev vb

# Linux short-cuts traffic between two addresses of its own through lo, where no rxe device is.
# So: what arrives on the cable is taken as local, what goes from one end to the other is sent
# over the cable, and only then does the table of local addresses apply.
for name in all va vb; do
  sysctl -qw "net.ipv4.conf.$name.rp_filter=0" "net.ipv4.conf.$name.accept_local=1"
done
sysctl -qw net.ipv4.conf.va.arp_ignore=1 net.ipv4.conf.vb.arp_ignore=1
ip rule add pref 100 iif va lookup local
ip rule add pref 101 iif vb lookup local
ip route add 10.78.0.2/32 dev va src 10.78.0.1 table 1
ip route add 10.78.0.1/32 dev vb src 10.78.0.2 table 2
ip rule add pref 110 from 10.78.0.1 to 10.78.0.2 lookup 1
ip rule add pref 111 from 10.78.0.2 to 10.78.0.1 lookup 2
ip rule add pref 200 lookup local
ip rule del pref 0

ready=$(rdma link | grep -c ACTIVE)
echo "RDMA-VM: $ready devices active" >/dev/console
while :; do wait -n 2>/dev/null; sleep 1; done   # reaps what others leave behind
