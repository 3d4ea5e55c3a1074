import { Duplex } from "node:stream";
import { connect } from "node:tls";

/** The first bytes that a real TLS client sends for a server name. */
export function clientHello(servername: string | undefined): Promise<Buffer> {
  return new Promise((settle) => {
    const wire = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        settle(chunk);
        done();
        setImmediate(() => wire.destroy());
      },
    });
    wire.on("error", () => {});
    const client = connect({ socket: wire as never, rejectUnauthorized: false, ...(servername ? { servername } : {}) });
    client.on("error", () => {});
  });
}

/** The same handshake message in records of `size` bytes each, which servers accept. */
export function inRecordsOf(size: number, hello: Buffer): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const piece = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 255]), piece);
  }
  return Buffer.concat(records);
}
