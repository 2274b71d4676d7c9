// Sampling of a batch whose constraints come and go: each row keeps its own mask.

import { expect, it } from 'vitest';
import { collect, greedy, openGolden } from '../../fixture.ts';

it('a constraint that has ended leaves the masks of the others where they are', async () => {
  const model = await openGolden('qwen3', { reasoningParser: 'think' });
  try {
    // The reasoning of this sequence ends during the other's text; after that it has no constraint.
    const thinking = model.generate({
      prompt: { text: '<think>' },
      reasoning: { budget: 40 },
      temperature: 0,
      maxTokens: 80,
      ignoreEos: true,
    });
    await thinking.next(); // it is the first of each step
    const counting = model.generate({
      prompt: { ids: [5, 9, 40] },
      constraint: { type: 'regex', pattern: '([a-m][0-4]){55}' },
      temperature: 1,
      seed: 3,
      maxTokens: 120,
    });
    const [free, held] = await Promise.all([collect(thinking), collect(counting)]);
    expect(free.ends[0]).toMatchObject({ finishReason: 'length', completionTokens: 80 });
    expect(held.text[0]).toMatch(/^([a-m][0-4]){55}$/);
  } finally {
    await model.close();
  }
});

it('an end token that the model does not have is ignored', async () => {
  const prompts = [
    [5, 9, 40],
    [7, 3],
  ];
  const beyond = 288; // where the next row of logits begins
  const texts = async (end: number | null): Promise<number[][]> => {
    const model = await openGolden('llama', { config: { eos_token_id: end }, samplingDefaults: 'contract' });
    try {
      const all = prompts.map((ids) =>
        collect(model.generate({ ...greedy(ids, 12), ignoreEos: false, minTokens: 12 })),
      );
      return (await Promise.all(all)).map(({ ids }) => ids[0]!);
    } finally {
      await model.close();
    }
  };
  const wanted = await texts(null);
  expect(await texts(beyond + wanted[1]![0]!)).toEqual(wanted);
});
