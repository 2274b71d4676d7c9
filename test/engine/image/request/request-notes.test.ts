// Notes on prompts that were written for other programs.

import { describe, expect, it } from 'vitest';
import { promptNotes } from '../../../../src/engine/image/request/request-notes.ts';

describe('the notes of a prompt', () => {
  const asWords = (what: string, why: string): string => `${what} in the prompt is read as words: ${why}`;
  const ADAPTERS = 'the model was opened without LoRAs, and prompts name those that it was opened with';
  const STEPS = 'a prompt does not change between steps here';

  it.each<[string, string]>([
    ['a house <lora:a:0.8>', asWords('<lora:a:0.8>', ADAPTERS)],
    ['<lora:a:1> <lora:a:1> <lyco:b:1>', asWords('<lora:a:1>, <lyco:b:1>', ADAPTERS)],
    [
      'bad, embedding:Easy',
      asWords('embedding:Easy', 'the model was opened without a textual inversion of that name'),
    ],
    ['a [cat:dog:0.5] there', asWords('[cat:dog:0.5]', STEPS)],
    ['a [cat|dog] there', asWords('[cat|dog]', STEPS)],
    ['a cat AND a dog', asWords('AND', 'prompts are not drawn together here')],
    ['a ((red:1.5):1.5) house', '"red" has the weight 2.25: beyond 2 images usually fall apart'],
    ['a (red:-3) house', '"red" has the weight -3: beyond 2 images usually fall apart'],
    ['a clock (at 10:30)', '"at 10" has the weight 30: beyond 2 images usually fall apart'],
  ])('%s', (prompt, note) => expect(promptNotes(prompt, true)).toEqual([note]));

  it('leave out a word with embeddings of its own', () => {
    expect(promptNotes('bad, embedding:Easy, embedding:other', true, ['easy'])).toEqual([
      asWords('embedding:other', 'the model was opened without a textual inversion of that name'),
    ]);
  });

  it('say that a model reads no emphasis', () => {
    expect(promptNotes('a (red:1.2) house', false)).toEqual([
      asWords('(red:1.2)', 'this model reads no emphasis'),
    ]);
    expect(promptNotes('((red)) at dusk (at 10:30)', false)).toEqual([]);
  });

  it.each(['a (red:1.4) house, [grey]', 'a house BREAK a boat', 'SUN AND SEA', 'an ANDROID <3', 'a:b [1:2]'])(
    'are none for %s',
    (prompt) => expect(promptNotes(prompt, true)).toEqual([]),
  );
});
