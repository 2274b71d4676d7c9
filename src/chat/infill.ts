// Fill in the middle: the prompt of a prefix, a suffix and the marker tokens of models that were trained to write the text between them.

import { unsupported } from '../files/error.ts';
import type { TextModel } from '../engine/text/calls/text-model.ts';

interface Marks {
  begin: string;
  middle: string;
  end: string;
  /** The suffix precedes the prefix in the prompt. */
  suffixFirst?: true;
}

/** Qwen2.5-Coder; StarCoder and others; CodeLlama; DeepSeek-Coder; Codestral. */
const FORMS: readonly Marks[] = [
  { begin: '<|fim_prefix|>', middle: '<|fim_suffix|>', end: '<|fim_middle|>' },
  { begin: '<fim_prefix>', middle: '<fim_suffix>', end: '<fim_middle>' },
  { begin: '▁<PRE>', middle: '▁<SUF>', end: '▁<MID>' },
  { begin: '<｜fim▁begin｜>', middle: '<｜fim▁hole｜>', end: '<｜fim▁end｜>' },
  { begin: '[PREFIX]', middle: '[SUFFIX]', end: '', suffixFirst: true },
];

/** Tokens with which models end what they fill in, beside the end tokens of their configuration: the end of the text, of a file, of a repository's part. */
const ENDS = [
  '<|endoftext|>',
  '<|fim_pad|>',
  '<|repo_name|>',
  '<|file_sep|>',
  '<file_sep>',
  '<fim_pad>',
  '▁<EOT>',
  '<｜end▁of▁sentence｜>',
];

export interface InfillPrompt {
  text: string;
  /** Tokens of the model that end the text between. */
  stopTokenIds: number[];
}

/** Returns the prompt for the text between `prefix` and `suffix`. Throws unsupported if the model has no marker tokens for it. */
export async function infillPrompt(
  model: Pick<TextModel, 'info' | 'tokenize'>,
  prefix: string,
  suffix: string,
): Promise<InfillPrompt> {
  const idsOf = async (marks: readonly string[]): Promise<(number | null)[]> => {
    const lists = await Promise.all(marks.map((mark) => model.tokenize(mark, { addSpecialTokens: false })));
    return lists.map((ids) => (ids.length === 1 ? ids[0]! : null));
  };
  for (const { begin, middle, end, suffixFirst } of FORMS) {
    const ids = await idsOf([begin, middle, end].filter((mark) => mark !== ''));
    if (ids.includes(null)) continue;
    const text = suffixFirst
      ? `${middle}${suffix}${begin}${prefix}`
      : `${begin}${prefix}${middle}${suffix}${end}`;
    return { text, stopTokenIds: [...new Set(await idsOf(ENDS))].filter((id) => id !== null) };
  }
  throw unsupported(
    `suffix needs a model whose tokenizer has tokens to fill in the middle, and ${model.info.name} has none; leave it out`,
    'suffix',
  );
}
