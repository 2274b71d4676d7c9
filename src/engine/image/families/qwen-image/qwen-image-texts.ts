// Texts of Qwen-Image: the last states of Qwen2.5-VL's language model for a prompt in a fixed template, without those of the template's
// beginning.

import type { Tensor } from '../../../../gpu/tensor.ts';
import type { TextDeclaration, TextForward } from '../../../../models/text/blocks/architecture.ts';
import { textHalf } from '../../../../models/text/wrappers.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { encoderDeclaration } from '../../blocks/encoder-declaration.ts';
import type { RunRequest } from '../../blocks/family.ts';
import type { TextStates } from './qwen-image-model.ts';
import { encodeStates } from '../../blocks/text-states.ts';

/** Default limit on the tokens of a prompt. */
const MOST_TOKENS = 512;
/** Tokens of the template before the prompt, whose states are left out. */
const DROPPED = 34;
const SYSTEM =
  'Describe the image by detailing the color, shape, size, texture, quantity, text, spatial relationships of the objects and background:';

const templated = (prompt: string): string =>
  `<|im_start|>system\n${SYSTEM}<|im_end|>\n<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n`;

/** The text encoder of pipelines that draw from a text. */
export function plainTexts(components: ComponentAccess): TextStates {
  return {
    check: () => checkTexts(components, textHalf),
    encode: (texts, request, check) => encodeTexts(components, texts, request, check),
  };
}

/** Throws bad_checkpoint for weights that do not match the encoder's configuration, or a damaged tokenizer. */
export async function checkTexts(components: ComponentAccess, half: typeof textHalf): Promise<void> {
  const declaration = encoderDeclaration(components, half);
  components.check('text_encoder', (table) => encoderPage(declaration, table));
  await components.tokenizer('tokenizer');
}

/** States behind the final norm; the vision tower is not read. */
export function encoderPage(declaration: TextDeclaration, table: WeightTable): TextForward {
  table.ignore(/^visual\./);
  return declaration.embed!(table);
}

/** Returns the states of each text, [1, tokens, columns]; at most `maxSequenceLength` tokens behind the template's beginning are read. */
async function encodeTexts(
  components: ComponentAccess,
  texts: readonly string[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
  check: Parameters<TextStates['encode']>[2],
): Promise<Tensor[]> {
  const declaration = encoderDeclaration(components, textHalf);
  const tokenizer = await components.tokenizer('tokenizer');
  const idsOf = (text: string): number[] =>
    tokenizer.encode(templated(text), { addSpecialTokens: false }).slice(0, DROPPED + maxSequenceLength);
  const ids = texts.map(idsOf);
  ids.forEach(({ length }, i) => check(length - DROPPED, i));
  return encodeStates(components, {
    component: 'text_encoder',
    declaration,
    page: (table) => encoderPage(declaration, table),
    texts: ids.map((own) => ({ ids: own })),
    dropped: DROPPED,
    options,
  });
}
