// How transcription models are told from others, and the tokens and languages that they are found to have.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { languageCode } from '../../../src/engine/transcription/languages.ts';
import { readSpeechTokens } from '../../../src/engine/transcription/speech-tokens.ts';
import { languageCodeOf, languageName } from '../../../src/files/language-names.ts';
import { openTextModel, openTranscriptionModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';

const golden = (name: string): string => fileURLToPath(new URL(`../../golden/${name}`, import.meta.url));

describe('a transcription model', () => {
  it('is planned as one', async () => {
    const plan = await planModel({ model: golden('whisper'), memoryBudget: 1e9 });
    expect(plan).toMatchObject({ kind: 'transcription', architecture: 'WhisperForConditionalGeneration' });
    expect(plan.choices.map(({ quantization, opens }) => [quantization, opens])).toEqual([
      ['none', true],
      ['int8', true],
      ['int4', true],
    ]);
  });

  it('is no language model, nor is a language model one', async () => {
    await expect(openTextModel({ model: golden('whisper'), inline: true })).rejects.toMatchObject({
      ...{ code: 'unsupported', param: 'WhisperForConditionalGeneration' },
      message: expect.stringMatching(/transcribes sounds .* `openTranscriptionModel` opens it/),
    });
    await expect(openTranscriptionModel({ model: golden('llama'), inline: true })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/is a language model .* does not transcribe sounds/),
    });
  });
});

describe('tokens of speech', () => {
  const names = [
    ...['<|endoftext|>', '<|startoftranscript|>', '<|en|>', '<|yue|>', '<|translate|>', '<|transcribe|>'],
    ...['<|startoflm|>', '<|startofprev|>', '<|nospeech|>', '<|notimestamps|>'],
  ];
  const tokenizer = {
    tokenToId: (text: string) => (names.includes(text) ? names.indexOf(text) : null),
    tokenText: (id: number) => names[id] ?? '',
  };

  it('are those of the tokenizer', () => {
    const generation = {
      suppress_tokens: [3, -1],
      begin_suppress_tokens: null,
      max_initial_timestamp_index: 7,
    };
    const tokens = readSpeechTokens(tokenizer, generation, { begin_suppress_tokens: [5] });
    expect(tokens).toMatchObject({
      ...{ end: 0, start: 1, previous: 7, noSpeech: 8, times: { none: 9, first: 10, lastInitial: 7 } },
      ...{ suppressed: [3], suppressedAtFirst: [5], tasks: { translate: 4, transcribe: 5 } },
    });
    expect([...tokens.languages]).toEqual([
      ['en', 2],
      ['yue', 3],
    ]);
  });

  it('have no languages where the model knows one only', () => {
    expect(readSpeechTokens(tokenizer, { is_multilingual: false }, {}).languages.size).toBe(0);
    expect(readSpeechTokens(tokenizer, {}, { vocab_size: 51864 }).languages.size).toBe(0);
  });

  it('are missed by name', () => {
    const without = { ...tokenizer, tokenToId: () => null };
    expect(() => readSpeechTokens(without, {}, {})).toThrow(/has no token <\|startoftranscript\|>/);
  });
});

it('languages have codes and English names', () => {
  expect(['de', 'yue', 'haw', 'xx'].map(languageName)).toEqual(['german', 'cantonese', 'hawaiian', 'xx']);
  const noCodes = ['', 'brazilian portuguese', 'chinese,english'];
  expect(noCodes.map(languageName)).toEqual(noCodes);
  expect([' Brazilian Portuguese', 'de_AT', 'Cantonese'].map(languageCodeOf)).toEqual([
    ...['brazilian portuguese', 'de', 'yue'],
  ]);
  const known = ['en', 'de', 'yue'];
  expect(['DE', 'german', 'de-AT', ' Cantonese '].map((given) => languageCode(given, known))).toEqual([
    ...['de', 'de', 'de', 'yue'],
  ]);
  expect(() => languageCode('fr', known)).toThrow('give the code of a language that the model knows');
});
