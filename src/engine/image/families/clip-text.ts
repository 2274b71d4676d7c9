// What the denoiser of a Stable Diffusion model is told: states of one CLIP text encoder, or of two side by side (XL), for the
// prompt and, where guidance needs it, for what is not wanted.

import type { Device } from '../../../gpu/device.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { scaleRows } from '../../../kernels/scale-rows.ts';
import { clip, type ClipForward } from '../../../models/text/clip.ts';
import { poolingPosition, readClipConfig, type ClipConfig } from '../../../models/text/clip-config.ts';
import { allocateTensor, compute, finitely, freeTensors, type ComputeOptions } from '../compute.ts';
import type { Components } from '../components.ts';
import { createHeld, orFree } from '../held.ts';
import { padWindows, promptWindows, type ClipTokens, type PromptWindow } from '../prompt.ts';

export interface ClipTextRequest {
  prompt: string;
  /** null: guidance is off. */
  negative: string | null;
  /** For the second of two encoders; left out or empty: the same. */
  prompt2?: string | undefined;
  negative2?: string | undefined;
  clipSkip: number;
  /** SDXL: what is not wanted is nothing at all, not the empty text. */
  zeroNegative: boolean;
  options: ComputeOptions;
}

export interface ClipText {
  /** [1 or 2, tokens, columns], negative first */
  states: Tensor;
  /** XL: [1 or 2, columns] */
  pooled: Tensor | null;
  /** Of the prompt, without what is put around them. */
  tokens: number;
}

type Encoded = Omit<ClipText, 'tokens'>;

/** Encoders of a pipeline: [encoder, tokenizer]. */
const ENCODERS = [
  ['text_encoder', 'tokenizer'],
  ['text_encoder_2', 'tokenizer_2'],
] as const;

/** Columns of a text's states. Throws bad_checkpoint for weights that the encoders' configurations do not ask for, and for a broken tokenizer. */
export async function checkEncoders(components: Components): Promise<number> {
  let columns = 0;
  for (const [name, tokenizer] of ENCODERS) {
    if (!components.has(name)) continue;
    await components.tokenizer(tokenizer);
    const { className, config: json } = components.get(name);
    const config = readClipConfig(json, className, `${name}/config.json`);
    components.check(name, (table) => clip(config, table));
    columns += config.hidden;
  }
  return columns;
}

/** `XL` takes the states before the last layer, without the norm; the others the last ones, with it. */
export async function encodeClip(
  components: Components,
  xl: boolean,
  request: ClipTextRequest,
): Promise<ClipText> {
  const { device } = components;
  const encoders = ENCODERS.filter(([name]) => components.has(name));
  const readers: Reader[] = [];
  for (const [i, [name, tokenizer]] of encoders.entries())
    readers.push(await reader(components, name, tokenizer, textsOf(request, i)));
  const longest = Math.max(...readers.flatMap(({ texts }) => texts.map(({ length }) => length)));
  return orFree(device, async ({ later }) => {
    const texts: ClipText[] = [];
    for (const reader of readers) {
      const text = await encode(components, reader, longest, xl, request);
      later(() => freeText(device, text));
      texts.push(text);
    }
    const [first, second] = texts as [ClipText, ClipText?];
    if (!second) return first;
    const [states] = await compute(device, request.options, (tape) => [
      concat(first.states.on(tape), second.states.on(tape)),
    ]);
    freeTensors(device, [first.states, first.pooled, second.states]);
    return { states: states!, pooled: second.pooled, tokens: first.tokens };
  });
}

function freeText(device: Device, { states, pooled }: Encoded): void {
  freeTensors(device, [states, pooled]);
}

/** An encoder, and the windows of what is not wanted, if it is asked for, and of the prompt. */
interface Reader {
  encoder: string;
  config: ClipConfig;
  tokens: ClipTokens;
  texts: PromptWindow[][];
}

/** What an encoder reads, as in diffusers: an empty second text is the first one. */
function textsOf({ prompt, negative, prompt2, negative2 }: ClipTextRequest, encoder: number): string[] {
  const wanted = (encoder === 1 && prompt2) || prompt;
  return negative === null ? [wanted] : [(encoder === 1 && negative2) || negative, wanted];
}

async function reader(
  components: Components,
  encoder: string,
  tokenizer: string,
  texts: readonly string[],
): Promise<Reader> {
  const { className, config: json } = components.get(encoder);
  const config = readClipConfig(json, className, `${encoder}/config.json`);
  const tokens = await clipTokens(components, tokenizer, config.positions);
  return { encoder, config, tokens, texts: texts.map((text) => promptWindows(text, tokens)) };
}

async function encode(
  components: Components,
  { encoder, config, tokens, texts }: Reader,
  windowCount: number,
  xl: boolean,
  request: ClipTextRequest,
): Promise<ClipText> {
  const { device } = components;
  const { clipSkip, zeroNegative } = request;
  const last = config.layers - (xl ? 1 : 0);
  const sides = texts.map((text, i, { length }) => {
    const isPrompt = i === length - 1;
    const windows = padWindows(text, windowCount, tokens);
    // As diffusers does it, layers are left out for the prompt alone.
    return { windows, depth: last - (isPrompt ? clipSkip : 0), zero: zeroNegative && !isPrompt };
  });

  return components.use(
    encoder,
    'text',
    (table) => clip(config, table),
    async (forward) => {
      const held = createHeld(device);
      try {
        const encoded: Encoded[] = [];
        for (const side of sides) {
          const run = (options: ComputeOptions, notFinite: Region): Promise<Encoded> =>
            encodeSide(device, forward, { ...side, config, xl }, options, notFinite);
          const free = (text: Encoded): void => freeText(device, text);
          const text = await finitely(device, request.options, 'the text encoder', run, free);
          held.later(() => free(text));
          encoded.push(text);
        }
        const made = encoded.map(({ states }) => states);
        const pools = encoded.flatMap(({ pooled }) => (pooled ? [pooled] : []));
        return await orFree(device, async ({ hold }) => {
          const counted = sides
            .at(-1)!
            .windows.reduce((sum, { ids }) => sum + ids.indexOf(tokens.eos, 1) - 1, 0);
          const states = hold(joinRows(device, made, [made.length, made[0]!.rows({}), made[0]!.columns]));
          if (pools.length === 0) return { states, pooled: null, tokens: counted };
          const pooled = joinRows(device, pools, [pools.length, pools[0]!.columns]);
          return { states, pooled, tokens: counted };
        });
      } finally {
        held.free();
      }
    },
  );
}

interface Side {
  config: ClipConfig;
  xl: boolean;
  windows: readonly PromptWindow[];
  /** Layers that are run for the states. */
  depth: number;
  /** Nothing at all is zeros. */
  zero: boolean;
}

/** States and pooled states of a prompt's windows; `notFinite` is raised where one is no finite number. */
async function encodeSide(
  device: Device,
  forward: ClipForward,
  { config, xl, windows, depth, zero }: Side,
  options: ComputeOptions,
  notFinite: Region,
): Promise<Encoded> {
  const { hold, free } = createHeld(device);
  const numbers = (label: string, shape: number[], values: Float32Array | Uint32Array): Tensor =>
    hold(device.tensor('step', label, shape, values));
  const ids = windows.flatMap((window) => window.ids);
  const weights = windows.flatMap((window) => window.weights.map((weight) => (zero ? 0 : weight)));
  try {
    const rows = [windows.length, ids.length / windows.length];
    const idRows = numbers('token ids', rows, Uint32Array.from(ids));
    const end = numbers('text end', [1], Uint32Array.of(poolingPosition(config, windows[0]!.ids)));
    const emphasis = numbers('emphasis', [ids.length], Float32Array.from(weights));
    const kept = numbers('kept', [1], Float32Array.of(zero ? 0 : 1));
    const one = numbers('one', [1], Float32Array.of(1));
    const [states, pooled = null] = await compute(device, options, (tape) => {
      const inputs = xl ? { ids: idRows, ends: end } : { ids: idRows };
      const out = forward(tape, inputs, { depth, normed: !xl });
      const checked = (x: Tensor): Tensor => linearCombination([x], one.region!, notFinite);
      const scaled = scaleRows(checked(out.states), emphasis.region!);
      return out.pooled ? [scaled, scaleRows(checked(out.pooled), kept.region!)] : [scaled];
    });
    return { states: states!, pooled };
  } finally {
    free();
  }
}

/** Rows of several tensors, one after the other. */
function joinRows(device: Device, parts: readonly Tensor[], shape: readonly number[]): Tensor {
  const joined = allocateTensor(device, 'text', shape);
  const encoder = device.gpu.createCommandEncoder();
  let at = 0;
  for (const part of parts) {
    const bytes = part.rows({}) * part.stride * 4;
    encoder.copyBufferToBuffer(part.region!.buffer, 0, joined.region!.buffer, at, bytes);
    at += bytes;
  }
  device.gpu.queue.submit([encoder.finish()]);
  return joined;
}

async function clipTokens(components: Components, name: string, length: number): Promise<ClipTokens> {
  const tokenizer = await components.tokenizer(name);
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
