// Filling in the middle: the prompt of models that were trained to write what stands between two texts, by the tokens they have for it.

import type { TextModel } from '../../index.ts';
import { RequestError } from '../errors.ts';

interface Marks {
  begin: string;
  middle: string;
  end: string;
  /** The suffix comes first. */
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

/** The prompt that asks for what stands between; throws where the model has no tokens for that. */
export async function fillInPrompt(model: TextModel, prefix: string, suffix: string): Promise<string> {
  for (const { begin, middle, end, suffixFirst } of FORMS) {
    const marks = [begin, middle, end].filter((mark) => mark !== '');
    const ids = await Promise.all(marks.map((mark) => model.tokenize(mark, { addSpecialTokens: false })));
    if (ids.some(({ length }) => length !== 1)) continue;
    return suffixFirst ? `${middle}${suffix}${begin}${prefix}` : `${begin}${prefix}${middle}${suffix}${end}`;
  }
  throw new RequestError(
    'unsupported',
    `suffix needs a model whose tokenizer has tokens to fill in the middle, and ${model.info.name} has none; leave it out`,
    { param: 'suffix' },
  );
}
