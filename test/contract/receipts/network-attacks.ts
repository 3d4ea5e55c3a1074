import { expect } from "vitest";
import { type Attack, type Attacked, printed, pythonText } from "./attacked.ts";
import { secretValue } from "./place.ts";

/** Python with `ask`, which gives the status and the text of an answer, or the kind of failure. */
const asking = `
import http.client, socket, ssl, urllib.error, urllib.request
def ask(url, method="GET", data=None, headers={}):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, data=data, headers=headers), timeout=15) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as error: return [error.code, str(error.reason)]
    except OSError as error: return [0, type(error).__name__]
`;

/** No way of reaching a server of the host gets a byte there. */
export const noNetwork: Attack = async ({ session, place: { web } }) => {
  const before = web.seen.requests;
  const code = `
import socket
through = []
def plain():
    with socket.create_connection(("127.0.0.1", ${web.port}), 2) as way:
        way.sendall(b"GET /direct HTTP/1.0\\r\\n\\r\\n")
        if not way.recv(100): raise OSError("nobody answers")
def proxied():
    with socket.create_connection(("127.0.0.1", 3128), 2) as way:
        way.sendall(b"GET http://good.example:${web.port}/ HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n")
        if b" 200 " not in way.recv(100): raise OSError("refused")
def datagram(): 
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))
for way in (plain, proxied, datagram):
    try: way(); through.append(way.__name__)
    except OSError: pass
print(json.dumps(through))`;
  const through = await printed<string[]>(await session(), code);
  // a socket in WebAssembly takes a datagram and gives it to nobody
  expect(through.filter((way) => way !== "datagram")).toEqual([]);
  expect(web.seen.requests).toBe(before);
};

const url = ({ place: { web } }: Attacked, host: string, path = "/") => pythonText(`http://${host}:${web.port}${path}`);

export const onlyTheProxy: Attack = async (attacked) => {
  const { session, place } = attacked;
  const code = `${asking}
through = []
for address in (("127.0.0.1", ${place.web.port}), ("192.0.2.1", 80)):
    try: socket.create_connection(address, 2); through.append(address)
    except OSError: pass
print(json.dumps([through, ask(${url(attacked, "good.example")})[0]]))`;
  expect(await printed(await session(), code)).toEqual([[], 200]);
};

export const onlyListedHosts: Attack = async (attacked) => {
  const { web } = attacked.place;
  const before = web.seen.requests;
  const code = `${asking}
print(json.dumps([ask(${url(attacked, "evil.example")})[0], ask("http://good.example:1/")[0],
                  ask("http://127.0.0.1:${web.port}/")[0]]))`;
  expect(await printed(await attacked.session(), code)).toEqual([403, 403, 0]);
  expect(web.seen.requests).toBe(before);
};

export const deniedFirst: Attack = async (attacked) => {
  expect(attacked.policy.net.allowlist.length).toBeGreaterThan(0);
  const code = `${asking}\nprint(json.dumps(ask(${url(attacked, "denied.example")})))`;
  const [status, reason] = await printed<[number, string]>(await attacked.session(), code);
  if (attacked.policy.net.deny.length === 0) expect(status).toBe(200);
  else expect([status, reason]).toEqual([403, expect.stringContaining("net.deny")]);
};

/** Who signed the certificate that the cell sees. */
const issuer = (host: string, port: number) => `
raw = socket.create_connection(("127.0.0.1", 3128))
raw.sendall(b"CONNECT ${host}:${port} HTTP/1.1\\r\\nHost: ${host}:${port}\\r\\n\\r\\n")
raw.recv(4096)
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
seen = context.wrap_socket(raw, server_hostname=${pythonText(host)}).getpeercert(True)
print(json.dumps(seen.hex()))`;

/** The certificate of the server itself is what the cell gets. */
export const notDecrypted: Attack = async ({ session, place: { trusted } }) => {
  const cell = await session();
  const seen = Buffer.from(await printed<string>(cell, `${asking}${issuer("good.example", trusted.port)}`), "hex");
  expect(seen.includes("leaf")).toBe(true);
};

export const decrypted: Attack = async ({ session, place: { trusted, untrusted } }) => {
  const cell = await session();
  const seen = Buffer.from(await printed<string>(cell, `${asking}${issuer("good.example", trusted.port)}`), "hex");
  expect(seen.includes("leaf")).toBe(false);
  const before = untrusted.seen.length;
  const code = `${asking}
print(json.dumps([ask("https://good.example:${trusted.port}/a"), ask("https://good.example:${untrusted.port}/a")[0]]))`;
  const [good, bad] = await printed<[[number, string], number]>(cell, code);
  expect(good).toEqual([200, "GET /a"]);
  expect(bad).not.toBe(200);
  expect(untrusted.seen).toHaveLength(before);
};

export const everyRequest: Attack = async (attacked) => {
  const code = `${asking}\nprint(json.dumps(ask(${url(attacked, "good.example", "/any")}, "DELETE")))`;
  expect(await printed(await attacked.session(), code)).toEqual([200, "DELETE /any"]);
};

export const checkedRequests: Attack = async (attacked) => {
  const { place, session } = attacked;
  const tls = [`https://ruled.example:${place.trusted.port}`];
  for (const origin of [`http://ruled.example:${place.web.port}`, ...tls]) {
    const at = (path: string) => pythonText(`${origin}${path}`);
    const code = `${asking}
print(json.dumps([ask(${at("/public/a")})[0], ask(${at("/public/a")}, "POST", b"x")[0], ask(${at("/admin")})[0],
                  ask(${at("/public/%2e%2e/admin")})[0]]))`;
    expect(await printed(await session(), code)).toEqual([200, 403, 403, 403]);
  }
};

export const noSecrets: Attack = async ({ session }) => {
  const code = `print(json.dumps([name for name, value in os.environ.items() if value.startswith("cc_secret")]))`;
  expect(await printed(await session(), code)).toEqual([]);
};

export const placeholders: Attack = async ({ session, place: { trusted } }) => {
  const cell = await session();
  const headers = `{"Authorization": "Bearer " + os.environ["API_TOKEN"]}`;
  const code = `${asking}
print(json.dumps([os.environ["API_TOKEN"], ask("https://good.example:${trusted.port}/echo", headers=${headers})[1],
                  ask("https://ruled.example:${trusted.port}/public/a", headers=${headers})[0]]))`;
  const [own, echoed, elsewhere] = await printed<[string, string, number]>(cell, code);
  expect(own).toMatch(/^cc_secret_/);
  expect(echoed).not.toContain(secretValue);
  expect(elsewhere).toBe(403);
  const echoes = trusted.seen.filter(({ path }) => path === "/echo");
  expect(echoes).toMatchObject([{ authorization: `Bearer ${secretValue}` }]);
  expect(trusted.seen.filter(({ authorization }) => authorization !== "")).toEqual(echoes);
};

export const connectionsCounted: Attack = async ({ fresh, place: { web }, policy }) => {
  const session = await fresh();
  const code = `
import socket
held, answers = [], []
for n in range(${policy.net.connections + 1}):
    way = socket.create_connection(("127.0.0.1", 3128))
    path = "/hold" if n < ${policy.net.connections} else "/"
    way.sendall(f"GET http://good.example:${web.port}{path} HTTP/1.1\\r\\nHost: good.example:${web.port}\\r\\n\\r\\n".encode())
    held.append(way)
print(json.dumps(held[-1].recv(4096).decode().split("\\r\\n")[0]))`;
  expect(await printed(session, code)).toMatch(/ 503 .*net\.connections/);
  await session.close();
};

export const requestsCounted: Attack = async (attacked) => {
  const { fresh, policy, place } = attacked;
  const session = await fresh();
  const most = 4 * policy.net.requests;
  const before = place.web.seen.requests;
  const code = `${asking}
import time
from concurrent.futures import ThreadPoolExecutor
start = time.monotonic()
with ThreadPoolExecutor(${policy.net.connections - 1}) as pool: # fewer than are allowed: the proxy may hear late that one ended
    statuses = list(pool.map(lambda _: ask(${url(attacked, "good.example")})[0], range(${6 * most})))
print(json.dumps([statuses.count(200), time.monotonic() - start, sorted(set(statuses))]))`;
  const [passed, seconds, statuses] = await printed<[number, number, number[]]>(session, code);
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThanOrEqual(most + Math.ceil(seconds * policy.net.requests) + 1);
  expect(place.web.seen.requests - before).toBe(passed);
  expect(statuses).toContain(429);
  await session.close();
};

/** What buffers on the way may hold beyond what is counted. */
const underWayBytes = 256 * 1024;

export const sentCounted: Attack = async (attacked) => {
  const { fresh, policy, place } = attacked;
  const session = await fresh();
  const before = place.web.seen.bytes;
  const code = `${asking}
first = ask(${url(attacked, "good.example")}, "POST", bytes(${policy.net.sentBytes * 4 + underWayBytes * 4}))[0]
print(json.dumps([first, ask(${url(attacked, "good.example")})[0]]))`;
  const statuses = await printed<number[]>(session, code);
  expect(statuses).not.toContain(200);
  expect(place.web.seen.bytes - before).toBeLessThanOrEqual(policy.net.sentBytes + underWayBytes);
  await session.close();
};

export const receivedCounted: Attack = async (attacked) => {
  const { fresh, policy } = attacked;
  const session = await fresh();
  const code = `${asking}
total = 0
try:
    with urllib.request.urlopen(${url(attacked, "good.example", "/endless")}, timeout=15) as answer:
        while total < 1 << 28:
            piece = answer.read1(65536)
            if not piece: break
            total += len(piece)
except (OSError, http.client.HTTPException): pass
print(json.dumps([total, ask(${url(attacked, "good.example")})[0]]))`;
  const [total = Number.NaN, next] = await printed<number[]>(session, code);
  expect(total).toBeLessThanOrEqual(policy.net.receivedBytes + underWayBytes);
  expect(next).not.toBe(200);
  await session.close();
};
