/** What the two ends of a link send each other (`entry/pod_link.py`). */
export type Packet =
  | { readonly kind: "data"; readonly data: Buffer }
  /** how many bytes the other end has received since the link exists */
  | { readonly kind: "ack"; readonly count: number };

const headerBytes = 5;
const kinds = { data: 0, ack: 1, ping: 2 } as const;
const largestBytes = 1024 * 1024;

export function dataPacket(data: Uint8Array): Buffer {
  const packet = Buffer.allocUnsafe(headerBytes + data.length);
  packet.writeUInt8(kinds.data, 0);
  packet.writeUInt32BE(data.length, 1);
  packet.set(data, headerBytes);
  return packet;
}

export function ackPacket(count: number): Buffer {
  const packet = Buffer.allocUnsafe(headerBytes + 8);
  packet.writeUInt8(kinds.ack, 0);
  packet.writeUInt32BE(8, 1);
  packet.writeBigUInt64BE(BigInt(count), headerBytes);
  return packet;
}

/** Asks the pod to confirm what it has received, so that a connection that carries nothing shows if it still could. */
export function pingPacket(): Buffer {
  const packet = Buffer.alloc(headerBytes);
  packet.writeUInt8(kinds.ping, 0);
  return packet;
}

/** Splits what arrives into packets. Throws at the first byte that no pod of ours sends. */
export class PacketDecoder {
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  /** A packet that arrives in parts. Each byte is copied once. The attack: a packet of a mebibyte in parts of one byte. */
  #body: Buffer | undefined;
  #bodyLength = 0;

  push(data: Buffer): Packet[] {
    const packets: Packet[] = [];
    let rest = data;
    while (rest.length > 0) {
      if (this.#headerLength < headerBytes) {
        const taken = rest.copy(this.#header, this.#headerLength);
        this.#headerLength += taken;
        rest = rest.subarray(taken);
        if (this.#headerLength < headerBytes) break;
      }
      const length = this.#checkedLength();
      if (!this.#body && rest.length < length) [this.#body, this.#bodyLength] = [Buffer.allocUnsafe(length), 0];
      if (this.#body) {
        const taken = rest.copy(this.#body, this.#bodyLength);
        this.#bodyLength += taken;
        rest = rest.subarray(taken);
        if (this.#bodyLength < length) break;
        packets.push(this.#packet(this.#body));
      } else {
        packets.push(this.#packet(rest.subarray(0, length)));
        rest = rest.subarray(length);
      }
    }
    return packets;
  }

  #checkedLength(): number {
    const kind = this.#header.readUInt8(0);
    const length = this.#header.readUInt32BE(1);
    if (length > largestBytes || kind > kinds.ack || (kind === kinds.ack && length !== 8)) {
      throw new Error("the pod sent something that is not a packet");
    }
    return length;
  }

  #packet(body: Buffer): Packet {
    this.#headerLength = 0;
    this.#body = undefined;
    const isData = this.#header.readUInt8(0) === kinds.data;
    return isData ? { kind: "data", data: body } : { kind: "ack", count: Number(body.readBigUInt64BE(0)) };
  }
}
