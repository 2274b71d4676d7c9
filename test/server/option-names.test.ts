// The engine speaks of its options by its own names; who types options reads those.

import { expect, it } from 'vitest';
import { BATCH_OPTIONS, ENGINE_OPTIONS } from '../../src/cli/engine-options.ts';
import { GENERATE_OPTIONS } from '../../src/cli/generate-options.ts';
import { EngineError } from '../../src/index.ts';
import { toErrorReply } from '../../src/server/errors.ts';
import { inOptions, MODEL_OPTIONS, TEXT_OPTIONS } from '../../src/server/option-names.ts';

it('names the option for what stands between backticks, and leaves the rest', () => {
  expect(inOptions('raise `queueTimeout` or `memoryBudget`')).toBe(
    'raise --queue-timeout or --memory-budget',
  );
  expect(inOptions('queueTimeout, `toString` and `svc pull`')).toBe(
    'queueTimeout, `toString` and `svc pull`',
  );
});

it('knows only options that there are', () => {
  const options = { ...ENGINE_OPTIONS, ...BATCH_OPTIONS, ...GENERATE_OPTIONS };
  const named = [...Object.values(MODEL_OPTIONS), ...Object.values(TEXT_OPTIONS)];
  expect(named.filter((name) => !Object.hasOwn(options, name))).toEqual([]);
});

it('holds for what a client of the server is told', () => {
  const error = new EngineError('overloaded', 'the most that `maxQueuedRequests` allows');
  expect(toErrorReply(error).body.error.message).toBe('the most that --max-queued-requests allows');
});
