// M2M-100's tokenizer as a tokenizer.json: sentencepiece.bpe.model cuts texts, vocab.json has the ids, and tokens of languages follow them. A text
// begins with that of its language. Source: M2M100Tokenizer of transformers.

import { badCheckpoint } from '../error.ts';
import { addedToken, aroundText, base64, metaspace, sequence } from '../tokenizer-parts.ts';
import { scoredMerges } from '../scored-merges.ts';
import { isTextPiece, ownTokens, readModel } from './sentencepiece.ts';
import { tokensById } from './vocabulary-file.ts';

export const M2M_MODEL = 'sentencepiece.bpe.model';

/** Languages by the value of `language_codes`, in the order of their ids. */
const LANGUAGES: Readonly<Record<string, string>> = {
  m2m100:
    'af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu',
  wmt21: 'en ha is ja cs ru zh de',
};
/** The language of texts where the config names none. */
const USUAL = 'en';

/** Throws bad_checkpoint for damaged files, and for languages that are not known. */
export function m2mTokenizer(
  bytes: Uint8Array,
  vocabulary: unknown,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { pieces, charsmap } = readModel(bytes, M2M_MODEL, 'bpe');
  const { tokens, idOf } = tokensById(vocabulary, 'M2M-100');
  const { eos_token: end, unk_token: unknown, pad_token: padding } = ownTokens(config);
  const languages = languagesOf(config).map((code, i) => ({ code, id: tokens.length + i }));
  const source = config['src_lang'] ?? USUAL;
  const language = languages.find(({ code }) => code === source);
  if (language === undefined) throw unknownValue('src_lang', source);
  const known = new Set(tokens);
  const special = [...new Set(['<s>', end, unknown, padding])].filter((one) => known.has(one));
  // Texts are not cut into pieces that have no id.
  const texts = pieces.flatMap((piece) =>
    isTextPiece(piece) && known.has(piece.text) ? [{ ...piece, id: idOf(piece.text) }] : [],
  );
  return {
    version: '1.0',
    added_tokens: [
      ...special.map((one) => addedToken(idOf(one), one, true)),
      ...languages.map(({ code, id }) => addedToken(id, tokenOf(code), true)),
    ],
    normalizer: charsmap && { type: 'Precompiled', precompiled_charsmap: base64(charsmap) },
    pre_tokenizer: sequence('pretokenizers', [{ type: 'WhitespaceSplit' }, metaspace('always')]),
    post_processor: aroundText(
      { content: tokenOf(language.code), id: language.id },
      { content: end, id: idOf(end) },
    ),
    decoder: metaspace('always'),
    model: {
      type: 'BPE',
      unk_token: unknown,
      fuse_unk: true,
      vocab: new Map(tokens.map((token, id) => [token, id])),
      merges: scoredMerges(texts),
    },
  };
}

const tokenOf = (code: string): string => `__${code}__`;

function languagesOf({ language_codes: codes = 'm2m100' }: Readonly<Record<string, unknown>>): string[] {
  const named = typeof codes === 'string' ? LANGUAGES[codes] : undefined;
  if (named === undefined) throw unknownValue('language_codes', codes);
  return named.split(' ');
}

const unknownValue = (key: string, value: unknown): Error =>
  badCheckpoint(
    `tokenizer_config.json: ${key} is ${JSON.stringify(value)}, which is not known: take the value that the model was published with`,
    key,
  );
