// Listeners for the abort of one signal.

import { expect, it } from 'vitest';
import { onAbort } from '../../../src/engine/async/abort-listeners.ts';

it('each listener of a signal is called once, unless it was removed before', () => {
  const client = new AbortController();
  const heard: string[] = [];
  const listener = (): void => void heard.push('shared');
  onAbort(client.signal, listener);
  const remove = onAbort(client.signal, listener);
  onAbort(client.signal, () => heard.push('own'));
  remove();
  client.abort();
  expect(heard).toEqual(['shared', 'own']);
});

it('a signal that has aborted, or none, calls no listener', () => {
  const heard: string[] = [];
  onAbort(AbortSignal.abort(), () => heard.push('aborted'))();
  onAbort(undefined, () => heard.push('none'))();
  expect(heard).toEqual([]);
});
