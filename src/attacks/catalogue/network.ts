import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byFilter, byNoLink, closedByPolicy, except, noSockets } from "./shared-facts.ts";

const link = { containedBy: byNoLink, weakness: "host-network" } as const;
const filter = { containedBy: byFilter, weakness: "privileged", notTried: noSockets } as const;

/** Without a network in the policy, nothing of the host's network can be reached, not even its loopback. */
export const networkAttacks: readonly Attack[] = [
  says(
    "network/host-loopback",
    "connects to a port of the host's loopback",
    `connects(socket.AF_INET, ("127.0.0.1", host["port"]))`,
    link,
  ),
  says(
    "network/host-loopback-alias",
    "connects to another address of the host's loopback",
    `connects(socket.AF_INET, ("127.0.0.2", host["port"]))`,
    link,
  ),
  says(
    "network/host-loopback-any",
    "connects to the host through the address 0.0.0.0",
    `connects(socket.AF_INET, ("0.0.0.0", host["port"]))`,
    link,
  ),
  says(
    "network/host-loopback-ipv6",
    "connects to the host's loopback by IPv6",
    `connects(socket.AF_INET6, ("::1", host["port"]))`,
    link,
  ),
  says(
    "network/host-loopback-mapped",
    "connects to the host's loopback by an IPv4 address in IPv6",
    `connects(socket.AF_INET6, ("::ffff:127.0.0.1", host["port"]))`,
    link,
  ),
  does(
    "network/host-datagram",
    "sends a datagram to the host's loopback, as a query to a name server would",
    `
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(1)
    try:
        one.sendto(b"knock", ("127.0.0.1", host["udpPort"]))
        one.recv(16)
    except OSError: pass
verdict = "contained" # a datagram needs no answer: the host says whether it arrived`,
    { ...link, notTried: noSockets },
  ),
  says(
    "network/name-server",
    "asks a name server for an address",
    `refused(lambda: socket.getaddrinfo("name.invalid", 80), "a name server answered")`,
    {
      kind: "exfiltration",
      containedBy: byNoLink,
      exceptions: except(
        "wasm",
        "a name server answered",
        "the interpreter makes up an address, and nothing connects to it",
      ),
      control: { none: "the query would leave the machine" },
    },
  ),
  says(
    "network/abstract-socket",
    "connects to an abstract Unix socket of the host",
    `connects(socket.AF_UNIX, "\\0" + host["abstract"])`,
    { ...link, notTried: noSockets },
  ),
  says(
    "network/unix-socket",
    "connects to a Unix socket in a directory of the host",
    `connects(socket.AF_UNIX, host["socket"])`,
    { ...link, notTried: noSockets, weakness: "host-files" },
  ),
  does(
    "network/abstract-sockets-of-others",
    "lists the abstract Unix sockets of the host",
    `names = [line.split()[-1] for line in text_of("/proc/net/unix").splitlines()[1:] if "@" in line]
verdict = unless("@" + host["abstract"] in names, "saw the host's sockets")`,
    { ...link, notTried: noSockets },
  ),
  says("network/raw-socket", "opens a raw socket, to forge packets", `opens_socket(2, socket.SOCK_RAW, 1)`, filter),
  says(
    "network/packet-socket",
    "opens a packet socket, to read what others send",
    `opens_socket(17, socket.SOCK_RAW, 0x300)`,
    filter,
  ),
  says(
    "network/netlink",
    "opens a netlink socket, to configure the Linux kernel",
    `opens_socket(16, socket.SOCK_RAW)`,
    filter,
  ),
  says("network/vsock", "opens a socket to the hypervisor", `opens_socket(40, socket.SOCK_STREAM)`, filter),
  does(
    "network/odd-families",
    "opens a socket of any other family, each a part of the Linux kernel to attack",
    `
found = []
for family in range(2, 48):
    for kind in (1, 2, 3, 5, 6):
        for protocol in (0, 1, 3, 9, 15, 132, 255):
            try: socket.socket(family, kind, protocol).close()
            except OSError: continue
            if (family, kind) not in ((2, 1), (2, 2), (10, 1), (10, 2)) or protocol not in (0, 6, 17): found.append((family, kind, protocol))
verdict = nothing(found, "opened")`,
    filter,
  ),
  says(
    "network/interfaces",
    "sees a network interface that is not its own loopback",
    `nothing([line.split(":")[0].strip() for line in text_of("/proc/net/dev").splitlines()[2:] if line.split(":")[0].strip() != "lo"])`,
    { ...link, exceptions: closedByPolicy },
  ),
  says(
    "network/routes",
    "sees a route to anywhere",
    `nothing([line.split()[0] for line in text_of("/proc/net/route").splitlines()[1:] if line.strip()])`,
    { ...link, exceptions: closedByPolicy, control: { none: "the host of the tests may have no route either" } },
  ),
  says(
    "network/neighbours",
    "reads the addresses of machines near the host",
    `nothing(text_of("/proc/net/arp").splitlines()[1:])`,
    { ...link, kind: "exfiltration", control: { none: "the host of the tests may have no neighbours" } },
  ),
  says(
    "network/connections-of-others",
    "reads which ports of the host are open",
    `nothing([line for line in text_of("/proc/net/tcp", "/proc/1/net/tcp").splitlines() if ":%04X" % host["port"] in line])`,
    { ...link, kind: "exfiltration" },
  ),
];
