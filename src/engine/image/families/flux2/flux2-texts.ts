// Texts of FLUX.2: states of a language model after three of its layers, side by side, for a prompt in a chat template. Padding fills each
// text up to a fixed number of tokens, and the denoiser sees the states of all of them.

import { say } from '../../../../files/message.ts';
import { badRequest } from '../../../../files/error.ts';
import type { ChatRendering } from '../../../../files/template/template.ts';
import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import { ConfigError } from '../../../../models/config-values.ts';
import type { Padding, StatesText } from '../../../text/step/hidden-states.ts';
import { openTemplate } from '../../blocks/chat-template.ts';
import {
  checkDecoder,
  decoderDeclaration,
  ENCODER,
  readDecoder,
  type DecoderReading,
} from '../../blocks/decoder-texts.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { MOST_TOKENS, type TextStates } from '../../blocks/transformer-model.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';

export interface Flux2Arguments extends CallArguments {
  /** Numbers of layers after which the states are read, ascending; left out: those of the published models. */
  encoderLayers?: readonly number[];
}

/** A language model as FLUX.2 reads it. */
export interface Flux2Encoder {
  /** Layers whose states the published models read. */
  layers: readonly number[];
  /** Side on which texts are filled up where tokenizer_config.json does not say. */
  padding: Padding['side'];
  /** The prompt as a conversation. */
  conversation(text: string): ChatRendering;
}

/** Qwen3 of FLUX.2 klein. */
export const QWEN: Flux2Encoder = {
  layers: [9, 18, 27],
  padding: 'behind',
  conversation: (text) => ({
    messages: [{ role: 'user', content: text }],
    kwargs: { enable_thinking: false },
  }),
};

const SYSTEM =
  'You are an AI that reasons about image descriptions. You give structured responses focusing on object relationships, object\nattribution and actions without speculation.';
/** The place of an image, which a prompt must not contain. */
const IMAGE_TOKEN = '[IMG]';

/** Mistral Small 3 of FLUX.2 dev. */
export const MISTRAL: Flux2Encoder = {
  layers: [10, 20, 30],
  padding: 'before',
  conversation: (text) => ({
    messages: [
      { role: 'system', content: [{ type: 'text', text: SYSTEM }] },
      { role: 'user', content: [{ type: 'text', text: text.replaceAll(IMAGE_TOKEN, '') }] },
    ],
    addGenerationPrompt: false,
  }),
};

/** `depths`: layers after which states are read. */
const readingAt = (depths: readonly number[]): DecoderReading => ({
  page(declaration, table) {
    table.ignore(/^(model\.)?(vision_tower|multi_modal_projector)\./);
    return declaration.states!(table, depths);
  },
});

/** Returns the columns of a text's states. Throws bad_checkpoint for weights that do not match the configuration, or a damaged tokenizer. */
export async function checkFlux2Texts(
  components: ComponentAccess,
  { layers }: Flux2Encoder,
): Promise<number> {
  const count = decoderDeclaration(components).layers.length;
  if (count < layers.at(-1)!) {
    const problem = `num_hidden_layers is ${count}, and FLUX.2 reads the states after the layers ${layers.join(', ')}: take the text encoder of the same pipeline`;
    throw new ConfigError('bad_checkpoint', `${ENCODER}/config.json`, problem, 'num_hidden_layers');
  }
  const { hidden } = await checkDecoder(components, readingAt(layers));
  await openTemplate(components);
  return layers.length * hidden;
}

/** Throws bad_request for layers that the encoder does not have, or whose states are not as wide as `columns`. */
export function checkLayers(
  components: ComponentAccess,
  { encoderLayers: asked }: Flux2Arguments,
  columns: number,
): void {
  if (!asked) return;
  const { layers, hidden } = decoderDeclaration(components);
  const isAscending = asked.every((depth, i) => depth > (asked[i - 1] ?? 0));
  if (isAscending && asked.at(-1)! <= layers.length && asked.length * hidden === columns) return;
  const wanted = say`${columns / hidden} ascending numbers of layers from 1 to ${layers.length}`;
  const message = say`the call argument text_encoder_out_layers is ${JSON.stringify(asked)}; this model takes ${wanted}`;
  throw badRequest(message, 'kwargs');
}

/** Returns the states of each text; the caller frees them. */
export async function readFlux2Texts(
  components: ComponentAccess,
  { layers, padding, conversation }: Flux2Encoder,
  texts: readonly string[],
  { maxSequenceLength: count = MOST_TOKENS, call, options }: RunRequest,
): Promise<TextStates[]> {
  const { encoderLayers = layers }: Flux2Arguments = call;
  const { tokenizer, template } = await openTemplate(components);
  const side = paddingSide(components) ?? padding;
  return readDecoder(components, readingAt(encoderLayers), {
    texts: texts.map((text) => filled(tokenizer, template.render(conversation(text)), { count, side })),
    options,
  });
}

/** Token ids of a text, cut or filled up to `count`. */
function filled(tokenizer: Tokenizer, text: string, { count, side }: Omit<Padding, 'id'>): StatesText {
  const { bos_token: bos, pad_token: pad } = tokenizer.specials;
  const addSpecialTokens = typeof bos === 'string' && !text.startsWith(bos);
  const ids = tokenizer.encode(text, { addSpecialTokens }).slice(0, count);
  const id = (typeof pad === 'string' ? tokenizer.tokenToId(pad) : null) ?? 0;
  return { ids, padding: { id, count: count - ids.length, side } };
}

function paddingSide(components: ComponentAccess): Padding['side'] | null {
  const { padding_side: side } = components.get('tokenizer').config;
  if (side === 'left') return 'before';
  return side === 'right' ? 'behind' : null;
}
