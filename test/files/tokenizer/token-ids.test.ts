import { describe, expect, it } from 'vitest';
import { checkVocabularySize } from '../../../src/files/tokenizer/token-ids.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from './small-tokenizers.ts';

type Json = Record<string, unknown>;

/** A byte-level tokenizer with changes to its vocabulary and its added tokens. */
function opened(vocab: Json, added: Json[] = [], config: Json = {}) {
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  const json = tokenizerJson as Json & { model: Json & { vocab: Json }; added_tokens: Json[] };
  return openTokenizer({
    tokenizerJson: {
      ...json,
      model: { ...json.model, vocab: { ...json.model.vocab, ...vocab } },
      added_tokens: [...json.added_tokens, ...added],
    },
    tokenizerConfig: { ...tokenizerConfig, ...config },
  });
}

const added = (id: unknown, content: string) => ({ id, content, special: true, normalized: false });

describe('ids of tokens', () => {
  it.each([
    [{ a: -1 }, /^tokenizer\.json: .*the token "a" has the id -1/],
    [{ a: 1.5 }, /the token "a" has the id 1\.5/],
    [{ a: '7' }, /the token "a" has the id "7"/],
    [{ a: null }, /the token "a" has the id null/],
    [{ unheard: 2 ** 31 }, /the token "unheard" has the id 2147483648, an integer from 0 to 4194303/],
    [{ unheard: 5 }, /^tokenizer\.json: the token "unheard" has the id 5, which .* has too/],
  ])('%j are refused', (vocab, message) => {
    expect(() => opened(vocab)).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', message: expect.stringMatching(message) }) as Error,
    );
  });

  it.each([
    [added(5, '<x>'), /the added token "<x>" has the id 5, which .* has too/],
    [added(-1, '<x>'), /^tokenizer\.json: the added token .* has no id or content/],
    [added(1.5, '<x>'), /has no id or content/],
    [added('5', '<x>'), /has no id or content/],
    [added(2 ** 30, '<x>'), /the added token "<x>" has the id 1073741824/],
  ])('of added tokens: %j', (token, message) => {
    expect(() => opened({}, [token])).toThrow(message);
  });

  it('of added tokens may be those that their text has in the vocabulary', () => {
    const { vocab } = (byteLevel().tokenizerJson as { model: { vocab: Record<string, number> } }).model;
    const [content, id] = Object.entries(vocab)[3]!;
    expect(opened({}, [added(id, content)]).specialIds.has(id)).toBe(true);
  });

  it('of vocab.json are checked alike', () => {
    const files = {
      vocab: { a: 0, b: 0 },
      merges: '',
      tokenizerConfig: { tokenizer_class: 'GPT2Tokenizer' },
    };
    expect(() => openTokenizer(files)).toThrow(/^vocab\.json: the token "b" has the id 0, which "a" has too/);
  });

  it('of the vocabulary lie within the embedding; added ones may lie beyond it', () => {
    const tokenizer = opened({}, [added(9000, '<x>')]);
    expect(tokenizer.vocabSize).toBe(9001);
    expect(tokenizer.highestId).toBeLessThan(9000);
    expect(() => checkVocabularySize(tokenizer, 300)).not.toThrow();
    const bare = { highestId: tokenizer.highestId, encode: () => [] };
    expect(() => checkVocabularySize(bare, bare.highestId + 1)).not.toThrow();
    expect(() => checkVocabularySize(bare, bare.highestId)).toThrow(
      /vocab_size in config\.json is \d+: the tokenizer is another model's/,
    );
  });
});

it('ids around each text lie within the embedding as well', () => {
  const around = { highestId: 9, encode: () => [2, 5000] };
  expect(() => checkVocabularySize(around, 300)).toThrow(
    /^tokenizer\.json puts the id 5000 around each text \(post_processor\), and vocab_size in config\.json is 300/,
  );
  expect(() => checkVocabularySize(around, 5001)).not.toThrow();
});

it('a kind of tokenizer that is not built in is refused as unsupported, not as damaged', () => {
  const { tokenizerJson } = byteLevel();
  const unknown = { ...tokenizerJson, pre_tokenizer: { type: 'Telepathy' } };
  expect(() => openTokenizer({ tokenizerJson: unknown })).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      message: expect.stringMatching(
        /Unknown PreTokenizer type: Telepathy\): choose a model with another tokenizer/,
      ),
    }) as Error,
  );
});
