// Texts of FLUX.2: states of a language model after three of its layers, side by side, for a prompt in a chat template. Padding fills each
// text up to a fixed number of tokens, and the denoiser sees the states of all of them.

import { say } from '../../../../files/message.ts';
import { EngineError } from '../../../../files/error.ts';
import type { ChatRendering } from '../../../../files/template/template.ts';
import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import type { TextDeclaration } from '../../../../models/text/blocks/architecture.ts';
import { textHalf } from '../../../../models/text/wrappers.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { Padding, StatesText } from '../../../text/step/states.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { encoderDeclaration } from '../../blocks/encoder-declaration.ts';
import { encodeStates } from '../../blocks/text-states.ts';
import { openTemplate } from '../z-image/z-image-captions.ts';

/** Number of tokens that a text is filled up to, by default. */
const TOKENS = 512;
const ENCODER = 'text_encoder';

export interface Flux2TextArguments extends CallArguments {
  /** Numbers of layers after which the states are read, ascending; left out: those of the published models. */
  encoderLayers?: number[];
}

/** The text encoder of a pipeline. */
export interface Flux2Texts {
  /** Returns the columns of a text's states. Throws bad_checkpoint for weights that do not match the configuration, or a damaged tokenizer. */
  check(): Promise<number>;
  /** Throws bad_request for layers that the encoder does not have, or whose states are not as wide as `columns`. */
  checkLayers(call: Flux2TextArguments, columns: number): void;
  /** Returns the states of each text, [1, tokens, columns]; the caller frees them. */
  encode(texts: readonly string[], request: EncodeRequest): Promise<Tensor[]>;
}

type EncodeRequest = Pick<RunRequest, 'maxSequenceLength' | 'options'> & { call: Flux2TextArguments };

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

export function flux2Texts(components: ComponentAccess, encoder: Flux2Encoder): Flux2Texts {
  const { layers, conversation } = encoder;
  const declaration = (): TextDeclaration => encoderDeclaration(components, textHalf);
  const page = (declared: TextDeclaration, depths: readonly number[]) => (table: WeightTable) => {
    table.ignore(/^(model\.)?(vision_tower|multi_modal_projector)\./);
    return declared.states!(table, depths);
  };
  return {
    async check() {
      const declared = declaration();
      const count = declared.layers.length;
      if (count < layers.at(-1)!) {
        const message = `${ENCODER}/config.json: num_hidden_layers is ${count}, and FLUX.2 reads the states after the layers ${layers.join(', ')}: take the text encoder of the same pipeline`;
        throw new EngineError('bad_checkpoint', message, { param: 'num_hidden_layers' });
      }
      components.check(ENCODER, page(declared, layers));
      await openTemplate(components);
      return layers.length * declared.hidden;
    },
    checkLayers({ encoderLayers: asked }, columns) {
      if (!asked) return;
      const declared = declaration();
      const most = declared.layers.length;
      const isAscending = asked.every((depth, i) => depth > (asked[i - 1] ?? 0));
      if (isAscending && asked.at(-1)! <= most && asked.length * declared.hidden === columns) return;
      const wanted = say`${columns / declared.hidden} ascending numbers of layers from 1 to ${most}`;
      const message = say`the call argument text_encoder_out_layers is ${JSON.stringify(asked)}; this model takes ${wanted}`;
      throw new EngineError('bad_request', message, { param: 'kwargs' });
    },
    async encode(texts, { maxSequenceLength = TOKENS, call, options }) {
      const declared = declaration();
      const { tokenizer, template } = await openTemplate(components);
      const side = paddingSide(components, encoder);
      return encodeStates(components, {
        component: ENCODER,
        declaration: declared,
        page: page(declared, call.encoderLayers ?? layers),
        texts: texts.map((text) =>
          filled(tokenizer, template.render(conversation(text)), { count: maxSequenceLength, side }),
        ),
        options,
      });
    },
  };
}

/** Token ids of a text, cut or filled up to `count`. */
function filled(tokenizer: Tokenizer, text: string, { count, side }: Omit<Padding, 'id'>): StatesText {
  const { bos_token: bos } = tokenizer.specials;
  const addSpecialTokens = typeof bos === 'string' && !text.startsWith(bos);
  const ids = tokenizer.encode(text, { addSpecialTokens }).slice(0, count);
  const padding = { id: paddingId(tokenizer), count: count - ids.length, side };
  return { ids, padding };
}

function paddingSide(components: ComponentAccess, { padding }: Flux2Encoder): Padding['side'] {
  const { padding_side: side } = components.get('tokenizer').config;
  if (side === 'left') return 'before';
  return side === 'right' ? 'behind' : padding;
}

function paddingId(tokenizer: Tokenizer): number {
  const { pad_token: token } = tokenizer.specials;
  return (typeof token === 'string' ? tokenizer.tokenToId(token) : null) ?? 0;
}
