// What generation_config.json says about replies to sources: how they begin, what requests have by default, and what is not built.

import { expect, it } from 'vitest';
import { sourceRequest } from '../../../../src/engine/text/request/source-prompt.ts';
import { leftNote, readSourceSettings } from '../../../../src/engine/text/request/source-settings.ts';

const declaration = { vocabulary: 100, source: { tokens: 64, written: 32, layers: [] } };

function settingsOf(
  generationConfig: Record<string, unknown>,
  config: Record<string, unknown> = {},
  from: 'model' | 'contract' = 'model',
) {
  return readSourceSettings({ generationConfig, config }, declaration, from)!;
}

it.each([
  [{ decoder_start_token_id: 2, forced_bos_token_id: 7 }, {}, [2, 7]],
  [{ decoder_start_token_id: 2, forced_bos_token_id: null }, { forced_bos_token_id: 9 }, [2, 9]],
  [{}, { bos_token_id: 5, pad_token_id: 0 }, [5]],
  [{}, { decoder_start_token_id: null, pad_token_id: 0 }, [0]],
])('replies of %j and %j begin with %j', (generation, config, begin) => {
  expect(settingsOf(generation, config).begin).toEqual(begin);
});

it('requests have the settings of the model where they have none', () => {
  const settings = settingsOf({
    ...{ decoder_start_token_id: 2, forced_bos_token_id: 0, min_length: 12, no_repeat_ngram_size: 3 },
    ...{ bad_words_ids: [[99], [4, 5]], num_beams: 4, length_penalty: 2 },
  });
  const prompt = { text: 'a' };
  const banned = { name: 'disallowed_tokens', tokens: [99] };
  const runs = { name: 'no_repeat_ngram', size: 3 };
  expect(sourceRequest({ prompt }, settings)).toEqual({ prompt, minTokens: 10, processors: [banned, runs] });
  expect(sourceRequest({ prompt, maxTokens: 4 }, settings)).toMatchObject({ minTokens: 4 });
  const own = { prompt, minTokens: 0, processors: [{ name: 'no_repeat_ngram' as const, size: 9 }] };
  expect(sourceRequest(own, settings)).toEqual({ ...own, processors: [...own.processors, banned] });
  expect(leftNote(settings)).toBe(
    'generation_config.json asks for num_beams 4, bad_words_ids of several tokens, which are not built: replies are chosen token by token',
  );
});

it('the contract has no defaults of the model', () => {
  const settings = settingsOf({ decoder_start_token_id: 2, min_length: 12, num_beams: 4 }, {}, 'contract');
  expect(settings).toMatchObject({ begin: [2], defaults: {} });
  expect(leftNote(settings)).toBeNull();
});

it.each([
  [{}, {}, 'decoder_start_token_id is missing, the id of a token is needed: correct generation_config.json'],
  [
    { decoder_start_token_id: 100 },
    {},
    'is 100, the id of a token is needed: correct generation_config.json',
  ],
  [{}, { decoder_start_token_id: -1 }, 'is -1, the id of a token is needed: correct config.json'],
  [{ decoder_start_token_id: 2 }, { min_length: -1 }, 'a number of tokens is needed: correct config.json'],
])('%j with %j is refused', (generation, config, message) => {
  expect(() => settingsOf(generation, config)).toThrow(message);
});
