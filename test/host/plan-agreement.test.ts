// Plans agree with opening at every budget: whether the model opens, its context length and its memory.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openImageModel, openTextModel } from '../../src/host/node/open.ts';
import { planModel } from '../../src/host/node/plan.ts';
import type { OpenEvent } from '../../src/engine/opening/open-event.ts';
import { EngineError } from '../../src/files/error.ts';
import { shippedFolder } from '../../src/files/shipped.ts';
import { writeTokenizer } from '../engine/checkpoint-folder.ts';

const MIB = 2 ** 20;
const GOLDEN = fileURLToPath(new URL('../golden/qwen3', import.meta.url));
const tiny = mkdtempSync(join(tmpdir(), 'svc-plan-'));

beforeAll(() => {
  // A head that config.json ties to the embedding and that differs from it is used as it is stored.
  const config = JSON.parse(readFileSync(join(GOLDEN, 'config.json'), 'utf8')) as object;
  writeFileSync(join(tiny, 'config.json'), JSON.stringify({ ...config, tie_word_embeddings: true }));
  copyFileSync(join(GOLDEN, 'model.safetensors'), join(tiny, 'model.safetensors'));
  writeTokenizer(tiny);
});
afterAll(() => rmSync(tiny, { recursive: true }));

/** null where the budget is too small. */
async function orFull<T>(opening: Promise<T>): Promise<T | null> {
  return opening.catch((error: unknown) => {
    if (error instanceof EngineError && error.code === 'out_of_memory') return null;
    throw error;
  });
}

it.each([
  [shippedFolder('svc-chat-mini')!, 'none', [12, 16]],
  [shippedFolder('svc-chat-mini')!, 'int4', [5, 8]],
  [tiny, 'none', [0.25, 0.75, 1, 1.25, 2, 64]],
] as const)('the plan of %s as %s agrees with opening', async (model, quantization, budgets) => {
  const outcomes = new Set<boolean>();
  for (const budget of budgets) {
    const options = { model, quantization, memoryBudget: budget * MIB };
    const plan = await planModel(options);
    const opened = await orFull(openTextModel({ ...options, inline: true }));
    outcomes.add(opened !== null);
    expect(plan.opens).toBe(opened !== null);
    if (opened === null) continue;
    const { contextLength, modelContextLength, memory, media } = opened.info;
    await opened.close();
    const choice = plan.choices.find((one) => one.quantization === quantization);
    expect(choice).toMatchObject({
      contextLength,
      weights: memory.weights,
      scratch: memory.arena,
      cache: memory.kv,
    });
    expect(plan.media).toEqual(media);
    expect(plan.fits).toBe(contextLength === modelContextLength);
  }
  expect(outcomes).toEqual(new Set([false, true]));
});

it.each([
  [shippedFolder('svc-chat-mini')!, 10e6, ['quantization', 'contextLength']],
  [tiny, 0.25 * MIB, ['memoryBudget']],
] as const)(
  '%s names the change that its plan names where it has no room, and opens so',
  async (model, memoryBudget, names) => {
    const options = { model, memoryBudget };
    const { change } = await planModel(options);
    expect(Object.keys(change!)).toEqual(names);
    const changed = { ...options, ...change, inline: true };
    const mebibytes = `${Math.ceil((change!.memoryBudget ?? 0) / MIB)}MiB`;
    const named = names.map((name) => `\`${name}\` ${name === 'memoryBudget' ? mebibytes : change![name]}`);
    const other = change!.memoryBudget === undefined ? ', or in a larger `memoryBudget`' : '';
    await expect(openTextModel({ ...options, inline: true })).rejects.toThrow(
      new RegExp(`^[^:]* are free: it fits with ${named.join(' and ')}${other}$`),
    );
    const notes: OpenEvent[] = [];
    const opened = await openTextModel(changed, (event) => void notes.push(event));
    await opened.close();
    expect(opened.info.contextLength).toBe(change!.contextLength ?? opened.info.modelContextLength);
    expect(notes.filter((event) => event.type === 'note' && event.message.includes('shortened'))).toEqual([]);
  },
);

it.each([10, 10.5])('the plan of images agrees with drawing within %s MiB', async (budget) => {
  const options = { model: shippedFolder('svc-scenes-mini')!, memoryBudget: budget * MIB };
  const plan = await planModel(options);
  const [stored] = plan.choices;
  const model = await openImageModel({ ...options, inline: true });
  let peak = 0;
  try {
    for await (const event of model.generate({ prompt: 'a balloon', seed: 0, steps: 1 }))
      if (event.type === 'stage') peak = Math.max(peak, event.peakBytes);
    expect(plan.opens).toBe(true);
    // Plans have a prompt of their own, on which depends how much of a streamed component stays on the device.
    const ratio = peak / (stored!.weights + stored!.scratch);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
  } catch (error) {
    expect(error).toMatchObject({ code: 'out_of_memory' });
    expect(plan.opens).toBe(false);
  } finally {
    await model.close();
  }
});
