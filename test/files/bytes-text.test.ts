import { expect, it } from 'vitest';
import { bytesText } from '../../src/files/bytes-text.ts';

it.each<[number, string]>([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 KiB'],
  [1536, '1.5 KiB'],
  [32_768, '32 KiB'],
  [100.4 * 2 ** 20, '100 MiB'],
  [1023 * 2 ** 20, '1.0 GiB'],
  [24 * 2 ** 30, '24 GiB'],
  [2e8, '200 MB'],
  [1.5e9, '1.5 GB'],
  [5000 * 2 ** 40, '5000 TiB'],
])('the text of %d bytes is %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
