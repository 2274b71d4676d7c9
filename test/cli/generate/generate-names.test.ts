// Errors and notes of the engine, under the names that were typed.

import { describe, expect, it } from 'vitest';
import { asTyped, noteTyped } from '../../../src/cli/generate/generate-names.ts';
import type { Given } from '../../../src/cli/generate/generate-request.ts';
import { resolvedText } from '../../../src/cli/generate/generate-resolved.ts';
import { field, type Prose, noteOf, option, say } from '../../../src/files/message.ts';
import { EngineError, type ErrorCode } from '../../../src/index.ts';
import { toErrorReply } from '../../../src/server/http/errors.ts';

const given = (typed: Record<string, unknown>): Given => ({
  options: typed as unknown as Given['options'],
  origin: (name) => (name in typed ? 'command line' : null),
  nameOf: (name) => `--${name}`,
});
const told = (code: ErrorCode, param: string, message: Prose, typed: Record<string, unknown> = {}): string =>
  String(asTyped(new EngineError(code, message, { param }), given(typed)));

describe('an error of the engine', () => {
  it.each<[ErrorCode, string, Prose, Record<string, unknown>, string]>([
    [
      'bad_request',
      'steps',
      'steps is 2000; at most 1000',
      { 'num-inference-steps': 2000 },
      '--num-inference-steps is 2000; at most 1000',
    ],
    ['unsupported', 'scheduler', 'scheduler X is not here', { scheduler: 'X' }, '--scheduler X is not here'],
    [
      'model_not_found',
      'componentPaths',
      "'x' is not a folder",
      { 'component-paths': {} },
      "--component-paths: 'x' is not a folder",
    ],
    [
      'model_not_found',
      'componentPaths',
      say`${option('componentPaths.text_encoder')}: 'x' is not a folder`,
      { 'component-paths': {} },
      "--text-encoder-path: 'x' is not a folder",
    ],
    ['bad_request', 'eta', 'eta is 3', { 'generic-kwargs': { eta: 3 } }, 'eta in --generic-kwargs is 3'],
    // The user gave none of these options.
    ['bad_request', 'steps', 'steps is 50; at most 10', {}, 'num-inference-steps is 50; at most 10'],
    [
      'bad_checkpoint',
      'scheduler',
      'm has no folder scheduler',
      { scheduler: 'euler' },
      'm has no folder scheduler',
    ],
    ['unsupported', 'scheduler', 'scheduler X is not here', {}, 'scheduler X is not here'],
    [
      'bad_request',
      'height',
      'height by the proportions is 9',
      { width: 8 },
      'height by the proportions is 9',
    ],
    [
      'bad_request',
      'mask',
      say`made to fill masks: give ${field('image')} and a ${field('mask')}`,
      {},
      'made to fill masks: give --image-path and a --mask-path',
    ],
  ])('%s about %s', (code, param, message, typed, expected) => {
    expect(told(code, param, message, typed)).toBe(`EngineError: ${expected}`);
  });
});

it('a note names options as they are typed, and keeps other words in backticks', () => {
  const note = noteOf(
    say`raise ${option('memoryBudget')}, or run \`npm install x\`: ${field('steps')} and ${field('nothing')}`,
  );
  expect(note.message).toBe('raise `memoryBudget`, or run `npm install x`: `steps` and `nothing`');
  expect(noteTyped(note)).toBe(
    'raise --memory-budget, or run `npm install x`: --num-inference-steps and `nothing`',
  );
});

it('server errors name options as its operator types them, and the fields of a request as they are', () => {
  const error = new EngineError(
    'out_of_memory',
    say`raise ${option('memoryBudget')} or lower ${field('width')}`,
  );
  expect(toErrorReply(error).body.error.message).toBe('raise --memory-budget or lower width');
});

it('a value that only a hint of the model states is reported with that hint', () => {
  const by = '"lightning" in its name';
  expect(resolvedText({ 'num-inference-steps': { value: 4, source: 'model', by } })).toBe(
    `num-inference-steps 4 (model, by ${by})`,
  );
});
