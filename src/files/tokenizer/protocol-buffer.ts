// Fields of a message in the wire format of protocol buffers. source: protobuf.dev, "Encoding"

import { badCheckpoint, type EngineError } from '../error.ts';

export interface Field {
  number: number;
  /** Values of variable length, and of 4 and 8 bytes, unsigned. */
  value?: bigint;
  /** Texts, bytes and messages. */
  bytes?: Uint8Array;
}

const WIRE = { varint: 0, eight: 1, bytes: 2, four: 5 };
const MOST_VARINT_BYTES = 10;

/** Returns the fields in their order. `file`: for messages. Throws bad_checkpoint where the bytes are not a message. */
export function fieldsOf(bytes: Uint8Array, file: string): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let nth = 0; nth < MOST_VARINT_BYTES; nth++) {
      if (at >= bytes.length) throw damaged(file, bytes.length);
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << BigInt(7 * nth);
      if (byte < 0x80) return value;
    }
    throw damaged(file, at);
  };
  const skip = (count: bigint): number => {
    const from = at;
    if (count > BigInt(bytes.length - at)) throw damaged(file, at);
    at += Number(count);
    return from;
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Number(tag >> 3n);
    const wire = Number(tag & 7n);
    if (wire === WIRE.varint) fields.push({ number, value: varint() });
    else if (wire === WIRE.eight) fields.push({ number, value: view.getBigUint64(skip(8n), true) });
    else if (wire === WIRE.four) fields.push({ number, value: BigInt(view.getUint32(skip(4n), true)) });
    else if (wire === WIRE.bytes) {
      const from = skip(varint());
      fields.push({ number, bytes: bytes.subarray(from, at) });
    } else throw damaged(file, at);
  }
  return fields;
}

/** A field of 4 bytes as a number of 32 bits. */
export function floatOf({ value = 0n }: Field): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, Number(value & 0xffffffffn));
  return view.getFloat32(0);
}

function damaged(file: string, at: number): EngineError {
  return badCheckpoint(`${file} is damaged at byte ${at} of a message: fetch the file again`, file);
}
