// A file that a test makes up.

import { assertRange, type ByteSource } from '../../src/files/source.ts';

export function memorySource(name: string, bytes: Uint8Array): ByteSource {
  const slice = (offset: number, length: number): Uint8Array => {
    assertRange({ name, size: bytes.length }, offset, length);
    return bytes.subarray(offset, offset + length);
  };
  return {
    name,
    size: bytes.length,
    read: async (offset, length) => new Uint8Array(slice(offset, length)),
    readInto: async (offset, target) => target.set(slice(offset, target.length)),
    close: async () => {},
  };
}
