// Text conditions of a Stable Diffusion model: the states of one CLIP text encoder, or of two side by side (XL), for the prompt
// and, if guidance needs it, for the negative prompt.

import type { Device } from '../../../gpu/device.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { scaleRows } from '../../../kernels/scale-rows.ts';
import { clip, type ClipForward } from '../../../models/text/clip/clip.ts';
import { poolingPosition, type ClipConfig } from '../../../models/text/clip/clip-config.ts';
import { allocateTensor, compute, finitely, freeTensors, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import { clipConfig } from './clip-states.ts';
import { ClipWords } from './clip-words.ts';
import { Scope } from '../recording/scope.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { clipTokens, padWindows, promptWindows, type ClipTokens, type PromptWindow } from './prompt.ts';

export interface ClipTextRequest {
  prompt: string;
  /** null: guidance is off. */
  negative: string | null;
  /** Prompt of the second of two encoders; left out or empty: the same prompt. */
  prompt2?: string | undefined;
  negative2?: string | undefined;
  clipSkip: number;
  /** SDXL: a missing negative prompt becomes zeros instead of the encoded empty text. */
  zeroNegative: boolean;
  options: ComputeOptions;
}

export interface ClipText {
  /** [1 or 2, tokens, columns], negative first */
  states: Tensor;
  /** XL: [1 or 2, columns] */
  pooled: Tensor | null;
  /** Tokens of the prompt, without BOS, EOS and padding. */
  tokens: number;
}

type Encoded = Omit<ClipText, 'tokens'>;

/** Encoders of a pipeline: [encoder, tokenizer]. */
const ENCODERS = [
  ['text_encoder', 'tokenizer'],
  ['text_encoder_2', 'tokenizer_2'],
] as const;

/**
 * Returns the number of columns of a text's states. Throws bad_checkpoint for weights that do not match the encoders'
 * configurations, and for a damaged tokenizer.
 */
export async function checkEncoders(components: ComponentAccess): Promise<number> {
  let columns = 0;
  for (const [name, tokenizer] of ENCODERS) {
    if (!components.has(name)) continue;
    await components.tokenizer(tokenizer);
    const config = clipConfig(components, name);
    components.check(name, (table) => clip(config, table));
    wordsOf(components, name, config);
    columns += config.hidden;
  }
  return columns;
}

/** Encodes the texts. XL uses the states before the last layer, without the norm; the others use the last states, with it. */
export async function encodeClip(
  components: ComponentAccess,
  xl: boolean,
  request: ClipTextRequest,
): Promise<ClipText> {
  const { device } = components;
  const encoders = ENCODERS.filter(([name]) => components.has(name));
  const readers: Reader[] = [];
  for (const [i, [name, tokenizer]] of encoders.entries())
    readers.push(await reader(components, name, tokenizer, textsOf(request, i)));
  const longest = Math.max(...readers.flatMap(({ texts }) => texts.map(({ length }) => length)));
  using parts = new Scope(device);
  using results = new Scope(device);
  const texts: ClipText[] = [];
  for (const [i, reader] of readers.entries()) {
    const text = await encode(components, reader, longest, xl, request);
    const isLast = i === readers.length - 1;
    (readers.length === 1 ? results : parts).hold(text.states);
    if (text.pooled) (isLast ? results : parts).hold(text.pooled);
    texts.push(text);
  }
  const [first, second] = texts as [ClipText, ClipText?];
  const [states] = second
    ? await compute(device, request.options, (tape) => [
        concat(first.states.on(tape), second.states.on(tape)),
      ])
    : [first.states];
  results.release();
  return { states: states!, pooled: (second ?? first).pooled, tokens: first.tokens };
}

/** An encoder with the token windows of the negative prompt (under guidance) and of the prompt. */
interface Reader {
  encoder: string;
  config: ClipConfig;
  words: ClipWords;
  tokens: ClipTokens;
  texts: PromptWindow[][];
}

/** Texts of an encoder, as in diffusers: an empty second text is replaced by the first one. */
function textsOf({ prompt, negative, prompt2, negative2 }: ClipTextRequest, encoder: number): string[] {
  const wanted = (encoder === 1 && prompt2) || prompt;
  return negative === null ? [wanted] : [(encoder === 1 && negative2) || negative, wanted];
}

async function reader(
  components: ComponentAccess,
  encoder: string,
  tokenizer: string,
  texts: readonly string[],
): Promise<Reader> {
  const config = clipConfig(components, encoder);
  const words = wordsOf(components, encoder, config);
  const plain = await clipTokens(components, tokenizer, config.positions);
  const tokens = { ...plain, encode: (text: string) => words.encode(text, plain.encode) };
  return { encoder, config, words, tokens, texts: texts.map((text) => promptWindows(text, tokens)) };
}

async function encode(
  components: ComponentAccess,
  { encoder, config, words, tokens, texts }: Reader,
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
    // `clipSkip` skips layers for the prompt but not for the negative prompt, like in diffusers.
    return { windows, depth: last - (isPrompt ? clipSkip : 0), zero: zeroNegative && !isPrompt };
  });

  const build = (table: WeightTable) => clip(config, table);
  using weights = await components.load(encoder, 'text', build, request.options);
  using parts = new Scope(device);
  const encoded: Encoded[] = [];
  for (const side of sides) {
    const run = (options: ComputeOptions, notFinite: Region): Promise<Encoded> =>
      encodeSide(device, weights.page, { ...side, config, words, xl }, options, notFinite);
    const free = ({ states, pooled }: Encoded): void => freeTensors(device, [states, pooled]);
    const text = await finitely(device, request.options, 'the text encoder', run, free);
    parts.hold(text.states);
    if (text.pooled) parts.hold(text.pooled);
    encoded.push(text);
  }
  const made = encoded.map(({ states }) => states);
  const pools = encoded.flatMap(({ pooled }) => (pooled ? [pooled] : []));
  const { windows } = sides.at(-1)!;
  const counted = windows.reduce((sum, { ids }) => sum + ids.indexOf(tokens.eos, 1) - 1, 0);
  using results = new Scope(device);
  const shape = [made.length, made[0]!.rows({}), made[0]!.columns];
  const states = results.hold(joinRows(device, made, shape));
  const pooled = pools.length === 0 ? null : joinRows(device, pools, [pools.length, pools[0]!.columns]);
  results.release();
  return { states, pooled, tokens: counted };
}

/** Words with embeddings of their own. Throws unsupported for those of another model. */
function wordsOf(components: ComponentAccess, encoder: string, { hidden }: ClipConfig): ClipWords {
  return new ClipWords(components.words, encoder, hidden, components.has('text_encoder_2'));
}

interface Side {
  config: ClipConfig;
  words: ClipWords;
  xl: boolean;
  windows: readonly PromptWindow[];
  /** Number of layers that are run. */
  depth: number;
  /** The states are zeros and nothing is encoded. */
  zero: boolean;
}

/** Encodes a prompt's windows to states and pooled states; raises `notFinite` if a value is not finite. */
async function encodeSide(
  device: Device,
  forward: ClipForward,
  { config, words, xl, windows, depth, zero }: Side,
  options: ComputeOptions,
  notFinite: Region,
): Promise<Encoded> {
  using scope = new Scope(device);
  const numbers = (label: string, shape: number[], values: Float32Array | Uint32Array): Tensor =>
    scope.hold(device.tensor('step', label, shape, values));
  const ids = windows.flatMap((window) => window.ids);
  const weights = windows.flatMap((window) => window.weights.map((weight) => (zero ? 0 : weight)));
  const rows = [windows.length, ids.length / windows.length];
  const idRows = numbers('token ids', rows, Uint32Array.from(ids));
  const end = numbers('text end', [1], Uint32Array.of(poolingPosition(config, windows[0]!.ids)));
  const emphasis = numbers('emphasis', [ids.length], Float32Array.from(weights));
  const kept = numbers('kept', [1], Float32Array.of(zero ? 0 : 1));
  const one = numbers('one', [1], Float32Array.of(1));
  const extra =
    words.rows && numbers('embedded words', [words.rows.rows, words.rows.columns], words.rows.values);
  const [states, pooled = null] = await compute(device, options, (tape) => {
    const inputs = {
      ids: idRows,
      ...(xl && { ends: end }),
      ...(extra && { extra: extra.on(tape) }),
    };
    const out = forward(tape, inputs, { depth, normed: !xl });
    const checked = (x: Tensor): Tensor => linearCombination([x], one.region!, notFinite);
    const scaled = scaleRows(checked(out.states), emphasis.region!);
    return out.pooled ? [scaled, scaleRows(checked(out.pooled), kept.region!)] : [scaled];
  });
  return { states: states!, pooled };
}

/** Concatenates the rows of several tensors. */
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
