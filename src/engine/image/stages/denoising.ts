// Denoises results of one or of several requests, in batches.

import { Tensor } from '../../../gpu/tensor.ts';
import type { DenoiserPage, TextStates } from '../blocks/family.ts';
import type { Size } from '../calls/image-model.ts';
import { NotFiniteError, type ComputeOptions } from '../recording/compute.ts';
import { joinItems } from '../recording/join-items.ts';
import { Scope } from '../recording/scope.ts';
import { predictorOf } from './predictor.ts';
import { previewer } from './decoding.ts';
import { samplesFrame, type Encoded } from './encoding.ts';
import { shapeOfLatents } from './latent-shape.ts';
import { batchesOf, type Member, type Sample } from './member.ts';
import { cpuNoise } from './noise-cpu.ts';
import { cudaNoise } from './noise-cuda.ts';
import { LatentSampler, type Sampled, type SampleRequest } from './sampler.ts';
import type { StageContext } from './stage-context.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';

interface DenoisingRequest {
  /** The context of what all requests share. */
  context: StageContext;
  denoiser: DenoiserPage;
  encoded: Encoded | null;
  /** Results that the denoiser takes at once. */
  most: number;
  /** Strips in which previews are decoded. */
  tiling: Tiling;
}

/** A recorded denoiser, and the requests whose texts it reads, one for each item of its batch. */
interface Recorded extends Disposable {
  sampler: LatentSampler;
  members: readonly Member[];
}

/**
 * Returns the latents of each sample, but of those whose request has ended; `owner` takes them over. Samples with a step that is not finite
 * are drawn again from the first step by plain f32 kernels.
 */
export async function denoise(
  request: DenoisingRequest,
  samples: readonly Sample[],
  owner: Scope,
): Promise<Map<Sample, Sampled>> {
  const { options } = request.context;
  const drawn = new Map<Sample, Sampled>();
  let failed = await sampleAll(request, samples, options, { drawn, owner });
  if (failed.length > 0 && !options.plain) {
    const message = 'a step gave values that are not finite numbers; the image is drawn again in plain f32';
    failed.forEach(({ of }) => of.context.emit({ type: 'note', message }));
    // Images that are drawn again in plain f32 are few.
    const alone = { ...request, most: 1 };
    failed = await sampleAll(alone, failed, { ...options, plain: true }, { drawn, owner });
  }
  for (const { of } of failed) of.fail(new NotFiniteError());
  return new Map(samples.flatMap((sample) => (drawn.has(sample) ? [[sample, drawn.get(sample)!]] : [])));
}

/** Passes the latents of each sample on, and returns the samples with a step that is not finite. */
async function sampleAll(
  request: DenoisingRequest,
  samples: readonly Sample[],
  options: ComputeOptions,
  { drawn, owner }: { drawn: Map<Sample, Sampled>; owner: Scope },
): Promise<Sample[]> {
  const failed: Sample[] = [];
  let recorded: Recorded | null = null;
  try {
    for (const planned of batchesOf(samples, request.most)) {
      const batch = planned.filter(({ of }) => !of.isOver);
      if (batch.length === 0) continue;
      if (!recorded || !batch.every(({ of }, i) => recorded!.members[i] === of)) {
        await close(recorded);
        recorded = null;
        recorded = await record(request, batch, options);
      }
      const made = await recorded.sampler.sample(batch.map((sample) => sampleRequest(request, sample)));
      for (const [i, sample] of batch.entries()) {
        const result = made[i]!;
        if ('latents' in result) drawn.set(sample, { ...result, latents: owner.hold(result.latents) });
        else if (result instanceof NotFiniteError) failed.push(sample);
        else sample.of.fail(result);
      }
    }
    await recorded?.sampler.profile();
    return failed;
  } finally {
    recorded?.[Symbol.dispose]();
  }
}

async function close(recorded: Recorded | null): Promise<void> {
  try {
    await recorded?.sampler.profile();
  } finally {
    recorded?.[Symbol.dispose]();
  }
}

/** Records the denoiser for a batch of samples. */
async function record(
  { context, denoiser, encoded }: DenoisingRequest,
  batch: readonly Sample[],
  options: ComputeOptions,
): Promise<Recorded> {
  const { autoencoder, components, latents, resolved, plan, references = [], runner } = context;
  const { device } = components;
  const { values } = resolved.event;
  const members = batch.map(({ of }) => of);
  using scope = new Scope(device);
  const texts = joinedTexts(members, (tensors) => scope.hold(joinItems(device, tensors)));
  const sampler = scope.use(
    await LatentSampler.open({
      device,
      autoencoder,
      shape: shapeOfLatents(latents, values),
      plan,
      images: batch.length,
      strength: values.strength,
      encoded,
      besideLast: runner.frameImages?.samplesLast ?? false,
      takesMeans: references.length > 0 && !samplesFrame(runner),
      options,
      predictor: (x, output, extra) =>
        predictorOf(
          device,
          { attention: context.attention, reuse: context.reuse, steps: plan.steps.length },
          denoiser,
          { images: batch.length, latents: x, output, extra, texts },
          options,
        ),
    }),
  );
  return scope.give({ sampler, members });
}

/** The texts of all items, joined to one batch. Pooled states are a token of each, since products of single rows are those of one row in any number. */
function joinedTexts(
  members: readonly Member[],
  join: (tensors: readonly Tensor[]) => Tensor,
): readonly TextStates[] {
  const all = members.map(({ prepared }) => prepared!.texts);
  const [first] = all as [readonly TextStates[]];
  if (all.length === 1) return first;
  return first.map(({ pooled }, i) => ({
    states: join(all.map((texts) => texts[i]!.states)),
    ...(pooled && { pooled: asTokens(join(all.map((texts) => texts[i]!.pooled!))) }),
  }));
}

/** [items, columns] → [items, 1, columns] */
const asTokens = ({ shape: [items, columns], region }: Tensor): Tensor =>
  new Tensor([items!, 1, columns!], 'f32', { region: region! });

function sampleRequest({ tiling }: DenoisingRequest, { of: { context }, index }: Sample): SampleRequest {
  const { resolved, signal, emit, runner } = context;
  const { previews = 0, seed } = resolved.request;
  const show = previews > 0 ? previewer(context, index, tiling) : null;
  const noise = resolved.event.values.generatorDevice === 'cuda' ? cudaNoise : cpuNoise;
  return {
    noise: noise(seed + index),
    signal,
    preview: show && { most: previews, show },
    leavesNoise: runner.leftNoise !== undefined,
    injects: noiseSizes(context).map(({ height, width }) => height * width),
    onStep: (step) => emit({ type: 'step', sample: index, ...step }),
  };
}

/** Sizes of the noise that layers of the decoder add. */
function noiseSizes({ autoencoder, latents, resolved }: StageContext): readonly Size[] {
  const [, height, width] = shapeOfLatents(latents, resolved.event.values) as [number, number, number];
  return autoencoder.noiseSizes?.({ height, width }) ?? [];
}
