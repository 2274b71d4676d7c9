// Tables of settings: the names that are derived from a row, and the rows themselves.

import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MOST_LOGPROBS } from '../../src/kernels/logprobs.ts';
import { LIMITS } from '../../src/options/limits.ts';
import { fieldName, kebabCase, type Setting, snakeCase } from '../../src/options/setting.ts';
import { mapSampling, SAMPLING, SCHEDULING } from '../../src/options/text-request.ts';

it('names of a setting follow from the name of the library', () => {
  expect(['topP', 'n', 'stopTokenIds'].map((name) => snakeCase(name))).toEqual([
    'top_p',
    'n',
    'stop_token_ids',
  ]);
  expect(['topP', 'maxLoraRank'].map((name) => kebabCase(name))).toEqual(['top-p', 'max-lora-rank']);
});

it('a row of a setting may give a field another name, for one interface or for all', () => {
  const row = { kind: { type: 'text' }, help: '', field: 'own', fields: { ollama: 'other' } } as const;
  expect(fieldName('some', row, 'chat')).toBe('own');
  expect(fieldName('some', row, 'ollama')).toBe('other');
});

it('settings of which a model states its own value have a default number', () => {
  expect(mapSampling((_, { default: value }) => value)).toEqual({
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    repetitionPenalty: 1,
  });
});

it('the limit of log probabilities is that of the kernel', () => {
  expect(LIMITS.logprobs).toBe(MOST_LOGPROBS);
});

describe.each(Object.entries<Setting>({ ...SAMPLING, ...SCHEDULING }))('the option %s', (_, { help, by }) => {
  it('says what it means, and names a file that computes with it', () => {
    expect(help).toMatch(/^[^.].*\.$/s);
    expect(existsSync(new URL(`../../src/${by}`, import.meta.url))).toBe(true);
  });
});
