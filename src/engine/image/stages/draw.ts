// Draws the images of a request, one stage after the other: text, source image, denoising, decoding. Each stage is a block whose
// `using` declarations define what is on the device while it runs; a stage's weights leave the device before the next one's are
// loaded, unless the weights of all components are small beside the budget.

import { bytesText } from '../../../files/bytes-text.ts';
import { EngineError } from '../../../files/error.ts';
import { BindingError } from '../../../gpu/gpu-error.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { assertWanted, NotFiniteError, type ComputeOptions } from '../recording/compute.ts';
import { plannedTiling, tilingFor } from './decoder-memory.ts';
import { openDecoder, previewer } from './decoding.ts';
import { openUpscaler } from './upscaling.ts';
import { contextAsDrawn, Stage, type StageContext } from './stage-context.ts';
import {
  encodeGiven,
  encodeReferences,
  encodesImages,
  samplesFrame,
  type Encoded,
  type EncodedReferences,
} from './encoding.ts';
import type { DenoiserPage, Prepared } from '../blocks/family.ts';
import type { Frames, Size, StageName } from '../calls/image-model.ts';
import { latentTokens, shapeOfLatents } from './latent-shape.ts';
import { cpuNoise } from './noise-cpu.ts';
import { cudaNoise } from './noise-cuda.ts';
import { isDivisible, LatentSampler, type Sampled, type SampleRequest } from './sampler.ts';
import { Scope } from '../recording/scope.ts';

/** Codes of errors after which weights are loaded again. */
const LOST_WEIGHTS: ReadonlySet<string> = new Set(['out_of_memory', 'bad_checkpoint']);

export async function draw(context: StageContext): Promise<void> {
  await new Run(contextAsDrawn(context)).draw();
}

interface Sampling {
  samples: readonly number[];
  options: ComputeOptions;
  done(sample: number, made: Sampled): void;
}

class Run {
  readonly #context: StageContext;
  /** The memory for decoding is checked before any stage. */
  #stage: StageName = 'decoding';
  /** Strips in which the source image is encoded and previews are decoded. */
  #tiling: Tiling = {};

  constructor(context: StageContext) {
    this.#context = context;
  }

  async draw(): Promise<void> {
    const context = this.#context;
    const { components, resolved, emit } = context;
    // An error of an earlier image is none of this one.
    components.device.takeError();
    try {
      this.#tiling = await plannedTiling(context);
      using prepared = await this.#encodeText();
      this.#assertDone();
      const each = latentTokens(context.latents, resolved.event.values);
      emit({ type: 'tokens', text: prepared.tokens, image: this.#imageTokens(), each });
      using encoded = await this.#encodeImage();
      using references = await this.#encodeReferences();
      this.#assertDone();
      const samples = Array.from({ length: resolved.event.values.samples }, (_, i) => i);
      // Small models decode images as soon as they are denoised; large ones load the decoder once for all images.
      for (const group of components.resident ? groupsOf(samples, this.#batch(encoded)) : [samples]) {
        using owner = new Scope(components.device);
        const sampled = await this.#denoise(prepared, { encoded, references }, group, owner);
        await this.#decode(sampled, group);
      }
    } catch (error) {
      const failed = (error instanceof EngineError ? null : components.device.takeError()) ?? error;
      // Weights that have no memory, or whose file is damaged, would be kept for the next image.
      if (failed instanceof EngineError && LOST_WEIGHTS.has(failed.code)) components.release();
      throw inWords(failed, this.#stage, resolved.event.values);
    }
  }

  /** Throws the error that the GPU layer reported outside of a call; the results since are worthless. */
  #assertDone(): void {
    const error = this.#context.components.device.takeError();
    if (error) throw error;
  }

  #enter(name: StageName): Stage {
    const stage = new Stage(this.#context, name);
    this.#stage = name;
    return stage;
  }

  async #encodeText(): Promise<Prepared> {
    const { runner, resolved, options, plan, references = [], controls = [] } = this.#context;
    const { values, sources } = resolved.event;
    using _ = this.#enter('text-encoding');
    const run = {
      values,
      sources,
      call: resolved.call,
      calls: plan.calls,
      controls,
      imagePrompt: resolved.request.ipAdapterImage ?? null,
      references: references.flatMap(({ shown }) => shown ?? []),
    };
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

  /**
   * Returns the latents of each sample; `owner` takes them over. Samples with a step that is not finite are drawn again from the first step
   * by plain f32 kernels.
   */
  async #denoise(
    prepared: Prepared,
    { encoded, references }: { encoded: Encoded | null; references: EncodedReferences },
    samples: readonly number[],
    owner: Scope,
  ): Promise<Sampled[]> {
    using _ = this.#enter('denoising');
    using denoiser = await prepared.load(references.latents);
    const { options, emit } = this.#context;
    const drawn = new Map<number, Sampled>();
    const done = (sample: number, made: Sampled): void => {
      owner.hold(made.latents);
      drawn.set(sample, made);
    };
    let failed = await this.#sampleAll(denoiser, encoded, { samples, options, done });
    if (failed.length > 0 && !options.plain) {
      const message = 'a step gave values that are not finite numbers; the image is drawn again in plain f32';
      failed.forEach(() => emit({ type: 'note', message }));
      const plain = { ...options, plain: true };
      failed = await this.#sampleAll(denoiser, encoded, { samples: failed, options: plain, done });
    }
    if (failed.length > 0) throw new NotFiniteError();
    return samples.map((sample) => drawn.get(sample)!);
  }

  /** Passes the latents of each sample on, and returns the samples with a step that is not finite. */
  async #sampleAll(
    denoiser: DenoiserPage,
    encoded: Encoded | null,
    { samples, options, done }: Sampling,
  ): Promise<number[]> {
    // Images that are drawn again in plain f32 are few.
    const images =
      options.plain && !this.#context.options.plain ? 1 : Math.min(this.#batch(encoded), samples.length);
    using sampler = await this.#openSampler(denoiser, encoded, images, options);
    const failed: number[] = [];
    for (let first = 0; first < samples.length; first += images) {
      const batch = samples.slice(first, first + images);
      const made = await sampler.sample(batch.map((sample) => this.#sampleRequest(sample)));
      for (const [i, sample] of batch.entries()) {
        const latents = made[i];
        if (latents) done(sample, latents);
        else failed.push(sample);
      }
    }
    await sampler.profile();
    return failed;
  }

  /** Records the denoiser for the samples of the request. */
  #openSampler(
    denoiser: DenoiserPage,
    encoded: Encoded | null,
    images: number,
    options: ComputeOptions,
  ): Promise<LatentSampler> {
    const { autoencoder, components, latents, resolved, plan, references = [], runner } = this.#context;
    const { values } = resolved.event;
    return LatentSampler.open({
      device: components.device,
      autoencoder,
      shape: shapeOfLatents(latents, values),
      plan,
      images,
      strength: values.strength,
      encoded,
      besideLast: runner.frameImages?.samplesLast ?? false,
      takesMeans: references.length > 0 && !samplesFrame(runner),
      options,
      predictor: (x, output, extra) => denoiser.record(x, output, extra, options),
    });
  }

  /** Number of images that the denoiser takes at once. */
  #batch(encoded: Encoded | null): number {
    const { runner, resolved, latents } = this.#context;
    const { batch = 1, event } = resolved;
    const hasExtra = encoded !== null && (encoded.beside !== null || (encoded.mask?.masked ?? null) !== null);
    const takes = runner.batches?.(event.values) === true && !hasExtra;
    return takes && isDivisible(shapeOfLatents(latents, event.values)) ? batch : 1;
  }

  #sampleRequest(sample: number): SampleRequest {
    const { resolved, signal, emit, runner } = this.#context;
    const { previews = 0, seed } = resolved.request;
    const show = previews > 0 ? previewer(this.#context, sample, this.#tiling) : null;
    const noise = resolved.event.values.generatorDevice === 'cuda' ? cudaNoise : cpuNoise;
    return {
      noise: noise(seed + sample),
      signal,
      preview: show && { most: previews, show },
      leavesNoise: runner.leftNoise !== undefined,
      injects: this.#noiseSizes().map(({ height, width }) => height * width),
      onStep: (step) => emit({ type: 'step', sample, ...step }),
    };
  }

  /** Sizes of the noise that layers of the decoder add. */
  #noiseSizes(): readonly Size[] {
    const { autoencoder, latents, resolved } = this.#context;
    const [, height, width] = shapeOfLatents(latents, resolved.event.values) as [number, number, number];
    return autoencoder.noiseSizes?.({ height, width }) ?? [];
  }

  async #decode(sampled: readonly Sampled[], samples: readonly number[]): Promise<void> {
    if (this.#context.upscaler == null)
      return this.#decodeEach(sampled, samples, (sample, image) => this.#give(sample, image));
    const drawn: Frames[] = [];
    await this.#decodeEach(sampled, samples, (_, image) => void drawn.push(image));
    await this.#upscale(drawn, samples);
  }

  #give(sample: number, image: Frames): void {
    const { emit, resolved } = this.#context;
    emit({ type: 'image', sample, seed: resolved.request.seed + sample, image });
  }

  async #upscale(drawn: readonly Frames[], samples: readonly number[]): Promise<void> {
    using _ = this.#enter('upscaling');
    using upscaler = await openUpscaler(this.#context, drawn[0]!);
    for (const [i, sample] of samples.entries()) {
      const image = await upscaler.upscale(drawn[i]!);
      this.#assertDone();
      this.#give(sample, image);
    }
    await upscaler.profile();
  }

  async #decodeEach(
    sampled: readonly Sampled[],
    samples: readonly number[],
    done: (sample: number, image: Frames) => void,
  ): Promise<void> {
    const context = this.#context;
    using _ = this.#enter('decoding');
    using decoder = await openDecoder(context, (page) => tilingFor(context, page));
    for (const [i, sample] of samples.entries()) {
      assertWanted(context.signal);
      const drawn = await decoder.decode(sampled[i]!);
      this.#assertDone();
      done(sample, context.finish?.(drawn) ?? drawn);
    }
  }
}

const groupsOf = (samples: readonly number[], size: number): number[][] =>
  Array.from({ length: Math.ceil(samples.length / size) }, (_, i) => samples.slice(i * size, (i + 1) * size));

/**
 * Rewords the error of a tensor that exceeds the adapter's binding limit, by the part of the request that needs it; returns other
 * errors unchanged.
 */
function inWords(
  error: unknown,
  stage: StageName,
  { width, height }: StageContext['resolved']['event']['values'],
): unknown {
  if (!(error instanceof BindingError)) return error;
  const { code, bytes, limit } = error;
  const takes = `takes ${bytesText(bytes)} in one piece, the adapter allows ${bytesText(limit)}`;
  const message =
    stage === 'text-encoding'
      ? `encoding the prompt ${takes}: make it shorter`
      : `${stage === 'image-encoding' ? 'encoding' : stage} ${width} × ${height} pixels ${takes}: choose a smaller size`;
  return new EngineError(code, message, { cause: error });
}
