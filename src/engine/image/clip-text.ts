// What the denoiser of a Stable Diffusion model is told: states of one CLIP text encoder, or of two side by side (XL), for the
// prompt and, where guidance needs it, for what is not wanted.

import { readTokenizer } from '../../files/checkpoint.ts';
import { Tensor } from '../../gpu/tensor.ts';
import { concat } from '../../kernels/concat.ts';
import { scaleRows } from '../../kernels/scale-rows.ts';
import { clip } from '../../models/clip.ts';
import { poolingPosition, readClipConfig } from '../../models/clip-config.ts';
import { compute, freeTensors } from './compute.ts';
import type { Components } from './components.ts';
import { evenWindows, promptWindows, type ClipTokens, type PromptWindow } from './prompt.ts';

export interface ClipTextRequest {
  prompt: string;
  /** null: guidance is off. */
  negative: string | null;
  clipSkip: number;
  /** SDXL: what is not wanted is nothing at all, not the empty text. */
  zeroNegative: boolean;
  plain: boolean;
}

export interface ClipText {
  /** [1 or 2, tokens, columns], negative first */
  states: Tensor;
  /** XL: [1 or 2, columns] */
  pooled: Tensor | null;
}

/** Encoders of a pipeline: [encoder, tokenizer]. */
const ENCODERS = [
  ['text_encoder', 'tokenizer'],
  ['text_encoder_2', 'tokenizer_2'],
] as const;

/** `XL` takes the states before the last layer, without the norm; the others the last ones, with it. */
export async function encodeClip(
  components: Components,
  xl: boolean,
  request: ClipTextRequest,
): Promise<ClipText> {
  const encoders = ENCODERS.filter(([name]) => components.has(name));
  const texts: ClipText[] = [];
  for (const [encoder, tokenizer] of encoders)
    texts.push(await encode(components, encoder, tokenizer, xl, request));
  const [first, second] = texts as [ClipText, ClipText?];
  if (!second) return first;
  const { device } = components;
  const [states] = await compute(device, request, (tape) => [
    concat(first.states.on(tape), second.states.on(tape)),
  ]);
  freeTensors(device, [first.states, first.pooled, second.states]);
  return { states: states!, pooled: second.pooled };
}

async function encode(
  components: Components,
  encoder: string,
  tokenizer: string,
  xl: boolean,
  request: ClipTextRequest,
): Promise<ClipText> {
  const { device } = components;
  const { className, config: json } = components.get(encoder);
  const config = readClipConfig(json, className, `${encoder}/config.json`);
  const tokens = await clipTokens(components, tokenizer, config.positions);
  const { clipSkip, plain, zeroNegative } = request;
  const windows = batchOf(request, tokens);
  const sides = windows.length;
  const each = windows[0]!.length;
  const all = windows.flat();
  const depth = config.layers - clipSkip - (xl ? 1 : 0);
  const ends = windows.map(
    ([first], side) => side * each * tokens.length + poolingPosition(config, first!.ids),
  );
  // Nothing at all is zeros: their rows are multiplied away.
  const weights = all.flatMap((window, i) =>
    zeroNegative && i < each && sides > 1 ? window.weights.map(() => 0) : window.weights,
  );
  const keep = ends.map((_, side) => (zeroNegative && side === 0 && sides > 1 ? 0 : 1));

  return components.use(
    encoder,
    'text',
    (table) => clip(config, table),
    async (forward) => {
      const given = [
        device.tensor(
          'step',
          'token ids',
          [all.length, tokens.length],
          Uint32Array.from(all.flatMap(({ ids }) => ids)),
        ),
        device.tensor('step', 'text ends', [sides], Uint32Array.from(ends)),
        device.tensor('step', 'emphasis', [weights.length], Float32Array.from(weights)),
        device.tensor('step', 'texts kept', [sides], Float32Array.from(keep)),
      ] as const;
      const [ids, endRows, emphasis, kept] = given;
      const results = await compute(device, { plain }, (tape) => {
        const out = forward(tape, xl ? { ids, ends: endRows } : { ids }, { depth, normed: !xl });
        const states = scaleRows(out.states, emphasis.region!);
        return out.pooled ? [states, scaleRows(out.pooled, kept.region!)] : [states];
      });
      freeTensors(device, given);
      const [states, pooled] = results as [Tensor, Tensor?];
      const columns = states.columns;
      return {
        states: new Tensor([sides, each * tokens.length, columns], 'f32', { region: states.region! }),
        pooled: pooled ?? null,
      };
    },
  );
}

/** Windows of what is not wanted, if it is asked for, and of the prompt; as many each. */
function batchOf({ prompt, negative }: ClipTextRequest, tokens: ClipTokens): PromptWindow[][] {
  const wanted = promptWindows(prompt, tokens);
  if (negative === null) return [wanted];
  const unwanted = promptWindows(negative, tokens);
  evenWindows(unwanted, wanted, tokens);
  return [unwanted, wanted];
}

async function clipTokens(components: Components, name: string, length: number): Promise<ClipTokens> {
  const { folder, config } = components.get(name);
  const tokenizer = await readTokenizer(folder, await folder.names(), config);
  const idOf = (special: unknown, fallback: number): number =>
    (typeof special === 'string' ? tokenizer.tokenToId(special) : null) ?? fallback;
  const { bos_token, eos_token, pad_token } = tokenizer.specials;
  const last = tokenizer.vocabSize - 1;
  const eos = idOf(eos_token, last);
  return {
    encode: (text) => tokenizer.encode(text, { addSpecialTokens: false }),
    bos: idOf(bos_token, last - 1),
    eos,
    pad: idOf(pad_token, eos),
    length,
  };
}
