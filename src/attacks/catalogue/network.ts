import type { Attack } from "../attack.ts";
import { byFilter, byNoLink, noSockets, noSystemCalls } from "./shared-facts.ts";

const hostNetwork = { weakness: "host-network" } as const;

function reaches(id: string, title: string, code: string): Attack {
  return { ...{ id, kind: "escape", title, containedBy: byNoLink, control: hostNetwork }, code: `verdict = ${code}` };
}

function opensSocket(id: string, title: string, family: number, kind: string, protocol = 0): Attack {
  return {
    ...{ id, kind: "escape", title, containedBy: byFilter, notTried: noSystemCalls },
    code: `verdict = opens_socket(${family}, ${kind}, ${protocol})`,
    control: { weakness: "privileged" },
  };
}

/** Without a network in the policy, nothing of the host's network can be reached, not even its loopback. */
export const networkAttacks: readonly Attack[] = [
  reaches(
    "network/host-loopback",
    "connects to a port of the host's loopback",
    `connects(socket.AF_INET, ("127.0.0.1", host["port"]))`,
  ),
  reaches(
    "network/host-loopback-alias",
    "connects to another address of the host's loopback",
    `connects(socket.AF_INET, ("127.0.0.2", host["port"]))`,
  ),
  reaches(
    "network/host-loopback-any",
    "connects to the host through the address 0.0.0.0",
    `connects(socket.AF_INET, ("0.0.0.0", host["port"]))`,
  ),
  reaches(
    "network/host-loopback-ipv6",
    "connects to the host's loopback by IPv6",
    `connects(socket.AF_INET6, ("::1", host["port"]))`,
  ),
  {
    ...reaches("network/abstract-socket", "connects to an abstract Unix socket of the host", ""),
    code: `verdict = connects(socket.AF_UNIX, "\\0" + host["abstract"])`,
    notTried: noSockets,
  },
  {
    ...reaches("network/unix-socket", "connects to a Unix socket in a directory of the host", ""),
    code: `verdict = connects(socket.AF_UNIX, host["socket"])`,
    notTried: noSockets,
    control: { weakness: "host-files" },
  },
  opensSocket("network/raw-socket", "opens a raw socket, to forge packets", 2, "socket.SOCK_RAW", 1),
  opensSocket("network/packet-socket", "opens a packet socket, to read what others send", 17, "socket.SOCK_RAW", 0x300),
  opensSocket("network/netlink", "opens a netlink socket, to configure the Linux kernel", 16, "socket.SOCK_RAW"),
  opensSocket("network/vsock", "opens a socket to the hypervisor", 40, "socket.SOCK_STREAM"),
];
