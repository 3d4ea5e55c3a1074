import { knockProgram } from "../channel/knock-program.ts";

export const probePort = 8765;

/**
 * Answers on TCP and UDP, over IPv4 and IPv6, and tries addresses. The last argument holds those that it tries from its first
 * moment on: some networks close a pod only a while after it started. Only an accepted connection or an answer counts as reached,
 * because every target is one that a pod without a policy reached.
 */
export const probeProgram = `${knockProgram}
import json, select, socket, sys, threading, time
def opened(kind):
    try:
        one = socket.socket(socket.AF_INET6, kind)
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        one.bind(("::", ${probePort}))
    except OSError:
        one = socket.socket(socket.AF_INET, kind)
        one.bind(("0.0.0.0", ${probePort}))
    return one
def serve():
    tcp, udp = opened(socket.SOCK_STREAM), opened(socket.SOCK_DGRAM)
    tcp.listen(64)
    while True:
        for one in select.select([tcp, udp], [], [])[0]:
            try:
                if one is tcp: tcp.accept()[0].close()
                else: udp.sendto(b"here", udp.recvfrom(64)[1])
            except OSError: pass
def reaches(target):
    kind = socket.SOCK_STREAM if target["kind"] == "tcp" else socket.SOCK_DGRAM
    try:
        host = os.path.expandvars(target["host"])
        [(family, _, _, _, address)] = socket.getaddrinfo(host, target["port"], type=kind, flags=socket.AI_NUMERICHOST)
        with socket.socket(family, kind) as one:
            one.settimeout(1)
            one.connect(address)
            if target["kind"] == "udp":
                one.send(b"knock")
                one.recv(64)
            return True
    except OSError: return False
def tries(targets, rounds):
    reached = set()
    def attempt(target):
        if reaches(target): reached.add(target["name"])
    for _ in range(rounds):
        threads = [threading.Thread(target=attempt, args=(one,)) for one in targets]
        for one in threads: one.start()
        for one in threads: one.join()
        time.sleep(0.1)
    return sorted(reached)
def own_addresses():
    try:
        with open("/proc/net/if_inet6") as lines: return [line.split() for line in lines]
    except OSError: return []
def settle():
    # Linux uses no IPv6 address before it knows that nobody else has it.
    for _ in range(50):
        if not any(int(flags, 16) & 0x40 for _, _, _, _, flags, _ in own_addresses()): break
        time.sleep(0.1)
def links():
    at = lambda address, name: socket.inet_ntop(socket.AF_INET6, bytes.fromhex(address)) + "%" + name
    return [at(address, name) for address, _, _, scope, _, name in own_addresses() if scope == "20"]
threading.Thread(target=serve, daemon=True).start()
early = tries(json.loads(sys.argv[-1]), 3)
settle()
await_host()
print(json.dumps({"reached": early, "links": links()[:8]}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"reached": tries(request["targets"], request["rounds"])}), flush=True)
`;
