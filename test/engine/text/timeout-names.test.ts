// An error about a time limit names its source: the request, or the options of the model.

import { expect, it } from 'vitest';
import type { EngineError } from '../../../src/files/error.ts';
import { LiveRequests } from '../../../src/engine/text/run/live-requests.ts';

it.each([
  [{ total: 1 }, undefined, { field: 'timeouts.total' }],
  [undefined, 1, { option: 'totalTimeout' }],
])('errors name the limits of the request %j and of the model %j', async (timeouts, totalTimeout, named) => {
  const error = await new Promise<EngineError>((resolve) => {
    const live = new LiveRequests({
      queueTimeout: undefined,
      totalTimeout,
      end: (_, reason) => resolve(reason),
    });
    live.enter({ prompt: { text: '' }, ...(timeouts && { timeouts }) });
  });
  expect(error.parts).toContainEqual(named);
});
