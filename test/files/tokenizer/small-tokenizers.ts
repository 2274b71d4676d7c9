// Three hand-made vocabularies, one for each way tokens spell bytes.

const STAND_INS = Array.from({ length: 256 }, (_, byte) => byte);
const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
const unprintable = STAND_INS.filter((byte) => !printable(byte));

/** The character that stands for a byte in byte-level vocabularies. */
export function standIn(byte: number): string {
  return String.fromCharCode(printable(byte) ? byte : 0x100 + unprintable.indexOf(byte));
}

export function standIns(text: string): string {
  return [...new TextEncoder().encode(text)].map(standIn).join('');
}

const vocabOf = (tokens: string[]) => Object.fromEntries(tokens.map((token, id) => [token, id]));
const special = (id: number, content: string, isSpecial = true) => ({
  id,
  content,
  special: isSpecial,
  normalized: false,
  lstrip: false,
  rstrip: false,
  single_word: false,
});

/** Ids 0 to 255 are the bytes; then merges; then <|end|>, <|begin|> (special) and <tool é> (not). */
export function byteLevel() {
  const merges: [string, string][] = [
    [standIns(' '), '!'],
    ['h', 'i'],
    [standIns(' '), 'hi'],
    [standIns('中').slice(0, 1), standIns('中').slice(1, 2)],
    [standIns('中').slice(0, 2), standIns('中').slice(2)],
  ];
  const tokens = [...STAND_INS.map(standIn), ...merges.map((pair) => pair.join(''))];
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true };
  return {
    tokenizerJson: {
      added_tokens: [special(261, '<|end|>'), special(262, '<|begin|>'), special(263, '<tool é>', false)],
      normalizer: null,
      pre_tokenizer: level,
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<|begin|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
        pair: [],
        special_tokens: {},
      },
      decoder: level,
      model: { type: 'BPE', vocab: vocabOf(tokens), merges },
    },
    tokenizerConfig: { bos_token: { content: '<|begin|>' }, eos_token: '<|end|>' },
  };
}

/** 0 <unk>, 1 <s>, 2 </s>, 3 to 258 the bytes, then pieces. */
export function byteFallback() {
  const bytes = STAND_INS.map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const pieces = ['▁', 'h', 'i', 'hi', '▁hi', '中', '▁▁', 'e', '\u0301', '\ufeff', '文'];
  const merges = [
    ['h', 'i'],
    ['▁', 'hi'],
    ['▁', '▁'],
  ];
  return {
    tokenizerJson: {
      added_tokens: [special(0, '<unk>'), special(1, '<s>'), special(2, '</s>')],
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      pre_tokenizer: null,
      post_processor: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: {
        type: 'BPE',
        unk_token: '<unk>',
        byte_fallback: true,
        vocab: vocabOf(['<unk>', '<s>', '</s>', ...bytes, ...pieces]),
        merges,
      },
    },
    tokenizerConfig: {
      bos_token: '<s>',
      eos_token: '</s>',
      unk_token: '<unk>',
      clean_up_tokenization_spaces: true,
    },
  };
}

/** 0 <unk>, 1 </s>, then pieces. */
export function metaspace() {
  const pieces = ['▁', '▁hi', 'hi', '▁▁there', '.', ',', '中', '😀'];
  const space = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };
  return {
    tokenizerJson: {
      added_tokens: [special(0, '<unk>'), special(1, '</s>')],
      normalizer: null,
      pre_tokenizer: space,
      post_processor: null,
      decoder: space,
      model: {
        type: 'Unigram',
        unk_id: 0,
        vocab: ['<unk>', '</s>', ...pieces].map((piece, at) => [piece, -at]),
      },
    },
    tokenizerConfig: { eos_token: '</s>', unk_token: '<unk>' },
  };
}
