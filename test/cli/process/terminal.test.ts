import { expect, it } from 'vitest';
import { sizeText } from '../../../src/cli/process/terminal.ts';
import { bytesText } from '../../../src/files/bytes-text.ts';

it("sizeText() shows sizes as the engine's messages do", () => {
  for (let bytes = 0; bytes < 2 ** 50; bytes = Math.ceil(bytes * 1.3) + 1) {
    expect(sizeText(bytes)).toBe(bytesText(bytes));
  }
  expect(sizeText(3 * 2 ** 29)).toBe('1.5 GiB');
});
