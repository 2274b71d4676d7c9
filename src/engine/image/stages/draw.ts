// Draws the images of a request, or of several that are alike, one stage after the other: text, source image, denoising, decoding. Each stage is a block whose
// `using` declarations define what is on the device while it runs; a stage's weights leave the device before the next one's are
// loaded, unless the weights of all components are small beside the budget.

import { bytesText } from '../../../files/bytes-text.ts';
import { EngineError } from '../../../files/error.ts';
import { BindingError } from '../../../gpu/gpu-error.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { plannedTiling, tilingFor } from './decoder-memory.ts';
import { openDecoder } from './decoding.ts';
import { denoise } from './denoising.ts';
import { batchesOf, Member, samplesOf, sharedContext, type Sample } from './member.ts';
import { optionsFor } from './attention.ts';
import { Stage, type StageContext } from './stage-context.ts';
import { openUpscaler } from './upscaling.ts';
import {
  encodeGiven,
  encodeReferences,
  encodesImages,
  samplesFrame,
  type Encoded,
  type EncodedReferences,
} from './encoding.ts';
import type { Prepared } from '../blocks/family.ts';
import type { Frames, StageName } from '../calls/image-model.ts';
import { latentTokens } from './latent-shape.ts';
import type { Sampled } from './sampler.ts';
import { Scope } from '../recording/scope.ts';

/** Codes of errors after which weights are loaded again. */
const LOST_WEIGHTS: ReadonlySet<string> = new Set(['out_of_memory', 'bad_checkpoint']);

/** Draws one request. */
export async function draw(context: StageContext): Promise<void> {
  let failure: unknown = null;
  await drawTogether([{ ...context, ended: (error) => (failure = error) }]);
  if (failure !== null) throw failure;
}

/**
 * Draws requests of equal values, which may differ in prompts, seeds, numbers of results and previews; those of several have no images. One
 * that is cancelled, or has an error of its own, ends without the others; an error that is thrown ends all that have not ended.
 */
export async function drawTogether(contexts: readonly [StageContext, ...StageContext[]]): Promise<void> {
  const [first, ...others] = contexts;
  await new Run([new Member(first), ...others.map((context) => new Member(context))]).draw();
}

class Run {
  readonly #members: readonly [Member, ...Member[]];
  /** The context of what all requests share. */
  readonly #context: StageContext;
  /** The memory for decoding is checked before any stage. */
  #stage: StageName = 'decoding';
  /** Strips in which the source image is encoded and previews are decoded. */
  #tiling: Tiling = {};

  constructor(members: readonly [Member, ...Member[]]) {
    this.#members = members;
    this.#context = sharedContext(members);
  }

  async draw(): Promise<void> {
    const context = this.#context;
    const { components, resolved } = context;
    // Discards errors that an earlier image left.
    components.device.takeError();
    try {
      this.#tiling = await plannedTiling(context);
      using texts = new Scope(components.device);
      for (const member of this.#members) await member.alone(() => this.#encodeText(member, texts));
      if (this.#members.every(({ isOver }) => isOver)) return;
      using encoded = await this.#encodeImage();
      using references = await this.#encodeReferences();
      this.#assertDone();
      const samples = samplesOf(this.#members);
      const { batch: most = 1 } = resolved;
      // Small models decode images as soon as they are denoised; large ones load the decoder once for all images.
      for (const group of components.resident ? batchesOf(samples, most) : [samples]) {
        using owner = new Scope(components.device);
        await this.#decode(await this.#denoise(group, { encoded, references, most }, owner));
        for (const member of this.#members) member.endIfDrawn();
      }
    } catch (error) {
      const failed = (error instanceof EngineError ? null : components.device.takeError()) ?? error;
      // Weights that have no memory, or whose file is damaged, would be kept for the next image; a tensor above the binding limit concerns none.
      const mayLose = failed instanceof EngineError && !(failed instanceof BindingError);
      if (mayLose && LOST_WEIGHTS.has(failed.code)) components.release();
      throw inWords(failed, this.#stage, resolved.event.values);
    }
  }

  /** Throws the error that the GPU layer reported outside of a call; the results since are worthless. */
  #assertDone(): void {
    const error = this.#context.components.device.takeError();
    if (error) throw error;
  }

  #enter(name: StageName, context = this.#context): Stage {
    const stage = new Stage(context, name);
    this.#stage = name;
    return stage;
  }

  /** `scope` takes over the encoded prompt. A prompt that exceeds a binding is the failure of its request alone. */
  async #encodeText(member: Member, scope: Scope): Promise<void> {
    const { context } = member;
    const { latents, resolved, emit } = context;
    try {
      member.prepared = scope.use(await this.#prepare(context));
    } catch (error) {
      if (!(error instanceof BindingError)) throw error;
      return member.fail(inWords(error, this.#stage, resolved.event.values));
    }
    this.#assertDone();
    const each = latentTokens(latents, resolved.event.values);
    emit({ type: 'tokens', text: member.prepared.tokens, image: this.#imageTokens(), each });
  }

  async #prepare(context: StageContext): Promise<Prepared> {
    const { runner, resolved, plan, references = [], controls = [] } = context;
    const { values, sources } = resolved.event;
    using _ = this.#enter('text-encoding', context);
    const run = {
      values,
      sources,
      call: resolved.call,
      calls: plan.calls,
      controls,
      imagePrompt: resolved.request.ipAdapterImage ?? null,
      references: references.flatMap(({ shown }) => shown ?? []),
    };
    const options = optionsFor(context, 'textEncoder');
    return await runner.prepare({ ...resolved.request, ...run, options });
  }

  /** Tokens of the source image, or of all reference images. */
  #imageTokens(): number {
    const { image, latents, resolved, references = [] } = this.#context;
    const sizes = [...(image ? [resolved.event.values] : []), ...references.map(({ fitted }) => fitted)];
    return sizes.reduce((sum, size) => sum + latentTokens(latents, size), 0);
  }

  async #encodeImage(): Promise<Encoded | null> {
    if (!encodesImages(this.#context)) return null;
    using _ = this.#enter('image-encoding');
    return await encodeGiven(this.#context, this.#tiling);
  }

  async #encodeReferences(): Promise<EncodedReferences> {
    const { references = [], runner } = this.#context;
    if (references.length === 0 || samplesFrame(runner)) return { latents: [], [Symbol.dispose]: () => {} };
    using _ = this.#enter('image-encoding');
    return await encodeReferences(this.#context, references, this.#tiling);
  }

  async #denoise(
    samples: readonly Sample[],
    given: { encoded: Encoded | null; references: EncodedReferences; most: number },
    owner: Scope,
  ): Promise<Map<Sample, Sampled>> {
    const { references, ...rest } = given;
    const wanted = samples.filter(({ of }) => !of.isOver);
    if (wanted.length === 0) return new Map();
    using _ = this.#enter('denoising');
    using denoiser = await wanted[0]!.of.prepared!.load(references.latents);
    return await denoise({ context: this.#context, tiling: this.#tiling, denoiser, ...rest }, wanted, owner);
  }

  async #decode(sampled: ReadonlyMap<Sample, Sampled>): Promise<void> {
    if (sampled.size === 0 || this.#context.decodesNothing === true) return;
    if (this.#context.upscaler == null)
      return this.#decodeEach(sampled, (sample, image) => this.#give(sample, image));
    const drawn = new Map<Sample, Frames>();
    await this.#decodeEach(sampled, (sample, image) => void drawn.set(sample, image));
    await this.#upscale(drawn);
  }

  async #decodeEach(
    sampled: ReadonlyMap<Sample, Sampled>,
    done: (sample: Sample, image: Frames) => void,
  ): Promise<void> {
    const shared = this.#context;
    using _ = this.#enter('decoding');
    using decoder = await openDecoder(shared, (page) => tilingFor(shared, page));
    for (const [sample, one] of sampled)
      await sample.of.alone(async () => {
        const { options, finish } = sample.of.context;
        const drawn = await decoder.decode(one, options);
        this.#assertDone();
        done(sample, finish?.(drawn) ?? drawn);
      });
  }

  async #upscale(drawn: ReadonlyMap<Sample, Frames>): Promise<void> {
    const [first] = drawn.values();
    if (!first) return;
    using _ = this.#enter('upscaling');
    using upscaler = await openUpscaler(this.#context, first);
    for (const [sample, image] of drawn)
      await sample.of.alone(async () => {
        const large = await upscaler.upscale(image);
        this.#assertDone();
        this.#give(sample, large);
      });
    await upscaler.profile();
  }

  #give({ of: member, index }: Sample, image: Frames): void {
    const { emit, resolved } = member.context;
    emit({ type: 'image', sample: index, seed: resolved.request.seed + index, image });
    member.drew();
  }
}

/**
 * Rewords the error of a tensor that exceeds the adapter's binding limit, by the part of the request that needs it, which is its parameter;
 * returns other errors unchanged.
 */
function inWords(
  error: unknown,
  stage: StageName,
  { width, height }: StageContext['resolved']['event']['values'],
): unknown {
  if (!(error instanceof BindingError)) return error;
  const { code, bytes, limit } = error;
  const takes = `takes ${bytesText(bytes)} in one piece, the adapter allows ${bytesText(limit)}`;
  if (stage === 'text-encoding')
    return new EngineError(code, `encoding the prompt ${takes}: make it shorter`, {
      param: 'prompt',
      cause: error,
    });
  const doing = stage === 'image-encoding' ? 'encoding' : stage;
  const message = `${doing} ${width} × ${height} pixels ${takes}: choose a smaller size`;
  return new EngineError(code, message, { param: 'width', cause: error });
}
