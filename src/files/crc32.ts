// CRC-32 as zlib computes it, for platforms without zlib: four bytes a step over four tables.

const TABLES = makeTables();

function makeTables(): Int32Array[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    first[byte] = crc;
  }
  const tables = [first];
  for (let step = 1; step < 4; step++) {
    const before = tables[step - 1]!;
    tables.push(before.map((crc) => (crc >>> 8) ^ first[crc & 255]!));
  }
  return tables;
}

/** The checksum of a text in UTF-8 or of bytes; `seed` is the checksum of what comes before. */
export function crc32(data: string | Uint8Array, seed = 0): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const [t0, t1, t2, t3] = TABLES as [Int32Array, Int32Array, Int32Array, Int32Array];
  let crc = ~seed;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc = t3[crc & 255]! ^ t2[(crc >>> 8) & 255]! ^ t1[(crc >>> 16) & 255]! ^ t0[crc >>> 24]!;
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ t0[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}
