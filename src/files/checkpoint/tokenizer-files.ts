// The tokenizer of a folder, whichever files it has: tokenizer.json, vocab.json with merges.txt (of CLIP also merges.txt alone), Mistral's tekken.json,
// T5's spiece.model, Marian's source.spm or M2M-100's sentencepiece.bpe.model with vocab.json, or none for ByT5.

import { ggufOf } from './gguf-folder.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { isRecord, readBytes, readJson, readText, type Folder } from '../source.ts';
import { BYTE_TOKENIZER, byteTokenizer } from '../tokenizer/byte-tokens.ts';
import { M2M_MODEL, m2mTokenizer } from '../tokenizer/m2m.ts';
import { MARIAN_SOURCE, marianTokenizer } from '../tokenizer/marian.ts';
import { SPIECE, spieceTokenizer, withOwnTokens } from '../tokenizer/sentencepiece.ts';
import { TEKKEN, tekkenFiles } from '../tokenizer/tekken.ts';
import { openTokenizer, type Tokenizer } from '../tokenizer/tokenizer.ts';

export async function readTokenizer(
  folder: Folder,
  names: string[],
  config: Record<string, unknown>,
): Promise<Tokenizer> {
  const map = names.includes('special_tokens_map.json')
    ? await readJson(folder, 'special_tokens_map.json')
    : {};
  // special_tokens_map.json takes precedence over a tokenizer_config.json without a list of tokens, like in transformers. Stable
  // Diffusion 2 pads with the token of its map.
  const tokenizerConfig = isRecord(config['added_tokens_decoder'])
    ? { ...map, ...config }
    : { ...config, ...map };
  if (names.includes('tokenizer.json')) {
    return openTokenizer({ tokenizerJson: await readJson(folder, 'tokenizer.json'), tokenizerConfig });
  }
  const hasVocabulary = names.includes('vocab.json');
  if (names.includes(MARIAN_SOURCE) && hasVocabulary) {
    const [bytes, vocabulary] = [
      await readBytes(folder, MARIAN_SOURCE),
      await readJson(folder, 'vocab.json'),
    ];
    const tokenizerJson = marianTokenizer(bytes, vocabulary, tokenizerConfig);
    return openTokenizer({
      tokenizerJson,
      file: MARIAN_SOURCE,
      tokenizerConfig: withOwnTokens(tokenizerConfig),
    });
  }
  if (names.includes(M2M_MODEL) && hasVocabulary) {
    const [bytes, vocabulary] = [await readBytes(folder, M2M_MODEL), await readJson(folder, 'vocab.json')];
    const tokenizerJson = m2mTokenizer(bytes, vocabulary, tokenizerConfig);
    return openTokenizer({ tokenizerJson, file: M2M_MODEL, tokenizerConfig: withOwnTokens(tokenizerConfig) });
  }
  if (names.includes('merges.txt') && (hasVocabulary || config['tokenizer_class'] === 'CLIPTokenizer')) {
    const merges = await readText(folder, 'merges.txt');
    const vocab = hasVocabulary ? await readJson(folder, 'vocab.json') : undefined;
    return openTokenizer({ vocab, merges, tokenizerConfig });
  }
  if (names.includes(TEKKEN)) {
    const { tokenizerJson, roles, chat } = tekkenFiles(await readJson(folder, TEKKEN));
    return openTokenizer({
      ...{ tokenizerJson, file: TEKKEN, chat },
      tokenizerConfig: { ...roles, ...tokenizerConfig },
    });
  }
  if (names.includes(SPIECE)) {
    const tokenizerJson = spieceTokenizer(await readBytes(folder, SPIECE), tokenizerConfig);
    return openTokenizer({ tokenizerJson, file: SPIECE, tokenizerConfig: withOwnTokens(tokenizerConfig) });
  }
  if (config['tokenizer_class'] === BYTE_TOKENIZER) return openTokenizer(byteTokenizer(tokenizerConfig));
  throw missingTokenizer(folder.path, names);
}

/** Throws if a folder has no readable tokenizer, judging by its file names. `alsoRead`: names that are enough for the model's class. */
export function checkTokenizerFiles(
  path: string,
  names: readonly string[],
  alsoRead: readonly string[] = [],
): void {
  if (['tokenizer.json', TEKKEN, ...alsoRead].some((name) => names.includes(name))) return;
  const hasPair = names.includes('vocab.json') && names.includes('merges.txt');
  // A GGUF file has its tokenizer in its metadata.
  if (!hasPair && ggufOf(path, names) === null) throw missingTokenizer(path, names);
}

/** Names of files with which a folder has a tokenizer of models that read sources: its own, or the class of ByT5's, which has no file. */
export async function sourceTokenizerFiles(folder: Folder, names: readonly string[]): Promise<string[]> {
  const file = 'tokenizer_config.json';
  const hasBytes =
    names.includes(file) && (await readJson(folder, file))['tokenizer_class'] === BYTE_TOKENIZER;
  return [SPIECE, MARIAN_SOURCE, M2M_MODEL, ...(hasBytes ? [file] : [])];
}

/** Tokenizer files of other formats: SentencePiece, tiktoken. */
const FOREIGN_TOKENIZERS = ['tokenizer.model', 'spm.model', SPIECE];

function missingTokenizer(path: string, names: readonly string[]): EngineError {
  const foreign = FOREIGN_TOKENIZERS.find((name) => names.includes(name));
  return foreign === undefined
    ? badCheckpoint(
        `${path} has no tokenizer: fetch tokenizer.json and tokenizer_config.json, where its repository has none those of the model that it was made from`,
        'tokenizer.json',
      )
    : unsupported(
        `${path} has its tokenizer only as ${foreign}, which is not read: take a converted repository that has tokenizer.json`,
        foreign,
      );
}
