// Messages in pieces: each interface writes its own names for the settings that a message names.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../src/files/error.ts';
import { field, noteOf, option, partsOf, say, subject, textOf, withPaths } from '../../src/files/message.ts';
import { IMAGE_FLAGS, MODEL_FLAGS, modelOption } from '../../src/options/names.ts';
import { drawsWith } from '../../src/files/openers.ts';
import type { TextRequest } from '../../src/engine/text/calls/text-request.ts';
import { fromWire, toWire } from '../../src/engine/platform/wire-error.ts';

/** Fields of text requests that messages name. */
const TILE_LIMITS: (keyof TextRequest)[] = ['minTiles', 'maxTiles'];

const message = say`${subject('topP')} is ${3}: raise ${option('memoryBudget')}, or ${say`lower ${field('steps')}`}`;

describe('a message that names options', () => {
  it("is the library's own without names", () => {
    expect(textOf(message)).toBe('topP is 3: raise `memoryBudget`, or lower `steps`');
  });

  it('has the names of an interface, where that has some', () => {
    const names = { option: modelOption, field: (path: string) => (path === 'topP' ? 'top_p' : undefined) };
    expect(textOf(message, names)).toBe('top_p is 3: raise --memory-budget, or lower `steps`');
  });

  it('says what to do as a program does it, or a command line', () => {
    const remedy = say`another kind: ${drawsWith('m')}`;
    expect(textOf(remedy)).toBe('another kind: `openImageModel` draws with it');
    expect(textOf(remedy, { isCommandLine: true })).toBe(
      'another kind: `npx svc-engine generate --model-path m --prompt …` draws with it',
    );
  });

  it('leaves what a value says as it is', () => {
    const quoting = say`no option ${'`memoryBudget`'}`;
    expect(textOf(quoting, { option: () => '--other' })).toBe('no option `memoryBudget`');
  });

  it('that begins with its parameter is about that', () => {
    expect(partsOf('n is 0', 'n')).toEqual([subject('n'), ' is 0']);
    expect(partsOf('nothing is 0', 'n')).toEqual(['nothing is 0']);
  });

  it('is renamed path by path', () => {
    const renamed = withPaths(message, (path) => (path === 'steps' ? 'num_inference_steps' : null));
    expect(textOf(renamed)).toBe('topP is 3: raise `memoryBudget`, or lower `num_inference_steps`');
  });
});

it('a note carries its text, and its parts if some are names', () => {
  expect(noteOf('plain')).toEqual({ type: 'note', message: 'plain' });
  expect(noteOf(say`raise ${option('maxLoras')}`)).toEqual({
    type: 'note',
    message: 'raise `maxLoras`',
    parts: ['raise ', option('maxLoras')],
  });
});

it('an error keeps its names across a thread', () => {
  const error = new EngineError('bad_request', message, { param: 'topP' });
  const received = fromWire(structuredClone(toWire(error)));
  expect(received).toEqual(error);
  expect((received as EngineError).textWith({ option: modelOption })).toContain('raise --memory-budget');
});

it('messages name only options and fields that exist', () => {
  const folder = new URL('../../src/', import.meta.url);
  const sources = (readdirSync(folder, { recursive: true }) as string[]).filter((name) =>
    name.endsWith('.ts'),
  );
  const named = sources.flatMap((name) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/\b(option|field)\('(\w+)'\)/g)].map(
      ([, kind, setting]) => [name, kind, setting!] as const,
    ),
  );
  expect(named.length).toBeGreaterThan(40);
  const fields = new Set([...IMAGE_FLAGS.keys(), ...TILE_LIMITS]);
  const unknown = named.filter(
    ([, kind, setting]) => !(kind === 'option' ? MODEL_FLAGS : fields).has(setting),
  );
  expect(unknown).toEqual([]);
});
