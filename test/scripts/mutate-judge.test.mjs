// The judge of mutated checkpoints: the results that it must call defects, so that the soak cannot pass without judging.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../scripts/soak/client.mjs';
import { BASES, filesOf, writeBase } from '../../scripts/soak/mutate-bases.mjs';
import { judge } from '../../scripts/soak/mutate-judge.mjs';
import { setKey } from '../../scripts/soak/mutate-json.mjs';

const home = mkdtempSync(join(tmpdir(), 'svc-judge-'));
afterAll(() => rmSync(home, { recursive: true }));

const base = { kind: 'text' };
const sound = { output: { greedy: { ids: [1, 2], numbers: [-0.5, -1] }, chat: { output: 'hi' } } };
const damaged = { file: 'config.json', key: 'rope_theta', value: '-1', was: 1000, what: '' };
const verdictOf = (result, mutant = damaged) => judge({ base, mutant, sound, result }).verdict;
const refusedWith = (error) => ({ error: { isOurs: true, code: 'bad_checkpoint', ...error } });
const changed = { output: { ...sound.output, greedy: { ids: [1, 3], numbers: [-0.5, -1] } } };
const damagedMessage = 'config.json: rope_theta is -1, a number is needed';

describe('a damaged checkpoint', () => {
  it.each([
    ['refused by file and key', refusedWith({ message: damagedMessage }), 'refused'],
    ['without effect', sound, 'harmless'],
    ['with other tokens', changed, 'DIFFERENT'],
    [
      'with a probability that is not a number',
      { output: { ...sound.output, greedy: { ids: [1, 2], numbers: [-0.5, NaN] } } },
      'DIFFERENT',
    ],
    ['refused by something else', refusedWith({ message: 'the model is wrong' }), 'BAD REFUSAL'],
    ['refused as our fault', refusedWith({ code: 'internal', message: damagedMessage }), 'BAD REFUSAL'],
    ['refused by accident', refusedWith({ isOurs: false, message: damagedMessage }), 'BAD REFUSAL'],
    ['refused in our words', refusedWith({ message: `${damagedMessage}: undefined` }), 'BAD REFUSAL'],
    ['refused at length', refusedWith({ message: damagedMessage.repeat(30) }), 'BAD REFUSAL'],
    ['that hangs', { failed: 'hang', why: '' }, 'HANG'],
    ['that ends the process', { failed: 'crash', why: '' }, 'CRASH'],
    ['that fills memory', { failed: 'memory', why: '' }, 'MEMORY'],
  ])('%s', (_, result, verdict) => {
    expect(verdictOf(result)).toBe(verdict);
  });

  it('may differ where the value is within its bounds, and a legal one may neither differ nor be refused', () => {
    expect(verdictOf(changed, { ...damaged, value: '500' })).toBe('sound');
    const legal = { file: 'config.json', what: '', isLegal: true };
    expect(verdictOf(changed, legal)).toBe('DIFFERENT');
    expect(verdictOf(refusedWith({ message: 'config.json is odd' }), legal)).toBe('REFUSED');
    expect(verdictOf(sound, legal)).toBe('harmless');
  });
});

it('a damaged file that is left out of account is named in a note', () => {
  const mutant = { file: 'generation_config.json', what: '' };
  const noted = { output: { ...changed.output, notes: ['generation_config.json is not JSON (line 2)'] } };
  expect(verdictOf(noted, mutant)).toBe('sound');
  expect(verdictOf(changed, mutant)).toBe('DIFFERENT');
});

it('equal seeds damage the same bytes', () => {
  const texts = ['a', 'b'].map((name) => {
    const folder = join(home, name);
    writeBase(BASES.llama, folder);
    const mutant = setKey({ folder, files: filesOf(BASES.llama, folder), random: createRandom(5) });
    return `${mutant.what}\n${readFileSync(join(folder, mutant.file), 'utf8')}`;
  });
  expect(texts[0]).toBe(texts[1]);
});
