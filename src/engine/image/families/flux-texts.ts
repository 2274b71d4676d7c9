// Texts of FLUX.1: T5's states of a prompt, padded to a fixed number of tokens that all take part, and CLIP's pooled state of it.

import { say } from '../../../files/message.ts';
import { EngineError } from '../../../files/error.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { Region, Tensor } from '../../../gpu/tensor.ts';
import { linearCombination } from '../../../kernels/linear-combination.ts';
import { clip } from '../../../models/text/clip.ts';
import { poolingPosition, readClipConfig, type ClipConfig } from '../../../models/text/clip-config.ts';
import { t5 } from '../../../models/text/t5.ts';
import { distanceBuckets, readT5Config, type T5Config } from '../../../models/text/t5-config.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../compute.ts';
import type { ComponentAccess } from '../components.ts';
import { Scope } from '../scope.ts';
import { clipTokens } from './clip-text.ts';
import type { RunRequest } from './family.ts';

/** Most tokens of a prompt that T5 reads, and their number by default. */
export const MOST_TOKENS = 512;

const CLIP = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
const T5 = { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' };

/** A text as CLIP and T5 read it; the second is the first unless the request gives another. */
export interface FluxText {
  clip: string;
  t5: string;
}

export interface FluxStates {
  /** [1, tokens, textDims] */
  states: Tensor;
  /** [1, pooledDims] */
  pooled: Tensor;
}

/** Throws bad_checkpoint for weights that do not match the encoders' configurations, and for a damaged tokenizer. */
export async function checkFluxEncoders(
  components: ComponentAccess,
): Promise<{ text: number; pooled: number }> {
  const ofClip = clipConfig(components);
  const ofT5 = t5Config(components);
  components.check(CLIP.encoder, (table) => clip(ofClip, table));
  components.check(T5.encoder, (table) => t5(ofT5, table));
  await components.tokenizer(CLIP.tokenizer);
  await components.tokenizer(T5.tokenizer);
  return { text: ofT5.hidden, pooled: ofClip.projection ?? ofClip.hidden };
}

/** Throws bad_request for a limit above the number of tokens that T5 reads. */
export function checkLength({
  maxSequenceLength = MOST_TOKENS,
}: Pick<RunRequest, 'maxSequenceLength'>): void {
  if (maxSequenceLength <= MOST_TOKENS) return;
  const problem = say`maxSequenceLength is ${maxSequenceLength}; the model reads at most ${MOST_TOKENS} tokens of a prompt`;
  throw new EngineError('bad_request', problem, { param: 'maxSequenceLength' });
}

/** Encodes texts; the caller frees them. Each encoder leaves the device before the next is loaded. */
export async function encodeFlux(
  components: ComponentAccess,
  texts: readonly FluxText[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
): Promise<FluxStates[]> {
  using made = new Scope(components.device);
  const pooled = await poolTexts(
    components,
    texts.map((text) => text.clip),
    options,
    made,
  );
  const states = await readTexts(
    components,
    texts.map((text) => text.t5),
    maxSequenceLength,
    options,
    made,
  );
  made.move();
  return texts.map((_, i) => ({ states: states[i]!, pooled: pooled[i]! }));
}

export function freeStates(components: ComponentAccess, texts: readonly FluxStates[]): void {
  freeTensors(
    components.device,
    texts.flatMap(({ states, pooled }) => [states, pooled]),
  );
}

function clipConfig(components: ComponentAccess): ClipConfig {
  const { className, config } = components.get(CLIP.encoder);
  return readClipConfig(config, className, `${CLIP.encoder}/config.json`);
}

function t5Config(components: ComponentAccess): T5Config {
  return readT5Config(components.get(T5.encoder).config, `${T5.encoder}/config.json`);
}

/** Returns CLIP's pooled state of each text, [1, columns]; `made` owns them. */
async function poolTexts(
  components: ComponentAccess,
  texts: readonly string[],
  options: ComputeOptions,
  made: Scope,
): Promise<Tensor[]> {
  const { device } = components;
  const config = clipConfig(components);
  const tokens = await clipTokens(components, CLIP.tokenizer, config.positions);
  using weights = await components.load(
    CLIP.encoder,
    'pooled',
    (table: WeightTable) => clip(config, table),
    options,
  );
  const pooled: Tensor[] = [];
  for (const text of texts) {
    const words = tokens.encode(text).slice(0, tokens.length - 2);
    const ids = [tokens.bos, ...words, tokens.eos];
    while (ids.length < tokens.length) ids.push(tokens.pad);
    using inputs = new Scope(device);
    const rows = inputs.hold(device.tensor('step', 'token ids', [1, ids.length], Uint32Array.from(ids)));
    const end = inputs.hold(
      device.tensor('step', 'text end', [1], Uint32Array.of(poolingPosition(config, ids))),
    );
    const found = await encodeOne(components, "CLIP's text encoder", options, (run, check) =>
      compute(device, run, (tape) => {
        const out = weights.page(tape, { ids: rows, ends: end }, { depth: config.layers, normed: true });
        return [check(out.pooled!)];
      }),
    );
    pooled.push(made.hold(found));
  }
  return pooled;
}

/** Returns T5's states of each text, [1, tokens, columns]; `made` owns them. */
async function readTexts(
  components: ComponentAccess,
  texts: readonly string[],
  count: number,
  options: ComputeOptions,
  made: Scope,
): Promise<Tensor[]> {
  const { device } = components;
  const config = t5Config(components);
  const tokenizer = await components.tokenizer(T5.tokenizer);
  using weights = await components.load(
    T5.encoder,
    'text',
    (table: WeightTable) => t5(config, table),
    options,
  );
  using inputs = new Scope(device);
  const classes = distanceBuckets(config, count);
  const buckets = inputs.hold(device.tensor('step', 'classes of distances', [1, classes.length], classes));
  const states: Tensor[] = [];
  for (const text of texts) {
    const ids = inputs.hold(
      device.tensor('step', 'token ids', [1, count], paddedIds(tokenizer, text, count)),
    );
    const found = await encodeOne(components, 'the T5 encoder', options, (run, check) =>
      compute(device, run, (tape) => [check(weights.page(tape, { ids, buckets }))]),
    );
    states.push(made.hold(found));
  }
  return states;
}

/** Token ids of a text with its end token, cut or padded to `count`. */
function paddedIds(tokenizer: Tokenizer, text: string, count: number): Uint32Array<ArrayBuffer> {
  const { eos_token, pad_token } = tokenizer.specials;
  const idOf = (token: unknown, otherwise: number): number =>
    (typeof token === 'string' ? tokenizer.tokenToId(token) : null) ?? otherwise;
  const ids = new Uint32Array(count).fill(idOf(pad_token, 0));
  const words = tokenizer.encode(text, { addSpecialTokens: false }).slice(0, count - 1);
  ids.set([...words, idOf(eos_token, 1)]);
  return ids;
}

type Check = (x: Tensor) => Tensor;

/** Computes one tensor, again in plain f32 where a value is not finite. */
function encodeOne(
  { device }: ComponentAccess,
  what: string,
  options: ComputeOptions,
  run: (options: ComputeOptions, check: Check) => Promise<Tensor[]>,
): Promise<Tensor> {
  const once = async (way: ComputeOptions, notFinite: Region): Promise<Tensor> => {
    using inputs = new Scope(device);
    const one = inputs.hold(device.tensor('step', 'one', [1], Float32Array.of(1)));
    const [made] = await run(way, (x) => linearCombination([x], one.region!, notFinite));
    return made!;
  };
  return finitely(device, options, what, once, (made) => freeTensors(device, [made]));
}
