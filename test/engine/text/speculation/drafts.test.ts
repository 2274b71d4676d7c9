// Draft models against their references: logits of every row, and the tokens that follow a text.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDiskSource } from '../../../../src/files/disk/source-disk.ts';
import { readSafetensors } from '../../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';
import { openDrafted, part, type OpenedDraft } from './opened-draft.ts';

interface DraftCase {
  name: string;
  target: string;
  input_ids: number[];
  guessed: number[];
}

const GOLDEN = fileURLToPath(new URL('../../../golden/', import.meta.url));
const { cases } = JSON.parse(readFileSync(`${GOLDEN}drafts.json`, 'utf8')) as { cases: DraftCase[] };

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function referenceOf(name: string): Promise<Float32Array[]> {
  const source = await openDiskSource(`${GOLDEN}drafts.safetensors`);
  try {
    const { offset, bytes, shape } = (await readSafetensors(source)).tensors.get(name)!;
    const values = new Float32Array((await source.read(offset, bytes)).buffer);
    const [rows, columns] = shape as [number, number];
    return Array.from({ length: rows }, (_, i) => values.slice(i * columns, (i + 1) * columns));
  } finally {
    await source.close();
  }
}

describe.each(cases)('$name', ({ name, target, input_ids: ids, guessed }) => {
  let opened: OpenedDraft;
  beforeAll(async () => {
    const folder = `${GOLDEN}drafts/${name}`;
    opened = await openDrafted(
      device,
      { folder, target: name.endsWith('-mtp') ? null : `${GOLDEN}${target}` },
      ids,
    );
  });
  const known = ids.length - 1;

  it('guesses the tokens of its reference, told at once', async () => {
    expect(await opened.drafts.propose([part(ids, 0, known, guessed.length)])).toEqual([guessed]);
  });

  it('guesses the same when it is told in parts, after guesses that came to nothing, and beside others', async () => {
    const { drafts } = opened;
    await drafts.propose([part(ids, 0, 20, 3)]);
    expect(await drafts.propose([part(ids, 20, 27, 0)])).toEqual([[]]);
    const again = [part(ids, 27, known, 2), part(ids, 27, known, guessed.length), part(ids, 30, known, 0)];
    expect(await drafts.propose(again)).toEqual([guessed.slice(0, 2), guessed, []]);
  });

  it('has the logits of its reference', async () => {
    const [logits, reference] = [await opened.logits(), await referenceOf(name)];
    expect(logits.length).toBe(reference.length);
    reference.forEach((row, i) => {
      const largest = Math.max(...row.map(Math.abs));
      const worst = Math.max(...row.map((value, at) => Math.abs(value - logits[i]![at]!)));
      expect(worst / largest, `row ${i}`).toBeLessThan(1e-4);
    });
  });
});
