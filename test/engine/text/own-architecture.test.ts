// A family of text models costs one page with its reader: an architecture of the test's own, registered and run through the public
// engine, with a convolutional state, two kinds of heads and two rope tables.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, type TextModel } from '../../../src/index.ts';
import { registerTextArchitecture } from '../../../src/models/text/registry.ts';
import { collect, greedy } from '../fixture.ts';
import { SKETCH, sketchCheckpoint, sketchLogits, type SketchCheckpoint } from './sketch-architecture.ts';

let checkpoint: SketchCheckpoint;
let unregister: () => void;
let model: TextModel;
const options = { inline: true, safe: true, memoryBudget: 2 ** 29 };

beforeAll(async () => {
  checkpoint = sketchCheckpoint();
  unregister = registerTextArchitecture(SKETCH);
  model = await openTextModel({ ...options, model: checkpoint.path, prefillChunk: 16 });
});
afterAll(async () => {
  await model.close();
  unregister();
  checkpoint.remove();
});

function promptOf(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (seed + i * i * 7) % 256);
}

/** Returns the greedy tokens of the computation in f64. Asserts that no two logits were too close to distinguish. */
function expected(prompt: readonly number[], tokens: number): number[] {
  const ids = [...prompt];
  for (let i = 0; i < tokens; i++) {
    const logits = sketchLogits(checkpoint, ids).at(-1)!;
    const [best, next] = logits.toSorted((a, b) => b - a);
    expect(best! - next!).toBeGreaterThan(1e-3);
    ids.push(logits.indexOf(best!));
  }
  return ids.slice(prompt.length);
}

it('a registered architecture is known by its declaration', () => {
  expect(model.info).toMatchObject({ architecture: 'SketchForCausalLM', vocabSize: 320, contextLength: 512 });
});

it('a registered architecture computes its own tokens in chunks, in batches, and for several choices', async () => {
  const prompts = [promptOf(3, 5), promptOf(45, 11), promptOf(70, 3), promptOf(1, 200)];
  const wanted = prompts.map((prompt) => expected(prompt, 12));
  const together = await Promise.all(
    prompts.map((ids) => collect(model.generate({ ...greedy(ids, 12), n: 2 }))),
  );
  together.forEach(({ ids }, i) => expect(ids).toEqual([wanted[i], wanted[i]]));
  // Runs again in slots that other requests have used, in which keys and values without their states would give wrong tokens.
  for (const [i, ids] of prompts.entries())
    expect((await collect(model.generate(greedy(ids, 12)))).ids).toEqual([wanted[i]]);
});

it('a registered architecture continues after its pages were taken away', async () => {
  const small = await openTextModel({ ...options, model: checkpoint.path, maxTotalTokens: 128 });
  const prompts = [promptOf(40, 1), promptOf(42, 2), promptOf(38, 9)];
  const found = await Promise.all(prompts.map((ids) => collect(small.generate(greedy(ids, 40)))));
  await small.close();
  const alone = await Promise.all(prompts.map((ids) => collect(model.generate(greedy(ids, 40)))));
  expect(found.map(({ ids }) => ids)).toEqual(alone.map(({ ids }) => ids));
});

it('a class is registered once, and unknown before that', async () => {
  expect(() => registerTextArchitecture(SKETCH)).toThrow('SketchForCausalLM is registered already');
  unregister();
  try {
    await expect(openTextModel({ ...options, model: checkpoint.path })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('the architecture is SketchForCausalLM') as string,
    });
  } finally {
    unregister = registerTextArchitecture(SKETCH);
  }
});
