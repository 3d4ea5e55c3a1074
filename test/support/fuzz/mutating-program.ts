/**
 * A program for a cell that sends mutated messages, made of these headers, as its worker would. It keeps away from an honest end
 * of the current run, which would be believed: a session can lie about itself.
 */
export function mutating(headers: readonly object[]): string {
  return `
import random
_headers = json.loads(${JSON.stringify(JSON.stringify(headers))})
_odd = [0, -1, 2**31, 2**53, 2**63, 10**30, 0.5, None, True, "", [], {}, "x" * 3000, "\\u202e", "\\ud800", [[[[]]]], {"t": "x"}, "__proto__"]

def _mutated(chance, run):
    header = dict(chance.choice(_headers))
    if "id" in header and chance.random() < 0.5:
        header["id"] = run
    for _ in range(chance.randrange(3)):
        name = chance.choice(list(header) + ["branch", "id", "t"])
        if chance.random() < 0.3: header.pop(name, None)
        else: header[name] = chance.choice(_odd)
    text = bytearray(json.dumps(header).encode())
    for _ in range(chance.choice((0, 0, 1, 4))):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(3)
        if kind == 0 and at < len(text): text[at] ^= 1 << chance.randrange(8)
        elif kind == 1: text[at:at] = chance.randbytes(3)
        else: del text[at : at + 2]
    return bytes(text)

def _ends_run(text):
    try:
        header, _ = json.JSONDecoder().raw_decode(text.decode())  # as the supervisor: what follows the object is ignored
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("t") in ("done", "failed")

def send_mutated(seed, count):
    chance, sent = random.Random(seed), 0
    run = int(sys._getframe(1).f_code.co_filename.strip("<run >"))
    while sent < count:
        text = _mutated(chance, run)
        if _ends_run(text): continue
        size = len(text) if chance.random() < 0.95 else chance.choice((0, 1, len(text) + 1, 2**31, 2**32 - 1))
        body = chance.randbytes(chance.choice((0, 0, 5, 200)))
        token = _worker.token if chance.random() < 0.98 else chance.randbytes(16)
        os.writev(_worker.replies, [token, size.to_bytes(4, "little"), text, body])
        sent += 1
    return sent
import sys
`;
}
