import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Sha1, Sha256 } from '../../src/files/sha.ts';
import { noise } from './hub/mock-hub.ts';

const HASHES = { sha1: Sha1, sha256: Sha256 } as const;

test.each([0, 1, 55, 56, 63, 64, 65, 119, 128, 1000, 70_001])('digests of %d bytes in pieces', (length) => {
  const bytes = noise(length, length);
  for (const kind of ['sha1', 'sha256'] as const)
    for (const piece of [1, 7, 64, 1000, length + 1]) {
      const hash = new HASHES[kind]();
      for (let at = 0; at < length; at += piece) hash.update(bytes.subarray(at, at + piece));
      expect(hash.hex()).toBe(createHash(kind).update(bytes).digest('hex'));
    }
});

test('Sha256 counts the bits of more than 512 MiB', () => {
  const bytes = noise(2 ** 20, 3);
  const [own, other] = [new Sha256(), createHash('sha256')];
  for (let at = 0; at < 520; at++) {
    own.update(bytes);
    other.update(bytes);
  }
  expect(own.hex()).toBe(other.digest('hex'));
}, 60_000);
