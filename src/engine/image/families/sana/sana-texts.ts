// Texts of Sana: the last states of Gemma 2 for an instruction with the prompt behind it, of which those of the first token and of the last
// ones are kept.

import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import type { TextDeclaration, TextForward } from '../../../../models/text/blocks/architecture.ts';
import { textHalf } from '../../../../models/text/wrappers.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { encoderDeclaration } from '../../blocks/encoder-declaration.ts';
import { encodeStates, type TokenRange } from '../../blocks/text-states.ts';

/** Default limit on the tokens of a prompt that are read. */
const MOST_TOKENS = 300;
const ENCODER = 'text_encoder';

/** The instruction that the published models were trained with; lines are joined by line feeds. */
export const INSTRUCTION: readonly string[] = [
  `Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for image generation. Evaluate the level of detail in the user prompt:`,
  `- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial relationships to create vivid and concrete scenes.`,
  `- If the prompt is already detailed, refine and enhance the existing details slightly without overcomplicating.`,
  `Here are examples of how to transform or refine prompts:`,
  `- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping peacefully on a warm sunny windowsill, surrounded by pots of blooming red flowers.`,
  `- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street lamps, a diverse crowd of people in colorful clothing, and a double-decker bus passing by towering glass skyscrapers.`,
  `Please generate only the enhanced description for the prompt below and avoid including any additional commentary or evaluations:`,
  `User Prompt: `,
];

export interface SanaText {
  text: string;
  /** Lines before the text; empty: none. */
  instruction: readonly string[];
}

/** Returns the columns of the states. Throws bad_checkpoint for weights that do not match the configuration, and for a damaged tokenizer. */
export async function checkSanaTexts(components: ComponentAccess): Promise<number> {
  const declaration = encoderDeclaration(components, textHalf);
  components.check(ENCODER, encoderPage(declaration));
  await components.tokenizer('tokenizer');
  return declaration.hidden;
}

/** The states behind the final norm. */
function encoderPage(declaration: TextDeclaration): (table: WeightTable) => TextForward {
  return (table) => declaration.embed!(table);
}

/** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
export async function encodeSanaTexts(
  components: ComponentAccess,
  texts: readonly SanaText[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
): Promise<Tensor[]> {
  const declaration = encoderDeclaration(components, textHalf);
  const tokenizer = await components.tokenizer('tokenizer');
  const read = texts.map((text) => tokensOf(tokenizer, text, maxSequenceLength));
  return encodeStates(components, {
    component: ENCODER,
    declaration,
    page: encoderPage(declaration),
    texts: read.map(({ ids }) => ({ ids })),
    kept: read.map(({ kept }) => kept),
    options,
  });
}

/**
 * Token ids, and the tokens whose states are kept: the first one, and the last `most` − 1 of a text filled up to its limit, without those
 * that would fill it up. An instruction lengthens the limit by its own tokens, less the first one and one that it shares with the text.
 */
function tokensOf(
  tokenizer: Tokenizer,
  { text, instruction }: SanaText,
  most: number,
): { ids: number[]; kept: TokenRange[] } {
  const before = instruction.join('\n');
  const limit = instruction.length === 0 ? most : tokenizer.encode(before).length + most - 2;
  const ids = tokenizer.encode(before + text.toLowerCase().trim()).slice(0, limit);
  const first = limit - most + 1;
  const count = ids.length - first;
  return { ids, kept: [[0, 1], ...(count > 0 ? [[first, count] as const] : [])] };
}
