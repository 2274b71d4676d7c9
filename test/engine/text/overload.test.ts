import { expect, test } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { collect, greedy, openGolden } from '../fixture.ts';

test('a burst of requests fills the running and waiting places, and the others are refused', async () => {
  const model = await openGolden('llama', { maxRunningRequests: 2, maxQueuedRequests: 3 });
  for (let round = 0; round < 2; round++) {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        collect(model.generate(greedy([i], 20))).catch((error: unknown) => error),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome instanceof EngineError);
    expect(refused).toHaveLength(5);
    for (const { code, message } of refused) {
      expect(code).toBe('overloaded');
      expect(message).toContain('`maxQueuedRequests`');
    }
    for (const outcome of outcomes.slice(0, 5)) expect(outcome).toMatchObject({ ids: [{ length: 20 }] });
  }
  await model.close();
});

test('a request of higher priority replaces the latest of the lowest priority in a full queue', async () => {
  const model = await openGolden('llama', { maxRunningRequests: 1, maxQueuedRequests: 3 });
  const long = model.generate(greedy([1], 200));
  while ((await long.next()).value?.type !== 'delta');
  const ask = (priority: number): Promise<unknown> =>
    collect(model.generate({ ...greedy([priority], 3), priority })).then(
      ({ ids }) => ids[0]!.length,
      (error: EngineError) => error.code,
    );
  const waiting = [1, 0, 0].map(ask);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await ask(0)).toBe('overloaded');
  const [third, second] = [ask(2), ask(1)];
  await Promise.all([waiting[1], waiting[2]]);
  expect(await ask(1)).toBe('overloaded');
  await long.return();
  expect(await Promise.all([...waiting, third, second])).toEqual([3, 'preempted', 'preempted', 3, 3]);
  await model.close();
});

test('a model without a queue fills every slot', async () => {
  const model = await openGolden('llama', { maxRunningRequests: 4, maxQueuedRequests: 0 });
  const outcomes = await Promise.all(
    [1, 2, 3, 4, 5].map((id) =>
      collect(model.generate(greedy([id], 10))).catch((error: EngineError) => error.code),
    ),
  );
  expect(outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.ids[0]!.length))).toEqual(
    [10, 10, 10, 10, 'overloaded'],
  );
  await model.close();
});

test('choices whose counted tokens have no room end by themselves', async () => {
  const model = await openGolden('llama', { maxTotalTokens: 608 });
  // All choices generate the same text, so that they share pages and each token counts once.
  const many = model.generate({
    ...greedy([7], 120),
    n: 16,
    presencePenalty: 0.1,
    processors: [{ name: 'no_repeat_ngram', size: 1 }],
  });
  const [ended, other] = await Promise.all([
    collect(many).catch((error: EngineError) => error.code),
    collect(model.generate(greedy([5, 9], 100))),
  ]);
  expect(ended).toBe('out_of_memory');
  expect(other.ids[0]).toHaveLength(100);
  await model.close();
});
