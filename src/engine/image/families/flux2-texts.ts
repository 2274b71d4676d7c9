// Texts of FLUX.2: states of a language model after three of its layers, side by side, for a prompt in a chat template. Padding fills each
// text up to a fixed number of tokens, and the denoiser sees the states of all of them.

import { say } from '../../../files/message.ts';
import { EngineError } from '../../../files/error.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { TextDeclaration } from '../../../models/text/architecture.ts';
import { readText } from '../../../models/text/registry.ts';
import type { WeightTable } from '../../../models/weights.ts';
import type { StatesText } from '../../text/step/states.ts';
import type { CallArguments } from '../call-arguments.ts';
import type { ComponentAccess } from '../components.ts';
import type { RunRequest } from './family.ts';
import { encodeStates } from './text-states.ts';
import { openTemplate } from './z-image-captions.ts';

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

/** `layers`: those whose states the published models read. */
export function qwenTexts(components: ComponentAccess, layers: readonly number[]): Flux2Texts {
  return textsOf(components, {
    layers,
    declaration() {
      const { className, config } = components.get(ENCODER);
      return readText(config, className);
    },
    async open() {
      const { tokenizer, template } = await openTemplate(components);
      const render = (text: string): string =>
        template.render({
          messages: [{ role: 'user', content: text }],
          kwargs: { enable_thinking: false },
        });
      return { tokenizer, render };
    },
  });
}

interface Encoder {
  layers: readonly number[];
  declaration(): TextDeclaration;
  open(): Promise<{ tokenizer: Tokenizer; render(text: string): string }>;
}

function textsOf(components: ComponentAccess, { layers, declaration, open }: Encoder): Flux2Texts {
  const page = (declared: TextDeclaration, depths: readonly number[]) => (table: WeightTable) =>
    declared.states!(table, depths);
  return {
    async check() {
      const declared = declaration();
      const count = declared.layers.length;
      if (count < layers.at(-1)!) {
        const message = `${ENCODER}/config.json: num_hidden_layers is ${count}, and FLUX.2 reads the states after the layers ${layers.join(', ')}: take the text encoder of the same pipeline`;
        throw new EngineError('bad_checkpoint', message, { param: 'num_hidden_layers' });
      }
      components.check(ENCODER, page(declared, layers));
      await open();
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
      const { tokenizer, render } = await open();
      return encodeStates(components, {
        component: ENCODER,
        declaration: declared,
        page: page(declared, call.encoderLayers ?? layers),
        texts: texts.map((text) => filled(tokenizer, render(text), maxSequenceLength)),
        options,
      });
    },
  };
}

/** Token ids of a text, cut or filled up to `count`. */
function filled(tokenizer: Tokenizer, text: string, count: number): StatesText {
  const ids = tokenizer.encode(text, { addSpecialTokens: false }).slice(0, count);
  const padding = count - ids.length;
  return { ids: [...ids, ...Array<number>(padding).fill(paddingId(tokenizer))], padding };
}

function paddingId(tokenizer: Tokenizer): number {
  const { pad_token: token } = tokenizer.specials;
  return (typeof token === 'string' ? tokenizer.tokenToId(token) : null) ?? 0;
}
