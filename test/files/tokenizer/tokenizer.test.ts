import { Tokenizer as Reference } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { MAX_RUN_LENGTH, MAX_TEXT_LENGTH, openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { assembleTokenizer } from '../../../src/files/tokenizer/tokenizer-pair.ts';
import { byteFallback, byteLevel, metaspace, standIn, standIns } from './small-tokenizers.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);

describe('a byte-level tokenizer', () => {
  const tokenizer = openTokenizer(byteLevel());
  it('encodes by merges, bytes where there is none, added tokens whole', () => {
    expect(tokenizer.encode(' hi', { addSpecialTokens: false })).toEqual([258]);
    expect(tokenizer.encode('中<|end|>é', { addSpecialTokens: false })).toEqual([260, 261, 0xc3, 0xa9]);
  });
  it('puts BOS around a plain prompt only when asked', () => {
    expect(tokenizer.encode('hi')).toEqual([262, 257]);
    expect(tokenizer.encode('hi', { addSpecialTokens: false })).toEqual([257]);
    expect(tokenizer.encode('', { addSpecialTokens: false })).toEqual([]);
  });
  it('knows each id as the bytes it stands for', () => {
    for (let byte = 0; byte < 256; byte++) expect(tokenizer.tokenBytes(byte)).toEqual(new Uint8Array([byte]));
    expect(tokenizer.tokenBytes(260)).toEqual(utf8('中'));
    expect(tokenizer.tokenBytes(261)).toEqual(utf8('<|end|>'));
    expect(tokenizer.tokenBytes(263)).toEqual(utf8('<tool é>'));
    expect(tokenizer.tokenBytes(264)).toEqual(new Uint8Array(0));
    expect(tokenizer.tokenText(259)).toBe('\ufffd');
    expect(tokenizer.tokenText(258)).toBe(' hi');
  });
  it('names its special tokens', () => {
    expect(tokenizer).toMatchObject({ eosId: 261, vocabSize: 264 });
    expect([...tokenizer.specialIds]).toEqual([261, 262]);
    expect(tokenizer.specials).toEqual({ bos_token: '<|begin|>', eos_token: '<|end|>' });
    expect(tokenizer.tokenToId('<tool é>')).toBe(263);
    expect(tokenizer.tokenToId('nothing')).toBeNull();
  });
  it('decodes with and without special tokens, ids beyond the vocabulary as nothing', () => {
    expect(tokenizer.decode([262, 257, 263, 999, 261])).toBe('hi<tool é>');
    expect(tokenizer.decode([262, 257, 261], { skipSpecialTokens: false })).toBe('<|begin|>hi<|end|>');
    expect(tokenizer.decode([])).toBe('');
  });
});

describe('a byte-fallback tokenizer', () => {
  const tokenizer = openTokenizer(byteFallback());
  it('cuts the one space that encoding put in front, and keeps the rest', () => {
    for (const text of ['hi', ' hi', '  hi hi', 'é中', 'hi .', '\ufeffhi']) {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });
  it('knows bytes and pieces', () => {
    expect(tokenizer.tokenBytes(3 + 0xe4)).toEqual(new Uint8Array([0xe4]));
    expect(tokenizer.tokenBytes(tokenizer.tokenToId('▁hi') ?? -1)).toEqual(utf8(' hi'));
    expect(tokenizer.tokenBytes(1)).toEqual(utf8('<s>'));
  });
  it('puts bytes together across tokens and replaces those that never fit', () => {
    const bytes = [...utf8('é😀')].map((byte) => byte + 3);
    expect(tokenizer.decode(bytes)).toBe('é😀');
    expect(tokenizer.decode([...bytes.slice(0, 1), 259 + 5])).toBe('\ufffd中');
  });
});

describe('a Metaspace tokenizer', () => {
  const tokenizer = openTokenizer(metaspace());
  const idsOf = (...pieces: string[]) => pieces.map((piece) => tokenizer.tokenToId(piece) ?? -1);
  it('drops the space of the first token only', () => {
    expect(tokenizer.decode(idsOf('▁hi', '▁hi', 'hi'))).toBe('hi hihi');
    expect(tokenizer.decode(idsOf('</s>', '▁hi', '.'))).toBe('hi.');
    expect(tokenizer.decode(idsOf('</s>', '▁hi', '▁', '.'), { skipSpecialTokens: false })).toBe('</s> hi .');
  });
});

describe('the tokenizers against the library that encodes', () => {
  it.each([
    ['byte-level', byteLevel()],
    ['byte-fallback', byteFallback()],
    ['metaspace', metaspace()],
  ])('decode random valid text alike: %s', (_, files) => {
    const tokenizer = openTokenizer(files);
    const reference = new Reference(files.tokenizerJson, files.tokenizerConfig);
    const words = ['hi', ' hi', '  ', '.', ',', '中', '文', '😀', 'é', '\n', " n't"];
    for (let round = 0; round < 200; round++) {
      const text = Array.from(
        { length: 1 + (round % 9) },
        (_unused, at) => words[(round * 7 + at * at * 3) % words.length],
      ).join('');
      const ids = tokenizer.encode(text);
      expect(ids).toEqual(reference.encode(text).ids);
      expect(tokenizer.decode(ids)).toBe(
        reference.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
      );
    }
  });
});

describe('added tokens of a tokenizer', () => {
  it('are read from both tokenizer files, and tokenizer_config.json decides their flags', () => {
    const { tokenizerJson, tokenizerConfig } = byteLevel();
    const tokenizer = openTokenizer({
      tokenizerJson,
      tokenizerConfig: {
        ...tokenizerConfig,
        added_tokens_decoder: {
          263: { content: '<tool é>', special: true },
          264: { content: '<new>', special: false },
        },
        pad_token: '!',
      },
    });
    expect(tokenizer.encode('<new>', { addSpecialTokens: false })).toEqual([264]);
    expect(tokenizer.specials['pad_token']).toBe('!');
    expect([...tokenizer.specialIds].toSorted((a, b) => a - b)).toEqual([33, 261, 262, 263]);
    expect(tokenizer.vocabSize).toBe(265);
  });
});

describe('vocab.json with merges.txt', () => {
  const vocab = Object.fromEntries(
    [
      ...Array.from({ length: 256 }, (_, byte) => standIn(byte)),
      'hi',
      standIns(' hi'),
      '12',
      '<|endoftext|>',
    ].map((token, id) => [token, id]),
  );
  const merges = `#version: 0.2\nh i\n${standIns(' ')} hi\n1 2\n`;
  it('cuts words as Qwen 2 does: digits one by one, NFC first', () => {
    const tokenizer = openTokenizer({
      vocab,
      merges,
      tokenizerConfig: {
        tokenizer_class: 'Qwen2Tokenizer',
        eos_token: '<|endoftext|>',
        added_tokens_decoder: { 260: { content: '<|im_start|>', special: true } },
      },
    });
    expect(tokenizer.encode('hi hi12<|im_start|>')).toEqual([256, 257, 0x31, 0x32, 260]);
    expect(tokenizer.encode('e\u0301')).toEqual([0xc3, 0xa9]);
    expect(tokenizer.decode([257, 0xc3, 0xa9])).toBe(' hié');
    expect(tokenizer.eosId).toBe(259);
  });
  it('cuts words as GPT-2 does: digits together', () => {
    const tokenizer = openTokenizer({
      vocab,
      merges,
      tokenizerConfig: { tokenizer_class: 'GPT2TokenizerFast' },
    });
    expect(tokenizer.encode('hi12')).toEqual([256, 258]);
  });
  it('of CLIP ends words and lower-cases', () => {
    const words = { ...vocab, 'hi</w>': 260, '<|startoftext|>': 261, 'i</w>': 262, '.</w>': 263 };
    const tokenizer = openTokenizer({
      vocab: words,
      merges: 'h i</w>\n',
      tokenizerConfig: {
        tokenizer_class: 'CLIPTokenizer',
        bos_token: '<|startoftext|>',
        eos_token: '<|endoftext|>',
      },
    });
    expect(tokenizer.encode('HI  hi.')).toEqual([261, 260, 260, 263, 259]);
    expect(tokenizer.decode([261, 260, 263, 259])).toBe('hi .');
  });
  it('of another class, or broken, is refused', () => {
    expect(() => assembleTokenizer(vocab, merges, { tokenizer_class: 'BartTokenizer' })).toThrow(
      /this one is for Bart.*tokenizer\.json/,
    );
    expect(() => assembleTokenizer(vocab, merges, { tokenizer_class: 'toString' })).toThrow(
      /this one is for toString/,
    );
    expect(() => assembleTokenizer(vocab, 'h i\nh\n', { tokenizer_class: 'GPT2Tokenizer' })).toThrow(
      /merge 2 is "h"/,
    );
    expect(() => assembleTokenizer({ a: 'x' }, merges, { tokenizer_class: 'GPT2Tokenizer' })).toThrow(
      /vocab\.json must map/,
    );
  });
});

describe('refusals of a tokenizer', () => {
  it('name the file and the reason', () => {
    expect(() => openTokenizer({})).toThrow(/needs tokenizer\.json/);
    expect(() => openTokenizer({ tokenizerJson: {} })).toThrow(/cannot be built/);
    const { tokenizerJson } = byteLevel();
    expect(() => openTokenizer({ tokenizerJson: { ...tokenizerJson, decoder: { type: 'Nope' } } })).toThrow(
      /Nope/,
    );
    expect(() => openTokenizer({ tokenizerJson: { ...tokenizerJson, added_tokens: [{ id: 'x' }] } })).toThrow(
      /added token {"id":"x"}/,
    );
    expect(() => openTokenizer({ tokenizerJson: { ...tokenizerJson, added_tokens: { a: 1 } } })).toThrow(
      'tokenizer.json: added_tokens is {"a":1}, a list of tokens is needed',
    );
  });
  it('name the merge that the vocabulary lacks, and a vocabulary without tokens', () => {
    const model = { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [['a', 'b']] };
    expect(() => openTokenizer({ tokenizerJson: { model } })).toThrow(
      /merge 1 is \["a","b"\], which the vocabulary lacks/,
    );
    const files = { vocab: {}, merges: '', tokenizerConfig: { tokenizer_class: 'CLIPTokenizer' } };
    expect(() => openTokenizer(files)).toThrow(/vocab\.json has no tokens/);
  });
  it('name a limit of WordPiece that is no count; a large one takes time in proportion', () => {
    const openWith = (longest: unknown) => {
      const model = {
        type: 'WordPiece',
        vocab: { '[UNK]': 0, a: 1, '##a': 2 },
        max_input_chars_per_word: longest,
      };
      return openTokenizer({ tokenizerJson: { model } });
    };
    for (const longest of [0, 0.5, '100', []])
      expect(() => openWith(longest)).toThrow(/max_input_chars_per_word is .* instead of an integer above 0/);
    expect(openWith(2).encode('aaa')).toEqual([0]);
    const ids = openWith(1e9).encode('a'.repeat(MAX_RUN_LENGTH));
    expect(ids.slice(0, 3)).toEqual([1, 2, 2]);
    expect(ids).toHaveLength(MAX_RUN_LENGTH);
  });
  it.each([7, false, [], {}, { content: null }])('name a special token that is %j', (eos) => {
    const { tokenizerJson, tokenizerConfig } = byteLevel();
    const config = { ...tokenizerConfig, eos_token: eos };
    expect(() => openTokenizer({ tokenizerJson, tokenizerConfig: config })).toThrow(
      expect.objectContaining({ code: 'bad_checkpoint', param: 'eos_token' }) as Error,
    );
  });
  it.each([1e9, -1, 0.5, '7', null])('name an id of the post-processor that is not a token: %j', (id) => {
    const { tokenizerJson, tokenizerConfig } = byteLevel();
    const special = { SpecialToken: { id: 'x', type_id: 0 } };
    const template = {
      type: 'TemplateProcessing',
      single: [special, { Sequence: { id: 'A', type_id: 0 } }],
      special_tokens: { x: { id: 'x', ids: [id], tokens: ['x'] } },
    };
    const json = { ...tokenizerJson, post_processor: template };
    expect(() => openTokenizer({ tokenizerJson: json, tokenizerConfig })).toThrow(
      /post_processor names the id/,
    );
  });
  it.each(['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'])(
    'name a %s without a type',
    (part) => {
      const { tokenizerJson } = byteLevel();
      const openWith = (value: unknown) => (): unknown =>
        openTokenizer({ tokenizerJson: { ...tokenizerJson, [part]: value } });
      expect(openWith({})).toThrow(new RegExp(`the ${part} has no type`));
      expect(openWith({ type: 7 })).toThrow(new RegExp(`the ${part} has the type 7`));
      expect(openWith(7)).toThrow(new RegExp(`the ${part} is not an object`));
    },
  );
  it('keep endless texts and runs away from the merging', () => {
    const tokenizer = openTokenizer(byteLevel());
    expect(() => tokenizer.encode('ab '.repeat(MAX_TEXT_LENGTH / 3 + 1))).toThrow(
      /2000001 characters and at most 2000000/,
    );
    expect(() => tokenizer.encode(`hi ${'a'.repeat(MAX_RUN_LENGTH + 1)}`)).toThrow(
      /from character 3 on .* without a space/,
    );
    expect(() => tokenizer.encode(' '.repeat(MAX_RUN_LENGTH + 1))).toThrow(
      /from character 0 on .* of nothing but space/,
    );
    expect(tokenizer.encode('ab '.repeat(70_000)).length).toBeGreaterThan(200_000);
  });
});
