import { crc32 as zlib } from 'node:zlib';
import { expect, test } from 'vitest';
import { crc32 } from '../../src/files/crc32.ts';
import { noise } from './hub/mock-hub.ts';

test.each([1, 2, 3, 4, 5, 1000, 4099])('crc32 of %d bytes is that of zlib, after others too', (length) => {
  const bytes = noise(length, length);
  expect(crc32(bytes)).toBe(zlib(bytes));
  expect(crc32(bytes, 0xfedcba98)).toBe(zlib(bytes, 0xfedcba98));
  expect(crc32(bytes.subarray(1), crc32(bytes.subarray(0, 1)))).toBe(zlib(bytes));
});

test('crc32 of a text is that of its UTF-8', () => {
  expect(crc32('Gewicht: übergroß\0')).toBe(zlib('Gewicht: übergroß\0'));
});
